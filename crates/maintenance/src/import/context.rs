//! State that the parts of one import share.

use std::collections::BTreeSet;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, PoisonError};

use model::{Error, Id, Name, Result};
use repository::{ImportFolder, Session};
use tokio::sync::mpsc;

use super::buffers::Buffers;
use super::owners::Owners;
use crate::posix::{Directory, Status};
use crate::progress::{Fault, Faults, Progress};

/// Files up to this many bytes are read whole; several share a transaction.
pub(super) const SMALL: u64 = 1024 * 1024;

/// What all parts of one import share.
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

/// A file that is to be stored.
pub(super) struct Job {
    pub directory: Arc<Directory>,
    pub name: Name,
    pub size: u64,
    pub folder: ImportFolder,
}

/// Where the walk sends what it found.
pub(super) struct Workers {
    pub small: mpsc::Sender<Job>,
    pub large: mpsc::Sender<Job>,
}

impl Context {
    /// Notes a file that was not taken; `size` is what it counts for in the progress.
    pub fn refuse_file(&self, fault: &Fault, size: u64) {
        self.faults.add(fault);
        self.progress.add_files(1);
        self.progress.add_bytes(size);
    }

    /// Who owns in the farm what belongs to a user of the machine.
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
    pub async fn send(&self, job: Job) -> Result<()> {
        let queue = if job.size > SMALL { &self.large } else { &self.small };
        queue.send(job).await.map_err(|_| Error::unavailable("the import was ended"))
    }
}
