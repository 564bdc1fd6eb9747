//! A temporary PostgreSQL server on files restored from a backup, for as long as they are being examined. Only this
//! process can reach it: it listens only on a socket in its own directory, and none of its original settings applies.

use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use model::{Code, Error, Result};
use rustix::process::{Pid, Signal, kill_process};

use super::programs::{VERSIONS, not_started};

/// File in which a server reports its state: the process identifier on the first line, and on the eighth line whether
/// it is ready.
const STATE: &str = "postmaster.pid";
const LINE: usize = 7;
const POLL_INTERVAL: Duration = Duration::from_millis(50);
/// Time limit for the recovery of a copy, in which the server replays all WAL of the backup. A server that hangs would
/// otherwise block its caller for ever.
const RECOVERY: Duration = Duration::from_secs(4 * 60 * 60);
/// Time limits for an orderly shutdown and for an immediate one. After both, the process is killed.
const ENDING: [(Signal, Duration); 2] =
    [(Signal::INT, Duration::from_secs(10 * 60)), (Signal::QUIT, Duration::from_secs(60))];
/// Limit on the bytes of the server's last output that are reported.
const SAID: usize = 2_000;

/// Settings that override those of the copy: no connections to other machines, no waiting for standbys, no durability.
const SETTINGS: &[&str] = &[
    "listen_addresses=",
    "port=5432",
    "ssl=off",
    "archive_mode=off",
    "synchronous_standby_names=",
    "shared_preload_libraries=",
    "shared_buffers=128MB",
    "huge_pages=off",
    "logging_collector=off",
    "log_destination=stderr",
    "external_pid_file=",
    "fsync=off",
];

/// A running server. It ends when this value is dropped, and with this process.
pub struct CopiedServer {
    directory: PathBuf,
    stop: Option<mpsc::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl CopiedServer {
    /// Starts the server as the owner of its directory and waits until it has recovered. Blocks.
    ///
    /// # Errors
    /// `Unavailable` if this version of PostgreSQL is not installed, with the name of the package, or if the server
    /// does not start or has not recovered within four hours, with its last output.
    pub fn start(directory: &Path, version: &str) -> Result<Self> {
        let program = program(version)?;
        let (to_thread, begun) = (directory.to_owned(), mpsc::channel());
        let (stop, stopped) = mpsc::channel();
        // The server ends with the thread that started it, so that it does not outlive this process, however this
        // process ends.
        let thread = thread::spawn(move || {
            let started = spawn(&program, &to_thread).and_then(|mut child| {
                let ready = wait_until_ready(&mut child, &to_thread, RECOVERY);
                if ready.is_err() {
                    end(&mut child, &ENDING);
                }
                ready.map(|()| child)
            });
            match started {
                Ok(mut child) => {
                    // If the caller is gone already, the next line returns at once.
                    let _ = begun.0.send(Ok(()));
                    let _ = stopped.recv();
                    end(&mut child, &ENDING);
                }
                Err(error) => _ = begun.0.send(Err(error)),
            }
        });
        begun.1.recv().map_err(|e| Error::unavailable("a server's start was interrupted").with_source(e))??;
        Ok(Self { directory: directory.to_owned(), stop: Some(stop), thread: Some(thread) })
    }

    /// Converts the original address of a database, as [`crate::Location`] displays it, into its address on this
    /// server.
    pub fn address(&self, shown: &str) -> String {
        let rest = shown.strip_prefix("postgres://").unwrap_or(shown);
        let (user, rest) = rest.split_once('@').unwrap_or(("postgres", rest));
        let name = rest.rsplit_once('/').map_or(user, |(_, name)| name);
        let host = self.directory.to_string_lossy();
        format!("postgres://{}@{}:5432/{}", encode(user), encode(&host), encode(name))
    }
}

impl Drop for CopiedServer {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // The thread returns nothing.
            let _ = thread.join();
        }
    }
}

fn encode(text: &str) -> String {
    let one = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' => char::from(byte).to_string(),
        _ => format!("%{byte:02X}"),
    };
    text.bytes().map(one).collect()
}

/// Path of the server program of a major version.
fn program(version: &str) -> Result<PathBuf> {
    let debian = Path::new(VERSIONS).join(version).join("bin/postgres");
    if debian.exists() {
        return Ok(debian);
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let elsewhere = std::env::split_paths(&path).map(|folder| folder.join("postgres")).find(|place| is(place, version));
    elsewhere.ok_or_else(|| {
        Error::unavailable(format!(
            "the copy was made by PostgreSQL {version}, but the server program of that version is not installed on \
             this machine: install the package postgresql-{version}, or verify on a machine that has it"
        ))
        .with_code(Code::ProgramMissing)
    })
}

/// Returns whether a program is the server of this version. Its output looks like `postgres (PostgreSQL) 15.18`.
fn is(place: &Path, version: &str) -> bool {
    let said = Command::new(place).arg("--version").output();
    said.is_ok_and(|said| {
        let said = String::from_utf8_lossy(&said.stdout).into_owned();
        said.split_whitespace().nth(2).is_some_and(|full| full.split('.').next() == Some(version))
    })
}

fn spawn(program: &Path, directory: &Path) -> Result<Child> {
    let failed = |error: std::io::Error| {
        Error::unavailable(format!(
            "the directory {} cannot be prepared for a database server: {error}",
            directory.display()
        ))
        .with_source(error)
    };
    let owner = fs::metadata(directory).map_err(failed)?;
    // Trust is safe, because only the owner of the directory can reach the socket.
    let access = directory.join("strongroom_hba.conf");
    fs::write(&access, "local all all trust\n").map_err(failed)?;
    let own = directory.join("strongroom.conf");
    fs::write(&own, "").map_err(failed)?;
    let output = File::create(directory.join("strongroom.log")).map_err(failed)?;
    // `setpriv` makes the server end with the thread that starts it. Debian always has this program.
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", "INT", "--"]).arg(program).arg("-D").arg(directory).arg("-k").arg(directory);
    command.arg("-c").arg(format!("config_file={}", own.display()));
    command.arg("-c").arg(format!("hba_file={}", access.display()));
    for setting in SETTINGS {
        command.args(["-c", setting]);
    }
    // The server refuses to run as root, and the owner of the directory must be able to read the files written here.
    if rustix::process::geteuid().is_root() && owner.uid() != 0 {
        for file in [&access, &own] {
            std::os::unix::fs::chown(file, Some(owner.uid()), Some(owner.gid())).map_err(failed)?;
        }
        command.uid(owner.uid()).gid(owner.gid());
    }
    command.current_dir(directory).env("LC_ALL", "C.UTF-8").stdin(Stdio::null());
    command.stdout(output.try_clone().map_err(failed)?).stderr(output);
    command.spawn().map_err(|error| not_started("postgres", error))
}

fn wait_until_ready(child: &mut Child, directory: &Path, limit: Duration) -> Result<()> {
    let deadline = Instant::now() + limit;
    loop {
        if let Some(status) = child.try_wait().map_err(|error| not_started("postgres", error))? {
            return Err(Error::unavailable(format!(
                "the database server does not start from the copy ({status}): {}",
                last_output(directory)
            )));
        }
        let state = fs::read_to_string(directory.join(STATE)).unwrap_or_default();
        let mut lines = state.lines();
        if lines.next() == Some(&child.id().to_string())
            && lines.nth(LINE - 1).is_some_and(|line| line.trim() == "ready")
        {
            return Ok(());
        }
        if Instant::now() >= deadline {
            return Err(Error::unavailable(format!(
                "the database server that was started from the copy is not ready after {} minutes and was stopped: {}",
                limit.as_secs() / 60,
                last_output(directory)
            )));
        }
        thread::sleep(POLL_INTERVAL);
    }
}

fn last_output(directory: &Path) -> String {
    let said = fs::read(directory.join("strongroom.log")).unwrap_or_default();
    String::from_utf8_lossy(&said[said.len().saturating_sub(SAID)..]).trim().to_owned()
}

/// Ends the server: SIGINT closes every connection and shuts down in order. A server that does not react is ended by
/// force; its files are a copy.
fn end(child: &mut Child, ending: &[(Signal, Duration)]) {
    let Some(pid) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) else { return };
    for &(signal, limit) in ending {
        // The identifier of a process that was waited for may belong to another one.
        if !matches!(child.try_wait(), Ok(None)) {
            return;
        }
        // The process may already have exited.
        let _ = kill_process(pid, signal);
        let deadline = Instant::now() + limit;
        while Instant::now() < deadline {
            if !matches!(child.try_wait(), Ok(None)) {
                return;
            }
            thread::sleep(POLL_INTERVAL);
        }
    }
    // Fails only for a process that has exited.
    let _ = child.kill();
    let _ = child.wait();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_never_gets_ready_is_given_up() {
        let directory = tempfile::tempdir().unwrap();
        fs::write(directory.path().join("strongroom.log"), "redo in progress\n").unwrap();
        // As a server that hangs: it reacts to no signal but the last.
        let mut child = Command::new("sh").args(["-c", "trap '' INT QUIT; exec sleep 600"]).spawn().unwrap();
        let limit = Duration::from_millis(120);
        let error = wait_until_ready(&mut child, directory.path(), limit).unwrap_err();
        assert!(error.message().contains("not ready after 0 minutes"), "{}", error.message());
        assert!(error.message().ends_with("redo in progress"), "{}", error.message());
        end(&mut child, &ENDING.map(|(signal, _)| (signal, limit)));
        assert!(child.try_wait().unwrap().is_some());
    }
}
