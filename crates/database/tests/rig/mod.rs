//! Shared parts of the tests of SQLite files: a table, and runs of one test in a child process with an injected fault.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use database::{Database, Location, Options, Schema, Sql, Transaction, params};
use model::Result;

pub const CREATE: Sql = Sql::new("CREATE TABLE thing (id BIGINT NOT NULL PRIMARY KEY, bytes BLOB NOT NULL)");
pub const INSERT: Sql = Sql::new("INSERT INTO thing (id, bytes) VALUES ($1, $2)");
pub const COUNT: Sql = Sql::new("SELECT count(*) FROM thing");

pub async fn open(path: &Path) -> Database {
    try_open(path, &Options::default()).await.unwrap()
}

pub async fn try_open(path: &Path, options: &Options) -> Result<Database> {
    Database::make(&Location::Sqlite(path.to_owned()), Schema::Content, options).await
}

pub async fn count(db: &Database) -> i64 {
    db.read(|r| r.find(COUNT, &[], |row| row.get(0))).await.unwrap().unwrap()
}

pub fn insert(t: &mut Transaction<'_>, id: i64, size: usize) -> Result<u64> {
    t.execute(INSERT, &params![id, vec![id as u8; size]])
}

/// Runs one test of this file in a child process under `wrapper`, with a working directory.
pub fn in_child(test: &str, directory: &Path, wrapper: &[&str]) -> Command {
    let program = std::env::current_exe().unwrap();
    let mut command = Command::new(wrapper[0]);
    command.args(&wrapper[1..]).arg(program).args(["--exact", test, "--nocapture", "--test-threads=1"]);
    command.env("DATABASE_TEST_CHILD", directory);
    command
}

/// The working directory, if this process is such a child.
pub fn child_directory() -> Option<PathBuf> {
    std::env::var_os("DATABASE_TEST_CHILD").map(PathBuf::from)
}

pub fn assert_success(mut command: Command) {
    let output = command.output().unwrap();
    // A name that matches no test would also exit successfully.
    assert!(
        output.status.success(),
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    assert!(
        String::from_utf8_lossy(&output.stdout).contains("1 passed"),
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
}

pub fn is_root() -> bool {
    use std::os::unix::fs::MetadataExt;
    fs::metadata("/proc/self").unwrap().uid() == 0
}
