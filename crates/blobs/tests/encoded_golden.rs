//! A directory with encoded BLOBs that was written by the first version able to do so stays readable for ever.

#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use std::fs;
use std::path::{Path, PathBuf};

use blobs::testing::random_bytes;
use blobs::{BlobStore, DirectoryOptions, StoreKey, digest_of};
use bytes::Bytes;
use model::ErrorKind;
use support::*;

fn golden() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/v2")
}

/// Contents of each form: a compressible and an incompressible BLOB, once in a segment and once in a file of its own.
fn contents(form: usize) -> [Bytes; 4] {
    let lines =
        |length: usize| Bytes::from(format!("Strongroom keeps line {form}. ").repeat(length / 25 + 1)).slice(..length);
    [lines(4000), random_bytes(form as u64, 300), lines(150_000), random_bytes(9 + form as u64, 5001)]
}

fn limit(options: DirectoryOptions, large: bool) -> DirectoryOptions {
    DirectoryOptions { segment_limit: if large { 0 } else { 5000 }, segment_bytes: 16_384, ..options }
}

/// Creates the golden store. Run by hand when a new version of the format is introduced, never to make a test pass.
#[tokio::test]
#[ignore = "writes the golden store of a new version"]
async fn write_golden_encoded_store() {
    let path = PathBuf::from(std::env::var_os("BLOBS_GOLDEN").unwrap());
    for (number, form) in FORMS.into_iter().enumerate() {
        let store = BlobStore::open_directory(&path, &owner(), limit(encoding(form), false)).await.unwrap();
        for content in contents(number) {
            put(&store, &content).await;
        }
        store.close().await;
    }
}

fn copied() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    copy(&golden(), dir.path());
    // Empty directories are not kept in version control.
    fs::create_dir_all(dir.path().join("incoming")).unwrap();
    dir
}

#[tokio::test]
async fn the_first_version_is_read_with_and_without_its_indexes() {
    for index in [true, false] {
        let dir = copied();
        if !index {
            segment_files(dir.path(), "idx").iter().for_each(|path| fs::remove_file(path).unwrap());
        }
        let options = DirectoryOptions { encryption_keys: vec![StoreKey::generate().unwrap(), key()], ..options() };
        let store = BlobStore::open_directory(dir.path(), &owner(), options).await.unwrap();
        for content in (0..FORMS.len()).flat_map(contents) {
            assert!(get_by_digest(&store, digest_of(&content), content.len() as u64).await.unwrap() == content[..]);
        }
        assert_eq!(store.enumerate(None, 100).await.unwrap().entries.len(), 12);
        assert!(damage(&store).await.is_empty());
        store.close().await;
        let names =
            |root: &Path| segment_files(root, "idx").iter().map(|path| fs::read(path).unwrap()).collect::<Vec<_>>();
        assert!(names(dir.path()) == names(&golden()), "the same indexes as before");
    }
}

#[test]
fn the_format_is_what_its_description_says() {
    let u64_at = |bytes: &[u8], at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap());
    assert!(fs::read_to_string(golden().join("store.toml")).unwrap().contains("\nformat = 2\n"));
    let segments: Vec<_> = segment_files(&golden(), "seg").iter().map(|path| fs::read(path).unwrap()).collect();
    for (number, (name, _, encrypted)) in FORMS.into_iter().enumerate() {
        let [shrinks, stays, long, odd] = contents(number);
        let segment =
            segments.iter().find(|bytes| bytes.windows(32).any(|part| part == digest_of(&shrinks).as_bytes())).unwrap();
        let at = record_offset(segment, &digest_of(&shrinks));
        let (record, stored) = (&segment[at..], u64_at(&segment[at..], 88) as usize);
        assert_eq!((record[8], u64_at(record, 40), &record[128..136]), (2, 4000, &b"SRobject"[..]), "{name}");
        assert_eq!(stored as u64, 192 + 8 + u64_at(record, 128 + 120), "{name}: envelope, one entry, frame");
        let mask = u32::from_le_bytes(digest_of(&shrinks).as_bytes()[..4].try_into().unwrap());
        let sum = u32::from_le_bytes(record[128 + stored..][..4].try_into().unwrap());
        assert_eq!(sum, crc32fast::hash(&record[128..128 + stored]) ^ mask, "{name}");
        let stays = record_offset(segment, &digest_of(&stays));
        assert_eq!(segment[stays + 8], if encrypted { 2 } else { 1 }, "{name}");

        let file = |content: &Bytes| {
            let digest = digest_of(content).to_string();
            fs::read(golden().join("large").join(&digest[..2]).join(&digest)).unwrap()
        };
        let bytes = file(&long);
        let footer = &bytes[bytes.len() - 128..];
        assert_eq!((&footer[..8], footer[8], u64_at(footer, 40)), (&b"SRlarge1"[..], 2, 150_000), "{name}");
        let stored = u64_at(footer, 88) as usize;
        let head = &bytes[stored - 192..stored];
        assert_eq!((&head[..8], u64_at(head, 120) as usize + 3 * 8 + 192), (&b"SRobject"[..], stored), "{name}");
        let bytes = file(&odd);
        assert_eq!(bytes[bytes.len() - 120], if encrypted { 2 } else { 1 }, "{name}");
    }
}

#[tokio::test]
async fn it_shows_nothing_without_its_key() {
    let dir = copied();
    let store = open(dir.path()).await;
    for (number, (.., encrypted)) in FORMS.into_iter().enumerate() {
        for content in contents(number) {
            let read = get_by_digest(&store, digest_of(&content), content.len() as u64).await;
            match encrypted {
                false => assert!(read.unwrap() == content[..]),
                true => assert_eq!(read.unwrap_err().kind(), ErrorKind::Unavailable),
            }
        }
    }
    assert!(!lies_open(&golden(), b"Strongroom keeps line 1. "));
    assert!(!lies_open(&golden(), b"Strongroom keeps line 2. "));
}

#[test]
fn the_script_in_the_description_gets_out_what_is_not_encrypted() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let text = fs::read_to_string(root.join("docs/formats/blob-store.md")).unwrap();
    let script = text.split("```python\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    let out = tempfile::tempdir().unwrap();
    let done = std::process::Command::new("python3").args(["-c", script]).arg(golden()).arg(out.path()).output();
    let done = done.expect("python3 and zstd must be installed");
    let said = String::from_utf8_lossy(&done.stderr);
    let read = |content: &Bytes| fs::read(out.path().join(digest_of(content).to_string()));
    let [shrinks, stays, long, odd] = contents(0);
    assert!(done.status.success(), "{said}");
    for content in [shrinks, stays, long, odd] {
        assert!(read(&content).unwrap() == content[..]);
    }
    assert_eq!(fs::read_dir(out.path()).unwrap().count(), 4, "nothing that is encrypted, nothing damaged");
}
