//! Who may use a place of backups now: a file lock on a directory, a lease on a bucket.

use std::fs::{File, OpenOptions};
use std::path::Path;
use std::time::Duration;

use model::{Code, Error, Result, Timestamp};
use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};
use tokio::task::JoinHandle;

use crate::backup::format::json::pretty;
use crate::backup::format::key::{hex, random};

use super::papers::{Papers, failed};

/// Its name.
pub(super) const LEASE: &str = "lease.json";
/// A lease that was not renewed for so long is nobody's; it is renewed five times as often.
const TERM: Duration = Duration::from_secs(300);

/// What is done with a place.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Use {
    /// A set is made or removed: nothing else uses the place.
    Change,
    /// Sets are read, by any number at once.
    Read,
}

/// The right to use a place until this is dropped.
pub(crate) enum Lock {
    File {
        _file: File,
    },
    Lease(Lease),
    /// Reading a bucket needs none.
    None,
}

/// A lease on a bucket, renewed while it is held. Whoever is killed leaves it to run out.
pub(crate) struct Lease {
    papers: Papers,
    renewing: JoinHandle<()>,
}

#[derive(Serialize, Deserialize)]
struct Written {
    holder: String,
    /// Microseconds since 1970-01-01 UTC.
    until: i64,
}

impl Lock {
    /// Takes it.
    ///
    /// # Errors
    /// Conflict with code `backup_busy` when somebody else uses the place in a way that excludes this.
    pub async fn take(papers: &Papers, how: Use) -> Result<Self> {
        if let Papers::Directory(root) = papers {
            return file(root, how).map(|file| Self::File { _file: file });
        }
        let now = Timestamp::now();
        // One that ends later than a lease can was given by a clock that was ahead.
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
        // Two that found an old lease at once both wrote; the one whose words stand has it.
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
                    tracing::warn!(error = error.report(), "the lease on a place of backups could not be renewed");
                }
            }
        });
        Ok(Self::Lease(Lease { papers: papers.clone(), renewing }))
    }

    /// Gives it back.
    pub async fn release(&self) {
        if let Self::Lease(lease) = self {
            lease.renewing.abort();
            // It runs out by itself.
            if let Err(error) = lease.papers.remove(LEASE).await {
                tracing::warn!(error = error.report(), "the lease on a place of backups could not be given back");
            }
        }
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.renewing.abort();
    }
}

async fn read(papers: &Papers) -> Result<Option<Written>> {
    let found = papers.read(LEASE).await?;
    // One that cannot be read is nobody's.
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
