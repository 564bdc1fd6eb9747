//! Helpers shared by the tests of the directory provider.

#![allow(dead_code, reason = "each test binary uses its part")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use blobs::testing::{random_bytes, read_all};
use blobs::{BlobStore, CheckOutcome, Checked, DirectoryOptions, Owner, StoreKey, Stored, digest_of};
use bytes::Bytes;
use model::{Digest, Result};

/// Waits, for at most 20 seconds, until another thread has made a condition true.
pub async fn wait_for(what: &str, mut holds: impl FnMut() -> bool) {
    let start = std::time::Instant::now();
    while !holds() {
        assert!(start.elapsed().as_secs() < 20, "{what}");
        tokio::task::yield_now().await;
    }
}

/// Returns options for small segments and one writer, without filling segments with zeros.
pub fn options() -> DirectoryOptions {
    DirectoryOptions { segment_bytes: 4 << 20, writers: 1, zero_fill: false, ..Default::default() }
}

/// The forms of encoded stores in these tests: name, compression level, whether encrypted.
pub const FORMS: [(&str, Option<i32>, bool); 3] =
    [("compressed", Some(3), false), ("encrypted", None, true), ("both", Some(3), true)];

pub fn key() -> StoreKey {
    StoreKey::from_bytes(std::array::from_fn(|i| i as u8))
}

/// Returns the options of a store of this form.
pub fn encoding(form: (&str, Option<i32>, bool)) -> DirectoryOptions {
    let encryption_keys = if form.2 { vec![key()] } else { Vec::new() };
    DirectoryOptions { compression: form.1, encryption_keys, ..options() }
}

/// Returns compressible bytes, with random ones in between, that depend on `seed`.
pub fn text(seed: u64, length: usize) -> Bytes {
    let mut out = Vec::with_capacity(length + 4096);
    let mut part = 0;
    while out.len() < length {
        out.extend_from_slice(&random_bytes(seed << 20 | part, 64));
        out.extend_from_slice(&b"Strongroom keeps what is written here. ".repeat(12));
        part += 1;
    }
    out.truncate(length);
    Bytes::from(out)
}

/// Returns the paths of all files below a directory.
pub fn all_files(root: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(root).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => found.extend(all_files(&path)),
            false => found.push(path),
        }
    }
    found
}

/// Returns whether these bytes occur in any file below a directory.
pub fn lies_open(root: &Path, secret: &[u8]) -> bool {
    all_files(root).iter().any(|path| std::fs::read(path).unwrap().windows(secret.len()).any(|part| part == secret))
}

pub fn owner() -> Owner {
    Owner::new("farm-1").unwrap()
}

pub async fn open(path: &Path) -> BlobStore {
    BlobStore::open_directory(path, &owner(), options()).await.unwrap()
}

pub async fn put(store: &BlobStore, bytes: &Bytes) -> Stored {
    store.put(digest_of(bytes), bytes.clone()).await.unwrap()
}

pub async fn get(store: &BlobStore, stored: &Stored) -> Result<Vec<u8>> {
    read_all(&mut store.open(stored.digest, stored.size, Some(&stored.locator)).await?).await
}

pub async fn get_by_digest(store: &BlobStore, digest: Digest, size: u64) -> Result<Vec<u8>> {
    read_all(&mut store.open(digest, size, None).await?).await
}

/// Returns all findings of a verification.
pub async fn verify(store: &BlobStore) -> Vec<Checked> {
    let mut verification = store.verify();
    let mut all = Vec::new();
    while let Some(checked) = verification.next().await {
        all.push(checked.unwrap());
    }
    all
}

/// Returns the findings other than intact, by digest.
pub async fn damage(store: &BlobStore) -> BTreeMap<Option<Digest>, CheckOutcome> {
    let bad = verify(store).await.into_iter().filter(|checked| checked.outcome != CheckOutcome::Intact);
    bad.map(|checked| (checked.digest, checked.outcome)).collect()
}

/// Returns the files in `segments` with this extension, sorted.
pub fn segment_files(store: &Path, extension: &str) -> Vec<PathBuf> {
    let mut files: Vec<_> = std::fs::read_dir(store.join("segments"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|found| found == extension))
        .collect();
    files.sort();
    files
}

/// Returns the offset of the record with this digest in a segment.
pub fn record_offset(segment: &[u8], digest: &Digest) -> usize {
    let header = (0..segment.len() - 128)
        .step_by(64)
        .find(|at| segment[*at..].starts_with(b"SRrecord") && &segment[at + 56..at + 88] == digest.as_bytes());
    header.unwrap()
}

/// Copies a store, which must be closed.
pub fn copy(from: &Path, to: &Path) {
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            std::fs::create_dir_all(&target).unwrap();
            copy(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), &target).unwrap();
        }
    }
}
