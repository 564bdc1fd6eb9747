//! The record of verified backups and of drills.

use async_recursion::async_recursion as boxed;
use database::Transaction;
use database::configuration::backup;
use model::{Id, Result, Timestamp};

use super::handle::Storage;

impl Storage {
    /// Records a verification of these backups. `faults` is the number found in the whole destination. Skips backups
    /// that the farm does not know. Returns the number of backups recorded.
    ///
    /// # Errors
    /// `Unavailable` or `Corrupt` from the configuration database.
    #[boxed]
    pub async fn record_backup_verification(&self, sets: Vec<Id>, faults: u64) -> Result<u64> {
        let faults = i64::try_from(faults).unwrap_or(i64::MAX);
        let record = move |tx: &mut Transaction<'_>| {
            let now = Timestamp::now();
            sets.iter().try_fold(0, |known, set| Ok(known + backup::note_verification(tx, *set, now, faults)?))
        };
        self.configuration().write(record).await
    }

    /// Records a drill of a backup, with the number of faults found.
    ///
    /// # Errors
    /// Those of [`Storage::record_backup_verification`].
    #[boxed]
    pub async fn record_backup_drill(&self, set: Id, faults: u64) -> Result<()> {
        let faults = i64::try_from(faults).unwrap_or(i64::MAX);
        let record = move |tx: &mut Transaction<'_>| backup::note_drill(tx, set, Timestamp::now(), faults).map(drop);
        self.configuration().write(record).await
    }
}
