//! The promises of the provider contract, as checks on an empty store. `provider_contract!` makes a test of each.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test suite: a failed expectation is a panic")]

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicI64, Ordering};

use bytes::Bytes;
use model::{Digest, Error, ErrorKind, Result};

use super::content::{random_bytes, read_all, read_range};
use crate::{BlobStore, BoxFuture, CheckOutcome, Consent, Locator, Stored, digest_of};

async fn put(store: &BlobStore, bytes: &Bytes) -> Stored {
    store.put(digest_of(bytes), bytes.clone()).await.unwrap()
}

async fn stream(store: &BlobStore, bytes: &Bytes, piece: usize, announced: Option<u64>) -> Result<Stored> {
    let mut writer = store.writer(announced).await?;
    for start in (0..bytes.len()).step_by(piece) {
        writer.write(bytes.slice(start..bytes.len().min(start + piece))).await?;
    }
    assert_eq!(writer.written(), bytes.len() as u64);
    writer.finish().await
}

async fn is_there(store: &BlobStore, stored: &Stored, bytes: &Bytes) {
    store.ensure_present(stored.digest, stored.size).await.unwrap();
    for locator in [Some(&stored.locator), None] {
        let mut reader = store.open(stored.digest, stored.size, locator).await.unwrap();
        assert_eq!(reader.size(), bytes.len() as u64);
        assert!(read_all(&mut reader).await.unwrap() == bytes[..], "BLOB of {} bytes reads back", bytes.len());
        assert!(reader.next_chunk().await.unwrap().is_none(), "the end stays the end");
        let mut reader = store.open(stored.digest, stored.size, locator).await.unwrap();
        if let Some(whole) = reader.try_whole() {
            assert!(whole.unwrap() == *bytes, "a BLOB of {} bytes at once", bytes.len());
            assert!(reader.next_chunk().await.unwrap().is_none());
        }
    }
}

const SIZES: [usize; 14] =
    [0, 1, 63, 4095, 4096, 65_535, 65_536, 65_537, 131_072, 262_145, 1 << 20, (1 << 20) + 1, 3_000_000, 9_000_001];

/// Stores BLOBs of every size and reads them back, with and without their locators.
pub async fn stores_and_reads_all_sizes(store: BlobStore) {
    let mut all = Vec::new();
    for (seed, size) in SIZES.into_iter().enumerate() {
        let bytes = random_bytes(seed as u64, size);
        let stored = put(&store, &bytes).await;
        assert_eq!((stored.digest, stored.size, stored.existed), (digest_of(&bytes), size as u64, false));
        is_there(&store, &stored, &bytes).await;
        all.push((stored, bytes));
    }
    for (stored, bytes) in &all {
        is_there(&store, stored, bytes).await;
    }
}

/// Streams BLOBs of every size in pieces.
pub async fn streams_what_arrives_in_pieces(store: BlobStore) {
    for (seed, size) in SIZES.into_iter().enumerate() {
        let bytes = random_bytes(1000 + seed as u64, size);
        let announced = [None, Some(size as u64)][seed % 2];
        let stored = stream(&store, &bytes, 70_001, announced).await.unwrap();
        assert_eq!((stored.digest, stored.size, stored.existed), (digest_of(&bytes), size as u64, false));
        is_there(&store, &stored, &bytes).await;
    }
}

/// Refuses a stream that is shorter or longer than announced, and stores nothing of it.
pub async fn refuses_other_lengths_than_announced(store: BlobStore) {
    for size in [10, 3_000_000] {
        let bytes = random_bytes(7, size);
        for wrong in [size as u64 - 1, size as u64 + 1, 0] {
            let error = stream(&store, &bytes, 50_000, Some(wrong)).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Invalid, "{size} bytes announced as {wrong}");
        }
    }
    assert_eq!(store.enumerate(None, 10).await.unwrap().entries, vec![]);
}

/// Stores nothing of a stream that is dropped.
pub async fn leaves_nothing_of_a_dropped_writer(store: BlobStore) {
    for size in [10, 9_000_000] {
        let mut writer = store.writer(None).await.unwrap();
        writer.write(random_bytes(3, size)).await.unwrap();
        drop(writer);
    }
    assert_eq!(store.enumerate(None, 10).await.unwrap().entries, vec![]);
    assert_eq!(store.usage().await.unwrap().blobs, 0);
}

/// Reads ranges at the boundaries of chunks and beyond the end.
pub async fn serves_ranges(store: BlobStore) {
    for size in [10usize, 200_000, 3_000_000] {
        let bytes = random_bytes(size as u64, size);
        let stored = put(&store, &bytes).await;
        let end = size as u64;
        let (cut, far) = (65_536.min(end), end.saturating_sub(65_537));
        for range in [0..end, 0..1, end - 1..end, cut - 1..cut, cut..end, far..end, 3..end - 3, 5..5] {
            let expected = &bytes[range.start as usize..range.end as usize];
            assert!(read_range(&store, &stored, range.clone()).await.unwrap() == expected, "{range:?} of {size}");
        }
        for beyond in [end..end + 5, end + 1..end + 2, 5..u64::MAX] {
            let expected = &bytes[(beyond.start.min(end)) as usize..];
            assert!(read_range(&store, &stored, beyond).await.unwrap() == expected);
        }
    }
}

/// Stores the same bytes once and reports that they existed.
pub async fn stores_the_same_bytes_once(store: BlobStore) {
    for size in [0, 5000, 3_000_000] {
        let bytes = random_bytes(11, size);
        let first = put(&store, &bytes).await;
        let again = put(&store, &bytes).await;
        let streamed = stream(&store, &bytes, 100_000, None).await.unwrap();
        assert_eq!((first.existed, again.existed, streamed.existed), (false, true, true), "{size} bytes");
        is_there(&store, &streamed, &bytes).await;
    }
    assert_eq!(store.enumerate(None, 10).await.unwrap().entries.len(), 3);
}

/// Stores the same bytes once when several callers store them concurrently.
pub async fn stores_the_same_bytes_once_at_the_same_time(store: BlobStore) {
    let bytes = random_bytes(12, 30_000);
    let tasks: Vec<_> = (0..16)
        .map(|_| {
            let (store, bytes) = (store.clone(), bytes.clone());
            tokio::spawn(async move { put(&store, &bytes).await })
        })
        .collect();
    let mut fresh = 0;
    for task in tasks {
        let stored = task.await.unwrap();
        fresh += usize::from(!stored.existed);
        is_there(&store, &stored, &bytes).await;
    }
    assert_eq!(fresh, 1, "one put was the first");
    assert_eq!(store.enumerate(None, 10).await.unwrap().entries.len(), 1);
}

/// Finds a BLOB whatever locator it is given.
pub async fn takes_bad_locators_as_hints(store: BlobStore) {
    let (one, two) = (random_bytes(1, 500), random_bytes(2, 500));
    let (first, second) = (put(&store, &one).await, put(&store, &two).await);
    let garbled: Vec<u8> = first.locator.as_bytes().iter().map(|byte| byte ^ 0x5a).collect();
    let mut cut = first.locator.as_bytes().to_vec();
    cut.pop();
    for hint in [&second.locator.as_bytes().to_vec(), &garbled, &cut, &vec![], &vec![255; 32]] {
        let hint = Locator::from_bytes(hint).unwrap();
        let mut reader = store.open(first.digest, first.size, Some(&hint)).await.unwrap();
        assert!(read_all(&mut reader).await.unwrap() == one[..]);
    }
}

/// Reports an absent BLOB as not found, and a wrong size as damage.
pub async fn says_not_found_only_of_what_is_absent(store: BlobStore) {
    let stored = put(&store, &random_bytes(1, 100)).await;
    for locator in [None, Some(&stored.locator)] {
        let error = store.open(digest_of(b"absent"), 100, locator).await.err().unwrap();
        assert_eq!(error.kind(), ErrorKind::NotFound);
    }
    let error = store.open(stored.digest, 99, Some(&stored.locator)).await.err().unwrap();
    assert_eq!(error.kind(), ErrorKind::Corrupt, "a size that contradicts the store");
}

/// Deletes a BLOB, also twice, and stores it again.
pub async fn deletes_and_stores_again(store: BlobStore) {
    for size in [0, 40_000, 3_000_000] {
        let (bytes, other) = (random_bytes(20, size), random_bytes(21, size + 1));
        let stored = put(&store, &bytes).await;
        let kept = put(&store, &other).await;
        let mut reading = store.open(stored.digest, stored.size, Some(&stored.locator)).await.unwrap();
        store.delete(stored.digest).await.unwrap();
        store.delete(stored.digest).await.unwrap();
        // A reader that was opened before the deletion may continue or fail; it never delivers other bytes.
        if let Ok(read) = read_all(&mut reading).await {
            assert!(read == bytes[..]);
        }
        for locator in [Some(&stored.locator), None] {
            let error = store.open(stored.digest, stored.size, locator).await.err().unwrap();
            assert_eq!(error.kind(), ErrorKind::NotFound, "{size} bytes");
        }
        assert_eq!(store.ensure_present(stored.digest, stored.size).await.unwrap_err().kind(), ErrorKind::NotFound);
        let listed = store.enumerate(None, 100).await.unwrap().entries;
        assert!(listed.iter().all(|entry| entry.digest != stored.digest));
        is_there(&store, &kept, &other).await;
        let again = put(&store, &bytes).await;
        assert!(!again.existed, "{size} bytes");
        is_there(&store, &again, &bytes).await;
    }
}

/// Lists every BLOB once, in order, in pages of any length.
pub async fn enumerates_everything_once_in_order(store: BlobStore) {
    let before = model::Timestamp::now();
    let mut expected = BTreeMap::new();
    for seed in 0..40u64 {
        let size = if seed % 10 == 0 { 2_000_000 } else { 100 + seed as usize };
        let stored = put(&store, &random_bytes(seed, size)).await;
        expected.insert(stored.digest, stored.size);
    }
    for limit in [1, 7, 40, 1000] {
        let mut listed = Vec::new();
        let mut after: Option<Digest> = None;
        loop {
            let page = store.enumerate(after, limit).await.unwrap();
            assert!(page.entries.len() <= limit);
            listed.extend(page.entries);
            match page.next {
                Some(next) => after = Some(next),
                None => break,
            }
        }
        let pairs: Vec<_> = listed.iter().map(|entry| (entry.digest, entry.size)).collect();
        assert_eq!(pairs, expected.iter().map(|(digest, size)| (*digest, *size)).collect::<Vec<_>>());
        assert!(listed.iter().all(|entry| entry.stored_at >= before && entry.stored_at <= model::Timestamp::now()));
    }
}

/// Verifies the BLOBs that it holds and no deleted one.
pub async fn verifies_what_it_holds(store: BlobStore) {
    let mut expected = BTreeMap::new();
    for seed in 0..6u64 {
        let stored = put(&store, &random_bytes(seed, [10, 70_000, 2_000_000][seed as usize % 3])).await;
        expected.insert(stored.digest, stored.size);
    }
    let (gone, _) = expected.pop_first().unwrap();
    store.delete(gone).await.unwrap();
    let mut verification = store.verify();
    let mut found = BTreeMap::new();
    while let Some(checked) = verification.next().await {
        let checked = checked.unwrap();
        assert_eq!(checked.outcome, CheckOutcome::Intact, "{checked:?}");
        found.insert(checked.digest.unwrap(), checked.size);
    }
    assert_eq!(found, expected);
}

/// Rereads a listed BLOB past every cache, and reports one that was deleted as missing.
pub async fn rereads_what_it_lists(store: BlobStore) {
    for size in [10, 2_000_000] {
        let bytes = random_bytes(30, size);
        let stored = put(&store, &bytes).await;
        is_there(&store, &stored, &bytes).await;
        let entry = store.enumerate(None, 10).await.unwrap().entries[0];
        assert_eq!(store.reread(entry).await.unwrap(), CheckOutcome::Intact);
        store.delete(stored.digest).await.unwrap();
        let outcome = store.reread(entry).await.unwrap();
        assert!(matches!(outcome, CheckOutcome::Missing { .. }), "{outcome:?}");
    }
}

/// Deletes several BLOBs at once, absent ones included.
pub async fn deletes_several_at_once(store: BlobStore) {
    let mut all = Vec::new();
    for seed in 0..12u64 {
        all.push(put(&store, &random_bytes(seed, [10, 70_000, 2_000_000][seed as usize % 3])).await);
    }
    let (gone, kept) = all.split_at(9);
    let never = digest_of(b"never stored");
    let wanted: Vec<_> = gone.iter().map(|stored| stored.digest).chain([never]).collect();
    for _ in 0..2 {
        let outcomes = store.delete_all(wanted.clone(), &()).await.unwrap();
        assert!(outcomes.len() == wanted.len(), "{outcomes:?}");
        assert!(outcomes.iter().all(|(_, outcome)| outcome.is_ok()), "{outcomes:?}");
    }
    for stored in gone {
        let error = store.ensure_present(stored.digest, stored.size).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotFound, "{error}");
    }
    for stored in kept {
        store.ensure_present(stored.digest, stored.size).await.unwrap();
    }
}

/// Consents this many times.
struct Consents(AtomicI64);

impl Consent for Consents {
    fn ask(&self) -> BoxFuture<'_, ()> {
        let left = self.0.fetch_sub(1, Ordering::SeqCst);
        Box::pin(async move { if left > 0 { Ok(()) } else { Err(Error::unavailable("the right was lost")) } })
    }
}

/// Deletes only with consent.
pub async fn deletes_nothing_without_consent(store: BlobStore) {
    let mut all = Vec::new();
    for seed in 0..20 {
        all.push(put(&store, &random_bytes(seed, 1_000)).await);
    }
    for times in [0, 3] {
        let digests: Vec<Digest> = all.iter().map(|stored| stored.digest).collect();
        let outcomes = store.delete_all(digests, &Consents(AtomicI64::new(times))).await.unwrap_or_default();
        let gone: Vec<Digest> = outcomes.iter().filter(|(_, done)| done.is_ok()).map(|(digest, _)| *digest).collect();
        // One consent may cover all of them, if the store waits for nothing in between.
        assert!([times as usize, if times > 0 { all.len() } else { 0 }].contains(&gone.len()), "{outcomes:?}");
        for stored in &all {
            assert_eq!(store.ensure_present(stored.digest, stored.size).await.is_err(), gone.contains(&stored.digest));
        }
    }
}

/// Counts its BLOBs and their bytes.
pub async fn counts_what_it_holds(store: BlobStore) {
    assert_eq!(store.usage().await.unwrap().blobs, 0);
    let one = put(&store, &random_bytes(1, 30_000)).await;
    put(&store, &random_bytes(2, 2_000_000)).await;
    let usage = store.usage().await.unwrap();
    assert_eq!((usage.blobs, usage.content_bytes), (2, 2_030_000));
    assert!(usage.disk_bytes >= usage.content_bytes);
    assert_eq!(store.look_over().await.unwrap(), Vec::<String>::new(), "nothing is damaged");
    store.delete(one.digest).await.unwrap();
    let usage = store.usage().await.unwrap();
    assert_eq!((usage.blobs, usage.content_bytes), (1, 2_000_000));
}

/// Compacts without losing a BLOB.
pub async fn compacts_without_losing(store: BlobStore) {
    let mut kept = Vec::new();
    for seed in 0..30u64 {
        let bytes = random_bytes(seed, 20_000);
        let stored = put(&store, &bytes).await;
        match seed % 3 {
            0 => kept.push((stored, bytes)),
            _ => store.delete(stored.digest).await.unwrap(),
        }
    }
    store.compact(crate::CompactLimits { dead_share: 0.1, ..Default::default() }).await.unwrap();
    for (stored, bytes) in &kept {
        is_there(&store, stored, bytes).await;
    }
    assert_eq!(store.enumerate(None, 100).await.unwrap().entries.len(), kept.len());
}

/// Refuses to store anything after it was closed.
pub async fn refuses_writes_after_close(store: BlobStore) {
    let bytes = random_bytes(1, 100);
    put(&store, &bytes).await;
    store.close().await;
    let other = random_bytes(2, 100);
    match store.put(digest_of(&other), other.clone()).await {
        Err(error) => assert_eq!(error.kind(), ErrorKind::Unavailable),
        Ok(_) => panic!("a closed store took a BLOB"),
    }
    store.close().await;
}
