//! State that the parts of one export share.

use std::path::PathBuf;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex};

use model::{Error, Timestamp};
use repository::{Item, Session};

use crate::posix::Directory;
use crate::progress::{Faults, Progress};

/// What all parts of one export share.
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
    /// Numbers of files that are being written.
    pub part: AtomicU64,
    /// Directories whose time is set when nothing is written into them any more.
    pub times: Mutex<Vec<(PathBuf, Timestamp)>>,
}

/// A document that is to be written.
pub(super) struct Job {
    pub directory: Arc<Directory>,
    pub item: Item,
    /// Whether the file is there already, so that only earlier versions may be missing.
    pub present: bool,
}

/// The error of a thread or task that ended without an answer.
pub(super) fn ended(error: tokio::task::JoinError) -> Error {
    Error::unavailable("a part of the export ended unexpectedly").with_source(error)
}
