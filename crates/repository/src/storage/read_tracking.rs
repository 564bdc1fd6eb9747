//! Tracking of BLOB reads by day, for policies that move BLOBs that are not read. Reads are kept in memory and written
//! periodically, so that a read costs no write. Nothing is tracked unless a policy needs it.

use std::sync::PoisonError;
use std::time::Duration;

use async_recursion::async_recursion as boxed;
use database::content::blob;
use database::{Database, Transaction};
use model::{Id, Result, Timestamp};

use crate::Storage;

/// Number of rows written per transaction.
const BATCH: usize = 1_000;
const DAY: i64 = Duration::from_secs(24 * 60 * 60).as_micros() as i64;

impl Storage {
    /// Writes the tracked reads with the current day.
    #[boxed]
    pub async fn write_accesses(&self) -> Result<()> {
        let noted = &self.repository.inner.accesses.0;
        let read = std::mem::take(&mut *noted.lock().unwrap_or_else(PoisonError::into_inner));
        let today = Timestamp::from_micros(Timestamp::now().micros() / DAY * DAY);
        for database in self.databases()? {
            let blobs: Vec<Id> =
                read.iter().filter(|(place, _)| *place == database.id).map(|(_, blob)| *blob).collect();
            for batch in blobs.chunks(BATCH) {
                touch(&database.database, batch.to_vec(), today).await?;
            }
        }
        Ok(())
    }
}

async fn touch(database: &Database, blobs: Vec<Id>, today: Timestamp) -> Result<()> {
    let write =
        move |transaction: &mut Transaction<'_>| blobs.iter().try_for_each(|id| blob::touch(transaction, *id, today));
    database.write(write).await
}
