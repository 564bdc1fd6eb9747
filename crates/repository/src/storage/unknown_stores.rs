//! References to BLOB stores that the farm does not know, whose content therefore cannot be read.

use database::Reader;
use database::configuration::farm;
use database::content::{blob, fault};
use model::{Id, Result, counted, unsigned};

use crate::farm::health;
use crate::farm::registry::ContentDatabase;
use crate::{HealthFinding, HealthSubject, Session};

impl Session {
    /// Adds a finding for BLOBs of a content database that should be in stores unknown to the farm and that are not on
    /// record as missing.
    pub(crate) async fn check_unknown_stores(
        &self,
        content: &ContentDatabase,
        findings: &mut Vec<HealthFinding>,
    ) -> Result<()> {
        let looked = &self.repository.inner.looked_for_forgotten;
        if looked.is_fresh(content.row.id, &self.known_stores().await?) {
            return Ok(());
        }
        let read = |reader: &mut Reader<'_>| Ok((blob::totals(reader)?, fault::needed_by_store(reader)?));
        let (totals, faults) = content.database.read_long(read).await?;
        // Read after the references, so that a store added meanwhile is known.
        let known = self.known_stores().await?;
        // BLOBs on record as missing are reported by another rule, or their loss was accepted.
        let on_record = |store| faults.iter().find(|(of, _)| *of == store).map_or(0, |(_, count)| *count);
        let unknown = totals.iter().filter(|(store, ..)| !known.contains(store));
        let forgotten: u64 = unknown.map(|(store, count, _)| unsigned(count - on_record(*store))).sum();
        if forgotten == 0 {
            looked.note(content.row.id, known);
            return Ok(());
        }
        let message = format!(
            "{} should be in a BLOB store that the farm does not know: `strongroom blobs check` names the documents. \
             Bring them back from another store or a backup, or accept the loss.",
            counted(forgotten, "BLOB")
        );
        let subject = HealthSubject::Database(content.row.name.clone());
        let told = ("blobs-in-no-store", vec![forgotten.to_string()]);
        findings.push(health::critical("blobs-damaged", &subject, message, told));
        Ok(())
    }

    async fn known_stores(&self) -> Result<Vec<Id>> {
        let stores = self.repository.inner.configuration.read(farm::stores).await?;
        Ok(stores.iter().map(|row| row.id).collect())
    }
}
