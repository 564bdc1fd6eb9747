//! Restore of whole PostgreSQL servers from a backup. Each is unpacked into a directory from which a server can be
//! started. The content of their databases is not examined here.

use std::fs::{self, DirBuilder, File};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;

use database::configuration::backup;
use database::{Database, Reader};
use futures_util::future::BoxFuture;
use model::{BackupState, Code, Error, Id, Result, Timestamp};
use repository::require_separate_restoration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, Command};

use crate::Progress;
use crate::backup::BackupLocation;
use crate::backup::format::manifest::{DatabasePart, Manifest, method};
use crate::backup::format::vault::BackupObjects;
use crate::backup::place::destination::{Destination, Use};
use crate::backup::place::small_files::{blocking, failed};

use super::assemble::Pieces;
use super::set::choose;

/// Number of bytes kept of a program's error output.
const MAX_ERROR_OUTPUT: u64 = 16 << 10;

/// Options of a server restore: which servers, and the destination.
#[derive(Clone, Debug, Default)]
pub struct ClusterOptions {
    /// Backup location.
    pub source: BackupLocation,
    /// File with the key or passphrase, for encrypted backups.
    pub key_file: Option<PathBuf>,
    /// Set to use. None for the latest.
    pub set: Option<Id>,
    /// Directory of the server. With several servers, each gets a subdirectory.
    pub directory: PathBuf,
}

/// Result of the restore.
#[derive(Clone, Debug)]
pub struct ClustersSummary {
    /// Set that was used.
    pub set: Id,
    /// Start of the backup. Every change that was acknowledged before is in the servers.
    pub started_at: Timestamp,
    /// Restored servers.
    pub clusters: Vec<RestoredCluster>,
    /// The farm's databases on these servers.
    pub databases: Vec<CopiedDatabase>,
}

/// A database of the farm on a restored server.
#[derive(Clone, Debug)]
pub struct CopiedDatabase {
    /// Name of the content database, or `configuration`.
    pub name: String,
    /// Server of the database, as in [`RestoredCluster::server`].
    pub server: String,
    /// Location of the database, without a password.
    pub location: String,
}

/// A server whose files have been restored.
#[derive(Clone, Debug)]
pub struct RestoredCluster {
    /// Original host and port.
    pub server: String,
    /// Current location.
    pub directory: PathBuf,
    /// Version of PostgreSQL that the directory requires, such as `15`.
    pub version: String,
    /// Set when the directory contains the server's settings. Debian keeps them elsewhere.
    pub has_settings: bool,
    /// Length of the tar archive of the files in bytes.
    pub bytes: u64,
}

/// Unpacks the server copies of a set.
///
/// # Errors
/// `Invalid` when the set has none; `Conflict` when a directory is not empty; `Corrupt` when bytes of the backup are
/// damaged. After an error each directory is either complete or absent.
pub fn restore_clusters<'a>(
    options: &'a ClusterOptions,
    progress: Arc<Progress>,
) -> BoxFuture<'a, Result<ClustersSummary>> {
    Box::pin(async move {
        let destination = Destination::open(&options.source, options.key_file.as_deref(), Use::Read).await?;
        let restored = restore(&destination, options, &progress).await;
        destination.close().await;
        restored
    })
}

async fn restore(
    destination: &Destination,
    options: &ClusterOptions,
    progress: &Arc<Progress>,
) -> Result<ClustersSummary> {
    let (set, manifest) = choose(destination, options.set).await?;
    if manifest.clusters.is_empty() {
        let why = format!("the set {} has no copy of a PostgreSQL server: leave out --postgres-directory", set.id);
        return Err(Error::invalid(why).with_code(Code::NoCopiedServers));
    }
    let mut places = Vec::new();
    for part in &manifest.clusters {
        let place = match manifest.clusters.len() {
            1 => options.directory.clone(),
            _ => options.directory.join(part.name.replace(|c: char| !c.is_ascii_alphanumeric() && c != '.', "-")),
        };
        let (checked, source, farm) = (place.clone(), options.source.clone(), manifest.farm.clone());
        blocking(move || {
            require_separate_restoration(&checked, source.directory(), &farm)?;
            require_free(&checked)
        })
        .await?;
        places.push(place);
    }
    progress.count(0, manifest.clusters.iter().map(|part| part.bytes).sum());
    progress.counted_all();
    let mut clusters = Vec::new();
    for (part, place) in manifest.clusters.iter().zip(places) {
        clusters.push(bring(&destination.vault, part, place, progress).await?);
    }
    let started_at = Timestamp::from_micros(manifest.started);
    Ok(ClustersSummary { set: set.id, started_at, clusters, databases: databases_in_clusters(&manifest) })
}

/// Returns the databases that are contained in server copies.
fn databases_in_clusters(manifest: &Manifest) -> Vec<CopiedDatabase> {
    let databases = std::iter::once(&manifest.configuration).chain(&manifest.databases);
    let within = databases.filter(|part| part.method == method::IN_CLUSTER);
    let show = |part: &DatabasePart| CopiedDatabase {
        name: part.name.clone(),
        server: part.cluster.clone().unwrap_or_default(),
        location: part.location.clone(),
    };
    within.map(show).collect()
}

/// Refuses to restore a single database out of a server copy.
pub(super) fn require_standalone(part: &DatabasePart) -> Result<()> {
    match &part.cluster {
        None => Ok(()),
        Some(server) => Err(Error::conflict(format!(
            "\"{}\" is in a copy of the whole PostgreSQL server {server}, from which single parts cannot be restored: \
             restore that server first with `strongroom restore SOURCE --postgres-directory DIR`, start it, restore \
             the farm from it into a separate data directory, and export from there",
            part.name
        ))
        .with_code(Code::ClusterFirst)),
    }
}

/// Refuses a configuration database that was not restored from this set, such as that of the live farm.
pub(super) async fn require_restored(configuration: &Database, set: Id, force: bool) -> Result<()> {
    let rows = configuration.read(|reader: &mut Reader<'_>| backup::list(reader, None, 10_000)).await?;
    // The backup was running while the server was copied, so its record says "running" in the copy.
    let fits = |state| state == BackupState::Running || force && state == BackupState::Kept;
    if rows.iter().any(|row| row.id == set && fits(row.state)) {
        return Ok(());
    }
    Err(Error::conflict(
        "the named configuration database is not the one of this set: restore its server with --postgres-directory, \
         start it, and name the database on that server. To repeat a restore from it that has already completed, add \
         --force",
    )
    .with_code(Code::OtherDatabase))
}

fn beside(place: &Path) -> PathBuf {
    let mut name = place.as_os_str().to_owned();
    name.push(".restoring");
    name.into()
}

/// Requires that a directory is absent or empty. Blocking.
fn require_free(place: &Path) -> Result<()> {
    match fs::read_dir(place) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(failed("read", place, error)),
        Ok(mut entries) => match entries.next() {
            None => Ok(()),
            Some(_) => {
                Err(Error::conflict(format!("{} is not empty: name a new directory for the server", place.display())))
            }
        },
    }
}

async fn bring(
    vault: &BackupObjects,
    part: &DatabasePart,
    place: PathBuf,
    progress: &Progress,
) -> Result<RestoredCluster> {
    if part.method != method::CLUSTER {
        return Err(Error::invalid(format!(
            "the server {} was backed up by the method {}, which this program does not know",
            part.name, part.method
        )));
    }
    let partial = beside(&place);
    let fresh = partial.clone();
    blocking(move || {
        match fs::remove_dir_all(&fresh) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(failed("empty", &fresh, error)),
            _ => {}
        }
        DirBuilder::new().recursive(true).mode(0o700).create(&fresh).map_err(|e| failed("create", &fresh, e))
    })
    .await?;
    unpack(vault, part, &partial, progress).await?;
    let (server, bytes) = (part.name.clone(), part.bytes);
    blocking(move || {
        let version = fs::read_to_string(partial.join("PG_VERSION")).map_err(|e| failed("read", &partial, e))?;
        let has_settings = partial.join("postgresql.conf").exists();
        finish_directory(&partial, &place).map_err(|e| failed("write", &place, e))?;
        Ok(RestoredCluster { server, directory: place, version: version.trim().to_owned(), has_settings, bytes })
    })
    .await
}

/// Gives the directory the owner of its files, flushes it, and renames it to its final name. Blocking.
fn finish_directory(partial: &Path, place: &Path) -> std::io::Result<()> {
    let owner = fs::metadata(partial.join("PG_VERSION"))?;
    if fs::metadata(partial)?.uid() != owner.uid() {
        std::os::unix::fs::chown(partial, Some(owner.uid()), Some(owner.gid()))?;
    }
    rustix::fs::syncfs(File::open(partial)?)?;
    fs::rename(partial, place)?;
    match place.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        Some(folder) => File::open(folder)?.sync_all(),
        None => File::open(".")?.sync_all(),
    }
}

/// Unpacks a server copy with `tar`.
async fn unpack(vault: &BackupObjects, part: &DatabasePart, place: &Path, progress: &Progress) -> Result<()> {
    let mut command = Command::new("tar");
    command
        .args(["--extract", "--preserve-permissions", "--file=-", "--directory"])
        .arg(place)
        .env("LC_ALL", "C.UTF-8");
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped()).kill_on_drop(true);
    let mut child = command.spawn().map_err(|e| broken("cannot be started", e))?;
    let said = child.stderr.take().map(|mut complaints| {
        tokio::spawn(async move {
            let mut said = Vec::new();
            // Unreadable error output is not reported. The exit status shows whether the program failed.
            let _ = (&mut complaints).take(MAX_ERROR_OUTPUT).read_to_end(&mut said).await;
            let _ = tokio::io::copy(&mut complaints, &mut tokio::io::sink()).await;
            String::from_utf8_lossy(&said).trim().to_owned()
        })
    });
    let fed = write_input(&mut child, &mut Pieces::new(vault, part), progress).await;
    let status = child.wait().await.map_err(|e| broken("ended early", e))?;
    let said = match said {
        Some(said) => said.await.unwrap_or_default(),
        None => String::new(),
    };
    match (fed, status.success()) {
        (Ok(Some(error)), true) => Err(broken("ended early", error)),
        (Ok(None), true) => Ok(()),
        (Err(error), _) => Err(error),
        (Ok(_), false) => Err(Error::unavailable(format!(
            "the server {} could not be unpacked into {}: tar failed ({status}): {said}",
            part.name,
            place.display()
        ))),
    }
}

/// Writes all bytes to the program. Returns the I/O error if the program does not accept them.
async fn write_input(
    child: &mut Child,
    pieces: &mut Pieces<'_>,
    progress: &Progress,
) -> Result<Option<std::io::Error>> {
    let Some(mut input) = child.stdin.take() else { return Err(Error::unavailable("tar has no standard input")) };
    loop {
        let next = match pieces.next().await {
            Ok(next) => next,
            Err(error) => {
                child.start_kill().map_err(|e| broken("ended early", e))?;
                return Err(error);
            }
        };
        if next.is_empty() {
            return Ok(None);
        }
        for piece in next {
            if let Err(error) = input.write_all(&piece).await {
                return Ok(Some(error));
            }
            progress.add_bytes(piece.len() as u64);
        }
    }
}

fn broken(how: &str, error: std::io::Error) -> Error {
    Error::unavailable(format!("the program tar {how}: {error}")).with_source(error)
}
