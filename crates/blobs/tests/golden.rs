//! A store that was written by the first version stays readable for ever.

#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use std::fs;
use std::path::{Path, PathBuf};

use blobs::testing::{random_bytes, read_all};
use blobs::{BlobStore, DirectoryOptions, Locator, Stored, digest_of};
use model::ErrorKind;
use support::*;

/// Seeds and lengths of the BLOBs in the golden store. The last one is deleted, the longest one is a file of its own.
const CONTENT: [(u64, usize); 5] = [(1, 0), (2, 30), (3, 1000), (4, 70_001), (5, 500)];

fn golden() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/v1")
}

fn options() -> DirectoryOptions {
    DirectoryOptions { segment_limit: 1000, segment_bytes: 16_384, zero_fill: false, ..Default::default() }
}

/// Creates the golden store. Run by hand when a new version of the format is introduced, never to make a test pass.
#[tokio::test]
#[ignore = "writes the golden store of a new version"]
async fn write_golden_store() {
    let path = PathBuf::from(std::env::var_os("BLOBS_GOLDEN").unwrap());
    let store = BlobStore::open_directory(&path, &owner(), options()).await.unwrap();
    let mut locators = String::new();
    for (seed, length) in CONTENT {
        let stored = put(&store, &random_bytes(seed, length)).await;
        let hex: String = stored.locator.as_bytes().iter().map(|byte| format!("{byte:02x}")).collect();
        locators.push_str(&format!("{} {length} {hex}\n", stored.digest));
    }
    store.delete(digest_of(&random_bytes(5, 500))).await.unwrap();
    store.close().await;
    fs::write(path.join("../v1.locators"), locators).unwrap();
}

fn locators() -> Vec<Stored> {
    let bytes =
        |hex: &str| (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect();
    let line = |line: &str| {
        let words: Vec<&str> = line.split(' ').collect();
        let hex: Vec<u8> = bytes(words[2]);
        Stored {
            digest: words[0].parse().unwrap(),
            size: words[1].parse().unwrap(),
            locator: Locator::from_bytes(&hex).unwrap(),
            existed: false,
        }
    };
    fs::read_to_string(golden().with_file_name("v1.locators")).unwrap().lines().map(line).collect()
}

#[tokio::test]
async fn the_first_version_is_read_with_and_without_its_index() {
    for index in [true, false] {
        let dir = tempfile::tempdir().unwrap();
        copy(&golden(), dir.path());
        // Empty directories are not kept in version control.
        fs::create_dir_all(dir.path().join("incoming")).unwrap();
        let before = fs::read(&segment_files(&golden(), "idx")[0]).unwrap();
        if !index {
            fs::remove_file(&segment_files(dir.path(), "idx")[0]).unwrap();
        }
        let store = open(dir.path()).await;
        for (stored, (seed, length)) in locators().iter().zip(CONTENT).take(4) {
            let bytes = random_bytes(seed, length);
            assert_eq!(stored.digest, digest_of(&bytes));
            let mut reader = store.open(stored.digest, stored.size, None).await.unwrap();
            assert!(read_all(&mut reader).await.unwrap() == bytes[..]);
            assert!(get(&store, stored).await.unwrap() == bytes[..], "by its locator");
        }
        assert_eq!(get(&store, &locators()[4]).await.unwrap_err().kind(), ErrorKind::NotFound, "it was deleted");
        assert_eq!(store.enumerate(None, 10).await.unwrap().entries.len(), 4);
        assert!(damage(&store).await.is_empty());
        assert_eq!(verify(&store).await.len(), 4);
        if index {
            assert_eq!(fs::read(&segment_files(dir.path(), "idx")[0]).unwrap(), before, "reading changes nothing");
        }
    }
}

#[test]
fn the_format_is_what_its_description_says() {
    let segment = fs::read(&segment_files(&golden(), "seg")[0]).unwrap();
    let number = |at: usize| u64::from_le_bytes(segment[at..at + 8].try_into().unwrap());
    assert_eq!(&segment[..8], b"SRsegmt1");
    let bytes = random_bytes(3, 1000);
    let digest = digest_of(&bytes);
    let at = record_offset(&segment, &digest);
    assert_eq!((number(at + 16), number(at + 24), number(at + 40)), (number(16), at as u64, 1000));
    assert!(segment[at + 128..at + 1128] == bytes[..]);
    let sum = u32::from_le_bytes(segment[at + 1128..at + 1132].try_into().unwrap());
    let mask = u32::from_le_bytes(digest.as_bytes()[..4].try_into().unwrap());
    assert_eq!(sum, crc32fast::hash(&bytes) ^ mask);

    let large = random_bytes(4, 70_001);
    let name = digest_of(&large).to_string();
    let file = fs::read(golden().join("large").join(&name[..2]).join(&name)).unwrap();
    assert!(file[..70_001] == large[..]);
    assert_eq!(file.len(), 70_001 + 2 * 4 + 128);
    assert_eq!(&file[70_009..70_017], b"SRlarge1");
}

#[test]
fn the_script_in_the_description_gets_everything_out() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let text = fs::read_to_string(root.join("docs/formats/blob-store.md")).unwrap();
    let script = text.split("```python\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    let out = tempfile::tempdir().unwrap();
    let done = std::process::Command::new("python3").args(["-c", script]).arg(golden()).arg(out.path()).output();
    let done = done.expect("python3 must be installed");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    for (seed, length) in &CONTENT[..4] {
        let bytes = random_bytes(*seed, *length);
        assert!(fs::read(out.path().join(digest_of(&bytes).to_string())).unwrap() == bytes[..]);
    }
    assert_eq!(fs::read_dir(out.path()).unwrap().count(), 4, "nothing that was deleted, nothing damaged");
}
