//! Work that does not grow with the contents of the store, and names that are flushed. strace counts the calls of a
//! whole process, so each case runs in a process of its own.

#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use std::path::{Path, PathBuf};
use std::process::Command;

use blobs::testing::random_bytes;
use blobs::{BlobStore, DirectoryOptions, digest_of};
use bytes::Bytes;
use support::*;

const SEGMENTS: u64 = 8;
/// Number of BLOBs in each segment.
const IN_EACH: u64 = 6;
/// Number of large files in one directory.
const MANY: usize = 100;
/// Number of entries in a page, and the limit on large files examined for it.
const PAGE: usize = 10;
const AHEAD: usize = 32;

/// Runs a case of this file under strace and returns its calls of these kinds, in order, with the paths of descriptors.
fn calls_of(case: &str, store: &Path, calls: &str) -> Vec<String> {
    let trace = store.with_extension("trace");
    let mut command = Command::new("strace");
    command.args(["-f", "-y", "-qq", "-s", "4096", "-e", "signal=none", "-e", &format!("trace={calls}"), "-o"]);
    command.arg(&trace).arg(std::env::current_exe().unwrap());
    command.args([case, "--exact", "--ignored", "--nocapture", "--test-threads=1"]);
    let done = command.env("BLOBS_TEST_STORE", store).output().unwrap();
    let text = format!("{}{}", String::from_utf8_lossy(&done.stdout), String::from_utf8_lossy(&done.stderr));
    assert!(done.status.success(), "{text}");
    assert!(text.contains("1 passed"), "{text}");
    std::fs::read_to_string(trace).unwrap().lines().map(str::to_owned).collect()
}

fn store_path() -> PathBuf {
    std::env::var_os("BLOBS_TEST_STORE").map(PathBuf::from).unwrap()
}

fn small(segment: u64, number: u64) -> Bytes {
    random_bytes(segment * 100 + number, 2_000)
}

#[tokio::test]
async fn a_group_of_deletions_looks_at_each_segment_once() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("store");
    for segment in 0..SEGMENTS {
        let store = open(&path).await;
        for number in 0..IN_EACH {
            put(&store, &small(segment, number)).await;
        }
        store.close().await;
    }
    assert_eq!(segment_files(&path, "seg").len(), SEGMENTS as usize);
    let calls = calls_of("inside_a_store_of_many_segments", &path, "openat");
    let looks = calls.iter().filter(|call| call.contains(".del\"")).count() as u64;
    // Once at the start, once for the group, and once to log the deletions.
    assert!((SEGMENTS..=3 * SEGMENTS).contains(&looks), "{looks} looks for {} deletions", SEGMENTS * IN_EACH);
    assert!(open(&path).await.enumerate(None, 10).await.unwrap().entries.is_empty());
}

#[tokio::test]
#[ignore = "run by a_group_of_deletions_looks_at_each_segment_once"]
async fn inside_a_store_of_many_segments() {
    let store = open(&store_path()).await;
    let all = (0..SEGMENTS).flat_map(|segment| (0..IN_EACH).map(move |number| digest_of(&small(segment, number))));
    for (digest, outcome) in store.delete_all(all.collect(), &()).await.unwrap() {
        outcome.unwrap_or_else(|error| panic!("{digest}: {error}"));
    }
    store.close().await;
}

fn large_only() -> DirectoryOptions {
    DirectoryOptions { segment_limit: 0, ..options() }
}

#[tokio::test]
async fn a_page_of_a_listing_opens_no_more_large_files_than_it_shows_and_a_few_ahead() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("store");
    let store = BlobStore::open_directory(&path, &owner(), large_only()).await.unwrap();
    // All of them are in the first directory.
    let contents = (0_u64..).map(|number| Bytes::from(number.to_string()));
    for bytes in contents.filter(|bytes| digest_of(bytes).as_bytes()[0] == 0).take(MANY) {
        put(&store, &bytes).await;
    }
    store.close().await;
    assert_eq!(std::fs::read_dir(path.join("large/00")).unwrap().count(), MANY);
    let calls = calls_of("inside_a_directory_of_many_large_files", &path, "openat");
    let opened = calls.iter().filter(|call| call.contains("/large/00/")).count();
    assert!((2 * PAGE..=2 * AHEAD).contains(&opened), "{opened} of {MANY} files were opened for two pages");
}

#[tokio::test]
#[ignore = "run by a_page_of_a_listing_opens_no_more_large_files_than_it_shows_and_a_few_ahead"]
async fn inside_a_directory_of_many_large_files() {
    let store = BlobStore::open_directory(&store_path(), &owner(), large_only()).await.unwrap();
    let first = store.enumerate(None, PAGE).await.unwrap();
    let second = store.enumerate(first.next, PAGE).await.unwrap();
    assert_eq!((first.entries.len(), second.entries.len()), (PAGE, PAGE));
    assert!(first.entries.last().unwrap().digest < second.entries[0].digest);
    store.close().await;
}

#[test]
fn names_of_new_directories_are_flushed_before_anything_in_them_is_acknowledged() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().canonicalize().unwrap();
    let here = root.join("here");
    std::fs::create_dir(&here).unwrap();
    let calls = calls_of("inside_directories_that_are_not_there_yet", &root.join("new"), "mkdir,mkdirat,fsync,write");
    let stored = calls.iter().position(|call| call.contains("all is stored")).unwrap();
    let mut made = 0;
    for (at, call) in calls[..stored].iter().enumerate() {
        let Some((_, rest)) = call.split_once("mkdir").filter(|_| call.ends_with(" = 0")) else { continue };
        let path = here.join(rest.split('"').nth(1).unwrap());
        if !path.starts_with(&root) {
            continue;
        }
        made += 1;
        let parent = format!("<{}>)", path.parent().unwrap().display());
        let flushed = |call: &String| call.contains("fsync(") && call.contains(&parent) && call.ends_with(" = 0");
        assert!(calls[at..stored].iter().any(flushed), "{} is not flushed: {calls:#?}", path.display());
    }
    // `one`, named relative to the working directory, and `two` in it; `new`, two below it, the store, its parts, and
    // one directory of large files.
    assert!(made >= 9, "{calls:#?}");
}

#[tokio::test]
#[ignore = "run by names_of_new_directories_are_flushed_before_anything_in_them_is_acknowledged"]
async fn inside_directories_that_are_not_there_yet() {
    let path = store_path();
    std::env::set_current_dir(path.with_file_name("here")).unwrap();
    blobs::create_directories(Path::new("one/two")).unwrap();
    let store = open(&path.join("one/two/store")).await;
    put(&store, &random_bytes(1, 1_000)).await;
    put(&store, &random_bytes(2, 1_200_000)).await;
    println!("all is stored");
    store.close().await;
}
