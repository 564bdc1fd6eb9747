//! What holds for SQLite files: group commit, faults of the disk, other processes, the log.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail the test")]

use std::fs;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::mpsc;
use std::time::Duration;

use database::{Database, Location, Options, Schema, Sql, Transaction, params};
use model::{Error, ErrorKind, Result};

const CREATE: Sql = Sql::new("CREATE TABLE thing (id BIGINT NOT NULL PRIMARY KEY, bytes BLOB NOT NULL)");
const INSERT: Sql = Sql::new("INSERT INTO thing (id, bytes) VALUES ($1, $2)");
const DELETE: Sql = Sql::new("DELETE FROM thing WHERE id = $1");
const COUNT: Sql = Sql::new("SELECT count(*) FROM thing");
const IDS: Sql = Sql::new("SELECT id FROM thing ORDER BY id");

async fn open(path: &Path) -> Database {
    try_open(path, &Options::default()).await.unwrap()
}

async fn try_open(path: &Path, options: &Options) -> Result<Database> {
    Database::open(&Location::Sqlite(path.to_owned()), Schema::Content, options).await
}

async fn count(db: &Database) -> i64 {
    db.read(|r| r.find(COUNT, &[], |row| row.get(0))).await.unwrap().unwrap()
}

fn insert(t: &mut Transaction<'_>, id: i64, size: usize) -> Result<u64> {
    t.execute(INSERT, &params![id, vec![id as u8; size]])
}

/// Runs one test of this file in a process of its own, under `wrapper`, with a directory to work in.
fn in_child(test: &str, directory: &Path, wrapper: &[&str]) -> Command {
    let program = std::env::current_exe().unwrap();
    let mut command = Command::new(wrapper[0]);
    command.args(&wrapper[1..]).arg(program).args(["--exact", test, "--nocapture", "--test-threads=1"]);
    command.env("DATABASE_TEST_CHILD", directory);
    command
}

/// Runs one test of this file in a process that has a disk of so many megabytes.
fn on_small_disk(test: &str, megabytes: u32) {
    let directory = tempfile::tempdir().unwrap();
    let disk = directory.path().join("disk");
    fs::create_dir(&disk).unwrap();
    let mount = format!("mount -t tmpfs -o size={megabytes}m tmpfs \"$DATABASE_TEST_CHILD\" && exec \"$0\" \"$@\"");
    // A mount namespace of its own, so that nothing is left behind however the child ends.
    let unshare: &[&str] = if is_root() { &["unshare", "-m"] } else { &["unshare", "-rm"] };
    assert_success(in_child(test, &disk, &[unshare, &["sh", "-c", &mount]].concat()));
}

/// The directory, when this process is such a child.
fn child_directory() -> Option<PathBuf> {
    std::env::var_os("DATABASE_TEST_CHILD").map(PathBuf::from)
}

fn assert_success(mut command: Command) {
    let output = command.output().unwrap();
    // A name that matches no test would also end well.
    assert!(
        output.status.success() && String::from_utf8_lossy(&output.stdout).contains("1 passed"),
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
}

fn is_root() -> bool {
    use std::os::unix::fs::MetadataExt;
    fs::metadata("/proc/self").unwrap().uid() == 0
}

/// Lets the writer, which the first of the jobs holds, go on when all of them wait, so that they share one batch.
async fn in_one_batch(jobs: Vec<tokio::task::JoinHandle<()>>, release: mpsc::Sender<()>) {
    // Each task has put its transaction into the queue once it waits for the answer; yielding lets all of them get there.
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    drop(release);
    for job in jobs {
        job.await.unwrap();
    }
}

#[tokio::test]
async fn one_failure_in_a_batch_does_not_disturb_the_others() {
    let directory = tempfile::tempdir().unwrap();
    let db = open(&directory.path().join("x.db")).await;
    db.write(|t| t.execute(CREATE, &[])).await.unwrap();
    for round in 0..20i64 {
        let base = round * 10;
        let (release, held) = mpsc::channel::<()>();
        let held = std::sync::Mutex::new(held);
        let blocker = {
            let db = db.clone();
            tokio::spawn(async move {
                db.write(move |t| {
                    let _ = held.lock().unwrap().recv();
                    insert(t, base, 10)
                })
                .await
                .unwrap();
            })
        };
        let mut jobs = vec![blocker];
        for job in 1..=5i64 {
            let db = db.clone();
            jobs.push(tokio::spawn(async move {
                let outcome = db
                    .write(move |t| {
                        insert(t, base + job, 10)?;
                        match job {
                            2 => insert(t, base + 1, 10).map(drop),
                            3 => panic!("on purpose"),
                            4 => Err(Error::invalid("changed my mind")),
                            _ => Ok(()),
                        }
                    })
                    .await;
                let code = outcome.err().map(|error| error.code());
                assert_eq!(
                    code,
                    [None, Some("unique_violation"), Some("internal_error"), Some("invalid"), None][job as usize - 1]
                );
            }));
        }
        in_one_batch(jobs, release).await;
        assert_eq!(count(&db).await, (round + 1) * 3);
    }
}

#[tokio::test]
async fn a_transaction_that_does_not_fit_fails_alone_and_reading_goes_on() {
    let directory = tempfile::tempdir().unwrap();
    let db = open(&directory.path().join("x.db")).await;
    db.write(|t| t.execute(CREATE, &[])).await.unwrap();
    let pages = db.read(|r| r.find(Sql::new("SELECT page_count FROM pragma_page_count"), &[], |row| row.get::<i64>(0)));
    assert!(pages.await.unwrap().unwrap() < 300);
    db.write(|t| t.query(Sql::new("PRAGMA max_page_count = 400"), &[], |_| Ok(()))).await.unwrap();
    for round in 0..10i64 {
        let (release, held) = mpsc::channel::<()>();
        let held = std::sync::Mutex::new(held);
        let mut jobs = vec![tokio::spawn({
            let db = db.clone();
            async move {
                let waited = db.write(move |_| {
                    let _ = held.lock().unwrap().recv();
                    Ok(())
                });
                waited.await.unwrap();
            }
        })];
        for job in 0..5i64 {
            let db = db.clone();
            jobs.push(tokio::spawn(async move {
                let size = if job == 2 { 4_000_000 } else { 100 };
                let outcome = db.write(move |t| insert(t, round * 10 + job, size)).await;
                match outcome {
                    Ok(_) => assert_ne!(job, 2),
                    Err(error) => {
                        assert_eq!(job, 2, "{error:?}");
                        assert_eq!((error.kind(), error.code()), (ErrorKind::Exhausted, "disk_full"));
                    }
                }
            }));
        }
        in_one_batch(jobs, release).await;
        assert_eq!(count(&db).await, (round + 1) * 4);
    }
}

#[tokio::test]
async fn a_full_disk_stops_writes_and_damages_nothing() {
    let test = "a_full_disk_stops_writes_and_damages_nothing";
    let Some(directory) = child_directory() else {
        return on_small_disk(test, 8);
    };
    let path = directory.join("x.db");
    let filler = directory.join("filler");
    fs::write(&filler, vec![1; 1 << 20]).unwrap();
    let db = open(&path).await;
    db.write(|t| t.execute(CREATE, &[])).await.unwrap();
    let mut stored = 0;
    let error = loop {
        match db.write(move |t| insert(t, stored, 20_000)).await {
            Ok(_) => stored += 1,
            Err(error) => break error,
        }
    };
    assert_eq!((error.kind(), error.code()), (ErrorKind::Exhausted, "disk_full"), "{error:?}");
    assert!(error.message().contains("x.db") && stored > 10);
    assert_eq!(count(&db).await, stored);
    // As soon as there is space again, writing goes on.
    fs::remove_file(&filler).unwrap();
    db.write(move |t| insert(t, stored, 20_000)).await.unwrap();
    stored += 1;
    db.close().await;

    let db = open(&path).await;
    assert_eq!(count(&db).await, stored);
    let check = db.read(|r| r.find(Sql::new("PRAGMA integrity_check"), &[], |row| row.get::<String>(0))).await;
    assert_eq!(check.unwrap().as_deref(), Some("ok"));
    db.close().await;
}

/// Adds rows of ever smaller sizes until the disk takes none any more; returns the number of the next one.
async fn fill(db: &Database, first: i64) -> i64 {
    let mut next = first;
    for size in [100_000, 10_000, 100] {
        loop {
            let (id, outcome) = (next, db.write(move |t| insert(t, next, size)).await);
            match outcome {
                Ok(_) => next = id + 1,
                Err(error) => {
                    assert_eq!((error.kind(), error.code()), (ErrorKind::Exhausted, "disk_full"), "{error:?}");
                    break;
                }
            }
        }
    }
    next
}

/// Takes what is left of a disk, as another program would.
fn take_the_rest(directory: &Path) -> PathBuf {
    let filler = directory.join("filler");
    let mut file = fs::File::create(&filler).unwrap();
    while file.write_all(&[1; 512]).is_ok() {}
    filler
}

#[tokio::test]
async fn a_full_disk_lets_vital_transactions_through() {
    let test = "a_full_disk_lets_vital_transactions_through";
    let Some(directory) = child_directory() else {
        return on_small_disk(test, 24);
    };
    let path = directory.join("x.db");
    let reserve = || fs::metadata(directory.join("x.db-reserve")).unwrap().len();
    let db = open(&path).await;
    db.write(|t| t.execute(CREATE, &[])).await.unwrap();
    let stored = fill(&db, 0).await;
    let filler = take_the_rest(&directory);
    assert!(stored > 60 && reserve() >= 4 << 20, "{stored} {}", reserve());

    // Each changes pages that the log has no room for outside of what was kept back.
    for id in 0..50i64 {
        let deleted = db.write_vital(move |t| t.execute(DELETE, &params![id])).await;
        assert_eq!(deleted.unwrap(), 1);
    }
    for id in 0..500i64 {
        db.write_vital(move |t| insert(t, 1_000_000 + id, 200)).await.unwrap();
    }
    let left = count(&db).await;
    assert_eq!(left, stored - 50 + 500);

    // Stopped and started, with what was kept back in use by others or not.
    for taken in [false, true] {
        db.close().await;
        if taken {
            take_the_rest(&directory);
        }
        let db = open(&path).await;
        db.write_vital(|t| t.execute(DELETE, &params![60])).await.unwrap();
        db.write_vital(|t| insert(t, 60, 200)).await.unwrap();
        assert_eq!(count(&db).await, left);
        db.close().await;
    }

    // With room again, everything goes on at once.
    fs::remove_file(&filler).unwrap();
    let db = open(&path).await;
    db.require_room().unwrap();
    db.write(move |t| insert(t, 2_000_000, 1000)).await.unwrap();
    let check = db.read(|r| r.find(Sql::new("PRAGMA integrity_check"), &[], |row| row.get::<String>(0))).await;
    assert_eq!(check.unwrap().as_deref(), Some("ok"));
    db.close().await;
}

#[tokio::test]
async fn what_adds_content_waits_until_the_room_is_kept_back_again() {
    let test = "what_adds_content_waits_until_the_room_is_kept_back_again";
    let Some(directory) = child_directory() else {
        return on_small_disk(test, 32);
    };
    let path = directory.join("x.db");
    let db = open(&path).await;
    db.write(|t| t.execute(CREATE, &[])).await.unwrap();
    let (little, much) = (directory.join("little"), directory.join("much"));
    fs::write(&little, vec![1; 1 << 20]).unwrap();
    fs::write(&much, vec![1; 8 << 20]).unwrap();
    let stored = fill(&db, 0).await;
    take_the_rest(&directory);
    db.require_room().unwrap();
    // Rows that the database grows by take from what is kept back, until it is used up.
    let mut added = 0;
    let error = loop {
        match db.write_vital(move |t| insert(t, stored + added, 50_000)).await {
            Ok(_) => added += 1,
            Err(error) => break error,
        }
    };
    assert_eq!(error.code(), "disk_full");
    assert!((4 << 20) / 50_000 / 3 < added, "{added}");
    assert_eq!(db.require_room().unwrap_err().code(), "disk_full");
    // Even what would find room.
    fs::remove_file(&little).unwrap();
    assert_eq!(db.write(|t| t.execute(DELETE, &params![0])).await.unwrap_err().code(), "disk_full");
    assert_eq!(db.write_vital(|t| t.execute(DELETE, &params![0])).await.unwrap(), 1);
    assert_eq!(count(&db).await, stored + added - 1);

    fs::remove_file(&much).unwrap();
    let deadline = std::time::Instant::now() + Duration::from_secs(20);
    while let Err(error) = db.write(move |t| insert(t, stored + added, 50_000)).await {
        assert!(error.code() == "disk_full" && std::time::Instant::now() < deadline, "{error:?}");
        tokio::task::yield_now().await;
    }
    db.require_room().unwrap();
    assert_eq!(count(&db).await, stored + added);
    db.close().await;
}

#[tokio::test]
async fn an_error_of_the_disk_acknowledges_nothing_and_loses_nothing() {
    let test = "an_error_of_the_disk_acknowledges_nothing_and_loses_nothing";
    let Some(directory) = child_directory() else {
        let directory = tempfile::tempdir().unwrap();
        // Files cannot grow past 2 MB: the write fails with an error that is not about space.
        let limit = "trap '' XFSZ; ulimit -f 4096; exec \"$0\" \"$@\"";
        assert_success(in_child(test, directory.path(), &["sh", "-c", limit]));
        let acknowledged: i64 = fs::read_to_string(directory.path().join("acknowledged")).unwrap().parse().unwrap();
        assert!(acknowledged > 10);
        let db = open(&directory.path().join("x.db")).await;
        let ids = db.read(|r| r.query(IDS, &[], |row| row.get::<i64>(0))).await.unwrap();
        assert_eq!(ids, (0..acknowledged).collect::<Vec<_>>());
        return;
    };
    let db = open(&directory.join("x.db")).await;
    db.write(|t| t.execute(CREATE, &[])).await.unwrap();
    let mut stored = 0;
    let error = loop {
        match db.write(move |t| insert(t, stored, 20_000)).await {
            Ok(_) => stored += 1,
            Err(error) => break error,
        }
    };
    assert_eq!((error.kind(), error.code()), (ErrorKind::Unavailable, "disk_error"), "{error:?}");
    assert_eq!(count(&db).await, stored);
    let again = db.write(move |t| insert(t, stored, 1_000_000)).await.unwrap_err();
    assert_eq!(again.kind(), ErrorKind::Unavailable);
    assert_eq!(count(&db).await, stored);
    fs::write(directory.join("acknowledged"), stored.to_string()).unwrap();
}

#[tokio::test]
async fn a_flush_that_failed_acknowledges_nothing_and_is_not_retried() {
    let test = "a_flush_that_failed_acknowledges_nothing_and_is_not_retried";
    let Some(directory) = child_directory() else {
        let directory = tempfile::tempdir().unwrap();
        // The 15th flush of each thread fails, which only the one that commits reaches.
        let fault = ["strace", "-f", "-qq", "-o", "/dev/null", "-e", "inject=fsync,fdatasync:error=EIO:when=15"];
        assert_success(in_child(test, directory.path(), &fault));
        let db = open(&directory.path().join("x.db")).await;
        let ids = db.read(|r| r.query(IDS, &[], |row| row.get::<i64>(0))).await.unwrap();
        assert_eq!(ids.len(), 39);
        return;
    };
    let db = open(&directory.join("x.db")).await;
    db.write(|t| t.execute(CREATE, &[])).await.unwrap();
    let mut failed = Vec::new();
    for id in 0..40i64 {
        if let Err(error) = db.write(move |t| insert(t, id, 1000)).await {
            assert_eq!((error.kind(), error.code()), (ErrorKind::Unavailable, "outcome_unknown"), "{error:?}");
            failed.push(id);
        }
        assert_eq!(count(&db).await, id + 1 - failed.len() as i64);
    }
    assert_eq!(failed.len(), 1);
    db.close().await;
}

#[tokio::test]
async fn a_directory_that_cannot_be_written_is_told_clearly() {
    let test = "a_directory_that_cannot_be_written_is_told_clearly";
    let Some(directory) = child_directory() else {
        use std::os::unix::fs::PermissionsExt;
        let directory = tempfile::tempdir().unwrap();
        open(&directory.path().join("x.db")).await.close().await;
        let mode = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        mode(&directory.path().join("x.db"), 0o444);
        mode(directory.path(), 0o555);
        // The superuser may write anywhere; without these capabilities it may not.
        let plain: &[&str] =
            if is_root() { &["setpriv", "--bounding-set", "-dac_override,-dac_read_search,-fowner"] } else { &["env"] };
        assert_success(in_child(test, directory.path(), plain));
        mode(directory.path(), 0o755);
        return;
    };
    let options = Options { patience: Duration::from_millis(200), ..Options::default() };
    for name in ["x.db", "new.db", "missing/x.db"] {
        let error = try_open(&directory.join(name), &options).await.err().unwrap();
        assert_eq!(error.kind(), ErrorKind::Unavailable, "{error:?}");
        assert!(["read_only", "cannot_open"].contains(&error.code()), "{error:?}");
        assert!(error.message().contains(name), "{error}");
    }
}

#[tokio::test]
async fn a_damaged_file_is_corrupt_and_left_as_it_is() {
    let directory = tempfile::tempdir().unwrap();
    for garbage in [b"not a database".to_vec(), b"not a database".repeat(1000)] {
        let path = directory.path().join("garbage.db");
        fs::write(&path, &garbage).unwrap();
        let error = try_open(&path, &Options::default()).await.err().unwrap();
        assert_eq!((error.kind(), error.code()), (ErrorKind::Corrupt, "database_corrupt"), "{error:?}");
        assert_eq!(fs::read(&path).unwrap(), garbage);
    }

    let path = directory.path().join("x.db");
    let db = open(&path).await;
    db.write(|t| t.execute(CREATE, &[])).await.unwrap();
    db.write(|t| (0..200).try_for_each(|id| insert(t, id, 1000).map(drop))).await.unwrap();
    db.close().await;
    let mut file = fs::OpenOptions::new().read(true).write(true).open(&path).unwrap();
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).unwrap();
    // From the middle on, where the rows are.
    file.seek(SeekFrom::Start(bytes.len() as u64 / 2)).unwrap();
    file.write_all(&vec![0xAA; bytes.len() / 2]).unwrap();
    drop(file);
    let db = open(&path).await;
    let scan = db.read_long(|r| r.query(Sql::new("SELECT bytes FROM thing"), &[], |row| row.get::<Vec<u8>>(0))).await;
    assert_eq!(scan.unwrap_err().kind(), ErrorKind::Corrupt);
    let write = db.write(|t| (1000..1200).try_for_each(|id| insert(t, id, 1000).map(drop))).await;
    assert_eq!(write.unwrap_err().kind(), ErrorKind::Corrupt);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_process_may_use_the_same_file() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("x.db");
    let options = Options { patience: Duration::from_millis(500), ..Options::default() };
    let db = try_open(&path, &options).await.unwrap();
    db.write(|t| t.execute(CREATE, &[])).await.unwrap();
    let other = try_open(&path, &options).await.unwrap();
    let mut tasks = tokio::task::JoinSet::new();
    for id in 0..200i64 {
        let db = if id % 2 == 0 { db.clone() } else { other.clone() };
        tasks.spawn(async move { db.write(move |t| insert(t, id, 100)).await });
    }
    assert!(tasks.join_all().await.iter().all(Result::is_ok));
    assert_eq!((count(&db).await, count(&other).await), (200, 200));

    // A lock that is held longer than anybody waits: refused in bounded time, all who wait at once.
    let (release, held) = mpsc::channel::<()>();
    let (locked, is_locked) = mpsc::channel::<()>();
    let held = std::sync::Mutex::new(held);
    let holder = tokio::spawn({
        let other = other.clone();
        async move {
            other
                .write(move |t| {
                    let done = insert(t, 1000, 100);
                    locked.send(()).unwrap();
                    let _ = held.lock().unwrap().recv();
                    done
                })
                .await
        }
    });
    tokio::task::spawn_blocking(move || is_locked.recv().unwrap()).await.unwrap();
    let started = std::time::Instant::now();
    let mut tasks = tokio::task::JoinSet::new();
    for id in 2000..2050i64 {
        let db = db.clone();
        tasks.spawn(async move { db.write(move |t| insert(t, id, 100)).await });
    }
    for outcome in tasks.join_all().await {
        let error = outcome.unwrap_err();
        assert_eq!((error.kind(), error.code()), (ErrorKind::Unavailable, "busy"));
    }
    assert!(started.elapsed() < Duration::from_secs(5));
    assert_eq!(count(&db).await, 200);
    drop(release);
    holder.await.unwrap().unwrap();
    db.write(|t| insert(t, 3000, 100)).await.unwrap();
    assert_eq!(count(&other).await, 202);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_log_stays_bounded_under_constant_writes_and_reads() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("x.db");
    let db = open(&path).await;
    db.write(|t| t.execute(CREATE, &[])).await.unwrap();
    let reading = tokio::spawn({
        let db = db.clone();
        async move {
            loop {
                tokio::task::yield_now().await;
                count(&db).await;
            }
        }
    });
    let log = path.with_extension("db-wal");
    let mut largest = 0;
    for id in 0..400i64 {
        db.write(move |t| insert(t, id, 1 << 20)).await.unwrap();
        largest = largest.max(fs::metadata(&log).unwrap().len());
    }
    reading.abort();
    assert!(largest < 100 << 20, "400 MB were written and the log grew to {largest} bytes");
    assert!(fs::metadata(&path).unwrap().len() > 300 << 20);
}
