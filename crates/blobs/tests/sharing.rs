//! Several processes and handles, owners, and files that do not belong into a store.

#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use std::fs;

use blobs::testing::{random_bytes, read_range};
use blobs::{BlobStore, Owner};
use model::{Code, ErrorKind};
use proptest::prelude::*;
use support::*;

#[tokio::test]
async fn two_handles_see_each_other() {
    let dir = tempfile::tempdir().unwrap();
    let (one, two) = (open(dir.path()).await, open(dir.path()).await);
    let mut all = Vec::new();
    for seed in 0..12u64 {
        let bytes = random_bytes(seed, if seed % 5 == 4 { 1_200_000 } else { 30_000 });
        let (writer, reader) = if seed % 2 == 0 { (&one, &two) } else { (&two, &one) };
        let stored = put(writer, &bytes).await;
        assert!(get(reader, &stored).await.unwrap() == bytes[..], "by locator");
        assert!(get_by_digest(reader, stored.digest, stored.size).await.unwrap() == bytes[..], "by digest");
        all.push((stored, bytes));
    }
    for store in [&one, &two] {
        assert_eq!(store.enumerate(None, 100).await.unwrap().entries.len(), 12);
        assert!(damage(store).await.is_empty());
    }
    // Deleted by the handle that did not write it. Afterwards neither handle serves the old record or takes the bytes
    // for stored.
    let (stored, bytes) = &all[0];
    two.delete(stored.digest).await.unwrap();
    assert_eq!(get(&two, stored).await.unwrap_err().kind(), ErrorKind::NotFound);
    assert!(!put(&one, bytes).await.existed);
    assert!(get_by_digest(&two, stored.digest, stored.size).await.unwrap() == bytes[..]);
    // A handle continues to read segments that the other one has sealed.
    one.close().await;
    for (stored, bytes) in &all {
        assert!(get_by_digest(&two, stored.digest, stored.size).await.unwrap() == bytes[..]);
    }
    assert_eq!(two.enumerate(None, 100).await.unwrap().entries.len(), 12);
}

#[tokio::test]
async fn what_another_handle_deleted_is_not_confirmed_though_it_is_remembered() {
    for size in [30_000, 1_200_000, 70_000_000] {
        let dir = tempfile::tempdir().unwrap();
        let (one, two) = (open(dir.path()).await, open(dir.path()).await);
        let bytes = random_bytes(1, size);
        let stored = put(&one, &bytes).await;
        assert!(get(&one, &stored).await.unwrap() == bytes[..]);
        one.ensure_present(stored.digest, stored.size).await.unwrap();
        two.ensure_present(stored.digest, stored.size).await.unwrap();
        two.delete(stored.digest).await.unwrap();
        assert_eq!(
            one.ensure_present(stored.digest, stored.size).await.unwrap_err().kind(),
            ErrorKind::NotFound,
            "{size}"
        );
        put(&two, &bytes).await;
        one.ensure_present(stored.digest, stored.size).await.unwrap();
    }
}

#[tokio::test]
async fn damage_in_a_segment_that_another_handle_writes_hides_nothing_behind_it() {
    // Damages the bytes of a record, then the header before them.
    for (place, width) in [(100i64, 16usize), (-16, 16)] {
        let dir = tempfile::tempdir().unwrap();
        let one = open(dir.path()).await;
        let mut all = Vec::new();
        for seed in 0..8u64 {
            let bytes = random_bytes(seed, 30_000);
            all.push((put(&one, &bytes).await, bytes));
        }
        let holds = |path: &std::path::PathBuf| find(&fs::read(path).unwrap(), &all[3].1);
        let files = fs::read_dir(dir.path().join("segments")).unwrap().map(|entry| entry.unwrap().path());
        let (path, start) = files.filter_map(|path| holds(&path).map(|at| (path, at))).next().unwrap();
        let mut bytes = fs::read(&path).unwrap();
        let from = usize::try_from(start as i64 + place).unwrap();
        bytes[from..from + width].iter_mut().for_each(|byte| *byte ^= 0xff);
        std::os::unix::fs::FileExt::write_all_at(
            &fs::OpenOptions::new().write(true).open(&path).unwrap(),
            &bytes[from..from + width],
            from as u64,
        )
        .unwrap();
        let two = open(dir.path()).await;
        for (number, (stored, bytes)) in all.iter().enumerate() {
            match get(&two, stored).await {
                Ok(found) => assert!(number != 3 && found == bytes[..], "{number}"),
                Err(error) => assert_eq!((number, error.kind()), (3, ErrorKind::Corrupt), "{error}"),
            }
        }
        // An unreadable header reveals no digest: only a reader with the locator misses that BLOB.
        let named: Vec<_> = damage(&two).await.into_keys().flatten().collect();
        assert_eq!(named, if place > 0 { vec![all[3].0.digest] } else { Vec::new() });
        one.close().await;
    }
}

fn find(all: &[u8], part: &[u8]) -> Option<usize> {
    all.windows(part.len()).position(|window| window == part)
}

#[tokio::test]
async fn the_same_bytes_from_two_handles_are_one_blob_that_one_delete_removes() {
    let dir = tempfile::tempdir().unwrap();
    let (one, two) = (open(dir.path()).await, open(dir.path()).await);
    let bytes = random_bytes(1, 5000);
    let stored = put(&one, &bytes).await;
    put(&two, &bytes).await;
    assert_eq!(one.enumerate(None, 10).await.unwrap().entries.len(), 1);
    one.delete(stored.digest).await.unwrap();
    for store in [&one, &two, &open(dir.path()).await] {
        assert!(store.enumerate(None, 10).await.unwrap().entries.is_empty());
    }
    assert_eq!(get(&one, &stored).await.unwrap_err().kind(), ErrorKind::NotFound);
}

#[tokio::test]
async fn a_second_farm_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    open(dir.path()).await.close().await;
    let other = Owner::new("farm-2").unwrap();
    let error = BlobStore::open_directory(dir.path(), &other, options()).await.err().unwrap();
    assert_eq!((error.kind(), error.code()), (ErrorKind::Conflict, Code::StoreOfAnotherFarm));
    assert!(error.message().contains("farm-1"), "{}", error.message());
    assert!(error.message().contains("farm-2"), "{}", error.message());
}

#[tokio::test]
async fn what_is_no_store_is_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("photo.jpg"), b"mine").unwrap();
    let open = || BlobStore::open_directory(dir.path(), &OWNER, options());
    let error = open().await.err().unwrap();
    assert_eq!((error.kind(), error.code()), (ErrorKind::Conflict, Code::NotABlobStore));
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);

    fs::remove_file(dir.path().join("photo.jpg")).unwrap();
    let store = open().await.unwrap();
    put(&store, &random_bytes(1, 10)).await;
    store.close().await;
    let marker = fs::read_to_string(dir.path().join("store.toml")).unwrap();
    for (text, kind) in [
        (marker.replace("format = 1", "format = 3"), ErrorKind::Invalid),
        ("garbage".to_owned(), ErrorKind::Corrupt),
        (String::new(), ErrorKind::Corrupt),
    ] {
        fs::write(dir.path().join("store.toml"), text).unwrap();
        assert_eq!(open().await.err().unwrap().kind(), kind);
    }
    fs::remove_file(dir.path().join("store.toml")).unwrap();
    assert_eq!(open().await.err().unwrap().kind(), ErrorKind::Corrupt, "BLOBs without a marker are not taken over");
}

static OWNER: std::sync::LazyLock<Owner> = std::sync::LazyLock::new(owner);

#[test]
fn owners_are_plain_words() {
    for bad in ["", "a b", "a\"b", "a\nb", &"x".repeat(129)] {
        assert!(Owner::new(bad).is_err(), "{bad:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]
    #[test]
    fn ranges_are_those_of_the_bytes(
        size in prop_oneof![0usize..300, 65_000usize..66_100, 131_000usize..131_100, 1_040_000usize..1_100_000],
        cuts in prop::collection::vec((0.0f64..1.2, 0.0f64..1.2), 1..12),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let dir = tempfile::tempdir().unwrap();
            let store = open(dir.path()).await;
            let bytes = random_bytes(size as u64, size);
            let stored = put(&store, &bytes).await;
            for (a, b) in cuts {
                let (a, b) = ((a * size as f64) as u64, (b * size as f64) as u64);
                let (from, to) = (a.min(b), a.max(b));
                let expected = &bytes[(from as usize).min(size)..(to as usize).min(size)];
                assert!(read_range(&store, &stored, from..to).await.unwrap() == expected);
            }
            store.close().await;
        });
    }
}

#[tokio::test]
async fn a_note_that_another_process_may_not_have_flushed_is_written_again() {
    let dir = tempfile::tempdir().unwrap();
    let one = open(dir.path()).await;
    let stored = put(&one, &random_bytes(1, 30_000)).await;
    let notes =
        || -> u64 { segment_files(dir.path(), "del").iter().map(|path| fs::metadata(path).unwrap().len() / 64).sum() };
    for _ in 0..3 {
        one.delete(stored.digest).await.unwrap();
        assert_eq!(notes(), 1, "what this process flushed is durable");
    }
    for round in 2..4 {
        let two = open(dir.path()).await;
        for _ in 0..3 {
            two.delete(stored.digest).await.unwrap();
            assert_eq!(notes(), round, "what it only reads may be in memory alone");
        }
        two.close().await;
    }
    one.close().await;
    let again = open(dir.path()).await;
    assert!(again.enumerate(None, 10).await.unwrap().entries.is_empty());
    assert!(damage(&again).await.is_empty());
}

#[tokio::test]
async fn what_is_not_found_where_the_disk_is_not_mounted_is_not_deleted() {
    let dir = tempfile::tempdir().unwrap();
    let (place, away) = (dir.path().join("store"), dir.path().join("away"));
    let store = open(&place).await;
    // The check of the store's holder is cached for some seconds from here on.
    let large = put(&store, &random_bytes(1, 1_200_000)).await;
    fs::rename(&place, &away).unwrap();
    for name in ["segments", "large"] {
        fs::create_dir_all(place.join(name)).unwrap();
    }
    fs::write(place.join("lock"), b"").unwrap();
    let outcomes = store.delete_all(vec![large.digest], &()).await.unwrap();
    assert_eq!(outcomes[0].1.as_ref().unwrap_err().code(), "store_absent", "{outcomes:?}");
    assert_eq!(store.delete(large.digest).await.unwrap_err().code(), "store_absent");
    fs::remove_dir_all(&place).unwrap();
    fs::rename(&away, &place).unwrap();
    store.ensure_present(large.digest, large.size).await.unwrap();
    store.delete(large.digest).await.unwrap();
    assert_eq!(store.ensure_present(large.digest, large.size).await.unwrap_err().kind(), ErrorKind::NotFound);
}
