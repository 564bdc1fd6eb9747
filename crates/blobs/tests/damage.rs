//! Damage is detected, reported, never delivered, and leaves neighbouring BLOBs unharmed.

#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use std::fs;
use std::path::Path;

use blobs::testing::random_bytes;
use blobs::{CheckOutcome, Stored};
use bytes::Bytes;
use model::ErrorKind;
use support::*;

/// Creates a closed store with three BLOBs in one segment; returns them and the segment's file.
async fn three(dir: &Path, sizes: [usize; 3]) -> (Vec<(Stored, Bytes)>, std::path::PathBuf) {
    let store = open(dir).await;
    let mut all = Vec::new();
    for (seed, size) in sizes.into_iter().enumerate() {
        let bytes = random_bytes(seed as u64, size);
        all.push((put(&store, &bytes).await, bytes));
    }
    store.close().await;
    let files = segment_files(dir, "seg");
    assert_eq!(files.len(), 1);
    (all, files[0].clone())
}

/// Returns the parts of a BLOB's record, with the offset of one byte in each.
fn parts(segment: &[u8], stored: &Stored) -> Vec<(&'static str, usize)> {
    let at = record_offset(segment, &stored.digest);
    let data = at + 128;
    let table = data + stored.size as usize;
    vec![
        ("magic", at),
        ("version", at + 8),
        ("offset", at + 24),
        ("length", at + 40),
        ("time", at + 50),
        ("digest", at + 60),
        ("reserved", at + 100),
        ("header checksum", at + 127),
        ("first byte", data),
        ("middle", data + stored.size as usize / 2),
        ("last byte", table - 1),
        ("first checksum", table),
        ("last checksum", table + (stored.size as usize).div_ceil(65_536) * 4 - 1),
    ]
}

#[tokio::test]
async fn a_flipped_bit_in_any_part_of_a_record_is_noticed_and_hurts_no_neighbour() {
    let origin = tempfile::tempdir().unwrap();
    let (all, segment) = three(origin.path(), [5000, 150_000, 300]).await;
    let good = fs::read(&segment).unwrap();
    let victim = &all[1].0;
    for (part, at) in parts(&good, victim) {
        for index_too in [false, true] {
            let dir = tempfile::tempdir().unwrap();
            copy(origin.path(), dir.path());
            let mut bad = good.clone();
            bad[at] ^= 0x10;
            fs::write(dir.path().join("segments").join(segment.file_name().unwrap()), &bad).unwrap();
            if index_too {
                segment_files(dir.path(), "idx").iter().for_each(|path| fs::remove_file(path).unwrap());
            }
            let store = open(dir.path()).await;
            let error = get(&store, victim).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Corrupt, "{part}, index lost: {index_too}");
            assert!(error.message().contains(&victim.digest.to_string()), "{part}: {}", error.message());
            for (stored, bytes) in [&all[0], &all[2]] {
                assert!(get(&store, stored).await.unwrap() == bytes[..], "{part}: a neighbour");
                assert!(get_by_digest(&store, stored.digest, stored.size).await.unwrap() == bytes[..], "{part}");
            }
            let damage = damage(&store).await;
            assert_eq!(damage.len(), 1, "{part}, index lost: {index_too}: {damage:?}");
            let (digest, outcome) = damage.first_key_value().unwrap();
            assert!(matches!(outcome, CheckOutcome::Damaged { .. }), "{part}: {outcome:?}");
            let header_is_gone = index_too && at < record_offset(&good, &victim.digest) + 128;
            assert_eq!(*digest, (!header_is_gone).then_some(victim.digest), "{part}, index lost: {index_too}");
        }
    }
}

#[tokio::test]
async fn putting_the_bytes_again_mends_a_damaged_copy() {
    let dir = tempfile::tempdir().unwrap();
    let (all, segment) = three(dir.path(), [5000, 150_000, 300]).await;
    let mut bad = fs::read(&segment).unwrap();
    let (victim, bytes) = &all[1];
    let at = record_offset(&bad, &victim.digest);
    bad[at + 70_000] ^= 1;
    fs::write(&segment, &bad).unwrap();
    let store = open(dir.path()).await;
    assert!(get(&store, victim).await.is_err());
    let again = put(&store, bytes).await;
    assert!(!again.existed, "there was no good copy");
    for store in [&store, &open(dir.path()).await] {
        assert!(get(store, &again).await.unwrap() == bytes[..]);
        assert!(get(store, victim).await.unwrap() == bytes[..], "the old locator finds the new copy");
        assert!(damage(store).await.is_empty());
    }
    assert!(put(&store, bytes).await.existed);
}

#[tokio::test]
async fn a_large_file_with_a_flipped_bit_or_a_missing_end_is_noticed() {
    let dir = tempfile::tempdir().unwrap();
    let bytes = random_bytes(1, 3_000_000);
    let stored = {
        let store = open(dir.path()).await;
        let stored = put(&store, &bytes).await;
        store.close().await;
        stored
    };
    let name = stored.digest.to_string();
    let path = dir.path().join("large").join(&name[..2]).join(&name);
    let good = fs::read(&path).unwrap();
    assert!(good[..bytes.len()] == bytes[..], "the file begins with the bytes themselves");
    let flipped = |at: usize| {
        let mut bad = good.clone();
        bad[at] ^= 4;
        bad
    };
    let length = good.len();
    for bad in [
        flipped(0),
        flipped(1_500_000),
        flipped(2_999_999),
        flipped(3_000_001),
        flipped(length - 128),
        flipped(length - 80),
        flipped(length - 1),
        good[..length - 1].to_vec(),
        good[..1_000_000].to_vec(),
        vec![],
    ] {
        fs::write(&path, &bad).unwrap();
        let store = open(dir.path()).await;
        let error = get(&store, &stored).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt);
        assert!(error.message().contains(&name));
        let damage = damage(&store).await;
        assert_eq!(damage.keys().copied().collect::<Vec<_>>(), [Some(stored.digest)]);
        assert!(put(&store, &bytes).await.existed, "the file was there");
        assert!(get(&store, &stored).await.unwrap() == bytes[..], "and is mended");
        store.close().await;
    }
}

#[tokio::test]
async fn good_chunks_of_a_damaged_large_file_stay_readable() {
    let dir = tempfile::tempdir().unwrap();
    let bytes = random_bytes(1, 3_000_000);
    let store = open(dir.path()).await;
    let stored = put(&store, &bytes).await;
    let name = stored.digest.to_string();
    let path = dir.path().join("large").join(&name[..2]).join(&name);
    let mut bad = fs::read(&path).unwrap();
    bad[1_000_000] ^= 1;
    fs::write(&path, &bad).unwrap();
    let mut reader = store.open(stored.digest, stored.size, None).await.unwrap();
    reader.set_range(2_000_000..2_500_000);
    assert!(blobs::testing::read_all(&mut reader).await.unwrap() == bytes[2_000_000..2_500_000]);
    let mut reader = store.open(stored.digest, stored.size, None).await.unwrap();
    let mut delivered = Vec::new();
    let error = loop {
        match reader.next_chunk().await {
            Ok(Some(chunk)) => delivered.extend_from_slice(&chunk),
            Ok(None) => break None,
            Err(error) => break Some(error),
        }
    };
    assert_eq!(error.unwrap().kind(), ErrorKind::Corrupt);
    assert!(delivered.len() <= 1_000_000);
    assert!(delivered[..] == bytes[..delivered.len()]);
}

#[tokio::test]
async fn swapped_contents_are_noticed() {
    let dir = tempfile::tempdir().unwrap();
    let (all, segment) = three(dir.path(), [70_000, 70_000, 70_000]).await;
    let mut bytes = fs::read(&segment).unwrap();
    let (one, two) = (record_offset(&bytes, &all[0].0.digest), record_offset(&bytes, &all[1].0.digest));
    // Swaps the contents and their checksums, as if the file system had mixed up blocks.
    let length = 70_000 + 8;
    let first = bytes[one + 128..one + 128 + length].to_vec();
    bytes.copy_within(two + 128..two + 128 + length, one + 128);
    bytes[two + 128..two + 128 + length].copy_from_slice(&first);
    fs::write(&segment, &bytes).unwrap();
    let store = open(dir.path()).await;
    for (stored, _) in &all[..2] {
        assert_eq!(get(&store, stored).await.unwrap_err().kind(), ErrorKind::Corrupt);
    }
    assert!(get(&store, &all[2].0).await.unwrap() == all[2].1[..]);
    assert_eq!(damage(&store).await.len(), 2);
}

#[tokio::test]
async fn a_damaged_or_missing_index_is_built_again() {
    let origin = tempfile::tempdir().unwrap();
    let (all, _) = three(origin.path(), [5000, 150_000, 0]).await;
    let index = fs::read(&segment_files(origin.path(), "idx")[0]).unwrap();
    for at in [None, Some(0), Some(20), Some(30), Some(41), Some(130), Some(index.len() - 1)] {
        let dir = tempfile::tempdir().unwrap();
        copy(origin.path(), dir.path());
        let path = &segment_files(dir.path(), "idx")[0];
        match at {
            None => fs::remove_file(path).unwrap(),
            Some(at) => {
                let mut bad = index.clone();
                bad[at] ^= 1;
                fs::write(path, bad).unwrap();
            }
        }
        let store = open(dir.path()).await;
        for (stored, bytes) in &all {
            assert!(get_by_digest(&store, stored.digest, stored.size).await.unwrap() == bytes[..]);
        }
        assert!(damage(&store).await.is_empty());
        assert_eq!(fs::read(path).unwrap(), index, "the same index as before");
    }
}

#[tokio::test]
async fn deletions_survive_the_loss_of_the_index() {
    let dir = tempfile::tempdir().unwrap();
    let (all, _) = three(dir.path(), [5000, 150_000, 300]).await;
    let store = open(dir.path()).await;
    store.delete(all[1].0.digest).await.unwrap();
    store.close().await;
    fs::remove_file(&segment_files(dir.path(), "idx")[0]).unwrap();
    let store = open(dir.path()).await;
    assert_eq!(get(&store, &all[1].0).await.unwrap_err().kind(), ErrorKind::NotFound);
    assert_eq!(store.enumerate(None, 10).await.unwrap().entries.len(), 2);
}

#[tokio::test]
async fn what_is_garbled_around_blobs_is_told_and_costs_none() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path()).await;
    let bytes = random_bytes(1, 5000);
    let stored = put(&store, &bytes).await;
    assert!(store.look_over().await.unwrap().is_empty());
    store.close().await;
    let segment = segment_files(dir.path(), "seg").remove(0);
    let good = std::fs::read(&segment).unwrap();
    for at in [0, 200, good.len() - 1] {
        let mut garbled = good.clone();
        garbled[at] ^= 0x10;
        std::fs::write(&segment, &garbled).unwrap();
        let store = open(dir.path()).await;
        let told = store.look_over().await.unwrap();
        assert!(told.len() == 1, "byte {at}: {told:?}");
        assert!(told[0].contains(".seg"), "byte {at}: {told:?}");
        assert!(get(&store, &stored).await.unwrap() == bytes[..]);
        store.close().await;
    }
    std::fs::write(&segment, &good).unwrap();
    assert!(open(dir.path()).await.look_over().await.unwrap().is_empty());
}
