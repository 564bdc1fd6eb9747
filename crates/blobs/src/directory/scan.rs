//! Walking a segment by its records alone, without its index.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::path::Path;

use model::{Digest, Result};

use super::files::{io_error, is_unreadable, read_skipping_bad_sectors, read_up_to};
use super::index::Slot;
use super::record::{ALIGN, BLOCK, CHUNK, HEADER, RecordHeader, chunks_are_intact, footprint, span, table_length};

/// Number of bytes searched at once.
const WINDOW: usize = 1024 * 1024;

/// Distance in bytes after a damaged record within which a later batch is searched for; longer than a batch.
const NEAR: u64 = 32 * 1024 * 1024;

/// A finding of a walk. Findings come in order of position.
#[derive(Debug)]
pub enum Finding {
    /// A record with a valid header; its bytes may be damaged.
    Record { header: RecordHeader, state: State },
    /// Bytes that should be a record or padding and are neither. `unreadable` is set when the disk cannot read some of
    /// them.
    Gap { range: Range<u64>, unreadable: bool },
}

/// The state of a record's bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    Intact,
    /// The bytes do not match their checksums.
    Damaged,
    /// The disk cannot read some of the bytes.
    Unreadable,
}

/// Walks a segment up to `end` and passes each finding to `show`. The last gap may be a torn tail. Bytes that the disk
/// cannot read count as damage and do not end the walk.
pub fn walk(file: &File, path: &Path, id: u64, end: u64, show: impl FnMut(Finding) -> Result<()>) -> Result<()> {
    walk_with(file, path, id, end, state_of, show)
}

/// Walks a segment like [`walk`], but reads only the headers of records.
pub fn walk_headers(
    file: &File,
    path: &Path,
    id: u64,
    end: u64,
    show: impl FnMut(Finding) -> Result<()>,
) -> Result<()> {
    walk_with(file, path, id, end, |_, _| Ok(State::Intact), show)
}

fn walk_with(
    file: &File,
    path: &Path,
    id: u64,
    end: u64,
    judge: impl Fn(&File, &RecordHeader) -> io::Result<State>,
    mut show: impl FnMut(Finding) -> Result<()>,
) -> Result<()> {
    let io = |e: io::Error| io_error("read", path, e);
    let mut at = BLOCK;
    while at < end {
        if let Some(header) = read_header(file, id, at, end).map_err(io)? {
            let state = judge(file, &header).map_err(io)?;
            show(Finding::Record { header, state })?;
            at += footprint(header.extent.stored());
            continue;
        }
        // Only zeros follow the last record of a batch, up to the next block.
        let boundary = at.next_multiple_of(BLOCK).min(end);
        if boundary > at && is_zero(file, at..boundary).map_err(io)? {
            at = boundary;
            continue;
        }
        let mut unreadable = is_unreadable_at(file, at).map_err(io)?;
        let next = search(file, id, at, end, &mut unreadable).map_err(io)?;
        if unreadable || next < end || !is_zero(file, at..end).map_err(io)? {
            show(Finding::Gap { range: at..next, unreadable })?;
        }
        at = next;
    }
    Ok(())
}

/// Continues at `from` in a segment that another process is writing, up to the first incomplete record. Returns the
/// position at which to continue next time, and whether the disk cannot read that position.
pub fn read_new_records(
    file: &File,
    path: &Path,
    id: u64,
    from: u64,
    mut each: impl FnMut(Digest, Slot),
) -> Result<(u64, bool)> {
    let io = |e: io::Error| io_error("read", path, e);
    let end = file.metadata().map_err(io)?.len();
    let mut at = from;
    while at < end {
        let boundary = at.next_multiple_of(BLOCK);
        let here = read_header(file, id, at, end).map_err(io)?;
        let header = match here {
            None if boundary > at => read_header(file, id, boundary, end).map_err(io)?,
            here => here,
        };
        let Some(header) = header else {
            match next_record_if_damaged(file, id, at, end).map_err(io)? {
                Some(next) => at = next,
                None => break,
            }
            continue;
        };
        let state = state_of(file, &header).map_err(io)?;
        if state == State::Damaged && next_record_if_damaged(file, id, header.offset, end).map_err(io)?.is_none() {
            break;
        }
        // A damaged record gets a slot too, so that reading it reports the damage.
        each(header.digest, Slot { offset: header.offset, extent: header.extent, stored_at: header.stored_at });
        at = header.offset + footprint(header.extent.stored());
    }
    Ok((at, at < end && is_unreadable_at(file, at).map_err(io)?))
}

/// Returns the first record after the damage at `place`; `None` when the bytes there may be a record that is still
/// being written. A batch is written only when the previous one is on the disk, so a later batch proves that they are
/// damaged.
fn next_record_if_damaged(file: &File, id: u64, place: u64, end: u64) -> io::Result<Option<u64>> {
    let mut here = [0; HEADER];
    let (read, mut lost) = read_skipping_bad_sectors(file, &mut here, place)?;
    if !lost && here[..read].iter().all(|byte| *byte == 0) {
        return Ok(None);
    }
    let end = end.min(place + NEAR);
    let (mut first, mut at) = (None, place);
    loop {
        at = search(file, id, at, end, &mut lost)?;
        let Some(header) = read_header(file, id, at, end)? else { return Ok(None) };
        let first = *first.get_or_insert(at);
        if header.batch > place {
            return Ok(Some(first));
        }
        at += footprint(header.extent.stored()) - ALIGN;
    }
}

/// Reads the header at this position, if it is valid and its record ends no later than `end`.
pub fn read_header(file: &File, id: u64, at: u64, end: u64) -> io::Result<Option<RecordHeader>> {
    let mut bytes = [0; HEADER];
    let (read, _) = read_skipping_bad_sectors(file, &mut bytes, at)?;
    let header = RecordHeader::decode(&bytes[..read], id, at);
    Ok(header.filter(|header| at + span(header.extent.stored()) <= end))
}

/// Returns whether the disk cannot read the bytes of a header at this position.
fn is_unreadable_at(file: &File, at: u64) -> io::Result<bool> {
    read_skipping_bad_sectors(file, &mut [0; HEADER], at).map(|(_, lost)| lost)
}

/// Determines whether the bytes of a record can be read and match their checksums.
fn state_of(file: &File, header: &RecordHeader) -> io::Result<State> {
    match is_intact(file, header) {
        Ok(true) => Ok(State::Intact),
        Ok(false) => Ok(State::Damaged),
        Err(error) if is_unreadable(&error) => Ok(State::Unreadable),
        Err(error) => Err(error),
    }
}

fn is_intact(file: &File, header: &RecordHeader) -> io::Result<bool> {
    let data_at = header.offset + HEADER as u64;
    let length = header.extent.stored();
    let mut table = vec![0; table_length(length) as usize];
    if read_up_to(file, &mut table, data_at + length)? < table.len() {
        return Ok(false);
    }
    let mut buffer = vec![0; length.min(WINDOW as u64) as usize];
    let mut done = 0;
    while done < length {
        let want = (length - done).min(WINDOW as u64) as usize;
        let read = read_up_to(file, &mut buffer[..want], data_at + done)?;
        let sums = &table[(done / CHUNK as u64 * 4) as usize..];
        if read < want || !chunks_are_intact(&header.digest, &buffer[..want], sums) {
            return Ok(false);
        }
        done += want as u64;
    }
    Ok(true)
}

/// Returns the next position after `from` with a valid header, or `end`. Sets `unreadable` when the disk cannot read
/// some bytes on the way.
fn search(file: &File, id: u64, from: u64, end: u64, unreadable: &mut bool) -> io::Result<u64> {
    let mut buffer = vec![0; WINDOW];
    let mut at = from + ALIGN;
    while at < end {
        at = data_from(file, at, end);
        let want = (end - at).min(WINDOW as u64) as usize;
        let (read, lost) = read_skipping_bad_sectors(file, &mut buffer[..want], at)?;
        *unreadable |= lost;
        for step in (0..read).step_by(ALIGN as usize) {
            let position = at + step as u64;
            if RecordHeader::has_magic(&buffer[step..read]) && read_header(file, id, position, end)?.is_some() {
                return Ok(position);
            }
        }
        at += WINDOW as u64;
    }
    Ok(end)
}

/// Returns the first aligned position from `at` on that is not in a hole; `end` if only holes follow.
fn data_from(file: &File, at: u64, end: u64) -> u64 {
    match rustix::fs::seek(file, rustix::fs::SeekFrom::Data(at)) {
        Ok(found) => (found - found % ALIGN).clamp(at, end),
        Err(rustix::io::Errno::NXIO) => end,
        // The file system does not report holes: everything counts as data.
        Err(_) => at,
    }
}

fn is_zero(file: &File, range: Range<u64>) -> io::Result<bool> {
    let mut buffer = vec![0; WINDOW.min((range.end - range.start) as usize)];
    let mut at = range.start;
    while at < range.end {
        at = data_from(file, at, range.end);
        let want = (range.end - at).min(buffer.len() as u64) as usize;
        let (read, lost) = read_skipping_bad_sectors(file, &mut buffer[..want], at)?;
        if lost || buffer[..read].iter().any(|byte| *byte != 0) {
            return Ok(false);
        }
        if read < want {
            return Ok(true);
        }
        at += want as u64;
    }
    Ok(true)
}
