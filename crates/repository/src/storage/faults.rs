//! BLOBs that were found missing or damaged, by a check or by whoever read them: listing them with the documents that need them, or putting on record that they
//! are lost. How they are brought back does not belong here.

use std::sync::Arc;

use blobs::{BlobStore, Entry, Outcome};
use database::content::blob::{self, BlobRow};
use database::content::fault::{self, FaultRow};
use database::{Database, Reader, Transaction};
use model::{Digest, Error, ErrorKind, Id, Result, Right, Timestamp};

use crate::documents::require_draft;
use crate::farm::registry::ContentDatabase;
use crate::{Session, Storage, StorageDatabase, Target};

/// Documents named for each BLOB.
const NAMED: usize = 20;
/// Stores of one farm that miss the same BLOB, at most.
const MOST_STORES: usize = 64;

/// A BLOB that is not as it must be.
#[derive(Clone, Debug)]
pub struct BlobFault {
    /// Name of the content database that needs it.
    pub database: String,
    /// Name of the store that should have it.
    pub store: String,
    /// Identity of its bytes.
    pub digest: Digest,
    /// `missing` or `damaged`.
    pub state: String,
    /// Where and what exactly.
    pub detail: String,
    /// When it was found first.
    pub found_at: Timestamp,
    /// When somebody accepted the loss, and who.
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
    /// Site, library and path; none for what lies in a recycle bin, or what the caller may not see.
    pub path: Option<String>,
}

impl Session {
    /// A page of faults by digest, behind `after`: at most `limit` of them, and more only where several content databases need
    /// the last BLOB; with the digest that the next page begins behind.
    ///
    /// Errors: `Forbidden` for others than farm administrators.
    pub async fn blob_faults(&self, after: Option<Digest>, limit: usize) -> Result<(Vec<BlobFault>, Option<Digest>)> {
        let storage = self.storage().await?;
        let mut faults = Vec::new();
        for database in storage.databases()? {
            let read = move |reader: &mut Reader<'_>| {
                let rows = whole_groups(fault::list(reader, after, limit + MOST_STORES)?, limit);
                rows.into_iter().map(|row| Ok((blob::documents_of(reader, &row.digest, NAMED)?, row))).collect()
            };
            let rows: Vec<(Vec<(Id, String)>, FaultRow)> = match database.database.read_long(read).await {
                // It is named as a whole.
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

    /// Which versions of a document have content that is missing or damaged, among those that the caller may know of: their
    /// identifiers, and `missing` or `damaged`.
    ///
    /// Errors: `NotFound`; `Forbidden`.
    pub async fn content_faults(&self, target: &Target) -> Result<Vec<(Id, String)>> {
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

    /// Puts on record that a BLOB is lost. Its documents keep saying so to who opens them.
    ///
    /// Errors: `Forbidden` for others than farm administrators; `NotFound` when it has no fault that is open.
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
    /// Puts on record that a BLOB is missing or damaged (`state`) in a store, if the content database needs it there; a record
    /// that stands keeps its time and whether the loss was accepted. Answers whether somebody has to act: false when nothing needs
    /// the BLOB, or its loss is accepted.
    pub async fn note_fault(
        &self,
        database: &StorageDatabase,
        store: Id,
        digest: Digest,
        state: &str,
        detail: &str,
    ) -> Result<bool> {
        put(&database.database, (store, None), digest, state, detail).await
    }
}

/// Puts a BLOB of `size` bytes on record that could not be read from a store as it must be, after asking the store again for what is kept
/// there for good. One that the content database does not need there, or that is on record already, costs a look and no write.
///
/// # Errors
/// What the store says when it cannot tell, and what the database says.
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
    let asked = match from.confirm(digest, size).await {
        Ok(()) => from.reread(Entry { digest, size, stored_at: Timestamp::now() }).await,
        Err(error) => Err(error),
    };
    let (state, detail) = match asked {
        Ok(Outcome::Intact) => return Ok(()),
        Ok(Outcome::Missing { place }) => ("missing", place),
        Ok(Outcome::Damaged { place, what }) if place.is_empty() => ("damaged", what),
        Ok(Outcome::Damaged { place, what }) => ("damaged", format!("{place}: {what}")),
        Err(error) if error.kind() == ErrorKind::NotFound => ("missing", error.message().to_owned()),
        Err(error) if error.kind() == ErrorKind::Corrupt => ("damaged", error.message().to_owned()),
        Err(error) => return Err(error),
    };
    if put(database, (store, Some(row)), digest, state, &detail).await? {
        metrics::counter!("strongroom_blob_faults_total").increment(1);
    }
    Ok(())
}

/// Reads a BLOB of `size` bytes again that is on record as missing or damaged in a store, and takes it off the record
/// when it is whole.
async fn settle_if_intact(
    database: &Database,
    (store, from): (Id, &BlobStore),
    (digest, size): (Digest, u64),
) -> Result<()> {
    from.confirm(digest, size).await?;
    match from.reread(Entry { digest, size, stored_at: Timestamp::now() }).await? {
        Outcome::Intact => database.write_vital(move |transaction| fault::remove(transaction, store, &digest)).await,
        _ => Ok(()),
    }
}

impl Session {
    /// Puts a BLOB on record that this caller could not read. Goes on beside the caller.
    pub(crate) fn note_unread(&self, content: &Arc<ContentDatabase>, store: Id, digest: Digest, size: u64) {
        if self.repository.inner.noting.begin((content.row.id, digest)) {
            self.look_beside(content, store, (digest, size), false);
        }
    }

    /// Reads a BLOB again that is on record, so that a disk that has recovered is believed. Goes on beside the caller.
    pub(crate) fn look_again(&self, content: &Arc<ContentDatabase>, store: Id, digest: Digest, size: u64) {
        if self.repository.inner.noting.begin_again((content.row.id, digest)) {
            self.look_beside(content, store, (digest, size), true);
        }
    }

    /// Looks at a BLOB, on record or not, with which [`Noting`] has begun.
    fn look_beside(&self, content: &Arc<ContentDatabase>, store: Id, blob: (Digest, u64), on_record: bool) {
        let (repository, content) = (self.repository.clone(), content.clone());
        tokio::spawn(async move {
            let look = async {
                let registry = repository.registry().await?;
                let from = (store, registry.store(store, &content)?);
                match on_record {
                    true => settle_if_intact(&content.database, from, blob).await,
                    false => note_unreadable(&content.database, from, blob).await,
                }
            };
            match (look.await, on_record) {
                (Ok(()), _) => {}
                (Err(error), true) => {
                    tracing::debug!(blob = %blob.0, error = error.report(), "a BLOB stays on record");
                }
                (Err(error), false) => {
                    tracing::warn!(blob = %blob.0, error = error.report(), "a BLOB that cannot be read is not on record");
                }
            }
            repository.inner.noting.end((content.row.id, blob.0));
        });
    }
}

/// Writes a fault down, if the content database needs the BLOB there, and, where the reference that was looked at is
/// given, if it did not move meanwhile; whether somebody has to act.
async fn put(
    database: &Database,
    (store, seen): (Id, Option<BlobRow>),
    digest: Digest,
    state: &str,
    detail: &str,
) -> Result<bool> {
    let row = FaultRow {
        store_id: store,
        digest,
        state: state.to_owned(),
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

/// At least `limit` rows, and one more if there is one, without cutting those of one BLOB apart.
fn whole_groups(mut rows: Vec<FaultRow>, limit: usize) -> Vec<FaultRow> {
    if rows.len() == limit + MOST_STORES
        && let Some(last) = rows.last().map(|row| row.digest)
    {
        rows.retain(|row| row.digest != last);
    }
    rows
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
