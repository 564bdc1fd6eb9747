//! Administrator commands that run during the load of a kill loop and are killed themselves.

use std::collections::BTreeMap;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use reqwest::StatusCode;
use rustix::process::{Pid, Signal, kill_process_group};
use tempfile::TempDir;

use super::{Client, Farm, Random, bytes};

/// Number of files in the imported tree, and their sizes.
const FILES: usize = 24;
const SIZES: &[usize] = &[0, 300, 20_000, 150_000, 400_000];
/// Timeout for a command that is not killed.
const TIMEOUT: Duration = Duration::from_secs(120);

/// A command: its name in this test, and its arguments.
struct Kind {
    name: &'static str,
    words: &'static [&'static str],
}

/// `FOLDER` and `BACKUPS` are replaced by directories of the test.
const KINDS: &[Kind] = &[
    Kind { name: "import", words: &["import", "FOLDER", "Documents/imported"] },
    Kind { name: "migrate there", words: &["blobs", "migrate", "--to", "second"] },
    Kind { name: "migrate back", words: &["blobs", "migrate", "--to", "files"] },
    Kind { name: "collect", words: &["blobs", "collect", "--immediate", "--share", "100"] },
    Kind { name: "check", words: &["blobs", "check"] },
    Kind { name: "backup", words: &["backup", "BACKUPS", "--retain", "last=3"] },
    Kind { name: "compact", words: &["site", "database", "compact", "main"] },
    Kind { name: "rebuild", words: &["site", "database", "rebuild-indexes", "main"] },
];

/// The commands of a kill loop, with their directories and the number of times that each completed.
pub struct BackgroundCommands {
    scratch: TempDir,
    done: BTreeMap<&'static str, usize>,
    refused: BTreeMap<&'static str, String>,
    next: usize,
}

/// A running command.
pub struct BackgroundCommand {
    kind: &'static Kind,
    child: Child,
    said: PathBuf,
}

impl BackgroundCommands {
    /// Adds a second store to the farm, and creates a directory tree to import and the target folder.
    pub async fn prepare(farm: &Farm, client: &Client) -> Self {
        let scratch = tempfile::tempdir().unwrap();
        for number in 0..FILES {
            let folder = scratch.path().join("tree").join(format!("{}", number % 3));
            std::fs::create_dir_all(&folder).unwrap();
            std::fs::write(folder.join(format!("{number}.bin")), content(number)).unwrap();
        }
        for answer in [client.put("imported/first", Vec::new()).await, client.delete("imported/first").await] {
            assert!(answer.unwrap().status.is_success());
        }
        farm.json(&["blobs", "stores", "add", "second", "--kind", "directory", "--path", "second"]);
        Self { scratch, done: BTreeMap::new(), refused: BTreeMap::new(), next: 0 }
    }

    fn path(&self, name: &str) -> String {
        self.scratch.path().join(name).to_str().unwrap().to_owned()
    }

    /// Starts the next command, in rotation.
    pub fn begin(&mut self, farm: &Farm) -> BackgroundCommand {
        let kind = &KINDS[self.next % KINDS.len()];
        self.next += 1;
        self.start(farm, kind)
    }

    fn start(&self, farm: &Farm, kind: &'static Kind) -> BackgroundCommand {
        let said = self.scratch.path().join("said");
        let output = std::fs::File::create(&said).unwrap();
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "KILL", "--", env!("CARGO_BIN_EXE_strongroom")]);
        for word in kind.words {
            match *word {
                "FOLDER" => command.arg(self.path("tree")),
                "BACKUPS" => command.arg(self.path("backups")),
                word => command.arg(word),
            };
        }
        command.arg("--data").arg(&farm.data).stdin(Stdio::null()).process_group(0);
        command.stdout(output.try_clone().unwrap()).stderr(output);
        BackgroundCommand { kind, child: command.spawn().unwrap(), said }
    }

    /// Kills a command, or waits until it exits and records its result.
    pub fn end(&mut self, mut errand: BackgroundCommand, random: &mut Random) {
        if random.below(2) == 0 {
            errand.kill();
            return;
        }
        let status = errand.wait();
        self.note(&errand, status);
    }

    fn note(&mut self, errand: &BackgroundCommand, status: ExitStatus) {
        let said = std::fs::read_to_string(&errand.said).unwrap();
        assert!(!said.contains("panicked"), "{}: {said}", errand.kind.name);
        if status.success() {
            *self.done.entry(errand.kind.name).or_default() += 1;
            return;
        }
        assert!(status.code().is_some(), "{} ended with {status}: {said}", errand.kind.name);
        // A refused check is reported in words; a check with findings lists them.
        assert!(!said.contains("damaged"), "{}: {said}", errand.kind.name);
        assert!(!said.contains("missing"), "{}: {said}", errand.kind.name);
        self.refused.insert(errand.kind.name, said);
    }

    /// Runs each command to completion on a farm that is no longer killed, and checks the results: imported documents
    /// exist, backups verify, and nothing is missing after a collection.
    pub async fn finish(&mut self, farm: &Farm, client: &Client) {
        println!("done beside the load: {:?}, refused: {:?}", self.done, self.refused);
        for kind in KINDS {
            let deadline = Instant::now() + TIMEOUT;
            loop {
                let mut errand = self.start(farm, kind);
                let status = errand.wait();
                let before = self.done.get(kind.name).copied().unwrap_or(0);
                self.note(&errand, status);
                if self.done.get(kind.name).copied().unwrap_or(0) > before {
                    break;
                }
                assert!(Instant::now() < deadline, "{} is refused for good: {}", kind.name, self.refused[kind.name]);
                // sleep: polled, since locks of a killed command expire without a notification
                tokio::time::sleep(Duration::from_millis(500)).await;
            }
        }
        for number in 0..FILES {
            let answer = client.get(&format!("imported/{}/{number}.bin", number % 3)).await.unwrap();
            assert_eq!(answer.status, StatusCode::OK, "imported/{number}: {}", answer.text());
            assert!(answer.body == content(number), "imported/{number} is not what was imported");
        }
        let backups = self.path("backups");
        farm.run(&["backup", "verify", &backups]).unwrap_or_else(|refusal| panic!("{}", refusal.output));
        assert!(Path::new(&backups).join("sets").is_dir());
    }
}

impl BackgroundCommand {
    fn kill(&mut self) {
        // The process may already have exited.
        let _ = kill_process_group(Pid::from_child(&self.child), Signal::KILL);
        self.child.wait().unwrap();
    }

    fn wait(&mut self) -> ExitStatus {
        let deadline = Instant::now() + TIMEOUT;
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
            if Instant::now() >= deadline {
                self.kill();
                panic!("{} does not end: {}", self.kind.name, std::fs::read_to_string(&self.said).unwrap());
            }
            // sleep: polled, since a process exits without a notification
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

fn content(number: usize) -> Vec<u8> {
    bytes(7_000 + number as u64, SIZES[number % SIZES.len()])
}
