//! Behaviour of SQLite files on a full disk, and of the space reserved for that case.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail the test")]

mod rig;

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use database::{Database, Sql, params};
use model::{Code, ErrorKind};

use rig::{CREATE, assert_success, child_directory, count, in_child, insert, is_root, open};

const CHANGE: Sql = Sql::new("UPDATE thing SET bytes = randomblob(length(bytes)) WHERE id = $1");
const DELETE: Sql = Sql::new("DELETE FROM thing WHERE id = $1");

/// Runs one test of this file in a process with a disk of this many megabytes.
fn on_small_disk(test: &str, megabytes: u32) {
    let directory = tempfile::tempdir().unwrap();
    let disk = directory.path().join("disk");
    fs::create_dir(&disk).unwrap();
    let mount = format!("mount -t tmpfs -o size={megabytes}m tmpfs \"$DATABASE_TEST_CHILD\" && exec \"$0\" \"$@\"");
    // A separate mount namespace, so that nothing is left behind however the child ends.
    let unshare: &[&str] = if is_root() { &["unshare", "-m"] } else { &["unshare", "-rm"] };
    assert_success(in_child(test, &disk, &[unshare, &["sh", "-c", &mount]].concat()));
}

#[tokio::test]
async fn a_full_disk_stops_writes_and_damages_nothing() {
    let test = "a_full_disk_stops_writes_and_damages_nothing";
    let Some(directory) = child_directory() else {
        return on_small_disk(test, 9);
    };
    let path = directory.join("x.db");
    let filler = directory.join("filler");
    // The reserve grows by one MiB at a time, and the next row needs some room beside that.
    fs::write(&filler, vec![1; 2 << 20]).unwrap();
    let db = open(&path).await;
    db.write(|t| t.execute(CREATE, &[])).await.unwrap();
    let mut stored = 0;
    let error = loop {
        match db.write(move |t| insert(t, stored, 20_000)).await {
            Ok(_) => stored += 1,
            Err(error) => break error,
        }
    };
    assert_eq!((error.kind(), error.code()), (ErrorKind::Exhausted, Code::DiskFull), "{error:?}");
    // Any user may read the message; the location belongs only in the log.
    assert!(error.report().contains("x.db"));
    assert!(!error.message().contains("x.db"));
    assert!(stored > 10);
    assert_eq!(count(&db).await, stored);
    // Writing resumes as soon as there is space again.
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

/// Adds rows of decreasing sizes until the disk is full. Returns the number of the next row.
async fn fill(db: &Database, first: i64) -> i64 {
    let mut next = first;
    for size in [100_000, 10_000, 100] {
        loop {
            let (id, outcome) = (next, db.write(move |t| insert(t, next, size)).await);
            match outcome {
                Ok(_) => next = id + 1,
                Err(error) => {
                    assert_eq!((error.kind(), error.code()), (ErrorKind::Exhausted, Code::DiskFull), "{error:?}");
                    break;
                }
            }
        }
    }
    next
}

/// Takes the rest of a disk, as another program would.
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
    assert!(stored > 60, "{stored} {}", reserve());
    assert!(reserve() >= 4 << 20, "{stored} {}", reserve());

    // Each deletion changes pages for which the WAL has no room outside the reserved space.
    for id in 0..50i64 {
        let deleted = db.write_vital(move |t| t.execute(DELETE, &params![id])).await;
        assert_eq!(deleted.unwrap(), 1);
    }
    for id in 0..500i64 {
        db.write_vital(move |t| insert(t, 1_000_000 + id, 200)).await.unwrap();
    }
    let left = count(&db).await;
    assert_eq!(left, stored - 50 + 500);

    // Closes and reopens the database, with and without other files in the space that was released.
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

    // With free space, everything resumes at once.
    fs::remove_file(&filler).unwrap();
    let db = open(&path).await;
    db.require_room().unwrap();
    db.write(move |t| insert(t, 2_000_000, 1000)).await.unwrap();
    let check = db.read(|r| r.find(Sql::new("PRAGMA integrity_check"), &[], |row| row.get::<String>(0))).await;
    assert_eq!(check.unwrap().as_deref(), Some("ok"));
    db.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_vital_transaction_waits_for_reads_that_end() {
    let test = "a_vital_transaction_waits_for_reads_that_end";
    let Some(directory) = child_directory() else {
        return on_small_disk(test, 24);
    };
    let db = open(&directory.join("x.db")).await;
    db.write(|t| t.execute(CREATE, &[])).await.unwrap();
    fill(&db, 0).await;
    take_the_rest(&directory);
    let (begin, begun) = std::sync::mpsc::channel();
    let read = db.read_long(move |reader| {
        // The first statement determines the snapshot, which the WAL must keep.
        let found = reader.find(Sql::new("SELECT count(*) FROM thing"), &[], |row| row.get::<i64>(0))?;
        begin.send(()).unwrap();
        // sleep: the read holds its snapshot while the transactions below use up the WAL's room
        std::thread::sleep(Duration::from_millis(800));
        Ok(found)
    });
    let changes = async {
        tokio::task::spawn_blocking(move || begun.recv().unwrap()).await.unwrap();
        // Together they change more pages than the whole reserve has room for.
        for id in (0..50i64).cycle().take(300) {
            let change = move |t: &mut database::Transaction<'_>| t.execute(CHANGE, &params![id]);
            assert_eq!(db.write_vital(change).await.unwrap(), 1, "{id}");
        }
    };
    let (read, ()) = tokio::join!(read, changes);
    read.unwrap();
    db.close().await;
}

#[tokio::test]
async fn an_upload_on_its_way_does_not_take_the_room_that_is_given_up() {
    let test = "an_upload_on_its_way_does_not_take_the_room_that_is_given_up";
    let Some(directory) = child_directory() else {
        return on_small_disk(test, 24);
    };
    let path = directory.join("x.db");
    let db = open(&path).await;
    db.write(|t| t.execute(CREATE, &[])).await.unwrap();
    let stored = fill(&db, 0).await;
    take_the_rest(&directory);
    let mut upload = fs::File::create(directory.join("upload")).unwrap();
    let reached = Arc::new(AtomicBool::new(false));
    let ended = reached.clone();
    let thread = std::thread::spawn(move || {
        let mut taken = 0;
        // The upload waits for the first free space and ends when that is used up.
        while !ended.load(Ordering::Relaxed) {
            match upload.write(&[1; 4096]) {
                Ok(_) => taken += 1,
                Err(_) if taken > 0 => break,
                Err(_) => {}
            }
        }
        taken
    });
    for id in 0..50i64 {
        let deleted = db.write_vital(move |t| t.execute(DELETE, &params![id])).await;
        assert_eq!(deleted.unwrap(), 1, "{id}");
    }
    reached.store(true, Ordering::Relaxed);
    println!("the upload took {} KB", thread.join().unwrap() * 4);
    assert_eq!(count(&db).await, stored - 50);
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
    // More than the reserve needs for the WAL, whose length depends on when its checkpoint ran.
    fs::write(&much, vec![1; 12 << 20]).unwrap();
    let stored = fill(&db, 0).await;
    take_the_rest(&directory);
    db.require_room().unwrap();
    // Rows that make the database grow consume the reserved space until it is used up.
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
    // An ordinary write is refused even if there would be room for it.
    fs::remove_file(&little).unwrap();
    assert_eq!(db.write(|t| t.execute(DELETE, &params![0])).await.unwrap_err().code(), "disk_full");
    assert_eq!(db.write_vital(|t| t.execute(DELETE, &params![0])).await.unwrap(), 1);
    assert_eq!(count(&db).await, stored + added - 1);

    fs::remove_file(&much).unwrap();
    let deadline = Instant::now() + Duration::from_secs(20);
    while let Err(error) = db.write(move |t| insert(t, stored + added, 50_000)).await {
        assert!(error.code() == Code::DiskFull, "{error:?}");
        assert!(Instant::now() < deadline, "{error:?}");
        tokio::task::yield_now().await;
    }
    db.require_room().unwrap();
    assert_eq!(count(&db).await, stored + added);
    db.close().await;
}
