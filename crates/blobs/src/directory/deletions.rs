//! The log of a segment's deleted records: entries of 64 bytes, in an append-only file beside the segment.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

use model::{Digest, Result, Timestamp};
use rustix::fs::FlockOperation;

use super::files::{io_error, is_unreadable, lock, read_skipping_bad_sectors, sync_directory};
use super::record::{u32_at, u64_at};

const MAGIC: &[u8; 8] = b"SRdelete";
const ENTRY: usize = 64;

/// Appends entries for the deletion of the records at these offsets, durably. With `flush_name`, also flushes the
/// directory: another process may have created the file without having flushed its name yet.
pub fn append(path: &Path, dead: &[(u64, Digest)], flush_name: bool) -> Result<()> {
    let mut bytes = Vec::with_capacity(dead.len() * ENTRY + ENTRY);
    for (offset, digest) in dead {
        bytes.extend_from_slice(&encode(*offset, digest));
    }
    let mut write = |file: &mut File| -> io::Result<()> {
        let length = file.metadata()?.len();
        // A crash may have left a partial entry. Padded with zeros, it becomes an invalid entry, which readers skip.
        let torn = (length % ENTRY as u64) as usize;
        if torn > 0 {
            bytes.splice(0..0, std::iter::repeat_n(0, ENTRY - torn));
        }
        file.write_all(&bytes)?;
        file.sync_data()
    };
    let open = File::options().create(true).append(true).open(path);
    let mut file = open.map_err(|e| io_error("open", path, e))?;
    // Several processes may append at once.
    lock(&file, path, FlockOperation::LockExclusive)?;
    write(&mut file).map_err(|e| io_error("record a deletion in", path, e))?;
    match path.parent() {
        Some(directory) if flush_name => sync_directory(directory),
        _ => Ok(()),
    }
}

/// The progress of reading a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Position at which the next read starts.
    pub to: u64,
    /// Set when the disk could not read some entries after `to`. The next read tries those again.
    pub unread: bool,
}

/// Passes the entries from byte `from` on to `each`. Entries after unreadable ones are passed all the same, and again
/// by the next read.
pub fn read(path: &Path, from: u64, mut each: impl FnMut(u64, Digest)) -> Result<Progress> {
    let read = || -> io::Result<(Vec<u8>, bool)> {
        let file = match File::open(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok((Vec::new(), false)),
            opened => opened?,
        };
        let length = file.metadata()?.len();
        let whole = length - length % ENTRY as u64;
        let mut bytes = vec![0; whole.saturating_sub(from) as usize];
        let (read, lost) = read_skipping_bad_sectors(&file, &mut bytes, from)?;
        bytes.truncate(read - read % ENTRY);
        Ok((bytes, lost))
    };
    let (bytes, unread) = match read() {
        Err(error) if is_unreadable(&error) => (Vec::new(), true),
        read => read.map_err(|e| io_error("read", path, e))?,
    };
    for entry in bytes.chunks_exact(ENTRY) {
        if let Some((offset, digest)) = decode(entry) {
            each(offset, digest);
        }
    }
    Ok(Progress { to: if unread { from } else { from + bytes.len() as u64 }, unread })
}

fn encode(offset: u64, digest: &Digest) -> [u8; ENTRY] {
    let mut out = [0; ENTRY];
    out[0..8].copy_from_slice(MAGIC);
    out[8..16].copy_from_slice(&offset.to_le_bytes());
    out[16..48].copy_from_slice(digest.as_bytes());
    out[48..56].copy_from_slice(&Timestamp::now().micros().to_le_bytes());
    let sum = crc32fast::hash(&out[..60]);
    out[60..].copy_from_slice(&sum.to_le_bytes());
    out
}

fn decode(entry: &[u8]) -> Option<(u64, Digest)> {
    if &entry[0..8] != MAGIC || u32_at(entry, 60) != crc32fast::hash(&entry[..60]) {
        return None;
    }
    Some((u64_at(entry, 8), Digest::from_slice(&entry[16..48]).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_torn_note_does_not_count_and_hides_no_other() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x.del");
        let digest = Digest::new([4; 32]);
        append(&path, &[(64, digest)], true).unwrap();
        let whole = std::fs::read(&path).unwrap();
        for cut in 0..64 {
            std::fs::write(&path, [&whole[..], &whole[..cut]].concat()).unwrap();
            append(&path, &[(128, digest)], false).unwrap();
            let mut seen = Vec::new();
            let read_to = read(&path, 0, |offset, _| seen.push(offset)).unwrap();
            assert_eq!((&seen[..], read_to.unread), (&[64, 128][..], false), "cut at {cut}");
            assert_eq!(read(&path, read_to.to, |_, _| panic!("nothing new")).unwrap(), read_to);
        }
    }
}
