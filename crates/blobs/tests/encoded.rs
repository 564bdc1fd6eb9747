//! Directory stores whose BLOBs are compressed, encrypted, or both.

#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use std::fs;
use std::path::Path;

use blobs::testing::{random_bytes, read_range};
use blobs::{BlobStore, CheckOutcome, CompactLimits, DirectoryOptions, StoreKey, Stored, digest_of};
use bytes::Bytes;
use model::{Code, ErrorKind};
use support::*;

const SIZES: [usize; 9] = [0, 1, 3000, 65_536, 65_537, 200_000, 262_144, 1_500_000, 3_000_001];

async fn open_with(dir: &Path, options: DirectoryOptions) -> BlobStore {
    BlobStore::open_directory(dir, &owner(), options).await.unwrap()
}

async fn fill(dir: &Path, form: (&str, Option<i32>, bool)) -> Vec<(Stored, Bytes)> {
    let store = open_with(dir, encoding(form)).await;
    let mut all = Vec::new();
    for (seed, size) in SIZES.into_iter().enumerate() {
        let bytes = text(seed as u64, size);
        all.push((put(&store, &bytes).await, bytes));
    }
    store.close().await;
    all
}

fn large(dir: &Path, stored: &Stored) -> std::path::PathBuf {
    let name = stored.digest.to_string();
    dir.join("large").join(&name[..2]).join(name)
}

fn format_of(dir: &Path) -> String {
    let text = fs::read_to_string(dir.join("store.toml")).unwrap();
    text.lines().find_map(|line| line.strip_prefix("format = ")).unwrap().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn all_forms_are_read_whatever_the_settings_are_later() {
    let dir = tempfile::tempdir().unwrap();
    let mut all = Vec::new();
    let plain = open(dir.path()).await;
    let first = text(99, 5000);
    all.push((put(&plain, &first).await, first));
    plain.close().await;
    assert_eq!(format_of(dir.path()), "1", "nothing changes for a store without these settings");
    for (round, form) in FORMS.into_iter().enumerate() {
        let store = open_with(dir.path(), encoding(form)).await;
        assert_eq!(format_of(dir.path()), "2", "before the first BLOB comes");
        for size in SIZES {
            let bytes = text(1000 * (round as u64 + 1) + size as u64 % 999, size.max(round + 1));
            all.push((put(&store, &bytes).await, bytes));
        }
        store.close().await;
    }
    let reading = DirectoryOptions { encryption_keys: vec![StoreKey::generate().unwrap(), key()], ..options() };
    let store = open_with(dir.path(), reading).await;
    for (stored, bytes) in &all {
        assert!(get(&store, stored).await.unwrap() == bytes[..]);
        assert!(get_by_digest(&store, stored.digest, stored.size).await.unwrap() == bytes[..]);
        let half = stored.size / 2;
        assert!(
            read_range(&store, stored, half..half + 100).await.unwrap()
                == bytes[half as usize..][..100.min(bytes.len() - half as usize)]
        );
        assert!(put(&store, bytes).await.existed, "also in another form");
    }
    assert!(damage(&store).await.is_empty());
    store.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_shrinks_takes_less_and_what_does_not_is_kept_as_it_is() {
    let (dir, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let form = FORMS[0];
    let store = open_with(dir.path(), encoding(form)).await;
    let plain = open(other.path()).await;
    for size in [100_000, 2_000_000] {
        put(&store, &text(1, size)).await;
        let bytes = random_bytes(2, size);
        let stored = put(&store, &bytes).await;
        put(&plain, &bytes).await;
        if size > 1_000_000 {
            assert_eq!(
                fs::metadata(large(dir.path(), &stored)).unwrap().len(),
                fs::metadata(large(other.path(), &stored)).unwrap().len()
            );
            assert!(fs::read(large(dir.path(), &stored)).unwrap()[..size] == bytes[..], "the BLOB itself");
        }
    }
    let shrunk = digest_of(&text(1, 2_000_000)).to_string();
    let file = dir.path().join("large").join(&shrunk[..2]).join(&shrunk);
    assert!(fs::metadata(file).unwrap().len() < 800_000);
    store.close().await;
    let segment = fs::read(&segment_files(dir.path(), "seg")[0]).unwrap();
    let version = |bytes: &Bytes| segment[record_offset(&segment, &digest_of(bytes)) + 8];
    assert_eq!((version(&text(1, 100_000)), version(&random_bytes(2, 100_000))), (2, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_of_an_encrypted_store_lies_open_at_any_moment() {
    let dir = tempfile::tempdir().unwrap();
    let secret = b"keeps what is written here. Strongroom keeps";
    for form in &FORMS[1..] {
        let store = open_with(dir.path(), encoding(*form)).await;
        put(&store, &text(1, 50_000)).await;
        let mut writer = store.writer(None).await.unwrap();
        for seed in 0..8 {
            writer.write(text(seed, 1 << 20)).await.unwrap();
        }
        let unfinished = fs::read_dir(dir.path().join("incoming")).unwrap().count();
        assert!(unfinished > 0, "an upload is under way");
        assert!(!lies_open(dir.path(), secret), "{}", form.0);
        writer.finish().await.unwrap();
        assert!(!lies_open(dir.path(), secret), "{}", form.0);
        store.close().await;
        assert!(!lies_open(dir.path(), secret), "{}", form.0);
    }
    let plain = open_with(dir.path(), encoding(FORMS[1])).await;
    plain.close().await;
    let open = open(dir.path()).await;
    put(&open, &text(7, 5000)).await;
    assert!(lies_open(dir.path(), secret), "the search finds what is open");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_missing_key_is_neither_absence_nor_damage() {
    for form in &FORMS[1..] {
        let dir = tempfile::tempdir().unwrap();
        let all = fill(dir.path(), *form).await;
        for keys in [vec![], vec![StoreKey::generate().unwrap()]] {
            let store = open_with(dir.path(), DirectoryOptions { encryption_keys: keys, ..options() }).await;
            for (stored, bytes) in &all {
                let errors = [
                    get(&store, stored).await.unwrap_err(),
                    get_by_digest(&store, stored.digest, stored.size).await.unwrap_err(),
                    store.ensure_present(stored.digest, stored.size).await.unwrap_err(),
                ];
                for error in errors {
                    assert_eq!((error.kind(), error.code()), (ErrorKind::Unavailable, Code::StoreKeyMissing));
                    assert!(error.message().contains(&key().identifier()), "{}", error.message());
                    assert!(error.message().contains(&dir.path().display().to_string()), "{}", error.message());
                }
                if stored.size < 262_145 {
                    let error = store.put(stored.digest, bytes.clone()).await.unwrap_err();
                    assert_eq!(error.code(), "store_key_missing", "the copy that is there cannot be judged");
                }
            }
            assert_eq!(store.enumerate(None, 100).await.unwrap().entries.len(), all.len(), "listed all the same");
            let mut verification = store.verify();
            loop {
                match verification.next().await.unwrap() {
                    Ok(checked) => assert_eq!(checked.outcome, CheckOutcome::Intact),
                    Err(error) => break assert_eq!(error.code(), "store_key_missing"),
                }
            }
            store.close().await;
        }
        let store = open_with(dir.path(), encoding(*form)).await;
        assert!(damage(&store).await.is_empty());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn compaction_recovery_and_indexes_need_no_key() {
    for form in FORMS {
        let dir = tempfile::tempdir().unwrap();
        let all = fill(dir.path(), form).await;
        let index = fs::read(&segment_files(dir.path(), "idx")[0]).unwrap();
        // As if the process had died before it sealed the segment, in the middle of another record.
        let segment = segment_files(dir.path(), "seg")[0].clone();
        let mut torn = fs::read(&segment).unwrap();
        let whole = torn.len();
        torn.extend(random_bytes(5, 9000));
        fs::write(&segment, &torn).unwrap();
        segment_files(dir.path(), "idx").iter().for_each(|path| fs::remove_file(path).unwrap());
        let store = open(dir.path()).await;
        assert_eq!(fs::metadata(&segment).unwrap().len(), whole as u64, "the torn tail is cut");
        assert_eq!(fs::read(&segment_files(dir.path(), "idx")[0]).unwrap(), index, "the same index as before");
        store.delete(all[3].0.digest).await.unwrap();
        let report = store.compact(CompactLimits { dead_share: 0.0, ..Default::default() }).await.unwrap();
        assert_eq!((report.removed, report.damaged), (1, 0));
        assert_eq!(store.enumerate(None, 100).await.unwrap().entries.len(), all.len() - 1);
        let usage = store.usage().await.unwrap();
        let content: u64 = all.iter().map(|(stored, _)| stored.size).sum();
        assert_eq!(usage.content_bytes, content - all[3].0.size);
        store.close().await;
        let store = open_with(dir.path(), encoding(form)).await;
        for (stored, bytes) in all.iter().filter(|(stored, _)| stored.digest != all[3].0.digest) {
            assert!(get(&store, stored).await.unwrap() == bytes[..], "{}: {} bytes", form.0, stored.size);
        }
        assert!(damage(&store).await.is_empty());
        store.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_flipped_bit_of_a_record_is_found_and_mended() {
    for form in FORMS {
        let origin = tempfile::tempdir().unwrap();
        let store = open_with(origin.path(), encoding(form)).await;
        let (before, bytes, after) = (text(1, 4000), text(2, 140_000), text(3, 900));
        let (first, victim, last) = (put(&store, &before).await, put(&store, &bytes).await, put(&store, &after).await);
        store.close().await;
        let segment = segment_files(origin.path(), "seg")[0].clone();
        let good = fs::read(&segment).unwrap();
        let at = record_offset(&good, &victim.digest);
        let stored = u64::from_le_bytes(good[at + 88..at + 96].try_into().unwrap()) as usize;
        let end = at + 128 + stored + stored.div_ceil(65_536) * 4;
        // Bytes of headers, table and checksums (every one for one of the forms), and some of each frame.
        let step = if form.0 == "both" { 1 } else { 9 };
        let places =
            (at..at + 128 + 240).step_by(step).chain((at + 368..end).step_by(stored / 40)).chain(end - 24..end);
        for place in places {
            let dir = tempfile::tempdir().unwrap();
            copy(origin.path(), dir.path());
            let mut bad = good.clone();
            bad[place] ^= 1 << (place % 8);
            let file = dir.path().join("segments").join(segment.file_name().unwrap());
            fs::write(&file, &bad).unwrap();
            let store = open_with(dir.path(), encoding(form)).await;
            let error = get(&store, &victim).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Corrupt, "{} byte {}", form.0, place - at);
            assert!(error.message().contains(&victim.digest.to_string()));
            for (stored, bytes) in [(&first, &before), (&last, &after)] {
                assert!(get(&store, stored).await.unwrap() == bytes[..], "a neighbour");
            }
            let found = damage(&store).await;
            assert_eq!(found.keys().copied().collect::<Vec<_>>(), [Some(victim.digest)], "byte {}", place - at);
            // A region whose header is damaged stays unidentified, so only damage after the header is repaired.
            if place % 16 == 0 && place >= at + 128 {
                assert!(!put(&store, &bytes).await.existed);
                assert!(get(&store, &victim).await.unwrap() == bytes[..]);
                assert!(damage(&store).await.is_empty());
            }
            store.close().await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_flipped_bit_or_a_missing_end_of_a_large_file_is_found_and_mended() {
    for form in FORMS {
        let dir = tempfile::tempdir().unwrap();
        let bytes = text(1, 1_500_000);
        let store = open_with(dir.path(), encoding(form)).await;
        let victim = put(&store, &bytes).await;
        store.close().await;
        let path = large(dir.path(), &victim);
        let good = fs::read(&path).unwrap();
        let length = good.len();
        let places = (0..length - 1200)
            .step_by(length / 30)
            .chain((length - 1200..length).step_by(7))
            .chain(length - 128..length);
        for place in places {
            let mut bad = good.clone();
            bad[place] ^= 1 << (place % 8);
            fs::write(&path, &bad).unwrap();
            let store = open_with(dir.path(), encoding(form)).await;
            let found = damage(&store).await;
            assert_eq!(
                found.keys().copied().collect::<Vec<_>>(),
                [Some(victim.digest)],
                "{} byte {place} of {length}",
                form.0
            );
            match get(&store, &victim).await {
                Err(error) => assert_eq!(error.kind(), ErrorKind::Corrupt, "byte {place} of {length}"),
                // The envelope's own checksums suffice for reading; the outer ones are for recovery.
                Ok(read) => assert!(read == bytes[..]),
            }
            store.close().await;
        }
        for cut in [length - 1, length / 2, 100, 0] {
            fs::write(&path, &good[..cut]).unwrap();
            let store = open_with(dir.path(), encoding(form)).await;
            assert_eq!(get(&store, &victim).await.unwrap_err().kind(), ErrorKind::Corrupt, "cut at {cut}");
            assert!(put(&store, &bytes).await.existed, "the file was there");
            assert!(get(&store, &victim).await.unwrap() == bytes[..], "and is mended");
            store.close().await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reader_goes_on_when_the_same_bytes_come_in_another_form() {
    let dir = tempfile::tempdir().unwrap();
    let bytes = text(1, 3_000_000);
    let all: [DirectoryOptions; 4] = [
        options(),
        encoding(FORMS[0]),
        encoding(FORMS[1]),
        DirectoryOptions { encryption_keys: vec![key()], ..options() },
    ];
    let mut readers = Vec::new();
    let mut stores = Vec::new();
    for options in all {
        let keys = vec![key()];
        let store = open_with(dir.path(), DirectoryOptions { encryption_keys: keys, ..options.clone() }).await;
        let writer = open_with(dir.path(), options).await;
        let stored = put(&writer, &bytes).await;
        let mut reader = store.open(stored.digest, stored.size, None).await.unwrap();
        let first = reader.next_chunk().await.unwrap().unwrap();
        readers.push((reader, first.to_vec()));
        stores.extend([store, writer]);
    }
    // No bytes of the plain form are in memory with which a reader could continue.
    for (mut reader, mut read) in readers {
        while let Some(chunk) = reader.next_chunk().await.unwrap() {
            read.extend_from_slice(&chunk);
        }
        assert!(read == bytes[..]);
    }
    assert!(damage(&stores[0]).await.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rotated_key_encrypts_what_comes_and_the_old_one_opens_what_is_there() {
    let dir = tempfile::tempdir().unwrap();
    let old = fill(dir.path(), FORMS[1]).await;
    let fresh = StoreKey::generate().unwrap();
    let store =
        open_with(dir.path(), DirectoryOptions { encryption_keys: vec![fresh.clone(), key()], ..options() }).await;
    let bytes = text(77, 30_000);
    let new = put(&store, &bytes).await;
    store.close().await;
    let with = |keys| DirectoryOptions { encryption_keys: keys, ..options() };
    let store = open_with(dir.path(), with(vec![fresh])).await;
    assert!(get(&store, &new).await.unwrap() == bytes[..]);
    assert_eq!(get(&store, &old[3].0).await.unwrap_err().code(), "store_key_missing");
    store.close().await;
    let store = open_with(dir.path(), with(vec![key()])).await;
    assert_eq!(get(&store, &new).await.unwrap_err().code(), "store_key_missing");
    assert!(get(&store, &old[3].0).await.unwrap() == old[3].1[..]);
}
