//! Reads that fail: bytes that the disk cannot read are damage of one BLOB, never its absence and never the absence of
//! the store. The store opens, takes the same bytes again and continues with the next BLOB. Nothing is lost once the
//! disk reads again.
//!
//! strace injects errors into the calls of a whole process, so each case runs in a process of its own.

#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use std::path::{Path, PathBuf};
use std::process::Command;

use blobs::testing::random_bytes;
use blobs::{BlobStore, CheckOutcome, Entry, digest_of};
use bytes::Bytes;
use model::{ErrorKind, Timestamp};
use support::*;

/// Calls that read a store's files.
const CALLS: &str = "openat,read,pread64,preadv2";
/// Numbers of the BLOBs in the store of this test. Those in the second range are in a segment that a process left open.
const SEALED: std::ops::Range<u64> = 0..6;
const OPEN: std::ops::Range<u64> = 6..12;
/// Number of the deleted BLOB.
const DELETED: u64 = 12;

fn content(seed: u64) -> Bytes {
    let length = match seed % 6 {
        5 => 1_100_000,
        4 => 150_000,
        _ => 3_000,
    };
    random_bytes(seed, length)
}

/// Creates a store with a sealed segment, one that a killed process left, a log of deletions, and large files.
async fn make_template(path: &Path, scratch: &Path) {
    let store = open(scratch).await;
    for seed in SEALED.chain([DELETED]) {
        put(&store, &content(seed)).await;
    }
    store.delete(digest_of(&content(DELETED))).await.unwrap();
    store.close().await;
    let store = open(scratch).await;
    for seed in OPEN {
        put(&store, &content(seed)).await;
    }
    std::fs::create_dir_all(path).unwrap();
    copy(scratch, path);
    store.close().await;
}

/// Runs a case of this file under strace, which makes reads of these files fail. Returns the number of failed reads.
fn run_failing(case: &str, store: &Path, files: &[PathBuf], error: &str, when: &str) -> usize {
    let trace = store.with_extension("trace");
    let mut command = Command::new("strace");
    command.args(["-f", "-qq", "-e", "signal=none", "-e", &format!("trace={CALLS}"), "-e"]);
    command.arg(format!("inject={CALLS}:error={error}:when={when}")).arg("-o").arg(&trace);
    for file in files {
        command.arg("-P").arg(file);
    }
    command.arg(std::env::current_exe().unwrap());
    command.args([case, "--exact", "--ignored", "--nocapture", "--test-threads=1"]);
    let done = command.env("BLOBS_TEST_STORE", store).output().unwrap();
    let text = format!("{}{}", String::from_utf8_lossy(&done.stdout), String::from_utf8_lossy(&done.stderr));
    let trace = std::fs::read_to_string(trace).unwrap_or_default();
    let injected: Vec<&str> = trace.lines().filter(|line| line.contains("(INJECTED)")).collect();
    assert!(done.status.success(), "{error} at {when}: {injected:#?}\n{text}");
    assert!(text.contains("1 passed"), "{error} at {when}: {injected:#?}\n{text}");
    injected.len()
}

fn store_path() -> PathBuf {
    std::env::var_os("BLOBS_TEST_STORE").map(PathBuf::from).unwrap()
}

/// Fails the n-th read of each thread, or all from the n-th on, for growing n until no read fails any more.
fn fail_each(error: &str, and_all_later: bool) {
    let dir = tempfile::tempdir().unwrap();
    let template = dir.path().join("template");
    let run = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    run.block_on(make_template(&template, &dir.path().join("scratch")));
    let (mut faults, mut call) = (0, 0);
    loop {
        // Each of the first calls, then in growing steps.
        call += 1 + call / 8;
        let store = dir.path().join(format!("store-{call}"));
        std::fs::create_dir(&store).unwrap();
        copy(&template, &store);
        let mut files = all_files(&store.join("segments"));
        files.extend(all_files(&store.join("large")));
        // Includes the index that the open segment may get, which is read too.
        files.extend(segment_files(&store, "seg").iter().map(|path| path.with_extension("idx")));
        let when = format!("{call}{}", if and_all_later { "+" } else { "" });
        let injected = run_failing("inside_a_store_that_is_read_badly", &store, &files, error, &when);
        run.block_on(check_whole(&store, &format!("{error} at {when}")));
        if injected == 0 {
            break;
        }
        faults += injected;
        std::fs::remove_dir_all(&store).unwrap();
    }
    assert!(faults > 30, "{faults} errors were injected");
}

/// Asserts that everything is readable again once the disk reads again.
async fn check_whole(path: &Path, when: &str) {
    let store = open(path).await;
    for seed in SEALED.chain(OPEN) {
        let bytes = content(seed);
        let read = get_by_digest(&store, digest_of(&bytes), bytes.len() as u64).await;
        assert!(read.as_ref().is_ok_and(|read| *read == bytes[..]), "{when}: BLOB {seed}: {:?}", read.err());
    }
    let damage = damage(&store).await;
    assert!(damage.is_empty(), "{when}: {damage:?}");
    store.close().await;
}

#[tokio::test]
async fn a_large_file_listed_without_its_footer_is_intact_when_it_can_be_read() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path()).await;
    let (bytes, small) = (content(5), content(0));
    for bytes in [&bytes, &small] {
        put(&store, bytes).await;
    }
    let entry = |bytes: &Bytes, size| Entry { digest: digest_of(bytes), size, stored_at: Timestamp::now() };
    // A listing gives the length of the whole file when the footer cannot be read, and 0 when that is unknown, too.
    let length = bytes.len() as u64;
    for size in [length, length + 196, 0] {
        let outcome = store.reread(entry(&bytes, size)).await.unwrap();
        assert!(matches!(outcome, CheckOutcome::Intact), "{size}: {outcome:?}");
    }
    let outcome = store.reread(entry(&small, small.len() as u64 + 1)).await.unwrap();
    assert!(matches!(outcome, CheckOutcome::Damaged { .. }), "{outcome:?}");
    store.close().await;
}

#[test]
fn one_read_that_fails_anywhere_is_damage_and_loses_nothing() {
    fail_each("EIO", false);
}

#[test]
fn reads_that_fail_for_good_are_damage_and_lose_nothing() {
    fail_each("EBADMSG", true);
}

#[test]
fn a_file_system_that_finds_itself_damaged_loses_nothing() {
    fail_each("EUCLEAN", true);
}

#[test]
fn a_deleted_blob_is_not_there_again_when_the_note_of_its_deletion_cannot_be_read() {
    let dir = tempfile::tempdir().unwrap();
    let store = dir.path().join("store");
    let run = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    run.block_on(make_template(&store, &dir.path().join("scratch")));
    let notes = segment_files(&store, "del");
    assert_eq!(notes.len(), 1);
    for (case, when) in [("inside_a_store_whose_notes_are_away", "1+"), ("inside_a_store_whose_notes_come_back", "1")] {
        assert!(run_failing(case, &store, &notes, "EIO", when) > 0);
    }
}

#[tokio::test]
#[ignore = "run by the test above"]
async fn inside_a_store_whose_notes_are_away() {
    let store = BlobStore::open_directory(&store_path(), &owner(), options()).await.expect("the store opens");
    let deleted = content(DELETED);
    let (digest, size) = (digest_of(&deleted), deleted.len() as u64);
    for _ in 0..3 {
        let error = store.ensure_present(digest, size).await.expect_err("nobody knows whether it is there");
        assert_eq!(error.kind(), ErrorKind::Corrupt, "{error:?}");
    }
    let bytes = content(0);
    assert!(get_by_digest(&store, digest_of(&bytes), bytes.len() as u64).await.unwrap() == bytes[..]);
    store.close().await;
}

#[tokio::test]
#[ignore = "run by the test above"]
async fn inside_a_store_whose_notes_come_back() {
    let store = BlobStore::open_directory(&store_path(), &owner(), options()).await.expect("the store opens");
    let deleted = content(DELETED);
    // Only the first read of each thread fails, and there are fewer threads than attempts.
    for _ in 0..1_000 {
        match store.ensure_present(digest_of(&deleted), deleted.len() as u64).await.expect_err("it is deleted").kind() {
            ErrorKind::NotFound => return store.close().await,
            kind => assert_eq!(kind, ErrorKind::Corrupt),
        }
    }
    panic!("the notes are not read again");
}

#[tokio::test]
#[ignore = "run by the tests above"]
async fn inside_a_store_that_is_read_badly() {
    let path = store_path();
    let store = BlobStore::open_directory(&path, &owner(), options()).await.expect("the store opens");
    let is_damage = |error: &model::Error| error.kind() == ErrorKind::Corrupt;
    for seed in SEALED.chain(OPEN) {
        let bytes = content(seed);
        let (digest, size) = (digest_of(&bytes), bytes.len() as u64);
        match get_by_digest(&store, digest, size).await {
            Ok(read) => assert!(read == bytes[..], "wrong bytes are never given"),
            Err(error) => assert!(is_damage(&error), "reading BLOB {seed}: {error:?}"),
        }
        if let Err(error) = store.ensure_present(digest, size).await {
            assert!(is_damage(&error), "confirming BLOB {seed}: {error:?}");
        }
    }
    let listed = store.enumerate(None, 100).await.expect("the store lists");
    assert!(listed.entries.len() <= 13);
    store.usage().await.expect("the store counts");
    let found = verify(&store).await;
    assert!(!found.iter().any(|checked| matches!(checked.outcome, CheckOutcome::Missing { .. })), "{found:?}");
    // The same bytes can be stored again, and are read from the new record.
    for seed in SEALED.chain(OPEN) {
        let bytes = content(seed);
        let stored = store.put(digest_of(&bytes), bytes.clone()).await;
        let stored = stored.unwrap_or_else(|error| panic!("storing BLOB {seed} again: {error:?}"));
        match get(&store, &stored).await {
            Ok(read) => assert!(read == bytes[..], "wrong bytes are never given"),
            Err(error) => assert!(is_damage(&error), "reading BLOB {seed} again: {error:?}"),
        }
    }
    store.compact(Default::default()).await.expect("the store compacts what it can read");
    store.close().await;
}
