//! Test support: a farm on each engine, and trees of real files.

#![allow(dead_code, reason = "each test file uses a part")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail like tests")]

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use database::Engine;
use database::testing::{Fresh, fresh_database};
use maintenance::{ExportOptions, ExportSummary, Fault, ImportOptions, ImportSummary, Mapping, Progress, Reason};
use model::{Id, Result};
use repository::{NewAccount, Options, Repository, Session, Target};
use rustix::fs::{AtFlags, CWD, Timespec, Timestamps};
use tempfile::TempDir;

pub struct Farm {
    pub repository: Repository,
    /// Contains only the data directory `data`.
    pub directory: TempDir,
    _configuration: Fresh,
    _content: Fresh,
}

/// Runs a test on a new farm of each engine.
pub async fn each_farm<F, Fut>(test: F)
where
    F: Fn(Farm) -> Fut,
    Fut: Future<Output = ()>,
{
    for engine in [Engine::Sqlite, Engine::Postgres] {
        println!("on {}", engine.as_str());
        test(Farm::new(engine).await).await;
    }
}

impl Farm {
    pub async fn new(engine: Engine) -> Self {
        let (configuration, content) = (fresh_database(engine).await, fresh_database(engine).await);
        let directory = tempfile::tempdir().unwrap();
        let options = Options {
            directory: directory.path().join("data"),
            configuration: Some(configuration.location.clone()),
            content: Some(content.location.clone()),
            administrator_password: Some("correct horse battery".into()),
            create: true,
        };
        let (repository, _) = Repository::open(&options).await.unwrap();
        Self { repository, directory, _configuration: configuration, _content: content }
    }

    pub async fn administrator(&self) -> Session {
        self.repository.as_caller(self.repository.farm_administrator().await.unwrap())
    }

    pub async fn account(&self, login: &str) -> Id {
        let new = NewAccount { login: login.to_owned(), ..NewAccount::default() };
        self.administrator().await.create_account(new).await.unwrap().id
    }

    /// Imports a tree into the library `Documents`. Returns the summary and all faults by path.
    pub async fn import(&self, source: &Path) -> (ImportSummary, BTreeMap<String, Reason>) {
        self.import_with(source, None, false).await.unwrap()
    }

    pub async fn import_with(
        &self,
        source: &Path,
        mapping: Option<&str>,
        dry_run: bool,
    ) -> Result<(ImportSummary, BTreeMap<String, Reason>)> {
        let options = self.import_options(source, mapping, dry_run);
        let (faults, listener) = faults();
        let summary =
            maintenance::import(self.administrator().await, options, Arc::new(Progress::default()), listener).await?;
        let faults = faults.lock().unwrap().clone();
        Ok((summary, faults))
    }

    fn import_options(&self, source: &Path, mapping: Option<&str>, dry_run: bool) -> ImportOptions {
        ImportOptions {
            source: source.to_owned(),
            target: Target::path("Documents").unwrap(),
            mapping: mapping.map(|text| Mapping::parse(text).unwrap()),
            dry_run,
            exclude: Some(self.directory.path().join("data")),
            count: false,
        }
    }

    /// Imports a tree. Returns the files and bytes that the progress counts as processed at the end.
    pub async fn import_progress(&self, source: &Path) -> (u64, u64) {
        let progress = Arc::new(Progress::default());
        let options = self.import_options(source, None, false);
        maintenance::import(self.administrator().await, options, progress.clone(), |_| {}).await.unwrap();
        progress.done()
    }

    pub async fn export(&self, destination: &Path, versions: bool) -> (ExportSummary, BTreeMap<String, Reason>) {
        let options = ExportOptions {
            source: Target::path("Documents").unwrap(),
            destination: destination.to_owned(),
            versions,
            count: true,
        };
        let (faults, listener) = faults();
        let progress = Arc::new(Progress::default());
        let summary = maintenance::export(self.administrator().await, options, progress, listener).await.unwrap();
        let faults = faults.lock().unwrap().clone();
        (summary, faults)
    }
}

type Heard = Arc<Mutex<BTreeMap<String, Reason>>>;

fn faults() -> (Heard, impl FnMut(&Fault) + Send + 'static) {
    let heard = Heard::default();
    let log = heard.clone();
    (heard, move |fault: &Fault| {
        log.lock().unwrap().insert(fault.path.clone(), fault.reason);
    })
}

/// Returns content and modification time in microseconds of everything below a directory. The content of a directory is
/// none.
pub fn tree(root: &Path) -> BTreeMap<PathBuf, (Option<Vec<u8>>, i64)> {
    let mut found = BTreeMap::new();
    let mut waiting = vec![root.to_owned()];
    while let Some(directory) = waiting.pop() {
        for entry in std::fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            let status = std::fs::symlink_metadata(&path).unwrap();
            let content = if status.is_dir() {
                waiting.push(path.clone());
                None
            } else {
                Some(std::fs::read(&path).unwrap())
            };
            let time = status.mtime() * 1_000_000 + status.mtime_nsec() / 1_000;
            found.insert(path.strip_prefix(root).unwrap().to_owned(), (content, time));
        }
    }
    found
}

pub fn write(root: &Path, path: &str, content: &[u8]) {
    let path = root.join(path);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, content).unwrap();
}

pub fn set_time(path: &Path, seconds: i64, nanoseconds: i64) {
    let time = Timespec { tv_sec: seconds, tv_nsec: nanoseconds };
    let times = Timestamps { last_access: time, last_modification: time };
    rustix::fs::utimensat(CWD, path, &times, AtFlags::SYMLINK_NOFOLLOW).unwrap();
}

pub fn pipe(path: &Path) {
    let mode = rustix::fs::Mode::from_raw_mode(0o600);
    rustix::fs::mknodat(CWD, path, rustix::fs::FileType::Fifo, mode, 0).unwrap();
}
