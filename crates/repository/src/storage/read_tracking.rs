//! Which BLOBs were read today, for policies that move what nobody reads. Kept in memory and written down now and then, so
//! that a read costs no write; kept only while a policy asks for it.

use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use database::content::blob;
use database::{Database, Transaction};
use model::{Id, Result, TierBasis, Timestamp};

use crate::Storage;
use crate::farm::registry::Map;

/// More BLOBs are not kept in memory between two times of writing; what is left out is noted at its next read.
const MOST: usize = 200_000;
/// Rows of one transaction.
const BATCH: usize = 1_000;
const DAY: i64 = Duration::from_secs(24 * 60 * 60).as_micros() as i64;

/// Content databases and BLOBs in them that were read since the last time of writing.
#[derive(Default)]
pub(crate) struct Accesses(Mutex<HashSet<(Id, Id)>>);

impl Accesses {
    /// Notes that a BLOB was read, if a policy wants to know.
    pub(crate) fn note(&self, map: &Map, database: Id, blob: Id) {
        if map.wants_accesses {
            let mut read = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            if read.len() < MOST {
                read.insert((database, blob));
            }
        }
    }
}

/// Whether any policy moves what was not read.
pub(crate) fn are_wanted(policies: &crate::storage::placement::Policies) -> bool {
    let tiers = policies.values().filter_map(|policy| policy.rules.tiers.as_ref());
    tiers.flatten().any(|tier| tier.basis == TierBasis::Access)
}

impl Storage {
    /// Writes down which BLOBs were read, to the day.
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
