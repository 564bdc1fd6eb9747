//! Recovery of the segments and uploads that a dead process left.

use std::collections::{HashMap, HashSet};
use std::fs::{self, File};
use std::ops::Range;
use std::path::Path;

use model::{Digest, Error, ErrorKind, Result};
use rustix::fs::{Advice, FlockOperation};

use super::deletions;
use super::files::{io_error, read_error, sync_directory, try_lock};
use super::index::{IndexFile, Slot};
use super::layout::{Layout, names};
use super::record::{BLOCK, RecordHeader, footprint};
use super::scan::{self, Finding, State};

/// Seals the segments and removes the uploads of dead processes. Reads only segments that were never sealed, so that
/// the duration is bounded by the segments that were open at the crash.
pub fn recover(layout: &Layout) -> Result<()> {
    // While this lock is held, no process creates a segment or an upload, so a file without a lock has no owner.
    let _guard = layout.lock(FlockOperation::LockExclusive)?;
    // First, because it frees space on a full disk.
    remove_leftovers(layout)?;
    let sealed: HashSet<u64> = layout.segment_files("idx")?.into_iter().collect();
    for id in layout.segment_files("seg")?.into_iter().filter(|id| !sealed.contains(id)) {
        let path = layout.segment(id);
        let sealed = open(&path).and_then(|file| match try_lock(&file, &path)? {
            true => seal_abandoned(layout, id, &path, &file),
            false => Ok(()),
        });
        match sealed {
            // The segment stays unchanged: another start may be able to read it.
            Err(error) if error.kind() == ErrorKind::Corrupt => {
                tracing::error!(
                    error = error.report(),
                    "a segment left by a stopped process is skipped; BLOBs in it are damaged"
                );
            }
            sealed => sealed?,
        }
    }
    Ok(())
}

/// Rebuilds the index of a segment whose index is damaged or gone.
///
/// # Errors
/// `Corrupt` when the disk cannot read all of the segment: an index of the rest would hide records that may be readable
/// later.
pub fn rebuild_index(layout: &Layout, id: u64) -> Result<(IndexFile, u64)> {
    let path = layout.segment(id);
    let file = open(&path)?;
    let end = file.metadata().map_err(|e| read_error("read the metadata of", &path, e))?.len();
    let contents = Inventory::take(layout, id, &path, &file, end)?;
    contents.report(&path);
    contents.require_readable(&path)?;
    let index = IndexFile::write(&layout.index(id), id, end, &mut contents.entries())?;
    tracing::warn!(segment = %path.display(), "the index of a segment was damaged and has been rebuilt");
    Ok((index, end))
}

fn seal_abandoned(layout: &Layout, id: u64, path: &Path, file: &File) -> Result<()> {
    let io = |e: std::io::Error| read_error("recover", path, e);
    // After a failed flush, the page cache may differ from the disk: flush, drop the cached pages and read again.
    file.sync_all().map_err(io)?;
    rustix::fs::fadvise(file, 0, None, Advice::DontNeed).map_err(|e| io(e.into()))?;
    let length = file.metadata().map_err(io)?.len();
    let mut contents = Inventory::take(layout, id, path, file, length)?;
    contents.require_readable(path).inspect_err(|_| contents.report(path))?;
    let end = contents.cut_torn_tail(path);
    contents.report(path);
    if contents.records.is_empty() && contents.gaps.is_empty() {
        remove(path)?;
        remove(&layout.deletions(id))?;
        return sync_directory(&layout.segments());
    }
    // First truncated to the last good byte: a torn record may begin in the same block, whose rest must be zeros.
    file.set_len(end).map_err(io)?;
    let end = end.next_multiple_of(BLOCK);
    file.set_len(end).map_err(io)?;
    file.sync_all().map_err(io)?;
    match IndexFile::write(&layout.index(id), id, end, &mut contents.entries()) {
        // A segment without an index is read as one that is still being written; the next start with enough space seals
        // it.
        Err(error) if error.kind() == ErrorKind::Exhausted => {
            tracing::warn!(segment = %path.display(), error = error.report(), "no space for the index of a segment");
            return Ok(());
        }
        written => written.map(drop)?,
    }
    tracing::info!(
        segment = %path.display(), records = contents.records.len(),
        "sealed a segment left by a stopped process"
    );
    Ok(())
}

/// The findings of a walk through a segment.
struct Inventory {
    records: Vec<(RecordHeader, State)>,
    gaps: Vec<Range<u64>>,
    dead: HashSet<u64>,
    /// Set when there are bytes that the disk cannot read.
    unreadable: bool,
}

impl Inventory {
    fn take(layout: &Layout, id: u64, path: &Path, file: &File, end: u64) -> Result<Self> {
        let mut inventory = Self { records: Vec::new(), gaps: Vec::new(), dead: HashSet::new(), unreadable: false };
        deletions::read(&layout.deletions(id), 0, |offset, _| {
            inventory.dead.insert(offset);
        })?;
        scan::walk(file, path, id, end, |found| {
            match found {
                Finding::Record { header, state } => {
                    inventory.unreadable |= state == State::Unreadable;
                    inventory.records.push((header, state));
                }
                Finding::Gap { range, unreadable } => {
                    inventory.unreadable |= unreadable;
                    inventory.gaps.push(range);
                }
            }
            Ok(())
        })?;
        Ok(inventory)
    }

    fn require_readable(&self, path: &Path) -> Result<()> {
        match self.unreadable {
            true => Err(Error::corrupt(format!("a part of {} cannot be read from the disk", path.display()))),
            false => Ok(()),
        }
    }

    /// Drops records after the last good one that were being written when the process died. They can only belong to the
    /// last batch, because a batch begins when the previous one is on the disk. Returns the end of the part that is
    /// kept.
    fn cut_torn_tail(&mut self, path: &Path) -> u64 {
        let last_batch = self.records.iter().map(|(header, _)| header.batch).max().unwrap_or(BLOCK);
        let is_settled =
            |(header, state): &(RecordHeader, State)| *state == State::Intact || header.offset < last_batch;
        let kept = self.records.iter().rposition(is_settled);
        let end = kept.map_or(BLOCK, |at| self.records[at].0.offset + footprint(self.records[at].0.extent.stored()));
        let settled_gaps = self.gaps.iter().filter(|gap| gap.start < last_batch).map(|gap| gap.end.min(last_batch));
        let end = settled_gaps.max().unwrap_or(end).max(end);
        for (header, _) in self.records.drain(kept.map_or(0, |at| at + 1)..) {
            tracing::warn!(segment = %path.display(), offset = header.offset, blob = %header.digest,
                size = header.extent.length(),
                "dropped a BLOB that was only written in part");
        }
        self.gaps.retain(|gap| {
            if gap.start >= end {
                tracing::warn!(segment = %path.display(), offset = gap.start, "dropped a torn tail");
            }
            gap.start < end
        });
        end
    }

    /// Logs damaged records and gaps. Damage before a good record is not a torn tail: the record there had been
    /// acknowledged.
    fn report(&self, path: &Path) {
        let is_damaged =
            |(header, state): &&(RecordHeader, State)| *state != State::Intact && !self.dead.contains(&header.offset);
        for (header, _) in self.records.iter().filter(is_damaged) {
            tracing::error!(segment = %path.display(), offset = header.offset, blob = %header.digest,
                "a BLOB is damaged");
        }
        for gap in &self.gaps {
            tracing::error!(segment = %path.display(), from = gap.start, to = gap.end,
                "a part of a segment is damaged");
        }
    }

    fn entries(&self) -> Vec<(Digest, Slot)> {
        let mut slots: HashMap<Digest, Slot> = HashMap::new();
        for (header, state) in self.records.iter().filter(|(header, _)| !self.dead.contains(&header.offset)) {
            let slot = Slot { offset: header.offset, extent: header.extent, stored_at: header.stored_at };
            // A damaged copy never replaces a good one.
            if *state == State::Intact || !slots.contains_key(&header.digest) {
                slots.insert(header.digest, slot);
            }
        }
        slots.into_iter().collect()
    }
}

fn open(path: &Path) -> Result<File> {
    File::options().read(true).write(true).open(path).map_err(|e| read_error("open", path, e))
}

fn remove(path: &Path) -> Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(io_error("remove", path, error)),
        _ => Ok(()),
    }
}

/// Removes uploads without an owner, indexes and logs of deletions whose segment is gone, and unfinished index files.
fn remove_leftovers(layout: &Layout) -> Result<()> {
    for name in names(&layout.incoming())? {
        let path = layout.incoming().join(&name);
        // An upload that is gone by now was finished by its owner.
        let Ok(file) = open(&path) else { continue };
        if try_lock(&file, &path)? {
            remove(&path)?;
            tracing::info!(upload = name, "removed an upload that was never finished");
        }
    }
    let segments: HashSet<u64> = layout.segment_files("seg")?.into_iter().collect();
    for (extension, path) in [("idx", Layout::index as fn(&Layout, u64) -> _), ("del", Layout::deletions)] {
        for id in layout.segment_files(extension)?.into_iter().filter(|id| !segments.contains(id)) {
            remove(&path(layout, id))?;
        }
    }
    for name in names(&layout.segments())?.iter().filter(|name| name.contains(".new-")) {
        remove(&layout.segments().join(name))?;
    }
    Ok(())
}
