//! Verification: reads everything again and compares digests.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use model::{Digest, ErrorKind, Result};

use super::catalog::Catalog;
use super::coded::{self, Coding};
use super::files::{is_gone, is_unreadable, read_error, read_up_to};
use super::growing::head;
use super::index::Slot;
use super::large::LargeFile;
use super::record::{BLOCK, HEADER, RecordHeader, span};
use super::scan::{self, Finding, State};
use super::segment::Segment;
use crate::BlobHasher;
use crate::blocking::blocking;
use crate::outcome::{CheckOutcome, Checked, Reporter};
use crate::provider::{self, Entry, Provider};

/// Verifies every record of every segment and every large file, and reports each of them. Blocks.
pub fn verify(catalog: &Catalog, reporter: &Reporter) -> Result<()> {
    let mut seen = HashSet::new();
    loop {
        catalog.refresh()?;
        // Repeated for segments that appeared meanwhile: compaction may have moved a BLOB there that was not verified
        // yet.
        let fresh: Vec<_> = catalog.segments().into_iter().filter(|segment| seen.insert(segment.id)).collect();
        for segment in &fresh {
            match verify_segment(catalog, segment, reporter) {
                Err(_) if is_gone(segment.path()) => {}
                done => done?,
            }
        }
        if !fresh.iter().any(|segment| is_gone(segment.path())) {
            break;
        }
    }
    for first in 0..=255 {
        let directory = catalog.layout.large_directory(first);
        for name in catalog.layout.large_names(first)? {
            verify_large(&directory.join(&name), &name, &catalog.coding, reporter)?;
        }
    }
    Ok(())
}

/// Returns regions of sealed segments that are neither a valid record nor the padding that belongs there. Blocks.
pub fn check_unused_regions(catalog: &Catalog) -> Result<Vec<String>> {
    catalog.refresh()?;
    let mut places = Vec::new();
    for segment in catalog.segments().into_iter().filter(|segment| segment.sealed().is_some()) {
        match look_over_segment(&segment, &mut places) {
            // The segment was compacted away meanwhile; or it is unreadable, which the verification of its BLOBs
            // reports.
            Err(error) if error.kind() == ErrorKind::Corrupt || is_gone(segment.path()) => {}
            done => done?,
        }
    }
    Ok(places)
}

fn look_over_segment(segment: &Segment, places: &mut Vec<String>) -> Result<()> {
    let path = segment.path();
    let file = File::open(path).map_err(|e| read_error("open", path, e))?;
    let end = file.metadata().map_err(|e| read_error("read the metadata of", path, e))?.len();
    let mut first = [0; BLOCK as usize];
    let read = read_up_to(&file, &mut first, 0).map_err(|e| read_error("read", path, e))?;
    if read < first.len() || first != head(segment.id) {
        places.push(format!("{} from 0 to {BLOCK}", path.display()));
    }
    scan::walk_headers(&file, path, segment.id, end, |found| {
        if let Finding::Gap { range, .. } = found {
            places.push(format!("{} from {} to {}", path.display(), range.start, range.end));
        }
        Ok(())
    })
}

fn verify_segment(catalog: &Catalog, segment: &Segment, reporter: &Reporter) -> Result<()> {
    let (path, coding) = (segment.path(), &catalog.coding);
    // The expected locations of records. Records written from now on are not included.
    let mut expected: HashMap<u64, (Digest, Slot)> = HashMap::new();
    catalog.with_indexes(|| segment.live_slots())?.into_iter().for_each(|(digest, slot)| {
        expected.insert(slot.offset, (digest, slot));
    });
    let file = match File::open(path) {
        Err(error) if is_unreadable(&error) => {
            let everything = 0..u64::MAX;
            return report_hidden(path, &expected, &HashSet::new(), vec![everything], reporter);
        }
        opened => opened.map_err(|e| read_error("open", path, e))?,
    };
    let end = match segment.sealed() {
        Some(_) => file.metadata().map_err(|e| read_error("read the metadata of", path, e))?.len(),
        None => expected.values().map(|(_, slot)| slot.offset + span(slot.extent.stored())).max().unwrap_or(0),
    };
    let mut seen = HashSet::new();
    let mut gaps = Vec::new();
    scan::walk(&file, path, segment.id, end, |found| {
        match found {
            Finding::Gap { range, .. } => gaps.push(range),
            Finding::Record { header, .. } if segment.is_dead(header.offset) => {}
            Finding::Record { header, state } => {
                seen.insert(header.offset);
                let intact = state == State::Intact;
                let same = intact && record_has_digest(&file, path, &header, coding)?;
                let place = || format!("{} at {}", path.display(), header.offset);
                let outcome = match (intact, same) {
                    (true, true) => CheckOutcome::Intact,
                    (false, _) if state == State::Unreadable => {
                        CheckOutcome::Damaged { place: place(), what: "its bytes cannot be read from the disk".into() }
                    }
                    (false, _) => CheckOutcome::Damaged { place: place(), what: "its checksums do not match".into() },
                    (true, false) => CheckOutcome::Damaged { place: place(), what: "its digest does not match".into() },
                };
                let digest = Some(header.digest);
                reporter.report_blocking(Checked { digest, size: header.extent.length(), outcome })?;
            }
        }
        Ok(())
    })?;
    report_hidden(path, &expected, &seen, gaps, reporter)
}

/// Reports records that the index lists but the walk did not find, and damage that belongs to no known record.
fn report_hidden(
    path: &Path,
    expected: &HashMap<u64, (Digest, Slot)>,
    seen: &HashSet<u64>,
    gaps: Vec<std::ops::Range<u64>>,
    reporter: &Reporter,
) -> Result<()> {
    let mut explained = HashSet::new();
    for (offset, (digest, slot)) in expected.iter().filter(|(offset, _)| !seen.contains(offset)) {
        let gap = gaps.iter().position(|gap| gap.contains(offset));
        explained.extend(gap);
        let place = format!("{} at {offset}", path.display());
        let outcome = match gap {
            Some(_) => CheckOutcome::Damaged { place, what: "its header is damaged".into() },
            None => CheckOutcome::Missing { place },
        };
        reporter.report_blocking(Checked { digest: Some(*digest), size: slot.extent.length(), outcome })?;
    }
    for (_, gap) in gaps.into_iter().enumerate().filter(|(at, _)| !explained.contains(at)) {
        let place = format!("{} from {} to {}", path.display(), gap.start, gap.end);
        let what = "no record can be read here; it is unknown whether there was one".into();
        reporter.report_blocking(Checked { digest: None, size: 0, outcome: CheckOutcome::Damaged { place, what } })?;
    }
    Ok(())
}

/// Reads a BLOB again and compares its digest. A large file whose footer could not be read for a moment was listed with
/// the length of the whole file. That size is no sign of damage: the one in the footer counts.
pub async fn reread(provider: &impl Provider, catalog: &Arc<Catalog>, entry: Entry) -> Result<CheckOutcome> {
    let outcome = provider::reread(provider.open(entry.digest, entry.size, None).await, entry).await?;
    if !matches!(outcome, CheckOutcome::Damaged { .. }) {
        return Ok(outcome);
    }
    let (catalog, digest) = (catalog.clone(), entry.digest);
    let file = blocking(move || LargeFile::open(&catalog.layout.large_file(&digest), &digest, &catalog.coding)).await;
    let size = match file {
        Ok(file) => file.map(|file| file.footer.length),
        Err(error) if error.kind() == ErrorKind::Corrupt => None,
        Err(error) => return Err(error),
    };
    let Some(size) = size.filter(|size| *size != entry.size) else { return Ok(outcome) };
    provider::reread(provider.open(digest, size, None).await, Entry { size, ..entry }).await
}

fn verify_large(path: &Path, name: &str, coding: &Coding, reporter: &Reporter) -> Result<()> {
    let damaged = |what: &str| CheckOutcome::Damaged { place: path.display().to_string(), what: what.to_owned() };
    let Ok(digest) = name.parse::<Digest>() else {
        let outcome = damaged("a file with this name does not belong here");
        return reporter.report_blocking(Checked { digest: None, size: 0, outcome });
    };
    let mut found = look_at_large(path, &digest, coding)?;
    if matches!(found, Some((_, CheckOutcome::Damaged { .. }))) {
        // Another form of the BLOB may have replaced the file while it was read.
        found = look_at_large(path, &digest, coding)?;
    }
    // The BLOB was deleted meanwhile.
    let Some((size, outcome)) = found else { return Ok(()) };
    reporter.report_blocking(Checked { digest: Some(digest), size, outcome })
}

/// Returns size and state of a BLOB's file; `None` when it is absent.
fn look_at_large(path: &Path, digest: &Digest, coding: &Coding) -> Result<Option<(u64, CheckOutcome)>> {
    let damaged = |what: &str| CheckOutcome::Damaged { place: path.display().to_string(), what: what.to_owned() };
    let large = match LargeFile::open(path, digest, coding) {
        Ok(Some(large)) => large,
        Ok(None) => return Ok(None),
        Err(error) if error.kind() == ErrorKind::Corrupt => {
            let size = std::fs::metadata(path).map_or(0, |meta| meta.len());
            return Ok(Some((size, damaged(error.message()))));
        }
        Err(error) => return Err(error),
    };
    let length = large.footer.length;
    let same = match large.footer.encoded {
        true => coded::has_digest(length, digest, |range| large.content(range))?,
        false => {
            let file = File::open(path).map_err(|e| read_error("open", path, e));
            match file.and_then(|file| has_digest(&file, path, 0, length, digest)) {
                Err(error) if error.kind() == ErrorKind::Corrupt => {
                    return Ok(Some((length, damaged(error.message()))));
                }
                done => done?,
            }
        }
    };
    let outcome = match (same, large.checksums_fit()?) {
        (true, true) => CheckOutcome::Intact,
        (true, false) => damaged("its checksums do not match its bytes"),
        (false, _) => damaged("its digest does not match"),
    };
    Ok(Some((length, outcome)))
}

/// Returns whether the content of a record has the digest that its header states.
fn record_has_digest(file: &File, path: &Path, header: &RecordHeader, coding: &Coding) -> Result<bool> {
    let (from, digest, length) = (header.offset + HEADER as u64, &header.digest, header.extent.length());
    if !header.extent.is_encoded() {
        return match has_digest(file, path, from, length, digest) {
            Err(error) if error.kind() == ErrorKind::Corrupt => Ok(false),
            done => done,
        };
    }
    let mut bytes = vec![0; header.extent.stored() as usize];
    let read = match read_up_to(file, &mut bytes, from) {
        Err(error) if is_unreadable(&error) => return Ok(false),
        read => read.map_err(|e| read_error("read", path, e))?,
    };
    if read < bytes.len() {
        return Ok(false);
    }
    match coding.open_record(&Bytes::from(bytes), digest, length) {
        Ok(framed) => coded::has_digest(length, digest, |range| framed.content(range)),
        Err(error) if error.kind() == ErrorKind::Corrupt => Ok(false),
        Err(error) => Err(error),
    }
}

/// Returns whether these bytes of a file have this digest.
fn has_digest(file: &File, path: &Path, from: u64, length: u64, digest: &Digest) -> Result<bool> {
    let io = |e: io::Error| read_error("read", path, e);
    let mut hasher = BlobHasher::new();
    let mut buffer = vec![0; length.min(1 << 20) as usize];
    let mut done = 0;
    while done < length {
        let want = (length - done).min(buffer.len() as u64) as usize;
        if read_up_to(file, &mut buffer[..want], from + done).map_err(io)? < want {
            return Ok(false);
        }
        hasher.update(&buffer[..want]);
        done += want as u64;
    }
    Ok(hasher.finish() == *digest)
}
