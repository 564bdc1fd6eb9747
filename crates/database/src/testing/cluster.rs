//! A server on a directory supplied by a test, such as one restored from a backup.

use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use super::server::newest_installed;

/// Time allowed for a start, including recovery.
const START_TIMEOUT: Duration = Duration::from_secs(60);

/// A server on a directory, reached through a socket in it. It stops when this value is dropped, and is killed with the
/// test process.
pub struct Cluster {
    directory: PathBuf,
    child: Child,
}

impl Cluster {
    /// Starts the server as the owner of the directory, with settings such as `max_wal_senders=0`.
    pub fn start(directory: &Path, settings: &[&str]) -> Self {
        let (bin, _) = newest_installed();
        let owner = fs::metadata(directory).unwrap();
        let mut command = Command::new("setpriv");
        if fs::metadata("/proc/self").unwrap().uid() != owner.uid() {
            let (user, group) = (format!("--reuid={}", owner.uid()), format!("--regid={}", owner.gid()));
            command.args([&user, &group, "--clear-groups"]);
        }
        command.args(["--pdeathsig", "KILL", "--"]).arg(bin.join("postgres")).arg("-D").arg(directory);
        command.arg("-k").arg(directory).args(["-c", "listen_addresses="]);
        for setting in settings {
            command.args(["-c", setting]);
        }
        let log = directory.join("start.log");
        let output = File::create(&log).unwrap();
        command.current_dir("/").stdin(Stdio::null()).stdout(output.try_clone().unwrap()).stderr(output);
        let mut cluster = Self { directory: directory.to_owned(), child: command.spawn().unwrap() };
        let deadline = Instant::now() + START_TIMEOUT;
        while !Command::new(bin.join("pg_isready")).arg("-q").arg("-h").arg(directory).status().unwrap().success() {
            let ended = cluster.child.try_wait().unwrap();
            let said = || fs::read_to_string(&log).unwrap_or_default();
            assert!(ended.is_none(), "the server does not start: {}", said());
            assert!(Instant::now() < deadline, "the server does not start: {}", said());
            // sleep: polled, since readiness changes without a notification
            sleep(Duration::from_millis(20));
        }
        cluster
    }

    /// The address of one of the server's databases, for its superuser.
    pub fn address(&self, database: &str) -> String {
        let host = self.directory.display().to_string().replace('/', "%2F");
        format!("postgres://postgres@{host}:5432/{database}")
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        // Fails if the server has ended by itself. SIGINT closes all connections and makes it write everything out.
        let _ = Command::new("kill").args(["-INT", &self.child.id().to_string()]).status();
        let _ = self.child.wait();
    }
}
