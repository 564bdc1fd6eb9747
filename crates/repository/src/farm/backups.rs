//! The backups that the farm has on record, for administrators.

use async_recursion::async_recursion as boxed;
use database::configuration::backup::{self, BackupCheck, BackupRow};
use model::{Id, MAX_PAGE, Result, Timestamp};

use crate::Session;

/// Times of the newest backups that are kept, and of the latest drill.
#[derive(Clone, Copy, Debug, Default)]
pub struct NewestBackups {
    /// The newest with its own copy of the BLOBs.
    pub whole: Option<Timestamp>,
    /// The newest of the databases only, which needs the stores as they are.
    pub databases: Option<Timestamp>,
    /// The latest drill, of whichever backup.
    pub drill: Option<BackupCheck>,
}

impl Session {
    /// Returns the times of the newest backups that are kept, and of the latest drill.
    ///
    /// # Errors
    /// `Forbidden` for callers who are not farm administrators.
    #[boxed]
    pub async fn newest_backups(&self) -> Result<NewestBackups> {
        self.require_farm_administrator("see backups")?;
        let read = |reader: &mut database::Reader| Ok((backup::newest_kept(reader)?, backup::newest_drill(reader)?));
        let ((whole, databases), drill) = self.repository.inner.configuration.read(read).await?;
        Ok(NewestBackups { whole, databases, drill })
    }

    /// Returns the backups that the farm has on record, newest first: those that run, are kept, failed or were removed;
    /// older than `before`, at most `limit`.
    ///
    /// # Errors
    /// `Forbidden` for callers who are not farm administrators.
    #[boxed]
    pub async fn backups(&self, before: Option<Id>, limit: usize) -> Result<Vec<BackupRow>> {
        self.require_farm_administrator("see backups")?;
        let list = move |reader: &mut database::Reader| backup::list(reader, before, limit.min(MAX_PAGE));
        self.repository.inner.configuration.read(list).await
    }
}
