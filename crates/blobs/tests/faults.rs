//! Full disks and failing writes: nothing is acknowledged that is not stored, and reads and deletions continue to work.
//!
//! Resource limits and mounts affect the whole process, so each case runs in a process of its own.

#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use std::path::{Path, PathBuf};
use std::process::Command;

use blobs::testing::{Fault, FaultyProvider, Operation, random_bytes};
use blobs::{BlobStore, DirectoryOptions, digest_of};
use model::ErrorKind;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use support::*;

/// Runs a test of this file again, in a process of its own with `BLOBS_TEST_STORE` set. With `mounted`, a file system
/// of that many bytes is mounted there, in a mount namespace of its own, which needs no privileges where the system
/// allows that.
fn run_alone(test: &str, store: &Path, mounted: Option<u64>) {
    let binary = std::env::current_exe().unwrap();
    let arguments = [test, "--exact", "--ignored", "--nocapture", "--test-threads=1"];
    let mut command = match mounted {
        None => Command::new(binary),
        Some(bytes) => {
            let mut command = Command::new("unshare");
            let root = rustix::process::geteuid().is_root();
            command.args(if root { &["--mount"][..] } else { &["--mount", "--map-root-user"][..] });
            command.args(["sh", "-c", "mount -t tmpfs -o size=$0 tmpfs \"$BLOBS_TEST_STORE\" && exec \"$@\""]);
            command.arg(bytes.to_string()).arg(binary);
            command
        }
    };
    let done = command.args(arguments).env("BLOBS_TEST_STORE", store).output().unwrap();
    let text = format!("{}{}", String::from_utf8_lossy(&done.stdout), String::from_utf8_lossy(&done.stderr));
    assert!(done.status.success(), "{text}");
    assert!(text.contains("1 passed"), "{text}");
}

fn store_path() -> PathBuf {
    std::env::var_os("BLOBS_TEST_STORE").map(PathBuf::from).unwrap()
}

#[test]
fn a_full_disk_stops_writes_only() {
    let dir = tempfile::tempdir().unwrap();
    run_alone("inside_a_full_disk", dir.path(), Some(24 << 20));
}

#[tokio::test]
#[ignore = "run by a_full_disk_stops_writes_only"]
async fn inside_a_full_disk() {
    let path = store_path();
    let store = open(&path).await;
    let mut kept = Vec::new();
    let refused = loop {
        let bytes = random_bytes(kept.len() as u64, 500_000);
        match store.put(digest_of(&bytes), bytes.clone()).await {
            Ok(stored) => kept.push((stored, bytes)),
            Err(error) => break error,
        }
        assert!(kept.len() < 60, "24 MiB hold no 60 times 500 kB");
    };
    assert_eq!(refused.kind(), ErrorKind::Exhausted);
    assert!(refused.message().contains("full"), "{}", refused.message());
    assert!(kept.len() > 25, "the disk was used, not only reserved: {}", kept.len());
    let large = random_bytes(1, 3_000_000);
    assert_eq!(store.put(digest_of(&large), large.clone()).await.unwrap_err().kind(), ErrorKind::Exhausted);
    assert_eq!(store.writer(Some(1 << 40)).await.err().unwrap().kind(), ErrorKind::Exhausted, "known beforehand");
    let mut writer = store.writer(None).await.unwrap();
    let mut streamed = Ok(());
    for seed in 0..30 {
        streamed = writer.write(random_bytes(seed, 1 << 20)).await;
        if streamed.is_err() {
            break;
        }
    }
    assert_eq!(streamed.unwrap_err().kind(), ErrorKind::Exhausted, "found out on the way");
    assert_eq!(writer.finish().await.unwrap_err().kind(), ErrorKind::Unavailable);

    for (stored, bytes) in &kept {
        assert!(get(&store, stored).await.unwrap() == bytes[..]);
    }
    // Closing, opening and deleting work on a full disk, and the space that compaction frees can be used again.
    store.close().await;
    // A store that still has a removed segment open would keep its space in use.
    drop(store);
    let store = open(&path).await;
    for (stored, _) in kept.drain(..20) {
        store.delete(stored.digest).await.unwrap();
    }
    assert!(damage(&store).await.is_empty());
    store.compact(Default::default()).await.unwrap();
    let again = random_bytes(1000, 900_000);
    put(&store, &again).await;
    for (stored, bytes) in &kept {
        assert!(get(&store, stored).await.unwrap() == bytes[..]);
    }
}

#[test]
fn a_failed_write_is_never_acknowledged_nor_built_upon() {
    let dir = tempfile::tempdir().unwrap();
    run_alone("inside_a_failing_disk", dir.path(), None);
}

#[tokio::test]
#[ignore = "run by a_failed_write_is_never_acknowledged_nor_built_upon"]
async fn inside_a_failing_disk() {
    // A limit on the length of files makes writes fail midway, once its signal is ignored. Safety: this process runs
    // this one test, and ignoring a signal touches no memory.
    unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
    let path = store_path();
    let store = open(&path).await;
    let mut kept = Vec::new();
    for seed in 0..5 {
        let bytes = random_bytes(seed, 100_000);
        kept.push((put(&store, &bytes).await, bytes));
    }
    let before = getrlimit(Resource::Fsize);
    setrlimit(Resource::Fsize, Rlimit { current: Some(600_000), ..before }).unwrap();
    let torn = random_bytes(99, 200_000);
    let error = store.put(digest_of(&torn), torn.clone()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Exhausted, "{error}");
    let absent = get_by_digest(&store, digest_of(&torn), 200_000).await.unwrap_err();
    assert_eq!(absent.kind(), ErrorKind::NotFound, "nothing of it is served");
    setrlimit(Resource::Fsize, before).unwrap();

    let stored = put(&store, &torn).await;
    assert!(!stored.existed, "what failed was not taken for stored");
    kept.push((stored, torn));
    // Another thread creates the segment after it.
    wait_for("a new segment, and the one after it", || segment_files(&path, "seg").len() == 3).await;
    for _ in 0..2 {
        for (stored, bytes) in &kept {
            assert!(get(&store, stored).await.unwrap() == bytes[..]);
        }
        assert!(damage(&store).await.is_empty());
        store.close().await;
        let store = open(&path).await;
        for (stored, bytes) in &kept {
            assert!(get_by_digest(&store, stored.digest, stored.size).await.unwrap() == bytes[..]);
        }
        assert_eq!(store.enumerate(None, 100).await.unwrap().entries.len(), 6);
        assert!(damage(&store).await.is_empty(), "what was torn is cut off");
    }
}

/// Calls that write or make durable.
const CALLS: &str = "fsync,fdatasync,pwrite64,pwritev,ftruncate,fallocate,rename,renameat2";

#[test]
fn an_error_at_any_call_loses_nothing_that_was_acknowledged() {
    let binary = std::env::current_exe().unwrap();
    let mut faults = 0;
    for error in ["EIO", "ENOSPC"] {
        for call in 1.. {
            let dir = tempfile::tempdir().unwrap();
            let done = Command::new("strace")
                .args(["-f", "-qq", "-e", "signal=none", "-e", &format!("trace={CALLS}"), "-e"])
                .arg(format!("inject={CALLS}:error={error}:when={call}"))
                .args(["-o", dir.path().join("trace").to_str().unwrap()])
                .arg(&binary)
                .args(["inside_a_disk_with_one_error", "--exact", "--ignored", "--nocapture", "--test-threads=1"])
                .env("BLOBS_TEST_STORE", dir.path().join("store"))
                .output()
                .unwrap();
            let text = String::from_utf8_lossy(&done.stdout);
            let all = format!("{text}{}", String::from_utf8_lossy(&done.stderr));
            assert!(done.status.success(), "{error} at call {call}: {all}");
            assert!(text.contains("1 passed"), "{error} at call {call}: {all}");
            let acknowledged = text.lines().filter_map(|line| line.strip_prefix("acknowledged ")?.parse().ok());
            let acknowledged: Vec<u64> = acknowledged.collect();
            check_acknowledged(&dir.path().join("store"), &acknowledged, &format!("{error} at call {call}"));
            let trace = std::fs::read_to_string(dir.path().join("trace")).unwrap();
            let injected = trace.matches("(INJECTED)").count();
            if injected == 0 {
                break;
            }
            faults += injected;
        }
    }
    assert!(faults > 30, "{faults} errors were injected");
}

#[tokio::main(flavor = "current_thread")]
async fn check_acknowledged(path: &Path, seeds: &[u64], when: &str) {
    let store = open(path).await;
    for seed in seeds {
        let bytes = fault_content(*seed);
        let read = get_by_digest(&store, digest_of(&bytes), bytes.len() as u64).await;
        assert!(read.is_ok_and(|read| read == bytes[..]), "{when}: BLOB {seed}");
    }
    let damage = damage(&store).await;
    assert!(damage.is_empty(), "{when}: {damage:?}");
    store.close().await;
}

fn fault_content(seed: u64) -> bytes::Bytes {
    random_bytes(seed, if seed % 3 == 2 { 1_100_000 } else { 3000 })
}

#[tokio::test]
#[ignore = "run by an_error_at_any_call_loses_nothing_that_was_acknowledged"]
async fn inside_a_disk_with_one_error() {
    for round in 0..2u64 {
        // A store that cannot be opened, or that cannot store a BLOB, must report an error; the next attempt may
        // succeed.
        let opened = BlobStore::open_directory(&store_path(), &owner(), options()).await;
        let Ok(store) = opened else { continue };
        let mut worked = false;
        for seed in round * 100..round * 100 + 20 {
            let bytes = fault_content(seed);
            match store.put(digest_of(&bytes), bytes.clone()).await {
                Ok(stored) => {
                    println!("\nacknowledged {seed}");
                    worked = true;
                    assert!(get(&store, &stored).await.unwrap() == bytes[..]);
                }
                Err(error) => {
                    assert!(matches!(error.kind(), ErrorKind::Unavailable | ErrorKind::Exhausted), "{error:?}");
                }
            }
            // Each thread meets the error once at each kind of call, so the errors come to an end.
            if worked && seed % 100 >= 5 {
                break;
            }
        }
        assert!(worked, "the store goes on after an error");
        store.close().await;
    }
}

#[tokio::test]
async fn a_directory_that_cannot_be_written_says_so() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("file");
    std::fs::write(&file, b"").unwrap();
    let error = BlobStore::open_directory(&file.join("store"), &owner(), options()).await.err().unwrap();
    assert_eq!(error.kind(), ErrorKind::Unavailable);
    assert!(error.message().contains("store"), "{}", error.message());
}

#[tokio::test]
async fn faults_come_when_they_are_asked_for() {
    let dir = tempfile::tempdir().unwrap();
    let options = DirectoryOptions { segment_limit: 1000, ..options() };
    let store = BlobStore::open_directory(dir.path(), &owner(), options).await.unwrap();
    let faulty = std::sync::Arc::new(FaultyProvider::new(store.provider()));
    let outer = BlobStore::from_provider(faulty.clone());
    let (small, large) = (random_bytes(1, 10), random_bytes(2, 5000));
    let kind = ErrorKind::Unavailable;
    faulty.set(Some(Fault { operation: Operation::Acknowledge, after: 1, kind }));
    let stored = put(&outer, &small).await;
    let mut writer = outer.writer(None).await.unwrap();
    writer.write(large.clone()).await.unwrap();
    assert_eq!(writer.finish().await.unwrap_err().kind(), kind);
    assert!(put(&store, &large).await.existed, "stored, but not acknowledged");
    for operation in [Operation::Open, Operation::Read] {
        faulty.set(Some(Fault { operation, after: 0, kind }));
        assert_eq!(get(&outer, &stored).await.unwrap_err().kind(), kind);
    }
    faulty.set(None);
    assert!(get(&outer, &stored).await.unwrap() == small[..]);
}
