//! The programs that dump a PostgreSQL database and load a dump: from Debian's packages, in the newest version
//! installed.

use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};

use async_recursion::async_recursion as boxed;
use bytes::{Bytes, BytesMut};
use model::{Code, Error, Result};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::task::JoinHandle;
use tokio_postgres::config::Host;

use crate::Location;
use crate::engine::postgres::parse_config;

use super::OpenSnapshot;

/// Directory in which Debian keeps a subdirectory for each version.
pub(super) const VERSIONS: &str = "/usr/lib/postgresql";
/// Number of bytes per read.
const READ_SIZE: usize = 1 << 20;
/// Limit on the bytes of a program's error output that are kept.
const MAX_ERROR_OUTPUT: u64 = 16 << 10;

/// The output of a program that copies from a server: a dump (`pg_dump` in its custom format, not compressed), or a
/// copy of the whole server (`pg_basebackup` as one tar file, including the WAL that it needs).
pub struct Dump {
    name: &'static str,
    child: Child,
    output: ChildStdout,
    said: JoinHandle<String>,
    buffer: BytesMut,
}

impl Dump {
    /// Starts a dump of the snapshot `held`.
    ///
    /// # Errors
    /// `Unavailable`, with the name of the package, if the program is not installed.
    pub fn begin(location: &Location, held: &OpenSnapshot) -> Result<Self> {
        let mut command = program("pg_dump", location)?;
        command.args(["--format=custom", "--compress=0", "--no-owner", "--no-privileges", "--no-password"]);
        command.arg(format!("--snapshot={}", held.name()));
        Self::start("pg_dump", command)
    }

    /// Starts a copy of the whole server that holds the database. It represents the state at the end of the copy.
    ///
    /// # Errors
    /// `Unavailable`, with the name of the package, if the program is not installed.
    pub fn begin_cluster(location: &Location) -> Result<Self> {
        let mut command = program("pg_basebackup", location)?;
        command.args(["--pgdata=-", "--format=tar", "--wal-method=fetch", "--checkpoint=fast", "--no-password"]);
        command.arg("--label=strongroom");
        Self::start("pg_basebackup", command)
    }

    fn start(name: &'static str, mut command: Command) -> Result<Self> {
        let mut child =
            command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().map_err(|error| not_started(name, error))?;
        let output = child.stdout.take().ok_or_else(|| no_pipe(name))?;
        let said = collect_stderr(&mut child)?;
        Ok(Self { name, child, output, said, buffer: BytesMut::new() })
    }

    /// Returns the next bytes, about 1 MiB; `None` after the last. Only a returned `None` proves that the dump is
    /// complete.
    #[boxed]
    pub async fn next(&mut self) -> Result<Option<Bytes>> {
        self.buffer.reserve(READ_SIZE);
        while self.buffer.len() < READ_SIZE {
            let read = self.output.read_buf(&mut self.buffer).await;
            if read.map_err(|error| broken(self.name, error))? == 0 {
                break;
            }
        }
        if !self.buffer.is_empty() {
            return Ok(Some(self.buffer.split().freeze()));
        }
        let status = self.child.wait().await.map_err(|error| broken(self.name, error))?;
        judge(self.name, status, &mut self.said).await.map(|()| None)
    }
}

/// A dump that is being loaded into a database.
pub struct Load {
    child: Child,
    input: ChildStdin,
    said: JoinHandle<String>,
}

impl Load {
    /// Starts loading a dump into the database at `location`, all in one transaction. With `replaces`, objects of the
    /// same names are dropped first.
    ///
    /// # Errors
    /// Those of [`Dump::begin`].
    pub fn begin(location: &Location, replaces: bool) -> Result<Self> {
        let mut command = program("pg_restore", location)?;
        command.args(["--no-owner", "--no-privileges", "--exit-on-error", "--single-transaction", "--no-password"]);
        if replaces {
            command.args(["--clean", "--if-exists"]);
        }
        // Without `--dbname`, `pg_restore` would print SQL. The actual name is in the environment.
        command.arg("--dbname=").stdin(Stdio::piped()).stdout(Stdio::null());
        let mut child = command.spawn().map_err(|error| not_started("pg_restore", error))?;
        let input = child.stdin.take().ok_or_else(|| no_pipe("pg_restore"))?;
        let said = collect_stderr(&mut child)?;
        Ok(Self { child, input, said })
    }

    /// Writes the next bytes to the program.
    #[boxed]
    pub async fn write(&mut self, bytes: &[u8]) -> Result<()> {
        match self.input.write_all(bytes).await {
            Ok(()) => Ok(()),
            // The program has ended, and its own message is the better explanation.
            Err(error) => {
                let status = self.child.wait().await.map_err(|error| broken("pg_restore", error))?;
                judge("pg_restore", status, &mut self.said).await?;
                Err(broken("pg_restore", error))
            }
        }
    }

    /// Ends the input and waits until everything is loaded.
    #[boxed]
    pub async fn finish(mut self) -> Result<()> {
        drop(self.input);
        let status = self.child.wait().await.map_err(|error| broken("pg_restore", error))?;
        judge("pg_restore", status, &mut self.said).await
    }
}

/// Prepares a program that connects to the database.
fn program(name: &str, location: &Location) -> Result<Command> {
    let Location::Postgres(address) = location else {
        return Err(Error::invalid(format!("{name} is for PostgreSQL databases only")));
    };
    let environment = client_environment(address)?;
    let mut command = Command::new(find(name)?);
    command.env("LC_ALL", "C.UTF-8").envs(environment).stderr(Stdio::piped()).kill_on_drop(true);
    Ok(command)
}

/// Returns the environment variables with which PostgreSQL's programs connect to a database. Other users of the machine
/// cannot read a password in the environment, unlike one in an argument.
///
/// # Errors
/// `Invalid` for an address that cannot be read.
pub fn client_environment(address: &str) -> Result<Vec<(&'static str, String)>> {
    let config = parse_config(address)?;
    let hosts = config.get_hosts().iter().map(|host| match host {
        Host::Tcp(name) => name.clone(),
        Host::Unix(path) => path.display().to_string(),
    });
    let hosts: Vec<String> = hosts.collect();
    let ports: Vec<String> = config.get_ports().iter().map(u16::to_string).collect();
    let variables = [
        ("PGHOST", (!hosts.is_empty()).then(|| hosts.join(","))),
        ("PGPORT", (!ports.is_empty()).then(|| ports.join(","))),
        ("PGUSER", config.get_user().map(str::to_owned)),
        ("PGDATABASE", config.get_dbname().or(config.get_user()).map(str::to_owned)),
        ("PGPASSWORD", config.get_password().map(|word| String::from_utf8_lossy(word).into_owned())),
        ("PGAPPNAME", Some("strongroom".to_owned())),
    ];
    Ok(variables.into_iter().filter_map(|(variable, value)| Some((variable, value?))).collect())
}

/// Path of the program in the newest version installed.
pub(super) fn find(name: &str) -> Result<PathBuf> {
    let versions = std::fs::read_dir(VERSIONS).into_iter().flatten().flatten();
    let found = versions.filter_map(|entry| {
        let place = entry.path().join("bin").join(name);
        Some((entry.file_name().to_str()?.parse::<u32>().ok()?, place)).filter(|(_, place)| place.exists())
    });
    if let Some((_, place)) = found.max() {
        return Ok(place);
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let elsewhere = std::env::split_paths(&path).map(|folder| folder.join(name)).find(|place| Path::exists(place));
    elsewhere.ok_or_else(|| {
        Error::unavailable(format!(
            "the program {name} is missing: install the package postgresql-client in the server's version or newer"
        ))
        .with_code(Code::ProgramMissing)
    })
}

/// Collects the beginning of a program's error output and discards the rest, so that the program never blocks on it.
fn collect_stderr(child: &mut Child) -> Result<JoinHandle<String>> {
    let mut complaints = child.stderr.take().ok_or_else(|| no_pipe("the program"))?;
    Ok(tokio::spawn(async move {
        let mut said = Vec::new();
        // Unreadable error output is not reported. The exit status shows whether the program failed.
        let _ = (&mut complaints).take(MAX_ERROR_OUTPUT).read_to_end(&mut said).await;
        let _ = drain(&mut complaints).await;
        String::from_utf8_lossy(&said).trim().to_owned()
    }))
}

async fn drain(complaints: &mut (impl AsyncRead + Unpin)) -> std::io::Result<()> {
    let mut rest = [0; 4096];
    while complaints.read(&mut rest).await? > 0 {}
    Ok(())
}

async fn judge(name: &str, status: ExitStatus, said: &mut JoinHandle<String>) -> Result<()> {
    if status.success() {
        return Ok(());
    }
    let said = said.await.unwrap_or_default();
    Err(Error::unavailable(format!("{name} failed ({status}): {said}")))
}

pub(super) fn not_started(name: &str, error: std::io::Error) -> Error {
    Error::unavailable(format!("{name} cannot be started: {error}")).with_source(error)
}

fn broken(name: &str, error: std::io::Error) -> Error {
    Error::unavailable(format!("the connection to the program {name} failed: {error}")).with_source(error)
}

fn no_pipe(name: &str) -> Error {
    Error::unavailable(format!("{name} was started without a pipe for its input or output"))
}
