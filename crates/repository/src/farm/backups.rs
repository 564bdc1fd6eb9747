//! The backups that the farm has on record, for administrators.

use async_recursion::async_recursion as boxed;
use database::configuration::backup::{self, BackupRow};
use model::{Id, MAX_PAGE, Result};

use crate::Session;

impl Session {
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
