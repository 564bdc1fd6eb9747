//! The next start repairs what a crash leaves, and acknowledged BLOBs are kept.

#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use blobs::testing::random_bytes;
use blobs::{Stored, digest_of};
use bytes::Bytes;
use model::{Digest, ErrorKind};
use support::*;

/// Creates a store as a crash leaves it: with a segment that has no index.
async fn crashed(dir: &Path, sizes: &[usize]) -> Vec<(Stored, Bytes)> {
    let store = open(dir).await;
    let mut all = Vec::new();
    for (seed, size) in sizes.iter().enumerate() {
        let bytes = random_bytes(seed as u64, *size);
        all.push((put(&store, &bytes).await, bytes));
    }
    store.close().await;
    segment_files(dir, "idx").iter().for_each(|path| fs::remove_file(path).unwrap());
    all
}

#[tokio::test]
async fn damage_that_a_later_batch_proves_to_be_none_of_a_crash_is_kept_and_told() {
    let dir = tempfile::tempdir().unwrap();
    // Each BLOB is a batch of its own.
    let all = crashed(dir.path(), &[5000, 300, 3000, 200]).await;
    let segment = segment_files(dir.path(), "seg").remove(0);
    let mut bytes = fs::read(&segment).unwrap();
    for (stored, _) in &all[1..] {
        let at = record_offset(&bytes, &stored.digest);
        bytes[at + 128 + 50] ^= 1;
    }
    fs::write(&segment, &bytes).unwrap();
    let store = open(dir.path()).await;
    assert!(get(&store, &all[0].0).await.unwrap() == all[0].1[..]);
    for (stored, _) in &all[1..3] {
        assert_eq!(get(&store, stored).await.unwrap_err().kind(), ErrorKind::Corrupt, "it was acknowledged once");
        assert_eq!(get_by_digest(&store, stored.digest, stored.size).await.unwrap_err().kind(), ErrorKind::Corrupt);
    }
    assert_eq!(
        get_by_digest(&store, all[3].0.digest, 200).await.unwrap_err().kind(),
        ErrorKind::NotFound,
        "a torn tail"
    );
    let named: Vec<_> = damage(&store).await.into_keys().flatten().collect();
    assert!(named.len() == 2, "{named:?}");
    assert!(all[1..3].iter().all(|(stored, _)| named.contains(&stored.digest)), "{named:?}");
    let kept = fs::read(&segment).unwrap();
    let end = record_offset(&bytes, &all[2].0.digest) + 128 + 3000;
    assert!(kept[..end] == bytes[..end], "what is there is evidence");
}

#[tokio::test]
async fn a_last_record_that_is_cut_anywhere_is_dropped_alone() {
    let origin = tempfile::tempdir().unwrap();
    let all = crashed(origin.path(), &[5000, 300, 30]).await;
    let name = segment_files(origin.path(), "seg")[0].file_name().unwrap().to_owned();
    let good = fs::read(origin.path().join("segments").join(&name)).unwrap();
    let (last, _) = &all[2];
    let from = record_offset(&good, &last.digest);
    let to = from + 128 + last.size as usize + 4;
    let dir = tempfile::tempdir().unwrap();
    copy(origin.path(), dir.path());
    for cut in from..=to {
        // Zeros from the cut on, as in space that was reserved and not written. Every third time the file ends at the
        // cut instead.
        let mut bytes = good.clone();
        bytes[cut..].fill(0);
        bytes.resize(if cut % 3 == 0 { cut } else { 1 << 20 }, 0);
        segment_files(dir.path(), "idx").iter().for_each(|path| fs::remove_file(path).unwrap());
        fs::write(dir.path().join("segments").join(&name), &bytes).unwrap();
        let store = open(dir.path()).await;
        for (stored, bytes) in &all[..2] {
            assert!(get(&store, stored).await.unwrap() == bytes[..], "cut at {}", cut - from);
        }
        match get(&store, last).await {
            Ok(read) => assert!(cut == to && read == all[2].1[..], "cut at {}", cut - from),
            // A checksum may end in a zero byte.
            Err(error) => assert!(cut < to && error.kind() == ErrorKind::NotFound, "cut at {}: {error}", cut - from),
        }
        assert!(damage(&store).await.is_empty(), "a torn tail is no damage, cut at {}", cut - from);
        let listed = store.enumerate(None, 10).await.unwrap().entries.len();
        assert_eq!(listed, if cut == to { 3 } else { 2 });
        store.close().await;
    }
}

#[tokio::test]
async fn garbage_in_the_last_record_drops_it_alone() {
    let origin = tempfile::tempdir().unwrap();
    let all = crashed(origin.path(), &[5000, 70_000]).await;
    let name = segment_files(origin.path(), "seg")[0].file_name().unwrap().to_owned();
    let good = fs::read(origin.path().join("segments").join(&name)).unwrap();
    let from = record_offset(&good, &all[1].0.digest);
    for at in [0, 8, 60, 127, 128, 60_000, 128 + 69_999, 128 + 70_000, 128 + 70_007] {
        let dir = tempfile::tempdir().unwrap();
        copy(origin.path(), dir.path());
        let mut bytes = good.clone();
        bytes[from + at] ^= 0xff;
        fs::write(dir.path().join("segments").join(&name), &bytes).unwrap();
        let store = open(dir.path()).await;
        assert!(get(&store, &all[0].0).await.unwrap() == all[0].1[..]);
        assert_eq!(get(&store, &all[1].0).await.unwrap_err().kind(), ErrorKind::NotFound, "garbage at {at}");
        assert!(damage(&store).await.is_empty());
        assert!(!put(&store, &all[1].1).await.existed, "it can be stored again");
    }
}

#[tokio::test]
async fn a_segment_without_a_whole_record_is_removed() {
    let dir = tempfile::tempdir().unwrap();
    let all = crashed(dir.path(), &[500]).await;
    let path = segment_files(dir.path(), "seg").remove(0);
    let mut bytes = fs::read(&path).unwrap();
    bytes[4096 + 130] ^= 1;
    fs::write(&path, bytes).unwrap();
    let store = open(dir.path()).await;
    assert!(segment_files(dir.path(), "seg").is_empty());
    assert_eq!(get(&store, &all[0].0).await.unwrap_err().kind(), ErrorKind::NotFound);
}

#[tokio::test]
async fn a_segment_inside_a_document_is_not_taken_for_records() {
    let dir = tempfile::tempdir().unwrap();
    let inner = crashed(dir.path(), &[5000, 300]).await;
    let image = fs::read(&segment_files(dir.path(), "seg")[0]).unwrap();
    let other = tempfile::tempdir().unwrap();
    let store = open(other.path()).await;
    let outer = [put(&store, &Bytes::from(image.clone())).await, put(&store, &Bytes::from_static(b"behind")).await];
    store.close().await;
    segment_files(other.path(), "idx").iter().for_each(|path| fs::remove_file(path).unwrap());
    let path = segment_files(other.path(), "seg").remove(0);
    let mut bytes = fs::read(&path).unwrap();
    bytes[4096] ^= 1;
    fs::write(&path, bytes).unwrap();
    // The search for the next record passes through the document.
    let store = open(other.path()).await;
    let listed: Vec<_> = store.enumerate(None, 10).await.unwrap().entries.iter().map(|entry| entry.digest).collect();
    assert_eq!(listed, [outer[1].digest]);
    assert!(inner.iter().all(|(stored, _)| !listed.contains(&stored.digest)));
}

#[tokio::test]
async fn an_interrupted_large_upload_is_removed_and_a_running_one_is_not() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path()).await;
    let mut running = store.writer(None).await.unwrap();
    for seed in 0..3 {
        running.write(random_bytes(seed, 5_000_000)).await.unwrap();
    }
    let incoming = dir.path().join("incoming");
    fs::write(incoming.join("1-1-0"), b"left by a process that is gone").unwrap();
    assert_eq!(fs::read_dir(&incoming).unwrap().count(), 2);
    let second = open(dir.path()).await;
    assert_eq!(fs::read_dir(&incoming).unwrap().count(), 1, "the one without an owner is gone");
    let stored = running.finish().await.unwrap();
    assert_eq!(fs::read_dir(&incoming).unwrap().count(), 0);
    assert_eq!(get(&second, &stored).await.unwrap().len(), 15_000_000);
}

#[tokio::test]
async fn a_torn_record_behind_a_good_one_of_its_batch_leaves_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let all = crashed(dir.path(), &[5000, 30]).await;
    let path = segment_files(dir.path(), "seg").remove(0);
    let mut bytes = fs::read(&path).unwrap();
    let (last, _) = &all[1];
    // The records of a batch follow one another, and a block may hold several.
    let behind = (record_offset(&bytes, &last.digest) + 128 + last.size as usize + 4).next_multiple_of(64);
    assert_ne!(behind % 4096, 0);
    bytes.resize(behind, 0);
    bytes.extend([0xaa; 3000]);
    fs::write(&path, bytes).unwrap();
    let store = open(dir.path()).await;
    for (stored, bytes) in &all {
        assert!(get(&store, stored).await.unwrap() == bytes[..]);
    }
    let found = damage(&store).await;
    assert!(found.is_empty(), "{found:?}");
    assert_eq!(fs::metadata(&path).unwrap().len() % 4096, 0);
}

/// The child process that [`a_killed_process_keeps_its_promises`] kills; not a test of its own.
#[tokio::test(flavor = "multi_thread")]
async fn child_that_writes_until_it_is_killed() {
    let Ok(path) = std::env::var("BLOBS_TEST_STORE") else { return };
    let store = open(Path::new(&path)).await;
    let seed = u64::from(std::process::id()) << 32;
    let tasks: Vec<_> = (0..8u64)
        .map(|task| {
            let store = store.clone();
            tokio::spawn(async move {
                for number in 0.. {
                    let size = [100, 5000, 90_000, 1_500_000][(number % 4) as usize];
                    let bytes = random_bytes(seed + (task << 24) + number, size);
                    let digest = digest_of(&bytes);
                    store.put(digest, bytes).await.unwrap();
                    let mut out = std::io::stdout().lock();
                    writeln!(out, "acknowledged {digest} {size}").unwrap();
                    out.flush().unwrap();
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
}

#[tokio::test]
async fn a_killed_process_keeps_its_promises() {
    let dir = tempfile::tempdir().unwrap();
    let mut acknowledged: Vec<(Digest, u64)> = Vec::new();
    for round in 0..4 {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["child_that_writes_until_it_is_killed", "--exact", "--nocapture"])
            .env("BLOBS_TEST_STORE", dir.path())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut take = |line: std::io::Result<String>| {
            let line = line.unwrap();
            let words: Vec<&str> = line.split(' ').collect();
            if let ["acknowledged", digest, size] = words[..]
                && let (Ok(digest), Ok(size)) = (digest.parse(), size.parse())
            {
                acknowledged.push((digest, size));
            }
        };
        lines.by_ref().take(20 + 37 * round).for_each(&mut take);
        child.kill().unwrap();
        lines.for_each(&mut take);
        child.wait().unwrap();
        let store = open(dir.path()).await;
        for (digest, size) in &acknowledged {
            let read = get_by_digest(&store, *digest, *size).await.unwrap();
            assert_eq!(digest_of(&read), *digest);
        }
        let found = damage(&store).await;
        assert!(found.is_empty(), "round {round}: {found:?}");
        assert_eq!(fs::read_dir(dir.path().join("incoming")).unwrap().count(), 0);
        store.close().await;
    }
    assert!(acknowledged.len() > 100, "{}", acknowledged.len());
}
