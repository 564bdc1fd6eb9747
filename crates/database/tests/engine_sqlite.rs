//! Behaviour of SQLite files: group commit, disk faults, other processes, the WAL.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail the test")]

mod rig;

use std::fs;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::mpsc;
use std::time::Duration;

use database::{CheckExtent, Options, Sql, params};
use model::{Code, Error, ErrorKind, Result};

use rig::{CREATE, assert_success, child_directory, count, in_child, insert, is_root, open, try_open};

const IDS: Sql = Sql::new("SELECT id FROM thing ORDER BY id");
const TABLES: Sql = Sql::new("SELECT count(*) FROM collection");

/// Releases the writer, which the first job blocks, once all jobs are waiting, so that they share one batch.
async fn in_one_batch(jobs: Vec<tokio::task::JoinHandle<()>>, release: mpsc::Sender<()>) {
    // A task has queued its transaction by the time it waits for the result. Yielding lets all tasks get there.
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
                    [None, Some(Code::UniqueViolation), Some(Code::InternalError), Some(Code::Invalid), None]
                        [job as usize - 1]
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
                        assert_eq!((error.kind(), error.code()), (ErrorKind::Exhausted, Code::DiskFull));
                    }
                }
            }));
        }
        in_one_batch(jobs, release).await;
        assert_eq!(count(&db).await, (round + 1) * 4);
    }
}

#[tokio::test]
async fn an_error_of_the_disk_acknowledges_nothing_and_loses_nothing() {
    let test = "an_error_of_the_disk_acknowledges_nothing_and_loses_nothing";
    let Some(directory) = child_directory() else {
        let directory = tempfile::tempdir().unwrap();
        // Files cannot grow past 2 MB, so the write fails with an error other than a full disk.
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
    assert_eq!((error.kind(), error.code()), (ErrorKind::Unavailable, Code::DiskError), "{error:?}");
    assert_eq!(count(&db).await, stored);
    let again = db.write(move |t| insert(t, stored, 1_000_000)).await.unwrap_err();
    assert_eq!(again.kind(), ErrorKind::Unavailable);
    assert_eq!(count(&db).await, stored);
    fs::write(directory.join("acknowledged"), stored.to_string()).unwrap();
}

/// Runs a test in a child process in which reads of one database file fail, from the n-th read of each thread on.
fn with_failing_reads(test: &str, directory: &Path, file: &str, from: usize) {
    let inject = format!("inject=pread64:error=EIO:when={from}+");
    let path = directory.join(file).display().to_string();
    let fault = ["strace", "-f", "-qq", "-o", "/dev/null", "-e", "trace=pread64", "-e", &inject, "-P", &path];
    assert_success(in_child(test, directory, &fault));
}

#[tokio::test]
async fn a_log_that_the_disk_cannot_read_is_no_damage() {
    let test = "a_log_that_the_disk_cannot_read_is_no_damage";
    let Some(directory) = child_directory() else {
        let directory = tempfile::tempdir().unwrap();
        let db = open(&directory.path().join("x.db")).await;
        db.write(|t| t.execute(CREATE, &[])).await.unwrap();
        db.close().await;
        return with_failing_reads(test, directory.path(), "x.db-wal", 1);
    };
    let db = open(&directory.join("x.db")).await;
    let written = db.write(|t| (0..50).try_for_each(|id| insert(t, id, 5_000).map(drop))).await;
    let read = db.read(|r| r.query(IDS, &[], |row| row.get::<i64>(0))).await;
    let error = written.err().or(read.err()).unwrap();
    assert_eq!(error.kind(), ErrorKind::Unavailable, "{error:?}");
    assert!([Code::DiskError, Code::DatabaseUnreadable].contains(&error.code()), "{error:?}");
    assert!(db.is_disk_failing());
    assert!(db.damage().is_none_or(|damage| damage.of_disk), "{:?}", db.damage());
}

#[tokio::test]
async fn a_look_through_what_the_disk_cannot_read_finds_no_damage() {
    let test = "a_look_through_what_the_disk_cannot_read_finds_no_damage";
    let Some(directory) = child_directory() else {
        let directory = tempfile::tempdir().unwrap();
        let db = open(&directory.path().join("x.db")).await;
        db.write(|t| t.execute(CREATE, &[])).await.unwrap();
        db.write(|t| (0..300).try_for_each(|id| insert(t, id, 5_000).map(drop))).await.unwrap();
        db.close().await;
        return with_failing_reads(test, directory.path(), "x.db", 100);
    };
    let db = open(&directory.join("x.db")).await;
    let error = db.check_integrity(None).await.unwrap_err();
    assert_eq!((error.kind(), error.code()), (ErrorKind::Unavailable, Code::DatabaseUnreadable), "{error:?}");
    assert!(db.damage().is_some_and(|damage| damage.of_disk), "{:?}", db.damage());
}

#[tokio::test]
async fn looks_that_have_a_limit_reach_the_last_table() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("x.db");
    let db = open(&path).await;
    const TABLE: Sql = Sql::new("CREATE TABLE z_last (a TEXT)");
    const ROW: Sql = Sql::new("INSERT INTO z_last VALUES ($1)");
    let text = "x".repeat(20_000);
    db.write(|t| t.execute(CREATE, &[])).await.unwrap();
    db.write(|t| t.execute(TABLE, &[])).await.unwrap();
    db.write(move |t| t.execute(ROW, &params![text.clone()])).await.unwrap();
    db.close().await;
    // A page within the text of the last table.
    let mut bytes = std::fs::read(&path).unwrap();
    let at = bytes.windows(64).rposition(|window| window == [b'x'; 64]).unwrap();
    bytes[at] ^= 1;
    std::fs::write(&path, bytes).unwrap();
    let db = open(&path).await;
    // With a time limit of zero each check reaches one table.
    let mut looks = 0;
    let error = loop {
        match db.check_integrity(Some(Duration::ZERO)).await {
            Ok(looked) => assert_eq!(looked, CheckExtent::Partly),
            Err(error) => break error,
        }
        looks += 1;
        assert!(looks < 200, "the last table is never reached");
    };
    assert_eq!(error.code(), "database_corrupt", "{error:?}");
    assert!(looks > 0, "one look reached everything");
}

#[tokio::test]
async fn a_flush_that_failed_acknowledges_nothing_and_is_not_retried() {
    let test = "a_flush_that_failed_acknowledges_nothing_and_is_not_retried";
    let Some(directory) = child_directory() else {
        let directory = tempfile::tempdir().unwrap();
        // The 40th flush of each thread fails. Only the thread that commits gets that far.
        let fault = ["strace", "-f", "-qq", "-o", "/dev/null", "-e", "inject=fsync,fdatasync:error=EIO:when=40"];
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
            assert_eq!((error.kind(), error.code()), (ErrorKind::Unavailable, Code::OutcomeUnknown), "{error:?}");
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
        // A file whose WAL is there could be read without the right to write anything.
        let in_use = open(&directory.path().join("in_use.db")).await;
        let mode = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        mode(&directory.path().join("x.db"), 0o444);
        mode(&directory.path().join("in_use.db"), 0o444);
        mode(directory.path(), 0o555);
        // The superuser may write anywhere, but not without these capabilities.
        let plain: &[&str] =
            if is_root() { &["setpriv", "--bounding-set", "-dac_override,-dac_read_search,-fowner"] } else { &["env"] };
        assert_success(in_child(test, directory.path(), plain));
        mode(directory.path(), 0o755);
        in_use.close().await;
        return;
    };
    let options = Options { patience: Duration::from_millis(200), ..Options::default() };
    for name in ["x.db", "in_use.db", "new.db", "missing/x.db"] {
        let error = try_open(&directory.join(name), &options).await.err().unwrap();
        assert_eq!(error.kind(), ErrorKind::Unavailable, "{error:?}");
        assert!([Code::ReadOnly, Code::CannotOpen].contains(&error.code()), "{error:?}");
        assert!(error.report().contains(name), "{}", error.report());
        assert!(!error.message().contains(name), "{}", error.report());
    }
}

#[tokio::test]
async fn a_closed_database_leaves_no_log() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("x.db");
    for round in 0..1000 {
        let db = open(&path).await;
        db.read(|r| r.find(TABLES, &[], |row| row.get::<i64>(0))).await.unwrap();
        db.close().await;
        for name in ["x.db-wal", "x.db-shm"] {
            assert!(!directory.path().join(name).exists(), "{name} after round {round}");
        }
    }
}

#[tokio::test]
async fn a_damaged_file_is_corrupt_and_left_as_it_is() {
    let directory = tempfile::tempdir().unwrap();
    for garbage in [b"not a database".to_vec(), b"not a database".repeat(1000)] {
        let path = directory.path().join("garbage.db");
        fs::write(&path, &garbage).unwrap();
        let error = try_open(&path, &Options::default()).await.err().unwrap();
        assert_eq!((error.kind(), error.code()), (ErrorKind::Corrupt, Code::DatabaseCorrupt), "{error:?}");
        assert_eq!(fs::read(&path).unwrap(), garbage);
    }

    let path = directory.path().join("x.db");
    let db = open(&path).await;
    db.write(|t| t.execute(CREATE, &[])).await.unwrap();
    db.write(|t| (0..2000).try_for_each(|id| insert(t, id, 1000).map(drop))).await.unwrap();
    db.close().await;
    let mut file = fs::OpenOptions::new().read(true).write(true).open(&path).unwrap();
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).unwrap();
    // Near the end, where there are only rows. The very last pages contain other data too.
    file.seek(SeekFrom::Start(bytes.len() as u64 * 5 / 8)).unwrap();
    file.write_all(&vec![0xAA; bytes.len() / 4]).unwrap();
    drop(file);
    let db = open(&path).await;
    let scan = db.read_long(|r| r.query(Sql::new("SELECT bytes FROM thing"), &[], |row| row.get::<Vec<u8>>(0))).await;
    assert_eq!(scan.unwrap_err().kind(), ErrorKind::Corrupt);
    let write = db.write(|t| t.execute(Sql::new("UPDATE thing SET bytes = bytes || bytes"), &[])).await;
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

    // A lock held longer than the timeout: all waiting transactions are refused at once, in bounded time.
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
        assert_eq!((error.kind(), error.code()), (ErrorKind::Unavailable, Code::Busy));
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

#[tokio::test]
async fn a_file_that_lacks_acknowledged_changes_is_known_and_left_as_it_is() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("x.db");
    let with = |end: &str| directory.path().join(format!("x.db{end}"));
    let db = open(&path).await;
    db.write(|t| t.execute(CREATE, &[])).await.unwrap();
    for id in 0..5 {
        db.write(move |t| insert(t, id, 10)).await.unwrap();
    }
    // The files as a crash would leave them, including the WAL.
    for end in ["", "-wal", "-commits"] {
        fs::copy(with(end), with(&format!("{end}.kept"))).unwrap();
    }
    db.close().await;
    let put_back = |end: &str| _ = fs::copy(with(&format!("{end}.kept")), with(end)).unwrap();
    let log = fs::metadata(with("-wal.kept")).unwrap().len();
    let frame = 4096 + 24;
    for (cut, whole) in [(0, true), (1, false), (frame, false), (log, false)] {
        let _ = fs::remove_file(with("-shm"));
        ["", "-wal", "-commits"].into_iter().for_each(put_back);
        fs::File::options().write(true).open(with("-wal")).unwrap().set_len(log - cut).unwrap();
        if whole {
            let db = open(&path).await;
            assert_eq!(count(&db).await, 5);
            db.close().await;
            continue;
        }
        let error = try_open(&path, &Options::default()).await.err().unwrap();
        assert_eq!((error.kind(), error.code()), (ErrorKind::Corrupt, Code::ChangesLost), "{cut}: {error}");
        assert!(fs::read(&path).unwrap() == fs::read(with(".kept")).unwrap(), "the file stays as it was");
        assert_eq!(fs::metadata(with("-wal")).unwrap().len(), log - cut);
        if cut < log {
            // Deleting the counter is how an administrator accepts the loss of the changes.
            fs::remove_file(with("-commits")).unwrap();
            let db = open(&path).await;
            assert_eq!(count(&db).await, 4);
            db.write(|t| insert(t, 9, 10)).await.unwrap();
            db.close().await;
            let db = open(&path).await;
            assert_eq!(count(&db).await, 5);
            // Otherwise its threads would continue to use the files that are put back.
            db.close().await;
        }
    }
}
