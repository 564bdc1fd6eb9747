//! Progress of a long-running task: counters that can be read at any time, and faults of skipped items.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// Counters of a running task.
#[derive(Debug, Default)]
pub struct Progress {
    total_files: AtomicU64,
    total_bytes: AtomicU64,
    total_known: AtomicBool,
    files: AtomicU64,
    bytes: AtomicU64,
}

impl Progress {
    /// Returns the total number of files and bytes, as far as counted.
    pub fn total(&self) -> (u64, u64) {
        (self.total_files.load(Ordering::Relaxed), self.total_bytes.load(Ordering::Relaxed))
    }

    /// Returns whether counting is complete.
    pub fn is_total_known(&self) -> bool {
        self.total_known.load(Ordering::Acquire)
    }

    /// Returns the number of files and bytes processed.
    pub fn done(&self) -> (u64, u64) {
        (self.files.load(Ordering::Relaxed), self.bytes.load(Ordering::Relaxed))
    }

    pub(crate) fn count(&self, files: u64, bytes: u64) {
        self.total_files.fetch_add(files, Ordering::Relaxed);
        self.total_bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    pub(crate) fn counted_all(&self) {
        self.total_known.store(true, Ordering::Release);
    }

    /// Adds processed files. Their bytes are added by [`Self::add_bytes`] while they are transferred.
    pub(crate) fn add_files(&self, files: u64) {
        self.files.fetch_add(files, Ordering::Relaxed);
    }

    pub(crate) fn add_bytes(&self, bytes: u64) {
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }
}

/// Reason for skipping an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reason {
    /// A symbolic link, which is never followed.
    Link,
    /// A device, socket or pipe.
    Special,
    /// The name is not valid at the destination.
    Name,
    /// The item cannot be read.
    Unreadable,
    /// The file changed while it was being read.
    Changed,
    /// The farm rejected the item.
    Refused,
    /// The stored bytes are missing or damaged.
    Damaged,
    /// The item cannot be written.
    Unwritable,
}

impl Reason {
    /// Returns the word used in reports.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Link => "link",
            Self::Special => "special-file",
            Self::Name => "name",
            Self::Unreadable => "unreadable",
            Self::Changed => "changed",
            Self::Refused => "refused",
            Self::Damaged => "damaged",
            Self::Unwritable => "unwritable",
        }
    }

    /// Returns a description for users.
    pub const fn meaning(self) -> &'static str {
        match self {
            Self::Link => "symbolic links, which are not followed",
            Self::Special => "devices, sockets and pipes",
            Self::Name => "names that cannot be used",
            Self::Unreadable => "could not be read",
            Self::Changed => "changed while they were read",
            Self::Refused => "refused by the farm",
            Self::Damaged => "missing or damaged in the BLOB store",
            Self::Unwritable => "could not be written",
        }
    }
}

/// A skipped item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Path below the source or destination directory. Bytes that are not UTF-8 are written as `\xNN`.
    pub path: String,
    /// Machine-readable reason.
    pub reason: Reason,
    /// Message for the user: the reason, and advice.
    pub message: String,
}

impl Fault {
    pub(crate) fn new(path: &Path, reason: Reason, message: impl Into<String>) -> Self {
        Self { path: display_path(path.as_os_str()), reason, message: message.into() }
    }
}

/// Formats a path for users and reports. Bytes that are not UTF-8 are written as `\xNN`.
pub(crate) fn display_path(path: &OsStr) -> String {
    let mut text = String::new();
    for chunk in path.as_bytes().utf8_chunks() {
        text.push_str(chunk.valid());
        for byte in chunk.invalid() {
            text.push_str(&format!("\\x{byte:02X}"));
        }
    }
    text
}

/// Lowers the priority of this thread, and of the threads that it starts, in favour of other work.
pub fn lower_priority() {
    // If the priority cannot be lowered, the thread competes on equal terms. The result is the same.
    let _ = rustix::process::nice(10);
}

type Listener = Box<dyn FnMut(&Fault) + Send>;

/// Counts faults and passes them to the listener.
pub(crate) struct Faults {
    inner: Mutex<(BTreeMap<Reason, u64>, Listener)>,
}

impl Faults {
    pub(crate) fn new(listener: Listener) -> Self {
        Self { inner: Mutex::new((BTreeMap::new(), listener)) }
    }

    pub(crate) fn add(&self, fault: &Fault) {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        *inner.0.entry(fault.reason).or_default() += 1;
        (inner.1)(fault);
    }

    pub(crate) fn counts(&self) -> BTreeMap<Reason, u64> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner).0.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_utf8_shows_as_its_bytes() {
        assert_eq!(display_path(OsStr::from_bytes(b"a\xff\xfe/\xc3\xa9")), "a\\xFF\\xFE/é");
    }
}
