//! Removal of storage policies whose library was deleted permanently. No caller can address such a policy any more, but
//! the stores that it names could never be closed or removed.
//!
//! Must not take a library for deleted while a content database cannot be read.

use database::configuration::{event, farm, policy};
use database::content::node;
use database::{Reader, Transaction};
use model::{Id, Result, Timestamp};

use crate::Session;

impl Session {
    /// Removes the policies of libraries that exist no more. A failure is logged: the policies then stay until the next
    /// call.
    pub(crate) async fn remove_orphaned_policies(&self) {
        if let Err(error) = self.find_and_remove_orphans().await {
            tracing::warn!(error = error.report(), "policies of deleted libraries cannot be looked for");
        }
    }

    async fn find_and_remove_orphans(&self) -> Result<()> {
        let registry = self.repository.registry().await?;
        let is_listed =
            |id: Id| registry.collection(id).is_ok() || registry.database_rows().any(|database| database.id == id);
        let mut missing: Vec<Id> = registry.policies.keys().copied().filter(|id| !is_listed(*id)).collect();
        if missing.is_empty() {
            return Ok(());
        }
        registry.require_all()?;
        for content in &registry.databases {
            missing = content.database.read(move |reader| absent_from(reader, missing)).await?;
        }
        if missing.is_empty() {
            return Ok(());
        }
        let actor = self.principal.id;
        let remove = move |transaction: &mut Transaction<'_>| {
            farm::change_directory(transaction)?;
            for row in policy::list(transaction)?.iter().filter(|row| missing.contains(&row.target_id)) {
                policy::delete(transaction, row.target_id)?;
                let subject = format!("{} {}", row.level, row.target_id);
                event::record(transaction, Timestamp::now(), actor, "storage.policy", &subject, "removed with it")?;
            }
            Ok(())
        };
        self.repository.inner.configuration.write(remove).await?;
        self.repository.refresh_registry().await
    }
}

/// Returns the items that are not in a content database, not even in a recycle bin.
fn absent_from(reader: &mut Reader<'_>, items: Vec<Id>) -> Result<Vec<Id>> {
    let mut absent = Vec::new();
    for id in items {
        if node::find(reader, id)?.is_none() {
            absent.push(id);
        }
    }
    Ok(absent)
}
