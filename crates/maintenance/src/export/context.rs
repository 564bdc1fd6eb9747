//! Shared state of one export.

use std::path::PathBuf;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex};

use model::{Error, Timestamp};
use repository::{Item, Session};

use crate::posix::Directory;
use crate::progress::{Faults, Progress};

/// Shared state of one export.
pub(super) struct Context {
    pub session: Session,
    pub root: Directory,
    pub progress: Arc<Progress>,
    pub faults: Faults,
    pub versions: bool,
    pub written: AtomicU64,
    pub unchanged: AtomicU64,
    pub version_files: AtomicU64,
    pub folders: AtomicU64,
    pub bytes: AtomicU64,
    /// Next number for a temporary file name.
    pub part: AtomicU64,
    /// Directories and the times to set on them once all files are written.
    pub times: Mutex<Vec<(PathBuf, Timestamp)>>,
}

/// A document to be written.
pub(super) struct Job {
    pub directory: Arc<Directory>,
    pub item: Item,
    /// Set when the file already exists unchanged, so that only earlier versions may be missing.
    pub present: bool,
}

/// Converts the failure of a task into an error.
pub(super) fn ended(error: tokio::task::JoinError) -> Error {
    Error::unavailable("a part of the export ended unexpectedly").with_source(error)
}
