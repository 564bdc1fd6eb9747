//! Locking of a backup location: a file lock on a directory, a lease on a bucket.

use std::fs::{File, OpenOptions};
use std::path::Path;

use async_recursion::async_recursion as boxed;
use model::{Code, Error, Result};
use rustix::fs::{FlockOperation, flock};

use crate::backup::validity::LeaseValidity;

use super::lease::Lease;
use super::small_files::{SmallFiles, failed};

/// Kind of access to a backup location.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Use {
    /// Exclusive access: a set is made or removed.
    Change,
    /// Shared access: sets are read.
    Read,
}

/// Lock on a backup location. A file lock is released on drop, a lease by [`Self::release`] or by expiry.
pub(crate) enum Lock {
    File { _file: File },
    Lease(Lease),
}

impl Lock {
    /// Takes the lock.
    ///
    /// # Errors
    /// `Conflict` with code `backup_busy` when another process holds a conflicting lock.
    #[boxed]
    pub async fn take(files: &SmallFiles, how: Use) -> Result<Self> {
        match files {
            SmallFiles::Directory(root) => file(root, how).map(|file| Self::File { _file: file }),
            SmallFiles::Bucket(objects, place) => {
                let lease = Lease::take(objects, place, how == Use::Change).await?;
                lease.map(Self::Lease).ok_or_else(|| busy(place))
            }
        }
    }

    /// Returns the validity of the lock.
    pub fn validity(&self) -> LeaseValidity {
        match self {
            Self::File { .. } => LeaseValidity::unlimited(),
            Self::Lease(lease) => lease.validity.clone(),
        }
    }

    /// Makes sure that the lock was held until now, where others could have taken it.
    ///
    /// # Errors
    /// `Unavailable` after a lease lapsed.
    #[boxed]
    pub async fn confirm(&self) -> Result<()> {
        match self {
            Self::File { .. } => Ok(()),
            Self::Lease(lease) => lease.confirm().await,
        }
    }

    /// Releases the lock.
    #[boxed]
    pub async fn release(&self) {
        if let Self::Lease(lease) = self {
            lease.release().await;
        }
    }
}

fn busy(place: &str) -> Error {
    Error::conflict(format!(
        "another backup, prune, verification or restore is using {place} at this moment: wait until it has ended"
    ))
    .with_code(Code::BackupBusy)
}

fn file(root: &Path, how: Use) -> Result<File> {
    let path = root.join("lock");
    let file = OpenOptions::new().create(true).truncate(false).write(true).open(&path);
    let file = file.map_err(|e| failed("open", &path, e))?;
    let wanted = match how {
        Use::Change => FlockOperation::NonBlockingLockExclusive,
        Use::Read => FlockOperation::NonBlockingLockShared,
    };
    match flock(&file, wanted) {
        Ok(()) => Ok(file),
        Err(rustix::io::Errno::WOULDBLOCK) => Err(busy(&root.display().to_string())),
        Err(error) => Err(failed("lock", &path, error.into())),
    }
}
