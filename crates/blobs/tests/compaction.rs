//! Compaction frees space and loses nothing, whatever happens concurrently.

#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use blobs::testing::random_bytes;
use blobs::{BlobStore, CompactLimits, DirectoryOptions, Stored};
use bytes::Bytes;
use model::ErrorKind;
use support::*;

/// Creates a store of several sealed segments in which two of three BLOBs are deleted.
async fn holey(dir: &std::path::Path) -> (BlobStore, Vec<(Stored, Bytes)>, Vec<Stored>) {
    let options = DirectoryOptions { segment_bytes: 400_000, ..options() };
    let store = BlobStore::open_directory(dir, &owner(), options).await.unwrap();
    let (mut kept, mut gone) = (Vec::new(), Vec::new());
    for seed in 0..60u64 {
        let bytes = random_bytes(seed, 30_000 + seed as usize);
        let stored = put(&store, &bytes).await;
        if seed % 3 == 0 { kept.push((stored, bytes)) } else { gone.push(stored) }
    }
    for stored in &gone {
        store.delete(stored.digest).await.unwrap();
    }
    (store, kept, gone)
}

async fn all_is_well(store: &BlobStore, kept: &[(Stored, Bytes)], gone: &[Stored]) {
    for (stored, bytes) in kept {
        assert!(get(store, stored).await.unwrap() == bytes[..], "by the old locator");
        assert!(get_by_digest(store, stored.digest, stored.size).await.unwrap() == bytes[..]);
    }
    for stored in gone {
        assert_eq!(get(store, stored).await.unwrap_err().kind(), ErrorKind::NotFound);
    }
    let listed: BTreeSet<_> = store.enumerate(None, 1000).await.unwrap().entries.iter().map(|e| e.digest).collect();
    assert_eq!(listed, kept.iter().map(|(stored, _)| stored.digest).collect());
    assert!(damage(store).await.is_empty());
}

#[tokio::test]
async fn space_is_freed_and_nothing_else_changes() {
    let dir = tempfile::tempdir().unwrap();
    let (store, kept, gone) = holey(dir.path()).await;
    let second = open(dir.path()).await;
    let before = store.enumerate(None, 1000).await.unwrap().entries;
    let usage = store.usage().await.unwrap();
    assert!(usage.reclaimable_bytes > 800_000, "{usage:?}");
    let report = store.compact(CompactLimits::default()).await.unwrap();
    assert!(report.removed >= 4, "{report:?}");
    assert!(report.freed_bytes > 800_000, "{report:?}");
    assert!(report.damaged == 0, "{report:?}");
    let after = store.usage().await.unwrap();
    assert!(after.disk_bytes + 800_000 < usage.disk_bytes, "{after:?}");
    assert!(after.reclaimable_bytes < 100_000, "{after:?}");
    assert_eq!(store.enumerate(None, 1000).await.unwrap().entries, before, "times are kept too");
    all_is_well(&store, &kept, &gone).await;
    // Another process still has the old segments in its catalog.
    all_is_well(&second, &kept, &gone).await;
    store.close().await;
    all_is_well(&open(dir.path()).await, &kept, &gone).await;
    // Compacts the segments that were still being written the first time.
    let store = open(dir.path()).await;
    assert!(store.compact(CompactLimits::default()).await.unwrap().removed >= 1);
    let again = store.compact(CompactLimits::default()).await.unwrap();
    all_is_well(&store, &kept, &gone).await;
    assert_eq!(again.copied_bytes, 0, "what was compacted is not worth it again: {again:?}");
}

#[tokio::test]
async fn freed_bytes_are_those_that_the_disk_gets_back() {
    let dir = tempfile::tempdir().unwrap();
    let (store, kept, gone) = holey(dir.path()).await;
    store.close().await;
    let lengths = || -> BTreeMap<_, u64> {
        let files = segment_files(dir.path(), "seg").into_iter();
        files.map(|path| (path.clone(), fs::metadata(path).unwrap().len())).collect()
    };
    let before = lengths();
    let options = DirectoryOptions { segment_bytes: 400_000, ..options() };
    let store = BlobStore::open_directory(dir.path(), &owner(), options).await.unwrap();
    let report = store.compact(CompactLimits::default()).await.unwrap();
    let after = lengths();
    assert!(after.keys().filter(|path| !before.contains_key(*path)).count() >= 2, "several targets: {after:?}");
    assert_eq!(report.freed_bytes, before.values().sum::<u64>() - after.values().sum::<u64>(), "{report:?}");
    all_is_well(&store, &kept, &gone).await;
}

#[tokio::test]
async fn a_crash_between_copy_and_removal_leaves_no_trace_but_a_second_copy() {
    let dir = tempfile::tempdir().unwrap();
    let (store, kept, gone) = holey(dir.path()).await;
    store.close().await;
    let before = tempfile::tempdir().unwrap();
    copy(dir.path(), before.path());
    open(dir.path()).await.compact(CompactLimits::default()).await.unwrap();
    // Old and new segments side by side, as after a crash just before the removal.
    copy(before.path(), dir.path());
    all_is_well(&open(dir.path()).await, &kept, &gone).await;
    // Removed segments of which one file remains.
    for extension in ["idx", "del"] {
        let mixed = tempfile::tempdir().unwrap();
        copy(before.path(), mixed.path());
        open(mixed.path()).await.compact(CompactLimits::default()).await.unwrap();
        for path in segment_files(before.path(), extension) {
            fs::copy(&path, mixed.path().join("segments").join(path.file_name().unwrap())).unwrap();
        }
        let store = open(mixed.path()).await;
        all_is_well(&store, &kept, &gone).await;
        assert!(segment_files(mixed.path(), extension).len() <= segment_files(mixed.path(), "seg").len());
    }
}

#[tokio::test]
async fn a_segment_with_damage_is_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    let (store, kept, _) = holey(dir.path()).await;
    store.close().await;
    let path = segment_files(dir.path(), "seg").remove(0);
    let mut bytes = fs::read(&path).unwrap();
    let victim = kept[0].0;
    let at = record_offset(&bytes, &victim.digest);
    bytes[at + 500] ^= 1;
    fs::write(&path, bytes).unwrap();
    let store = open(dir.path()).await;
    let report = store.compact(CompactLimits::default()).await.unwrap();
    assert_eq!(report.damaged, 1);
    assert!(path.exists());
    assert_eq!(damage(&store).await.keys().copied().collect::<Vec<_>>(), [Some(victim.digest)]);
    for (stored, bytes) in &kept[1..] {
        assert!(get(&store, stored).await.unwrap() == bytes[..]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn compaction_beside_everything_else_loses_nothing_and_brings_nothing_back() {
    let dir = tempfile::tempdir().unwrap();
    let (store, mut kept, mut gone) = holey(dir.path()).await;
    let second = open(dir.path()).await;
    let doomed: Vec<_> = kept.split_off(10).into_iter().map(|(stored, _)| stored).collect();
    let compacting = tokio::spawn({
        let store = store.clone();
        async move {
            for _ in 0..5 {
                store.compact(CompactLimits { dead_share: 0.01, ..Default::default() }).await.unwrap();
            }
        }
    });
    let deleting = tokio::spawn({
        let doomed = doomed.clone();
        let store = second.clone();
        async move {
            for stored in doomed {
                store.delete(stored.digest).await.unwrap();
            }
        }
    });
    let mut new = Vec::new();
    for seed in 1000..1030 {
        let bytes = random_bytes(seed, 20_000);
        new.push((put(&store, &bytes).await, bytes));
        let listed = second.enumerate(None, 1000).await.unwrap().entries;
        let listed: BTreeSet<_> = listed.iter().map(|entry| entry.digest).collect();
        let lacking = kept.iter().filter(|(stored, _)| !listed.contains(&stored.digest)).count();
        assert_eq!(lacking, 0, "listed throughout: {} of {} are there", listed.len(), kept.len());
        let (stored, bytes) = &kept[seed as usize % kept.len()];
        assert!(get(&second, stored).await.unwrap() == bytes[..], "readable throughout");
    }
    compacting.await.unwrap();
    deleting.await.unwrap();
    kept.append(&mut new);
    gone.extend(doomed);
    all_is_well(&store, &kept, &gone).await;
    all_is_well(&second, &kept, &gone).await;
}

#[tokio::test]
async fn many_short_segments_become_one() {
    let dir = tempfile::tempdir().unwrap();
    let mut kept = Vec::new();
    for seed in 0..9 {
        let store = open(dir.path()).await;
        let bytes = random_bytes(seed, 1000);
        kept.push((put(&store, &bytes).await, bytes));
        store.close().await;
    }
    assert_eq!(segment_files(dir.path(), "seg").len(), 9);
    let store = open(dir.path()).await;
    store.compact(CompactLimits::default()).await.unwrap();
    assert_eq!(segment_files(dir.path(), "seg").len(), 1);
    all_is_well(&store, &kept, &[]).await;
}
