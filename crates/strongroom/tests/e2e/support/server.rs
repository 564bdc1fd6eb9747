//! A private farm for a test, and its server process.

use std::io::{BufRead, BufReader, Read};
use std::net::TcpStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use database::Engine;
use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use serde_json::Value;
use tempfile::TempDir;

use super::Client;
use super::watch::Watched;

/// Timeout for a server to become ready, or for a command to end, on a slow and busy machine.
const TIMEOUT: Duration = Duration::from_secs(90);
/// The program under test.
const PROGRAM: &str = env!("CARGO_BIN_EXE_strongroom");
/// The administrator's password in every test.
pub const PASSWORD: &str = "correct horse battery";

/// A data directory, and the arguments of its server.
pub struct Farm {
    _watched: Watched,
    _scratch: Option<TempDir>,
    /// Data directory.
    pub data: PathBuf,
    arguments: Vec<String>,
    /// File for the servers' log. If `None`, the log is kept in memory.
    pub log: Option<PathBuf>,
    /// Command prefix under which servers and commands run, such as a program that makes calls fail or changes the
    /// time.
    pub command_prefix: Vec<String>,
    /// The program that runs as the server.
    pub program: PathBuf,
}

/// A server or command that ended by itself: its exit status and all its output.
#[derive(Debug)]
pub struct Refusal {
    pub status: ExitStatus,
    pub output: String,
}

/// A running server, killed when dropped. Its output is shown if the test fails.
pub struct Server {
    child: Child,
    log: Arc<Mutex<Vec<String>>>,
    /// Base URL, such as `http://127.0.0.1:40123`.
    pub address: String,
}

impl Farm {
    /// A new farm in its own directory, with its databases on this engine.
    pub async fn on(engine: Engine) -> Self {
        if engine == Engine::Postgres {
            let (content, configuration) =
                (database::testing::fresh_postgres().await, database::testing::fresh_postgres().await);
            return Self::with_databases(&content, &configuration);
        }
        Self::in_scratch(&[])
    }

    /// A new farm in its own directory, with its content and configuration in these PostgreSQL databases.
    pub fn with_databases(content: &str, configuration: &str) -> Self {
        Self::in_scratch(&["--database", content, "--configuration-database", configuration])
    }

    /// A new farm in its own directory, with its content in this PostgreSQL database and its configuration in a SQLite
    /// file.
    pub fn with_content(content: &str) -> Self {
        Self::in_scratch(&["--database", content])
    }

    fn in_scratch(arguments: &[&str]) -> Self {
        let scratch = tempfile::tempdir().unwrap();
        let mut farm = Self::at(scratch.path().join("data"));
        farm.arguments = arguments.iter().copied().map(str::to_owned).collect();
        farm._scratch = Some(scratch);
        farm
    }

    /// A new farm on SQLite in the given directory.
    pub fn at(data: impl Into<PathBuf>) -> Self {
        Self {
            _watched: Watched::new(),
            _scratch: None,
            data: data.into(),
            arguments: Vec::new(),
            log: None,
            command_prefix: Vec::new(),
            program: PROGRAM.into(),
        }
    }

    fn command(&self) -> Command {
        // The server is killed if the test process ends.
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "KILL", "--"]).args(&self.command_prefix).arg(&self.program);
        command.args(["serve", "--data"]);
        command.arg(&self.data).args(["--listen", "127.0.0.1:0"]).args(&self.arguments);
        command.env("STRONGROOM_ADMIN_PASSWORD", PASSWORD);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
        command
    }

    /// Starts a server without waiting for it.
    pub fn spawn(&self) -> Server {
        let mut command = self.command();
        if let Some(path) = &self.log {
            command.stderr(std::fs::OpenOptions::new().create(true).append(true).open(path).unwrap());
        }
        let mut child = command.spawn().unwrap_or_else(|error| panic!("setpriv does not start: {error}"));
        let log = Arc::new(Mutex::new(Vec::new()));
        keep(child.stdout.take().unwrap(), Arc::clone(&log));
        child.stderr.take().into_iter().for_each(|stderr| keep(stderr, Arc::clone(&log)));
        Server { child, log, address: String::new() }
    }

    /// Starts a server and waits until it is ready. Returns a [`Refusal`] if it ends instead.
    pub fn try_start(&self) -> Result<Server, Refusal> {
        self.start_until(Server::is_ready)
    }

    /// Starts a server and waits until it listens, ready or not. Returns a [`Refusal`] if it ends instead.
    pub fn start_listening(&self) -> Result<Server, Refusal> {
        self.start_until(Server::listens)
    }

    fn start_until(&self, is_reached: fn(&mut Server) -> bool) -> Result<Server, Refusal> {
        let mut server = self.spawn();
        let deadline = Instant::now() + TIMEOUT;
        loop {
            if let Some(status) = server.child.try_wait().unwrap() {
                // The output is complete only once both pipes have been read to their end.
                let said = server.last_words();
                return Err(Refusal { status, output: said });
            }
            if is_reached(&mut server) {
                return Ok(server);
            }
            assert!(Instant::now() < deadline, "the server does not become ready:\n{}", server.output());
            // sleep: polled, since readiness changes without a notification
            thread::sleep(Duration::from_millis(5));
        }
    }

    /// Starts a server that must become ready.
    pub fn start(&self) -> Server {
        self.try_start()
            .unwrap_or_else(|refusal| panic!("the server ended with {}:\n{}", refusal.status, refusal.output))
    }

    /// Runs another command of the program on the data directory. `words` precede `--data`.
    pub fn run(&self, words: &[&str]) -> Result<String, Refusal> {
        let program = [env!("CARGO_BIN_EXE_strongroom").to_owned()];
        let mut line = self.command_prefix.iter().chain(&program);
        let mut command = Command::new(line.next().unwrap());
        let output =
            command.args(line).args(words).arg("--data").arg(&self.data).stdin(Stdio::null()).output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        if output.status.success() {
            Ok(text(&output.stdout))
        } else {
            Err(Refusal { status: output.status, output: text(&output.stdout) + &text(&output.stderr) })
        }
    }

    /// Runs a command that must succeed and prints JSON.
    pub fn json(&self, words: &[&str]) -> Value {
        let words: Vec<&str> = words.iter().copied().chain(["--json"]).collect();
        let said =
            self.run(&words).unwrap_or_else(|refusal| panic!("{words:?}: {}\n{}", refusal.status, refusal.output));
        serde_json::from_str(&said).unwrap_or_else(|error| panic!("{words:?} printed no JSON ({error}):\n{said}"))
    }

    /// Runs a command that prints JSON, whether it succeeds or not.
    pub fn json_any_status(&self, words: &[&str]) -> Value {
        let words: Vec<&str> = words.iter().copied().chain(["--json"]).collect();
        let said = self.run(&words).unwrap_or_else(|refusal| refusal.output);
        serde_json::from_str(&said).unwrap_or_else(|error| panic!("{words:?} printed no JSON ({error}):\n{said}"))
    }

    /// Runs `strongroom blobs check`, which re-reads every byte of the stores and follows every reference. It must find
    /// no fault.
    pub fn check_blobs(&self) {
        let check = self.json(&["blobs", "check"]);
        assert_eq!(check["faults"].as_array().map(Vec::len), Some(0), "{check:#}");
    }

    /// Creates a token for the administrator.
    pub fn token(&self) -> String {
        self.token_named("test")
    }

    /// Creates another token for the administrator.
    pub fn token_named(&self, name: &str) -> String {
        let token = self.json(&["user", "token", "create", "admin", name]);
        token["secret"].as_str().unwrap_or_else(|| panic!("no secret in {token}")).to_owned()
    }
}

/// Collects the lines of a pipe in a thread that ends with the pipe.
fn keep(pipe: impl Read + Send + 'static, log: Arc<Mutex<Vec<String>>>) {
    thread::spawn(move || {
        for line in BufReader::new(pipe).lines() {
            let Ok(line) = line else { return };
            log.lock().unwrap().push(line);
        }
    });
}

impl Server {
    /// All output of the server so far.
    pub fn output(&self) -> String {
        self.log.lock().unwrap().join("\n")
    }

    fn last_words(&mut self) -> String {
        let deadline = Instant::now() + Duration::from_secs(10);
        // Both threads drop their reference to the log at the end of their pipe.
        while Arc::strong_count(&self.log) > 1 && Instant::now() < deadline {
            // sleep: polled, since the threads end without a notification
            thread::sleep(Duration::from_millis(2));
        }
        self.output()
    }

    /// Waits until the server reports its address, without sending a request.
    pub fn wait_until_it_listens(&mut self) {
        let deadline = Instant::now() + TIMEOUT;
        while !self.listens() {
            assert!(Instant::now() < deadline, "the server does not listen:\n{}", self.output());
            // sleep: polled, since log lines arrive without a notification
            thread::sleep(Duration::from_millis(5));
        }
    }

    fn listens(&mut self) -> bool {
        if self.address.is_empty() {
            let said = self.output();
            // Other addresses may stand in the log before.
            let serves = "Strongroom serves at ";
            let Some(at) = said.find(&format!("{serves}http://127.0.0.1:")) else { return false };
            self.address = said[at + serves.len()..].split(['/', ' ', '\n']).take(3).collect::<Vec<_>>().join("/");
        }
        true
    }

    fn is_ready(&mut self) -> bool {
        if !self.listens() {
            return false;
        }
        use std::io::Write;
        let Ok(mut stream) = TcpStream::connect(self.host()) else { return false };
        let _ = stream.set_read_timeout(Some(Duration::from_secs(5)));
        let mut answer = [0; 12];
        stream.write_all(b"GET /readyz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").is_ok()
            && stream.read_exact(&mut answer).is_ok()
            && &answer == b"HTTP/1.1 200"
    }

    /// Host and port.
    pub fn host(&self) -> &str {
        self.address.trim_start_matches("http://")
    }

    /// The server's process.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Returns whether the process is still running.
    pub fn is_alive(&mut self) -> bool {
        self.child.try_wait().unwrap().is_none()
    }

    /// A client with a bearer token.
    pub fn client(&self, token: &str) -> Client {
        Client::new(&self.address, token)
    }

    /// Kills the server, as a crash would.
    pub fn kill(mut self) {
        self.end();
    }

    fn end(&mut self) {
        if let Some(group) = Pid::from_raw(self.child.id() as i32) {
            let _ = kill_process_group(group, Signal::KILL);
        }
        let _ = self.child.wait();
    }

    /// Stops the server gracefully and waits until it has exited.
    pub fn stop(mut self) -> ExitStatus {
        kill_process(Pid::from_raw(self.child.id() as i32).unwrap(), Signal::TERM).unwrap();
        let deadline = Instant::now() + TIMEOUT;
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
            assert!(Instant::now() < deadline, "the server does not stop:\n{}", self.output());
            // sleep: polled, since a process exits without a notification
            thread::sleep(Duration::from_millis(5));
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.end();
        if thread::panicking() {
            let said = self.last_words();
            println!("---- the server at {} said:\n{said}\n----", self.address);
        }
    }
}

/// Every file below a directory.
pub fn files_below(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files_below(&path));
        } else {
            found.push(path);
        }
    }
    found
}

/// Removes all contents of a directory.
pub fn empty(directory: &Path) {
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => std::fs::remove_dir_all(&path).unwrap(),
            false => std::fs::remove_file(&path).unwrap(),
        }
    }
}
