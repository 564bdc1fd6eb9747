//! Shared state of one import.

use std::collections::BTreeSet;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, PoisonError};

use async_recursion::async_recursion as boxed;
use model::{Error, Id, Name, Result};
use repository::{ImportFolder, Session};
use tokio::sync::mpsc;

use super::buffers::Buffers;
use super::owners::Owners;
use crate::posix::{Directory, Status};
use crate::progress::{Fault, Faults, Progress};

/// Maximum size in bytes of a file that is read whole and stored in a batch.
pub(super) const SMALL: u64 = 1024 * 1024;

/// Shared state of one import.
pub(super) struct Context {
    pub session: Session,
    pub owners: Owners,
    pub progress: Arc<Progress>,
    pub faults: Faults,
    pub dry_run: bool,
    pub exclude: Option<Status>,
    pub created: AtomicU64,
    pub replaced: AtomicU64,
    pub unchanged: AtomicU64,
    pub folders: AtomicU64,
    pub bytes: AtomicU64,
    pub unmapped: Mutex<(BTreeSet<u32>, BTreeSet<u32>)>,
    pub buffers: Buffers,
}

/// A file to be stored.
pub(super) struct Job {
    pub directory: Arc<Directory>,
    pub name: Name,
    pub size: u64,
    pub folder: ImportFolder,
}

/// Queues from the traversal to the workers.
pub(super) struct Workers {
    pub small: mpsc::Sender<Job>,
    pub large: mpsc::Sender<Job>,
}

impl Context {
    /// Records a skipped file. `size` is the number of bytes added to the progress.
    pub fn refuse_file(&self, fault: &Fault, size: u64) {
        self.faults.add(fault);
        self.progress.add_files(1);
        self.progress.add_bytes(size);
    }

    /// Returns the farm account that owns the files of an operating-system user.
    pub fn owner(&self, user: u32) -> Id {
        self.owners.user(user).unwrap_or_else(|| {
            if self.owners.is_mapped() {
                self.unmapped.lock().unwrap_or_else(PoisonError::into_inner).0.insert(user);
            }
            self.owners.default_owner()
        })
    }

    pub fn note_unmapped_group(&self, group: u32) {
        self.unmapped.lock().unwrap_or_else(PoisonError::into_inner).1.insert(group);
    }
}

impl Workers {
    #[boxed]
    pub async fn send(&self, job: Job) -> Result<()> {
        let queue = if job.size > SMALL { &self.large } else { &self.small };
        queue.send(job).await.map_err(|_| Error::unavailable("the import was stopped"))
    }
}
