//! Locking of a backup location: a file lock on a directory, a lease on a bucket.

use std::fs::{File, OpenOptions};
use std::path::Path;
use std::time::Duration;

use model::{Code, Error, Result, Timestamp};
use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};
use tokio::task::JoinHandle;

use crate::backup::format::json::pretty;
use crate::backup::format::key::{hex, random};

use super::small_files::{SmallFiles, failed};

/// Name.
pub(super) const LEASE: &str = "lease.json";
/// Term of a lease. A lease that has not been renewed for this long has expired. Renewal happens five times per term.
const TERM: Duration = Duration::from_secs(300);

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
    File {
        _file: File,
    },
    Lease(Lease),
    /// Reading a bucket takes no lease.
    None,
}

/// A lease on a bucket, renewed while it is held. After the holder is killed the lease expires.
pub(crate) struct Lease {
    papers: SmallFiles,
    renewing: JoinHandle<()>,
}

#[derive(Serialize, Deserialize)]
struct Written {
    holder: String,
    /// Microseconds since 1970-01-01 UTC.
    until: i64,
}

impl Lock {
    /// Takes the lock.
    ///
    /// # Errors
    /// `Conflict` with code `backup_busy` when another process holds a conflicting lock.
    pub async fn take(papers: &SmallFiles, how: Use) -> Result<Self> {
        if let SmallFiles::Directory(root) = papers {
            return file(root, how).map(|file| Self::File { _file: file });
        }
        let now = Timestamp::now();
        // A lease that expires later than any valid lease can was written by a clock that was ahead, and is ignored.
        let lasting = now.micros()..now.after(2 * TERM).micros();
        let present = read(papers).await?.filter(|lease| lasting.contains(&lease.until));
        if present.is_some() {
            return Err(busy(&papers.place()));
        }
        if how == Use::Read {
            return Ok(Self::None);
        }
        let holder = hex(&random::<16>()?);
        let had = papers.read(LEASE).await?.is_some();
        let taken = if had {
            papers.write(LEASE, written(&holder)?).await.map(|()| true)
        } else {
            papers.create(LEASE, written(&holder)?).await
        };
        // Two processes that find an expired lease at the same time both write it. The one whose content remains holds
        // the lease.
        let stands = taken? && read(papers).await?.is_some_and(|lease| lease.holder == holder);
        if !stands {
            return Err(busy(&papers.place()));
        }
        let renewed = papers.clone();
        let renewing = tokio::spawn(async move {
            loop {
                tokio::time::sleep(TERM / 5).await;
                let outcome = match written(&holder) {
                    Ok(content) => renewed.write(LEASE, content).await,
                    Err(error) => Err(error),
                };
                if let Err(error) = outcome {
                    tracing::warn!(error = error.report(), "the lease on a backup destination could not be renewed");
                }
            }
        });
        Ok(Self::Lease(Lease { papers: papers.clone(), renewing }))
    }

    /// Releases the lock.
    pub async fn release(&self) {
        if let Self::Lease(lease) = self {
            lease.renewing.abort();
            // A lease that cannot be removed expires.
            if let Err(error) = lease.papers.remove(LEASE).await {
                tracing::warn!(error = error.report(), "the lease on a backup destination could not be released");
            }
        }
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.renewing.abort();
    }
}

async fn read(papers: &SmallFiles) -> Result<Option<Written>> {
    let found = papers.read(LEASE).await?;
    // An unreadable lease counts as absent.
    Ok(found.and_then(|bytes| serde_json::from_slice(&bytes).ok()))
}

fn written(holder: &str) -> Result<Vec<u8>> {
    let lease = Written { holder: holder.to_owned(), until: Timestamp::now().after(TERM).micros() };
    pretty(&lease)
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
