//! Reference check: a BLOB that its store does not have is recorded as missing in the databases that refer to it.

use blobs::CheckOutcome;
use database::Reader;
use database::content::blob::{self, BlobRow};
use database::content::fault;
use futures_util::stream::{self, StreamExt};
use model::{Digest, FaultState, Id, Result};
use repository::StorageDatabase;

use super::super::running_job::JobResult;
use super::super::throttle::Throttle;
use super::{AT_ONCE, Check, CheckedStore, Cursor, Fault, PAGE};

impl Check<'_> {
    /// Confirms the BLOBs that a database's references point to, in the stores that are checked.
    pub(super) async fn follow(
        &self,
        places: &[CheckedStore],
        throttle: &mut Throttle,
        database: &StorageDatabase,
        mut after: Id,
    ) -> JobResult<()> {
        let here: Vec<&CheckedStore> =
            places.iter().filter(|place| place.databases.iter().any(|known| known.id == database.id)).collect();
        loop {
            self.job.check_stop()?;
            let read = move |reader: &mut Reader<'_>| blob::after(reader, after, PAGE);
            let page: Vec<BlobRow> = database.database.read_long(read).await?;
            let Some(last) = page.last().map(|row| row.id) else { return Ok(()) };
            let (mut looks, mut elsewhere) = (Vec::new(), Vec::new());
            for row in page {
                match here.iter().find(|place| place.id == row.store_id) {
                    Some(place) => looks.push(self.look(place, row)),
                    None => elsewhere.push(row),
                }
            }
            let mut looks = stream::iter(looks).buffered(AT_ONCE);
            let (mut references, mut faults, mut unchecked, mut unread) = (0, 0, 0, Vec::new());
            while let Some((place, row, found)) = looks.next().await {
                references += 1;
                match found {
                    Some(Ok(None)) => {}
                    // A damaged BLOB was already found and counted when it was re-read.
                    Some(Ok(Some((state, detail)))) => {
                        if state == FaultState::Missing || !is_known(database, place.id, row.digest).await? {
                            self.storage.note_fault(database, place.id, row.digest, state, &detail).await?;
                            faults += 1;
                        }
                    }
                    Some(Err(error)) => {
                        unchecked += 1;
                        unread.push((place, row.digest, error));
                    }
                    None => unchecked += 1,
                }
            }
            drop(looks);
            let forgotten = self.note_forgotten(database, elsewhere).await?;
            (references, faults) = (references + forgotten, faults + forgotten);
            metrics::counter!("strongroom_blob_faults_total").increment(faults);
            self.job.count("faults", faults);
            self.job.count("references", references - unchecked);
            self.count("unchecked", unchecked);
            for (_, digest, error) in unread.iter().filter(|(place, ..)| self.responsive(place).is_some()) {
                self.job.fail(digest.to_string(), error);
            }
            after = last;
            self.go_on_at(Cursor {
                references: true,
                place: database.id.get(),
                after: after.get(),
                ..Cursor::default()
            });
            throttle.after(self.job, 0).await?;
        }
    }

    /// Records BLOBs as missing when their store is unknown to the farm, and returns the number of such references.
    /// Only a check of all stores does this. A store that was added since the check began is neither reported nor
    /// checked.
    async fn note_forgotten(&self, database: &StorageDatabase, rows: Vec<BlobRow>) -> Result<u64> {
        if !self.all || rows.iter().all(|row| self.is_known(row.store_id)) {
            return Ok(0);
        }
        // A store that was added since the check began is not a forgotten one.
        let known = self.storage.stores_now().await?;
        let mut forgotten = 0;
        for row in rows.iter().filter(|row| !known.contains(&row.store_id)) {
            let detail = format!("it should be in the BLOB store {}, which the farm does not know", row.store_id);
            self.storage.note_fault(database, row.store_id, row.digest, FaultState::Missing, &detail).await?;
            forgotten += 1;
        }
        Ok(forgotten)
    }

    /// Confirms the BLOB of a reference. Returns none when its store is left out of the check.
    async fn look<'a>(
        &self,
        place: &'a CheckedStore,
        row: BlobRow,
    ) -> (&'a CheckedStore, BlobRow, Option<Result<Fault>>) {
        let found = match self.responsive(place) {
            Some(store) => {
                let confirmed = store.ensure_present(row.digest, row.size.max(0) as u64).await;
                Some(self.classify(place, confirmed.map(|()| CheckOutcome::Intact)))
            }
            None => None,
        };
        (place, row, found)
    }
}

/// Returns whether a database has a fault of this BLOB in this store on record.
async fn is_known(database: &StorageDatabase, store: Id, digest: Digest) -> Result<bool> {
    let known = database.database.read(move |reader| fault::find(reader, &digest)).await?;
    Ok(known.iter().any(|row| row.store_id == store))
}
