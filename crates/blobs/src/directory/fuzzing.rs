//! Entry points of the fuzz targets for directory stores.

#![expect(clippy::panic, reason = "a target tells of what it found by a panic")]

use std::collections::{HashMap, HashSet};
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use bytes::Bytes;
use model::Digest;

use super::catalog::Catalog;
use super::growing::head;
use super::index::IndexFile;
use super::large::LargeFile;
use super::layout::Layout;
use super::reading::RecordSource;
use super::record::{
    ALIGN, BLOCK, CHUNK, ChunkChecksums, HEADER, RecordHeader, digest_at, table_length, u64_at, write_checksum,
};
use super::record_location::RecordLocation;
use super::scan::{self, Finding, State};
use super::{Coding, DirectoryOptions, deletions as log, recovery, verify};
use crate::cache::{CacheFiles, CacheOptions};
use crate::coding::{self, HEADER_LENGTH};
use crate::fuzzing::fixtures::{key, scratch};
use crate::locator::Locator;
use crate::marker::Owner;

/// Id of the segment under test.
const ID: u64 = 1;

fn coding() -> Coding {
    Coding::new(Path::new("store"), &DirectoryOptions { encryption_keys: vec![key()], ..Default::default() })
}

/// Corrects the headers so that each record belongs to this segment; with `sums`, also the checksums of the records'
/// bytes.
fn mend_records(bytes: &mut [u8], sums: bool) {
    for at in (BLOCK as usize..bytes.len()).step_by(ALIGN as usize) {
        let Some(header) = bytes.get_mut(at..at + HEADER).and_then(|bytes| <&mut [u8; HEADER]>::try_from(bytes).ok())
        else {
            return;
        };
        if !RecordHeader::has_magic(header) {
            continue;
        }
        header[12..16].copy_from_slice(&(CHUNK as u32).to_le_bytes());
        header[16..24].copy_from_slice(&ID.to_le_bytes());
        header[24..32].copy_from_slice(&(at as u64).to_le_bytes());
        write_checksum(header);
        let Some(header) = RecordHeader::decode(header, ID, at as u64).filter(|_| sums) else { continue };
        let (stored, table) = (header.extent.stored() as usize, table_length(header.extent.stored()) as usize);
        let Some(rest) = bytes.get_mut(at + HEADER..at + HEADER + stored + table) else { continue };
        let (data, told) = rest.split_at_mut(stored);
        if header.extent.is_encoded() && data.len() >= HEADER_LENGTH {
            let (head, rest) = data.split_at_mut(HEADER_LENGTH);
            if let Some((table, frames)) =
                coding::fuzzing::table_length(head).and_then(|length| rest.split_at_mut_checked(length))
            {
                coding::fuzzing::mend(head, table, frames, true);
            }
        }
        told.copy_from_slice(&ChunkChecksums::of(&[Bytes::copy_from_slice(data)]).into_table(&header.digest));
    }
}

/// Returns the records of a segment and their states. Asserts that everything found is in order and within the segment.
fn walk(path: &Path, end: u64) -> Vec<(RecordHeader, State)> {
    let file = File::open(path).expect("it was written");
    let (mut records, mut at) = (Vec::new(), BLOCK);
    let each = |found: Finding| {
        let (from, to) = match &found {
            Finding::Record { header, .. } => {
                (header.offset, header.offset + super::record::span(header.extent.stored()))
            }
            Finding::Gap { range, unreadable } => {
                assert!(!unreadable);
                (range.start, range.end)
            }
        };
        assert!(at <= from, "{found:?} behind {at}, of {end}");
        assert!(from < to, "{found:?} behind {at}, of {end}");
        assert!(to <= end, "{found:?} behind {at}, of {end}");
        at = to;
        if let Finding::Record { header, state } = found {
            assert_eq!(RecordHeader::decode(&header.encode(), ID, header.offset), Some(header));
            records.push((header, state));
        }
        Ok(())
    };
    scan::walk(&file, path, ID, end, each).expect("a readable file");
    let mut headers = Vec::new();
    let each = |found| {
        headers.extend(if let Finding::Record { header, .. } = found { Some(header) } else { None });
        Ok(())
    };
    scan::walk_headers(&file, path, ID, end, each).expect("a readable file");
    assert!(headers.iter().eq(records.iter().map(|(header, _)| header)));
    scan::read_new_records(&file, path, ID, BLOCK, |_, _| {}).expect("a readable file");
    records
}

/// Treats the input as a segment that a stopped process left, from its second block on. Asserts that recovery keeps all
/// intact records.
pub fn segment(input: &[u8]) {
    let Some((choice, content)) = input.split_first() else { return };
    let root = scratch("segment");
    let layout = Layout::open(&root, &Owner::new("farm").expect("a plain word"), true).expect("a scratch store");
    let mut bytes = [&head(ID)[..], content].concat();
    if choice & 1 != 0 {
        mend_records(&mut bytes, choice & 2 != 0);
    }
    let _ = (fs::remove_file(layout.index(ID)), fs::remove_file(layout.deletions(ID)));
    fs::write(layout.segment(ID), &bytes).expect("a scratch file");
    let before = walk(&layout.segment(ID), bytes.len() as u64);
    recovery::recover(&layout).expect("a readable file");
    let catalog = Catalog::open(layout.clone(), coding()).expect("a scratch store");
    let whole: HashSet<Digest> =
        before.iter().filter(|(_, state)| *state == State::Intact).map(|(header, _)| header.digest).collect();
    for digest in &whole {
        assert_eq!(catalog.find_all(digest).expect("a readable file").len(), 1, "{digest} is lost");
    }
    let _ = verify::check_unused_regions(&catalog).expect("a readable file");
    let states: HashMap<u64, State> = before.iter().map(|(header, state)| (header.offset, *state)).collect();
    for segment in catalog.segments() {
        for (digest, slot) in segment.live_slots().expect("an index that was just written") {
            let size = slot.extent.length();
            let read = RecordSource::load(&segment, slot.offset, &digest, size, &catalog.coding);
            match read {
                Ok(Some(RecordSource::Whole(bytes))) => assert_eq!(bytes.len() as u64, size),
                Ok(Some(RecordSource::Framed(framed))) => drop(framed.content(0..size.min(200_000))),
                Ok(Some(RecordSource::Pieces(_))) => {}
                Ok(_) => panic!("the record of {digest} is not there"),
                Err(_) => assert!(slot.extent.is_encoded() || states[&slot.offset] != State::Intact, "{digest}"),
            }
            let _ = RecordSource::resident(&segment, slot.offset, digest, size);
        }
    }
}

/// Treats the input as the index of a segment.
pub fn index(input: &[u8]) {
    let Some((choice, content)) = input.split_first() else { return };
    let path = scratch("index").join("1.idx");
    let mut bytes = content.to_vec();
    if choice & 1 != 0 && bytes.len() >= HEADER {
        let (header, body) = bytes.split_at_mut(HEADER);
        header[..8].copy_from_slice(b"SRindex1");
        header[16..24].copy_from_slice(&ID.to_le_bytes());
        if choice & 2 != 0 {
            header[24..32].copy_from_slice(&((body.len() / 56) as u64).to_le_bytes());
        }
        header[40..44].copy_from_slice(&crc32fast::hash(body).to_le_bytes());
        write_checksum(header.try_into().expect("a whole header"));
    }
    fs::write(&path, &bytes).expect("a scratch file");
    let mut entries = Vec::new();
    let Ok(Some((index, used))) = IndexFile::load(&path, ID, |digest, slot| entries.push((digest, slot))) else {
        return;
    };
    assert_eq!(entries.len() * 56 + HEADER, bytes.len());
    let sorted = entries.is_sorted_by_key(|(digest, _)| *digest);
    for (digest, slot) in entries.iter().take(200) {
        let found = index.find(digest).expect("a readable file");
        assert!(!sorted || found.contains(slot), "{digest}");
        let next = index.following(Some(digest), 3).expect("a readable file");
        assert!(!sorted || next.iter().all(|(other, _)| other > digest));
    }
    let mut paged = Vec::new();
    let page = |page: &[_]| {
        paged.extend_from_slice(page);
        Ok(())
    };
    index.each_page(page).expect("a readable file");
    assert_eq!(paged, entries);
    let mut sorted = entries;
    IndexFile::write(&path, ID, used, &mut sorted).expect("a scratch file");
    let mut again = Vec::new();
    let read = IndexFile::load(&path, ID, |digest, slot| again.push((digest, slot))).expect("it was just written");
    assert!(again == sorted);
    assert!(read.is_some_and(|(_, end)| end == used));
}

/// Treats the input as a log of deletions.
pub fn deletions(input: &[u8]) {
    let Some((choice, content)) = input.split_first() else { return };
    let path = scratch("deletions").join("1.del");
    let mut bytes = content.to_vec();
    if choice & 1 != 0 {
        for entry in bytes.chunks_exact_mut(64) {
            entry[..8].copy_from_slice(b"SRdelete");
            let sum = crc32fast::hash(&entry[..60]);
            entry[60..].copy_from_slice(&sum.to_le_bytes());
        }
    }
    fs::write(&path, &bytes).expect("a scratch file");
    let read = |from| {
        let mut found = Vec::new();
        let read = log::read(&path, from, |offset, digest| found.push((offset, digest))).expect("a readable file");
        assert!(!read.unread, "the disk gives all of it");
        (found, read.to)
    };
    let (all, end) = read(0);
    assert!(end == bytes.len() as u64 / 64 * 64);
    assert!(all.len() as u64 <= end / 64);
    let (last, again) = read(end.saturating_sub(64));
    assert!(again == end);
    assert!(all.ends_with(&last));
    log::append(&path, &[(4096, Digest::new([9; 32]))], true).expect("a scratch file");
    let (more, _) = read(0);
    assert_eq!(more[..all.len()], all);
    assert_eq!(more.last(), Some(&(4096, Digest::new([9; 32]))));
}

/// Corrects the footer of a large file; with `sums`, also the checksums of its bytes.
fn mend_large(bytes: &mut [u8], sums: bool) {
    let Some(behind) = bytes.len().checked_sub(HEADER) else { return };
    let (rest, footer) = bytes.split_at_mut(behind);
    footer[..8].copy_from_slice(b"SRlarge1");
    // The number of stored bytes that, together with their table, fill the file up to the footer.
    let stored = (0..=rest.len() / (CHUNK + 4) + 1).map(|chunks| rest.len().saturating_sub(4 * chunks));
    let Some(stored) = stored.into_iter().find(|stored| stored + table_length(*stored as u64) as usize == rest.len())
    else {
        return;
    };
    let encoded = footer[8] == 2;
    let place = if encoded { 88 } else { 40 };
    footer[place..place + 8].copy_from_slice(&(stored as u64).to_le_bytes());
    let digest = digest_at(footer, 56).expect("32 bytes");
    let (data, table) = rest.split_at_mut(stored);
    if encoded && let Some(at) = data.len().checked_sub(HEADER_LENGTH) {
        let (rest, head) = data.split_at_mut(at);
        head[24..32].copy_from_slice(&footer[40..48]);
        head[40..72].copy_from_slice(digest.as_bytes());
        if let Some(at) = coding::fuzzing::table_length(head).and_then(|length| rest.len().checked_sub(length)) {
            let (frames, table) = rest.split_at_mut(at);
            coding::fuzzing::mend(head, table, frames, sums);
        }
    }
    if sums {
        table.copy_from_slice(&ChunkChecksums::of(&[Bytes::copy_from_slice(data)]).into_table(&digest));
    }
    footer[16..20].copy_from_slice(&crc32fast::hash(table).to_le_bytes());
    write_checksum(footer.try_into().expect("a whole footer"));
}

/// Turns the input into a large file; also returns its digest.
fn large_file(input: &[u8]) -> Option<(Vec<u8>, Digest)> {
    let (choice, content) = input.split_first()?;
    let mut bytes = content.to_vec();
    if choice & 1 != 0 {
        mend_large(&mut bytes, choice & 2 != 0);
    }
    let digest = digest_at(bytes.get(bytes.len().checked_sub(HEADER)?..)?, 56)?;
    Some((bytes, digest))
}

fn read_large(file: &LargeFile, own: Option<&[u8]>) {
    let length = file.footer.length;
    let fit = file.checksums_fit().expect("a readable file");
    for at in (0..length.min(1 << 20)).step_by(70_000) {
        let range = at..(at + 70_000).min(length);
        let Ok(bytes) = file.content(range.clone()) else {
            assert!(!fit || file.footer.encoded, "{range:?}");
            continue;
        };
        assert_eq!(bytes.len() as u64, range.end - range.start);
        assert!(own.is_none_or(|own| own[range.start as usize..range.end as usize] == bytes));
    }
}

/// Treats the input as the file of a large BLOB.
pub fn large(input: &[u8]) {
    let Some((bytes, digest)) = large_file(input) else { return };
    let path: PathBuf = scratch("large").join("file");
    fs::write(&path, &bytes).expect("a scratch file");
    if let Ok(Some(file)) = LargeFile::open(&path, &digest, &coding()) {
        read_large(&file, (!file.footer.encoded).then_some(&bytes[..]));
    }
}

/// Treats the input as a cache file left by an earlier process, beside files with unexpected names.
pub fn cache(input: &[u8]) {
    let Some((bytes, digest)) = large_file(input) else { return };
    let root = scratch("cache");
    let name = digest.to_string();
    let folder = root.join(&name[..2]);
    let odd = String::from_utf8_lossy(&bytes[..bytes.len().min(40)]).replace(['/', '\0'], "_");
    fs::create_dir_all(&folder).expect("a scratch directory");
    fs::write(folder.join(&name), &bytes).expect("a scratch file");
    let _ = (fs::write(folder.join(&odd), b"x"), fs::write(root.join(&odd), b"x"));
    let size = u64_at(&bytes[bytes.len() - HEADER..], 40);
    let options = CacheOptions { path: root.clone(), bytes: 1 << 20, largest: 1 << 20 };
    let files = CacheFiles::open(options).expect("a scratch directory");
    if let Some(file) = files.find(&digest, size) {
        assert_eq!((file.footer.digest, file.footer.length), (digest, size));
        read_large(&file, (!file.footer.encoded).then_some(&bytes[..]));
    }
    drop(files);
    fs::remove_dir_all(&root).expect("a scratch directory");
}

/// Asserts that a locator, the location that a database keeps for a BLOB, survives decoding and encoding.
pub fn locator(locator: Locator) {
    if let Some(place) = RecordLocation::of(&locator) {
        assert_eq!(place.locator().as_bytes(), locator.as_bytes());
    }
}
