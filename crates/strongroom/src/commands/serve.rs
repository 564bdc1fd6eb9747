//! `strongroom serve`: opens or creates the farm and serves it until a stop signal arrives.

use std::fs::{OpenOptions, TryLockError};
use std::io::Write;
use std::net::SocketAddr;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Args;
use http_edge::{AddressSource, Limits, PublicUrl, TlsFiles, Trust};
use model::{Code, Error, Result};
use repository::{DataDirectory, DataDirectoryLock, MissingRestriction, Programs, Repository, Sandbox};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::oneshot;

use super::farm;
use crate::configuration::{CommonArguments, Names, Settings};
use crate::listen::Listen;
use crate::{descriptors, logging};

/// Time for which a server waits for the lock of its data directory, and between two attempts.
const LOCK_PATIENCE: Duration = Duration::from_secs(2);
const LOCK_PAUSE: Duration = Duration::from_millis(50);

/// Flags of `serve`. Each except `--existing` has a setting of the same name.
#[derive(Args)]
pub struct Arguments {
    #[command(flatten)]
    common: CommonArguments,
    /// Address or host name, and port, to listen on; a host name resolves to its first IPv4 address, else its first
    /// address; port 0 picks a free port [default: 127.0.0.1:8080]
    #[arg(long, value_name = "ADDR:PORT")]
    listen: Option<Listen>,
    /// PEM file with the server's certificate and the certificates of its issuers; needs --tls-key
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_certificate: Option<PathBuf>,
    /// PEM file with the certificate's private key
    #[arg(long, value_name = "FILE", requires = "tls_certificate")]
    tls_key: Option<PathBuf>,
    /// TLS is terminated by a proxy in front of this server
    #[arg(long)]
    behind_tls_proxy: bool,
    /// Serve an existing farm and never create one; for services whose disk may not be mounted yet
    #[arg(long, conflicts_with = "database")]
    existing: bool,
    /// On first start: location of the content database "main" [default: SQLite in the data directory]
    #[arg(long, value_name = "PATH|postgres://...")]
    database: Option<String>,
    /// On first start: location of the configuration database [default: SQLite in the data directory]
    #[arg(long, value_name = "PATH|postgres://...")]
    configuration_database: Option<String>,
}

/// Serves until SIGTERM or SIGINT.
pub async fn run(arguments: Arguments) -> Result<ExitCode> {
    let mut settings = Settings::read(&arguments.common)?;
    logging::start(settings.log_as_json()?);
    settings.listen = arguments.listen.or(settings.listen);
    settings.tls_certificate = arguments.tls_certificate.or(settings.tls_certificate);
    settings.tls_key = arguments.tls_key.or(settings.tls_key);
    settings.database = arguments.database.or(settings.database);
    let given = arguments.configuration_database.clone();
    settings.configuration_database = arguments.configuration_database.or(settings.configuration_database);
    // Settings that could be wrong are checked before anything is created.
    let listen = settings.listen.clone().unwrap_or_default().resolve().await?;
    let tls = match (settings.tls_certificate.take(), settings.tls_key.take()) {
        (Some(certificate), Some(key)) => Some(TlsFiles { certificate, key }),
        (None, None) => None,
        _ => return Err(Error::invalid("tls_certificate and tls_key belong together: set both or none")),
    };
    tls.as_ref().map_or(Ok(()), TlsFiles::check)?;
    let behind_tls_proxy = arguments.behind_tls_proxy || settings.behind_tls_proxy.unwrap_or(false);
    let trust = trust(&settings, behind_tls_proxy)?;
    let public_url = settings.public_url.as_deref().map(str::parse::<PublicUrl>).transpose()?;
    let converter = http_edge::Converter::find(settings.converter.as_deref())?;
    let office_server = settings.office_url.as_deref().map(http_edge::OfficeServer::new).transpose()?;
    let search_server = farm::search_server(&settings)?;
    let farm = farm::options(&settings, !arguments.existing)?;
    farm.check_new_farm().map_err(|error| match error.code() {
        Code::InvalidPassword => {
            let text = format!("STRONGROOM_ADMIN_PASSWORD cannot be used: {}", error.message());
            Error::new(error.kind(), text).with_code(error.code())
        }
        _ => error,
    })?;
    // Raised before databases and stores are opened.
    let mut limits = limits(&settings);
    limits.connections = descriptors::raise_open_file_limit(limits.connections);
    let scheme = if tls.is_some() { "https" } else { "http" };
    let mut options = http_edge::Options::new(listen);
    options.tls = tls;
    options.limits = limits;
    options.metrics_token = settings.metrics_token.take();
    options.behind_tls_proxy = behind_tls_proxy;
    options.trust = trust;
    options.public_url = public_url;
    options.converter = converter;
    options.office_server = office_server;
    options.webdav_depth_infinity = settings.webdav_depth_infinity.unwrap_or(false);
    let listener = http_edge::bind(&options)?;
    let directory = settings.directory();
    let _lock = lock(&directory).await?;
    http_edge::record_metrics();
    let (repository, created) = Repository::open(&farm).await?;
    if let (Some(location), Some(_)) = (&given, &created) {
        save_configuration_location(&directory, location)?;
    }
    repository.limit_unfinished(settings.unfinished_bytes_per_user.unwrap_or(repository::UNFINISHED_BYTES));
    farm::keep_recycled(&repository, &settings);
    if let Some(server) = search_server {
        tracing::info!(server = server.address(), "the search indexes are on a search server");
        repository.share_search_indexes(server);
    }
    let sandbox = Sandbox::of_this_program();
    let programs = farm::programs(&repository, sandbox.clone(), options.converter.clone());
    if let Err(error) = Programs::remove_left_over(&repository.programs_scratch()) {
        tracing::warn!(error = %error, "directories of programs that read documents cannot be removed");
    }
    repository.open_documents_with(programs);
    tokio::spawn(log_sandbox_gaps(sandbox));
    let password = created.and_then(|created| created.administrator_password);
    if let Some(password) = password {
        // Shown before anything else can fail, since the password cannot be shown a second time.
        print_to_operator(&format!(
            "Sign in as admin with the password {password}\n(shown only now; change it under My account)\n"
        ));
    }
    let (listening, listens) = oneshot::channel();
    let ready = move |address: SocketAddr| {
        print_to_operator(&format!("Strongroom serves at {scheme}://{address}/\n"));
        // The receiver is gone only if the server is stopping.
        let _ = listening.send(format!("{scheme}://{address}"));
    };
    let stop = stop_signal()?;
    let cleaning = tokio::spawn(maintenance::clean_up_hourly(repository.clone()));
    let computing = tokio::spawn(maintenance::recompute_always(repository.clone()));
    let measuring = tokio::spawn(maintenance::measure_always(repository.clone()));
    let working = tokio::spawn(maintenance::jobs::run_jobs(repository.clone()));
    let scheduling = tokio::spawn(maintenance::run_schedule(repository.clone()));
    let looking = tokio::spawn(maintenance::verify_databases_daily(repository.clone()));
    let crawling = tokio::spawn(maintenance::keep_search_indexes(repository.clone()));
    let telling = tokio::spawn(repository.clone().report_activity());
    let known = repository.clone();
    let announcing = tokio::spawn(async move {
        if let Ok(address) = listens.await {
            known.send_heartbeats(host(), address).await;
        }
    });
    let served = http_edge::serve(repository.clone(), listener, options, ready, stop).await;
    for task in [cleaning, computing, measuring, working, scheduling, looking, crawling, telling, announcing] {
        task.abort();
    }
    repository.sign_off().await;
    served?;
    repository.close().await;
    Ok(ExitCode::SUCCESS)
}

/// The default limits, overridden by the settings.
fn limits(settings: &Settings) -> Limits {
    let usual = Limits::default();
    Limits {
        connections: settings.connections.unwrap_or(usual.connections),
        connections_per_address: settings.connections_per_address.unwrap_or(usual.connections_per_address),
        requests_per_address: settings.requests_per_address.unwrap_or(usual.requests_per_address),
        requests_per_user: settings.requests_per_user.unwrap_or(usual.requests_per_user),
        body_rate: settings.least_body_rate.unwrap_or(usual.body_rate),
    }
}

/// Trusted proxies, and the source of client addresses. A proxy that terminates TLS is expected on this machine unless
/// the settings name others.
fn trust(settings: &Settings, behind_tls_proxy: bool) -> Result<Trust> {
    let source = settings.client_address.as_deref().map_or(Ok(AddressSource::Peer), str::parse)?;
    let named = settings.trusted_proxies.as_ref().map(Names::each);
    let here = if behind_tls_proxy { vec!["127.0.0.0/8", "::1"] } else { vec![] };
    Trust::new(named.unwrap_or(here), source)
}

/// Logs once which sandbox restrictions this system lacks for the child processes that open documents.
async fn log_sandbox_gaps(sandbox: Sandbox) {
    match sandbox.missing_restrictions().await {
        Ok(lacks) if lacks.is_empty() => {}
        Ok(lacks) => {
            let lacks: Vec<&str> = lacks.into_iter().map(MissingRestriction::as_str).collect();
            tracing::warn!(
                lacks = lacks.join(" "),
                "this system lacks some restrictions for the child processes that open documents"
            );
        }
        Err(error) => tracing::error!(error = error.report(), "no document can be read for previews"),
    }
}

/// Prints a message for the person who started the server. This is the only function that shows a password.
fn print_to_operator(text: &str) {
    // Standard output may be closed; the server runs all the same.
    let _ = std::io::stdout().write_all(text.as_bytes()).and_then(|()| std::io::stdout().flush());
}

/// The host name of this machine.
fn host() -> String {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    if name.trim().is_empty() { "localhost".to_owned() } else { name.trim().to_owned() }
}

async fn wait_for(mut terminate: tokio::signal::unix::Signal, mut interrupt: tokio::signal::unix::Signal) {
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
    tracing::info!("stopping: requests in progress are finished first");
}

fn stop_signal() -> Result<impl Future<Output = ()> + Send + 'static> {
    let listen =
        |kind| signal(kind).map_err(|error| Error::unavailable("signals cannot be received").with_source(error));
    Ok(wait_for(listen(SignalKind::terminate())?, listen(SignalKind::interrupt())?))
}

/// Locks the data directory against a second server. The operating system releases the lock when this process ends,
/// even after a crash. It may do so a moment later, if the process ended while it was starting a child.
async fn lock(directory: &Path) -> Result<DataDirectoryLock> {
    let failed = |error: std::io::Error| {
        Error::unavailable(format!(
            "the data directory {} cannot be written: {error}; check that it exists, that this user owns it and that \
             the disk is not full or read-only",
            directory.display()
        ))
        .with_source(error)
    };
    // The directory holds password hashes and all documents, so only the server's own user may access it.
    blobs::create_private_directories(directory)
        .map_err(|error| failed(std::io::Error::other(error.message().to_owned())))?;
    let data = DataDirectory::new(directory);
    let end = Instant::now() + LOCK_PATIENCE;
    let mut taken = data.try_lock();
    while matches!(taken, Err(TryLockError::WouldBlock)) && Instant::now() < end {
        tokio::time::sleep(LOCK_PAUSE).await;
        taken = data.try_lock();
    }
    taken.map_err(|error| match error {
        TryLockError::WouldBlock => Error::conflict(format!(
            "another server is running on the data directory {}: stop it first, or choose another directory with \
            --data",
            directory.display()
        )),
        TryLockError::Error(error) => failed(error),
    })
}

/// Appends the location of the configuration database to the settings file, so that other commands find the farm by its
/// data directory.
fn save_configuration_location(directory: &Path, location: &str) -> Result<()> {
    let path = DataDirectory::new(directory).settings();
    let failed = |error: std::io::Error| {
        Error::unavailable(format!("{} cannot be written: {error}", path.display())).with_source(error)
    };
    let text = format!("configuration_database = {}\n", toml::Value::String(location.to_owned()));
    let mut file = OpenOptions::new().append(true).create(true).mode(0o600).open(&path).map_err(failed)?;
    file.write_all(text.as_bytes()).and_then(|()| file.sync_all()).map_err(failed)
}
