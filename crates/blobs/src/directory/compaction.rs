//! Reclaims the space of deleted records: copies the live records of a segment, then removes the segment.
//!
//! At every moment each live BLOB is in a durable record: copies are flushed before the original is removed. A crash in
//! between leaves a second copy, which costs only space.

use std::fs::{self, File};
use std::io::{self, IoSlice};
use std::sync::Arc;

use model::{Code, Digest, Error, ErrorKind, Result};
use rustix::fs::FlockOperation;

use crate::provider::{CompactLimits, CompactReport};

use super::catalog::Catalog;
use super::files::{io_error, read_error, read_up_to, sync_directory, try_lock, write_parts};
use super::growing::GrowingSegment;
use super::index::Slot;
use super::large::corrupt;
use super::record::{BLOCK, HEADER, RecordHeader, chunks_are_intact, footprint, span};
use super::scan::{self, Finding, State};
use super::segment::Segment;

/// Approximate number of bytes copied per batch.
const BATCH: u64 = 8 << 20;
/// Segments shorter than a full one divided by this are merged, once there are [`MIN_SHORT_SEGMENTS`] of them.
const SHORT_DIVISOR: u64 = 16;
/// Number of short segments that makes merging them worthwhile.
const MIN_SHORT_SEGMENTS: usize = 8;

/// Compacts the segments that are worth it. Fails with `Conflict` when another compaction of this store is running.
/// Blocks.
pub fn compact(catalog: &Arc<Catalog>, segment_bytes: u64, limits: CompactLimits) -> Result<CompactReport> {
    let lock_path = catalog.layout.compaction_lock();
    let open = File::options().create(true).truncate(false).write(true).open(&lock_path);
    let lock = open.map_err(|e| io_error("open", &lock_path, e))?;
    if !try_lock(&lock, &lock_path)? {
        return Err(Error::conflict("the BLOB store is already being compacted").with_code(Code::CompactionRunning));
    }
    catalog.refresh()?;
    let chosen = candidates(catalog, segment_bytes, limits)?;
    // Each batch is padded to the end of a block.
    let to_copy = chosen.iter().map(|(_, footprint)| footprint + (footprint / BATCH + 2) * BLOCK).sum();
    let report = CompactReport::default();
    let mut compaction = Compaction { catalog, segment_bytes, to_copy, target: None, sealed_bytes: 0, report };
    // Each segment is dropped before the next one is taken: the space of a removed file is not freed while a handle is
    // open.
    let done = chosen.into_iter().try_for_each(|(segment, _)| match compaction.compact_segment(&segment, limits) {
        // The segment stays: it may still hold recoverable parts of the damaged records.
        Err(error) if error.kind() == ErrorKind::Corrupt => {
            tracing::warn!(segment = %segment.path().display(), error = error.report(),
                "not compacted, because a BLOB in it is damaged");
            compaction.report.damaged += 1;
            Ok(())
        }
        done => done,
    });
    // The target is sealed after an error too: the records copied so far are good.
    compaction.seal_target().and(done)?;
    let Compaction { report, sealed_bytes, .. } = compaction;
    Ok(CompactReport { freed_bytes: report.freed_bytes.saturating_sub(sealed_bytes), ..report })
}

/// Returns the sealed segments with a large enough share of dead bytes, and the short ones if there are several, each
/// with the number of bytes to copy. The smallest number comes first, so that on a full disk space is freed before any
/// is needed.
fn candidates(catalog: &Catalog, segment_bytes: u64, limits: CompactLimits) -> Result<Vec<(Arc<Segment>, u64)>> {
    let (mut chosen, mut short) = (Vec::new(), Vec::new());
    for segment in catalog.segments().into_iter().filter(|segment| segment.sealed().is_some()) {
        let path = segment.path();
        let length = fs::metadata(path).map_err(|e| io_error("read the metadata of", path, e))?.len();
        let live = catalog.with_indexes(|| segment.live())?;
        let dead = length.saturating_sub(BLOCK).saturating_sub(live.footprint);
        let share = dead as f64 / length as f64;
        if live.blobs == 0 || (segment.dead_count() > 0 && share >= limits.dead_share) {
            chosen.push((segment, live.footprint));
        } else if length < segment_bytes / SHORT_DIVISOR {
            short.push((segment, live.footprint));
        }
    }
    if short.len() >= MIN_SHORT_SEGMENTS {
        chosen.append(&mut short);
    }
    chosen.sort_by_key(|(_, footprint)| *footprint);
    Ok(chosen)
}

struct Compaction<'a> {
    catalog: &'a Arc<Catalog>,
    segment_bytes: u64,
    /// Number of record bytes still to be copied.
    to_copy: u64,
    target: Option<GrowingSegment>,
    /// Length of the sealed targets, which is subtracted from what the removed segments freed.
    sealed_bytes: u64,
    report: CompactReport,
}

/// A copied record, with its old and new location.
struct Moved {
    digest: Digest,
    from: u64,
    target: Arc<Segment>,
    to: u64,
}

impl Compaction<'_> {
    /// Copies the live records of a segment and removes the segment.
    fn compact_segment(&mut self, segment: &Arc<Segment>, limits: CompactLimits) -> Result<()> {
        if self.report.copied_bytes >= limits.copy_at_most {
            return Ok(());
        }
        let path = segment.path();
        segment.refresh_deletions()?;
        let file = File::open(path).map_err(|e| read_error("open", path, e))?;
        let length = file.metadata().map_err(|e| read_error("read the metadata of", path, e))?.len();
        let live = self.catalog.with_indexes(|| live_records(segment, &file, length))?;
        let mut moved = Vec::with_capacity(live.len());
        let mut rest = &live[..];
        while !rest.is_empty() {
            let mut bytes = 0;
            let fits = rest.iter().take_while(|header| {
                bytes += footprint(header.extent.stored());
                bytes <= BATCH
            });
            let (now, later) = rest.split_at(fits.count().max(1));
            self.copy(&file, segment, now, &mut moved)?;
            rest = later;
        }
        self.remove(segment, &moved)?;
        self.report.removed += 1;
        self.report.freed_bytes += length;
        Ok(())
    }

    /// Copies some records to the end of the target and flushes them.
    fn copy(&mut self, file: &File, from: &Segment, headers: &[RecordHeader], moved: &mut Vec<Moved>) -> Result<()> {
        let need = headers.iter().map(|header| footprint(header.extent.stored())).sum();
        let mut bytes = Vec::with_capacity(need as usize);
        for old in headers {
            let start = bytes.len();
            bytes.resize(start + footprint(old.extent.stored()) as usize, 0);
            let record = &mut bytes[start + HEADER..start + span(old.extent.stored()) as usize];
            // Checksums depend only on the BLOB and its stored form, so both are copied unchanged, without any key.
            let read =
                read_up_to(file, record, old.offset + HEADER as u64).map_err(|e| read_error("read", from.path(), e))?;
            let (data, table) = record.split_at(old.extent.stored() as usize);
            // The records must still be as intact as the walk found them; otherwise none of this batch is copied.
            if read < record.len() || !chunks_are_intact(&old.digest, data, table) {
                return Err(corrupt(&old.digest, from.path(), &format!("the record at {} changed", old.offset)));
            }
        }
        let mut target = self.target_with_room(need)?;
        let (batch, mut at, mut slots) = (target.end, 0, Vec::new());
        for old in headers {
            let offset = batch + at as u64;
            let new = RecordHeader { segment: target.segment.id, offset, batch, ..*old };
            bytes[at..at + HEADER].copy_from_slice(&new.encode());
            at += footprint(old.extent.stored()) as usize;
            slots.push((old, Slot { offset, extent: old.extent, stored_at: old.stored_at }));
        }
        bytes.resize(bytes.len().next_multiple_of(BLOCK as usize), 0);
        let io = |e: io::Error| io_error("copy BLOBs to", target.segment.path(), e);
        write_parts(&target.file, &[IoSlice::new(&bytes)], batch).and_then(|()| target.file.sync_data()).map_err(io)?;
        target.end += bytes.len() as u64;
        for (old, slot) in slots {
            self.catalog.publish(&target.segment, old.digest, slot);
            let (from, to) = (old.offset, slot.offset);
            moved.push(Moved { digest: old.digest, from, target: target.segment.clone(), to });
            self.to_copy = self.to_copy.saturating_sub(footprint(old.extent.stored()));
            self.report.copied_bytes += old.extent.stored();
        }
        // Kept only after a successful write: a segment whose write failed is not written to again.
        self.target = Some(target);
        Ok(())
    }

    fn target_with_room(&mut self, need: u64) -> Result<GrowingSegment> {
        if let Some(target) = self.target.take_if(|target| target.room() >= need.next_multiple_of(BLOCK)) {
            return Ok(target);
        }
        self.seal_target()?;
        let wish = (self.to_copy + BLOCK).min(self.segment_bytes);
        GrowingSegment::create(self.catalog, wish, need)
    }

    /// Removes a segment whose live records were copied.
    fn remove(&self, segment: &Segment, moved: &[Moved]) -> Result<()> {
        // No process can delete records while this lock is held.
        let _guard = self.catalog.layout.lock(FlockOperation::LockExclusive)?;
        segment.refresh_deletions()?;
        for copy in moved.iter().filter(|copy| segment.is_dead(copy.from)) {
            copy.target.delete(copy.to, copy.digest)?;
        }
        // The segment file is removed first: without its log of deletions, deleted records in it would count as live.
        let layout = &self.catalog.layout;
        for path in [layout.segment(segment.id), layout.index(segment.id), layout.deletions(segment.id)] {
            match fs::remove_file(&path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(io_error("remove", &path, error)),
                _ => sync_directory(&layout.segments())?,
            }
        }
        self.catalog.forget(segment.id);
        Ok(())
    }

    fn seal_target(&mut self) -> Result<()> {
        let Some(target) = self.target.take() else { return Ok(()) };
        self.sealed_bytes += target.end;
        target.seal(self.catalog)
    }
}

/// Returns the live records of a segment in order. Fails with `Corrupt` when anything in the segment is damaged.
fn live_records(segment: &Segment, file: &File, length: u64) -> Result<Vec<RecordHeader>> {
    let mut expected = 0;
    segment.each_live(|_, _| {
        expected += 1;
        Ok(())
    })?;
    let (mut live, mut whole) = (Vec::with_capacity(expected), true);
    scan::walk(file, segment.path(), segment.id, length, |found| {
        match found {
            Finding::Record { header, .. } if segment.is_dead(header.offset) => {}
            Finding::Record { header, state: State::Intact } => live.push(header),
            Finding::Record { .. } | Finding::Gap { .. } => whole = false,
        }
        Ok(())
    })?;
    match whole && live.len() >= expected {
        true => Ok(live),
        false => Err(Error::corrupt(format!("a part of {} is damaged", segment.path().display()))),
    }
}
