//! BLOBs that a check or a read found missing or damaged: listing them with the documents that need them, and recording
//! their loss as accepted. Repairing them is done elsewhere.

use std::sync::Arc;

use async_recursion::async_recursion as boxed;
use blobs::{BlobStore, CheckOutcome, Entry};
use database::content::blob::{self, BlobRow};
use database::content::fault::{self, FaultRow};
use database::{Database, Reader, Transaction};
use model::{Digest, Error, ErrorKind, FaultState, Id, Result, Right, Timestamp};

use crate::documents::require_draft;
use crate::farm::registry::ContentDatabase;
use crate::{Session, Storage, StorageDatabase, Target};

/// Limit on the documents named for each BLOB.
const MAX_NAMED_DOCUMENTS: usize = 20;

/// A missing or damaged BLOB.
#[derive(Clone, Debug)]
pub struct BlobFault {
    /// Name of the content database that needs it.
    pub database: String,
    /// Name of the store that should hold it.
    pub store: String,
    /// Digest of its bytes.
    pub digest: Digest,
    /// The fault.
    pub state: FaultState,
    /// Location and details of the fault.
    pub detail: String,
    /// Time of the first detection.
    pub found_at: Timestamp,
    /// Time at which the loss was accepted, and the administrator who did so.
    pub accepted: Option<(Timestamp, Id)>,
    /// Documents that have a version with these bytes, at most 20.
    pub documents: Vec<FaultyDocument>,
}

/// A document that has a version with missing or damaged bytes.
#[derive(Clone, Debug)]
pub struct FaultyDocument {
    /// Identifier.
    pub id: Id,
    /// Name.
    pub name: String,
    /// Site, library and path; `None` for an item in a recycle bin, or one that the caller may not see.
    pub path: Option<String>,
}

impl Session {
    /// Returns a page of faults ordered by digest, after `after`, and the digest after which the next page begins. The
    /// page has at most `limit` faults, and more only where the last BLOB has several, in several stores or content
    /// databases.
    ///
    /// # Errors
    /// `Forbidden` unless the caller is a farm administrator.
    #[boxed]
    pub async fn blob_faults(&self, after: Option<Digest>, limit: usize) -> Result<(Vec<BlobFault>, Option<Digest>)> {
        let storage = self.storage().await?;
        let mut faults = Vec::new();
        for database in storage.databases()? {
            let read = move |reader: &mut Reader<'_>| {
                let rows = page_and_next(reader, after, limit)?;
                rows.into_iter()
                    .map(|row| Ok((blob::documents_of(reader, &row.digest, MAX_NAMED_DOCUMENTS)?, row)))
                    .collect()
            };
            let rows: Vec<(Vec<(Id, String)>, FaultRow)> = match database.database.read_long(read).await {
                // A damaged database is reported as a whole.
                Err(_) if database.database.damage().is_some() => continue,
                rows => rows?,
            };
            for (documents, row) in rows {
                faults.push(BlobFault {
                    database: database.name.clone(),
                    store: storage.store_name(row.store_id),
                    digest: row.digest,
                    state: row.state,
                    detail: row.detail,
                    found_at: row.found_at,
                    accepted: row.accepted_at.zip(row.accepted_by),
                    documents: self.with_paths(documents).await,
                });
            }
        }
        faults.sort_by_key(|fault| *fault.digest.as_bytes());
        let Some(last) = faults.get(limit.saturating_sub(1)).map(|fault| fault.digest) else {
            return Ok((faults, None));
        };
        let end = faults.partition_point(|fault| fault.digest.as_bytes() <= last.as_bytes());
        let next = (end < faults.len()).then_some(last);
        faults.truncate(end);
        Ok((faults, next))
    }

    async fn with_paths(&self, documents: Vec<(Id, String)>) -> Vec<FaultyDocument> {
        let mut found = Vec::with_capacity(documents.len());
        for (id, name) in documents {
            let path = self.item(&id.into()).await.ok().map(|item| item.path);
            found.push(FaultyDocument { id, name, path });
        }
        found
    }

    /// Returns the versions of a document whose content is missing or damaged, out of those that the caller may know
    /// of: their identifiers and faults.
    ///
    /// # Errors
    /// `NotFound`; `Forbidden`.
    #[boxed]
    pub async fn content_faults(&self, target: &Target) -> Result<Vec<(Id, FaultState)>> {
        let (_, faults) = self
            .view(target, |reader, located| {
                let node = located.node();
                let visible = located.visible_version(node);
                let may_see_all = located.require(Right::ViewVersions).is_ok();
                let of_node = fault::of_node(reader, node.id)?;
                let mut faults = Vec::new();
                for version in of_node {
                    let may_see = Some(version.id) == visible
                        || may_see_all && !version.working && require_draft(located, version.number).is_ok();
                    if may_see {
                        faults.push((version.id, version.state));
                    }
                }
                Ok(faults)
            })
            .await?;
        Ok(faults)
    }

    /// Records the loss of a BLOB as accepted. Opening its documents still fails with that reason.
    ///
    /// # Errors
    /// `Forbidden` unless the caller is a farm administrator; `NotFound` when the BLOB has no open fault.
    #[boxed]
    pub async fn accept_loss(&self, digest: Digest) -> Result<()> {
        let storage = self.storage().await?;
        let (actor, mut accepted) = (storage.actor(), 0);
        for database in storage.databases()? {
            let write =
                move |transaction: &mut Transaction<'_>| fault::accept(transaction, &digest, Timestamp::now(), actor);
            accepted += database.database.write_vital(write).await?;
        }
        if accepted == 0 {
            storage.all_databases()?;
            return Err(no_fault(digest));
        }
        audit(&storage, "blob.accept-loss", digest, "").await
    }
}

impl Storage {
    /// Records a fault (`state`) of a BLOB in a store, if the content database needs it there. An existing
    /// record keeps its time and its acceptance. Returns whether an administrator has to act: false when nothing needs
    /// the BLOB, or when its loss is accepted.
    #[boxed]
    pub async fn note_fault(
        &self,
        database: &StorageDatabase,
        store: Id,
        digest: Digest,
        state: FaultState,
        detail: &str,
    ) -> Result<bool> {
        record_fault(&database.database, (store, None), digest, state, detail).await
    }
}

/// Records a fault of a BLOB of `size` bytes that could not be read correctly, after verifying the permanently stored
/// copy again. A BLOB that the content database does not need there, or that is on record already, costs a read and no
/// write.
///
/// # Errors
/// Those of the store when it cannot verify the BLOB, and those of the database.
#[boxed]
pub async fn note_unreadable(
    database: &Database,
    (store, from): (Id, &BlobStore),
    (digest, size): (Digest, u64),
) -> Result<()> {
    let look = move |reader: &mut Reader<'_>| {
        let known = fault::find(reader, &digest)?.iter().any(|known| known.store_id == store);
        Ok(blob::find(reader, &digest)?.filter(|row| !known && row.store_id == store))
    };
    let Some(row) = database.read(look).await? else { return Ok(()) };
    let asked = match from.ensure_present(digest, size).await {
        Ok(()) => from.reread(Entry { digest, size, stored_at: Timestamp::now() }).await,
        Err(error) => Err(error),
    };
    let (state, detail) = match asked {
        Ok(CheckOutcome::Intact) => return Ok(()),
        Ok(CheckOutcome::Missing { place }) => (FaultState::Missing, place),
        Ok(CheckOutcome::Damaged { place, what }) if place.is_empty() => (FaultState::Damaged, what),
        Ok(CheckOutcome::Damaged { place, what }) => (FaultState::Damaged, format!("{place}: {what}")),
        Err(error) if error.kind() == ErrorKind::NotFound => (FaultState::Missing, error.message().to_owned()),
        Err(error) if error.kind() == ErrorKind::Corrupt => (FaultState::Damaged, error.message().to_owned()),
        Err(error) => return Err(error),
    };
    if record_fault(database, (store, Some(row)), digest, state, &detail).await? {
        metrics::counter!("strongroom_blob_faults_total").increment(1);
    }
    Ok(())
}

/// Rereads a BLOB of `size` bytes that is on record as missing or damaged in a store, and deletes the record when the
/// BLOB is intact.
async fn remove_if_intact(
    database: &Database,
    (store, from): (Id, &BlobStore),
    (digest, size): (Digest, u64),
) -> Result<()> {
    from.ensure_present(digest, size).await?;
    match from.reread(Entry { digest, size, stored_at: Timestamp::now() }).await? {
        CheckOutcome::Intact => {
            database.write_vital(move |transaction| fault::remove(transaction, store, &digest)).await
        }
        _ => Ok(()),
    }
}

impl Session {
    /// Records a BLOB that this caller could not read. Runs in the background.
    pub(crate) fn record_unreadable(&self, content: &Arc<ContentDatabase>, store: Id, digest: Digest, size: u64) {
        if self.repository.inner.verifications.begin((content.row.id, digest)) {
            self.verify_in_background(content, store, (digest, size), false);
        }
    }

    /// Rereads a BLOB that is on record, so that a recovered disk is noticed. Runs in the background.
    pub(crate) fn reread(&self, content: &Arc<ContentDatabase>, store: Id, digest: Digest, size: u64) {
        if self.repository.inner.verifications.begin_again((content.row.id, digest)) {
            self.verify_in_background(content, store, (digest, size), true);
        }
    }

    /// Verifies in the background a BLOB that [`Verifications`] has marked as in progress, on record or not.
    fn verify_in_background(&self, content: &Arc<ContentDatabase>, store: Id, blob: (Digest, u64), on_record: bool) {
        let (repository, content) = (self.repository.clone(), content.clone());
        tokio::spawn(async move {
            let look = async {
                let registry = repository.registry().await?;
                let from = (store, registry.store(store, &content)?);
                match on_record {
                    true => remove_if_intact(&content.database, from, blob).await,
                    false => note_unreadable(&content.database, from, blob).await,
                }
            };
            match (look.await, on_record) {
                (Ok(()), _) => {}
                (Err(error), true) => {
                    tracing::debug!(blob = %blob.0, error = error.report(), "a BLOB stays on record as faulty");
                }
                (Err(error), false) => {
                    tracing::warn!(blob = %blob.0, error = error.report(), "an unreadable BLOB could not be recorded");
                }
            }
            repository.inner.verifications.end((content.row.id, blob.0));
        });
    }
}

/// Writes a fault, if the content database needs the BLOB in that store and, where the examined reference is given, if
/// that has not moved meanwhile. Returns whether an administrator has to act.
async fn record_fault(
    database: &Database,
    (store, seen): (Id, Option<BlobRow>),
    digest: Digest,
    state: FaultState,
    detail: &str,
) -> Result<bool> {
    let row = FaultRow {
        store_id: store,
        digest,
        state,
        detail: detail.to_owned(),
        found_at: Timestamp::now(),
        accepted_at: None,
        accepted_by: None,
    };
    let write = move |transaction: &mut Transaction<'_>| {
        let Some(standing) = blob::find(transaction, &row.digest)? else { return Ok(false) };
        let has_moved = seen.as_ref().is_some_and(|seen| seen.locator != standing.locator);
        if standing.store_id != row.store_id || has_moved {
            return Ok(false);
        }
        fault::put(transaction, &row)?;
        let known = fault::find(transaction, &row.digest)?;
        Ok(known.iter().any(|known| known.store_id == row.store_id && known.accepted_at.is_none()))
    };
    database.write_vital(write).await
}

/// Returns the first `limit` rows after `after`, all further rows of the last BLOB among them, and the row that
/// follows.
fn page_and_next(reader: &mut Reader<'_>, after: Option<Digest>, limit: usize) -> Result<Vec<FaultRow>> {
    let mut rows = fault::list(reader, after.map(fault::after_all), limit)?;
    if rows.len() == limit
        && let Some(last) = rows.last().map(|row| row.digest)
    {
        rows.retain(|row| row.digest != last);
        rows.extend(fault::find(reader, &last)?);
        rows.extend(fault::list(reader, Some(fault::after_all(last)), 1)?);
    }
    Ok(rows)
}

pub(crate) fn no_fault(digest: Digest) -> Error {
    Error::not_found(format!("the BLOB {digest} has no open fault: `strongroom blobs faults` lists those that have"))
}

pub(crate) async fn audit(storage: &Storage, action: &'static str, digest: Digest, detail: &str) -> Result<()> {
    let (recording, detail) = (storage.clone(), detail.to_owned());
    let write = move |transaction: &mut Transaction<'_>| {
        recording.record(transaction, action, &format!("blob {digest}"), &detail)
    };
    storage.configuration().write_vital(write).await
}
