//! A real S3 server for tests: versitygw over a scratch directory, on a free loopback port.

#![expect(clippy::panic, reason = "test support: a server that does not start is a failed test")]

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::{ObjectOptions, ObjectSecrets, Timeouts};

const KEY_ID: &str = "test";
const SECRET: &str = "testtest";

/// A running server with a bucket named `blobs`. Dropping it stops the server.
pub struct S3Server {
    process: Child,
    port: u16,
    root: PathBuf,
}

impl S3Server {
    /// Starts a server that keeps its objects as files below `root`, which must exist.
    ///
    /// # Panics
    /// When versitygw is not installed (`./check` installs it) or does not start.
    pub fn start(root: &Path) -> Self {
        Self::start_with(root, &[])
    }

    /// Like [`Self::start`], but over TLS with this certificate and its key, both PEM files.
    pub fn start_tls(root: &Path, certificate: &Path, key: &Path) -> Self {
        let text = |path: &Path| path.display().to_string();
        Self::start_with(root, &["--cert".to_owned(), text(certificate), "--key".to_owned(), text(key)])
    }

    fn start_with(root: &Path, arguments: &[String]) -> Self {
        let root = root.join("s3");
        std::fs::create_dir_all(root.join("blobs")).unwrap_or_else(|e| panic!("{}: {e}", root.display()));
        // Another process may take the port between its selection and its use.
        for _ in 0..10 {
            let port = free_port();
            let mut process = spawn(&root, port, arguments);
            if answers(&mut process, port) {
                return Self { process, port, root };
            }
        }
        panic!("versitygw does not start");
    }

    /// Address on which it listens.
    pub fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// The directory of the bucket, which has a file for each object.
    pub fn bucket(&self) -> PathBuf {
        self.root.join("blobs")
    }

    /// Returns options for this server, below `prefix`, with short timeouts.
    pub fn options(&self, prefix: &str) -> ObjectOptions {
        options_at(&self.address(), prefix)
    }

    /// Its credential.
    pub fn secrets(&self) -> ObjectSecrets {
        ObjectSecrets { key_id: KEY_ID.to_owned(), secret: SECRET.to_owned(), ..Default::default() }
    }
}

/// Returns options for the server, or for a proxy in front of it, at this address.
pub fn options_at(address: &str, prefix: &str) -> ObjectOptions {
    ObjectOptions {
        endpoint: Some(format!("http://{address}")),
        bucket: "blobs".to_owned(),
        prefix: prefix.to_owned(),
        allow_http: true,
        patience: Timeouts { connect_seconds: 2, answer_seconds: 2, retry_seconds: 5, retries: 2 },
        ..Default::default()
    }
}

impl Drop for S3Server {
    fn drop(&mut self) {
        // The process may already have exited.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Path of versitygw: where `./check` installs it, otherwise its name for a search in `PATH`.
fn program() -> PathBuf {
    let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let cache = cache.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cache")));
    let installed = cache.map(|cache| cache.join("strongroom-check/bin/versitygw")).filter(|path| path.exists());
    installed.unwrap_or_else(|| PathBuf::from("versitygw"))
}

fn spawn(root: &Path, port: u16, arguments: &[String]) -> Child {
    let started = Command::new(program())
        .args(["--quiet", "--keep-alive", "--port", &format!("127.0.0.1:{port}")])
        .args(arguments)
        .arg("posix")
        .arg(root)
        .env("ROOT_ACCESS_KEY", KEY_ID)
        .env("ROOT_SECRET_KEY", SECRET)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    started.unwrap_or_else(|e| panic!("the S3 server versitygw is missing ({e}): run ./check, which installs it"))
}

fn answers(process: &mut Child, port: u16) -> bool {
    let start = Instant::now();
    while start.elapsed() < Duration::from_secs(20) {
        match process.try_wait() {
            Ok(None) => {}
            _ => return false,
        }
        if std::net::TcpStream::connect(("127.0.0.1", port)).is_ok() {
            return true;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    false
}

fn free_port() -> u16 {
    let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).and_then(|listener| listener.local_addr());
    listener.unwrap_or_else(|e| panic!("no free port: {e}")).port()
}
