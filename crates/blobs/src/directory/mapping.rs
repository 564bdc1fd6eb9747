//! Mapped files that never become shorter than what is read of them.
//!
//! Only pages that are in the page cache are read through a mapping: what is not resident is read by position on the
//! blocking pool, where a failing disk is an error. Reading a mapping of a page whose disk read fails would be a signal that kills the process
//! (SIGBUS); what remains of that is a page that is dropped from the cache between the check and its use and then cannot
//! be read back.

use std::fs::File;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use memmap2::Mmap;
use model::Result;

use super::files::failed;

/// A read-only mapping of a whole file.
pub struct Mapping(Mmap);

impl Mapping {
    pub fn new(file: &File, path: &Path) -> Result<Arc<Self>> {
        // Safety: segments are only cut behind their last record, large files never; bytes of records never change once a
        // reader knows their place. A page beyond the end is never touched, since every range is checked by `slice` and
        // comes from a record.
        let map = unsafe { Mmap::map(file) }.map_err(|e| failed("map", path, e))?;
        Ok(Arc::new(Self(map)))
    }

    /// The bytes of a range, `None` when the file was shorter when it was mapped.
    pub fn slice(&self, range: Range<usize>) -> Option<&[u8]> {
        self.0.get(range)
    }

    /// Whether reading this range needs no disk.
    pub fn is_resident(&self, range: Range<usize>) -> bool {
        if range.is_empty() {
            return true;
        }
        let page = rustix::param::page_size();
        let first = range.start / page;
        let pages = range.end.div_ceil(page) - first;
        let mut flags = [0u8; 512];
        (0..pages).step_by(flags.len()).all(|done| {
            let now = (pages - done).min(flags.len());
            let length = now * page;
            if (first + done) * page >= self.0.len() {
                return false;
            }
            // Safety: the address is inside the mapping, which lives as long as `self`, and `flags` has a byte per page. The kernel
            // reads no memory of ours; a length beyond the mapping is an error, not a fault.
            let answer = unsafe {
                let address = self.0.as_ptr().add((first + done) * page);
                libc::mincore(address.cast_mut().cast(), length, flags.as_mut_ptr())
            };
            answer == 0 && flags[..now].iter().all(|flag| flag & 1 == 1)
        })
    }

    /// Bytes that keep the mapping alive, without copying.
    pub fn bytes(self: &Arc<Self>, range: Range<usize>) -> Option<Bytes> {
        self.0.get(range.clone())?;
        Some(Bytes::from_owner(Part { mapping: self.clone(), range }))
    }

    /// Gives the page tables back; the page cache keeps the bytes.
    pub fn forget_pages(&self) {
        // Safety: the mapping is shared and read-only, so that dropped pages come back with the same bytes.
        if let Err(error) = unsafe { self.0.unchecked_advise(memmap2::UncheckedAdvice::DontNeed) } {
            tracing::debug!(%error, "a mapping could not be released");
        }
    }
}

struct Part {
    mapping: Arc<Mapping>,
    range: Range<usize>,
}

impl AsRef<[u8]> for Part {
    fn as_ref(&self) -> &[u8] {
        self.mapping.0.get(self.range.clone()).unwrap_or_default()
    }
}
