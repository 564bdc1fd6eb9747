//! Creates the documents of an import: bytes first, then one transaction for many documents.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

use async_recursion::async_recursion as boxed;
use blobs::{BlobStore, BlobWriter, Locator, Stored};
use bytes::Bytes;
use database::content::{blob, fault};
use database::{Reader, Transaction};
use model::{Digest, Error, ErrorKind, Id, Name, Result, Timestamp};

use crate::documents::{
    DestinationFolder, PendingBlob, SavePlan, UsageDelta, library_of, media_type, needs_confirmation,
};
use crate::farm::registry::ContentDatabase;
use crate::items::tree::held_parent;
use crate::storage::faults::note_unreadable;
use crate::storage::placement::pin_if_existing;
use crate::storage::repair::is_whole;
use crate::{OnConflict, Ownership, Saved, Session, UploadOptions};

use super::folder::{ImportFolder, MAX_IMPORT_BATCH};

/// A document's bytes in memory, with their digest.
pub struct HashedBytes {
    digest: Digest,
    bytes: Bytes,
}

impl HashedBytes {
    /// Bytes whose digest is known. `digest` must be the result of [`blobs::digest_of`] for them, or reading them will
    /// fail.
    pub fn new(digest: Digest, bytes: Bytes) -> Self {
        Self { digest, bytes }
    }
}

/// Bytes that are durable in a store, or that go into the content database together with their document.
pub struct ImportContent(pub(super) PendingBlob);

/// Bytes of a large document on their way into a store. Dropping it stores nothing.
pub struct ImportWriter {
    folder: ImportFolder,
    store: (Id, BlobStore),
    writer: BlobWriter,
}

impl ImportWriter {
    /// Takes the next bytes, in bounded memory.
    #[boxed]
    pub async fn write(&mut self, bytes: Bytes) -> Result<()> {
        self.writer.write(bytes).await
    }

    /// Makes the bytes durable.
    ///
    /// # Errors
    /// `Invalid` when fewer or more bytes arrived than were announced.
    #[boxed]
    pub async fn finish(self) -> Result<ImportContent> {
        let stored = self.writer.finish().await?;
        self.folder.secured((self.store.0, &self.store.1), stored).await
    }
}

/// A document to be created or to receive its next version.
pub struct ImportDocument {
    /// The destination.
    pub folder: ImportFolder,
    /// Name.
    pub name: Name,
    /// Its bytes.
    pub content: ImportContent,
    /// Its authors and times.
    pub ownership: Ownership,
}

impl ImportFolder {
    /// Makes the bytes of a small document durable. Bytes that belong in the content database are kept for the
    /// transaction.
    #[boxed]
    pub async fn store_bytes(&self, name: &Name, hashed: HashedBytes) -> Result<ImportContent> {
        let HashedBytes { digest, bytes } = hashed;
        let placement = self.placement(name.as_str())?;
        let size = bytes.len() as u64;
        if size < placement.inline_limit() {
            return Ok(ImportContent(PendingBlob::inline(self.inner.guard.next_id(), digest, bytes)));
        }
        let store = placement.store_for(Some(size));
        let stored = store.1.put(digest, bytes).await?;
        self.secured(store, stored).await
    }

    /// Starts a large document of exactly `size` bytes.
    #[boxed]
    pub async fn writer(&self, name: &Name, size: u64) -> Result<ImportWriter> {
        let placement = self.placement(name.as_str())?;
        let (id, store) = placement.store_for(Some(size));
        Ok(ImportWriter { folder: self.clone(), store: (id, store.clone()), writer: store.writer(Some(size)).await? })
    }

    /// Returns bytes that the content database refers to already, in any store of the farm. Returns `None` when there
    /// are none, when the existing bytes are not whole (the fault goes on record), or when the bytes are few enough to
    /// be written with their document.
    ///
    /// # Errors
    /// Errors of the databases. A store that does not answer counts as not having the bytes.
    #[boxed]
    pub async fn existing_content(&self, name: &Name, digest: Digest, size: u64) -> Result<Option<ImportContent>> {
        let content = &self.inner.content;
        if size < self.placement(name.as_str())?.inline_limit() {
            return Ok(None);
        }
        let find = move |reader: &mut Reader<'_>| Ok((blob::find(reader, &digest)?, fault::find(reader, &digest)?));
        let (Some(row), faults) = content.database.read(find).await? else { return Ok(None) };
        if faults.iter().any(|fault| fault.store_id == row.store_id) {
            return Ok(None);
        }
        let Ok(store) = self.inner.registry.store(row.store_id, content) else { return Ok(None) };
        let from = (row.store_id, store);
        if !matches!(is_whole(store, digest, size).await, Ok(true)) {
            if let Err(error) = note_unreadable(&content.database, from, (digest, size)).await {
                tracing::warn!(blob = %digest, error = error.report(), "an unreadable BLOB could not be recorded");
            }
            return Ok(None);
        }
        let locator = Locator::from_bytes(row.locator.as_deref().unwrap_or_default())?;
        let stored = Stored { digest, size, locator, existed: true };
        self.secured(from, stored).await.map(Some)
    }

    async fn secured(&self, store: (Id, &BlobStore), stored: Stored) -> Result<ImportContent> {
        pin_if_existing(&self.inner.content, store, &stored, self.inner.guard.next_id()).await?;
        Ok(ImportContent(PendingBlob::external(store.0, store.1.clone(), stored)))
    }
}

impl Session {
    /// Creates documents, at most [`MAX_IMPORT_BATCH`] and all in one content database. Returns one result for each, in
    /// order. On return, all documents that succeeded are on stable storage.
    ///
    /// An existing document of the same name receives a new version, which a library with drafts publishes at once. A
    /// fault of one document (another user's check-out, a name taken by a folder) is the result of that document.
    /// `Exhausted`, `Unavailable` and `Corrupt` fail the whole call; some documents may be stored then.
    #[boxed]
    pub async fn import_documents(&self, documents: Vec<ImportDocument>) -> Result<Vec<Result<Saved>>> {
        let Some(first) = documents.first() else { return Ok(Vec::new()) };
        if documents.len() > MAX_IMPORT_BATCH {
            return Err(Error::invalid(format!("at most {MAX_IMPORT_BATCH} documents can be created at once")));
        }
        let content = first.folder.inner.content.clone();
        if documents.iter().any(|document| document.folder.inner.content.row.id != content.row.id) {
            return Err(Error::invalid("documents that are created together must belong to one content database"));
        }
        let mut plans: Vec<(usize, SavePlan)> = documents.into_iter().map(plan).enumerate().collect();
        // Concurrent batches lock the rows of equal BLOBs in the same order, so that they cannot deadlock.
        plans.sort_by_key(|(_, plan)| *plan.pending.digest().as_bytes());
        let (places, plans): (Vec<usize>, Vec<SavePlan>) = plans.into_iter().unzip();
        let plans = Arc::new(plans);
        let saved: Vec<Result<Saved>> = match write(&content, &plans).await? {
            Ok(saved) => saved.into_iter().map(Ok).collect(),
            Err(error) if plans.len() > 1 && concerns_one(&error) => {
                let mut saved = Vec::with_capacity(plans.len());
                for plan in plans.iter().cloned() {
                    saved.push(per_document(write(&content, &Arc::new(vec![plan])).await?)?);
                }
                saved
            }
            Err(error) => vec![per_document(Err(error))?],
        };
        let (count, bytes) = saved.iter().flatten().fold((0, 0), |(n, bytes), saved| (n + 1, bytes + saved.size));
        metrics::counter!("strongroom_uploads_total").increment(count);
        metrics::counter!("strongroom_upload_bytes_total").increment(bytes);
        let mut answers: Vec<(usize, Result<Saved>)> = places.into_iter().zip(saved).collect();
        answers.sort_by_key(|(place, _)| *place);
        Ok(answers.into_iter().map(|(_, saved)| saved).collect())
    }
}

fn plan(document: ImportDocument) -> SavePlan {
    let ImportDocument { folder, name, content, ownership } = document;
    SavePlan {
        guard: folder.inner.guard.clone(),
        parent: folder.inner.id,
        parent_path: folder.inner.path.clone(),
        folders: Vec::new(),
        document: None,
        media_type: media_type(&name, None),
        name,
        options: UploadOptions {
            on_conflict: OnConflict::Replace,
            publish: true,
            ownership: Some(ownership),
            ..UploadOptions::default()
        },
        pending: content.0,
        link: None,
    }
}

/// Runs one transaction: each folder is checked and locked once, and the counters are raised once.
fn run(transaction: &mut Transaction<'_>, plans: &[SavePlan]) -> Result<Vec<Saved>> {
    let now = Timestamp::now();
    let mut destinations: HashMap<Id, DestinationFolder> = HashMap::new();
    let mut usage = UsageDelta::default();
    let mut saved = Vec::with_capacity(plans.len());
    for plan in plans {
        let destination = match destinations.entry(plan.parent) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => {
                let checked = plan.guard.check(transaction)?;
                let parent = held_parent(transaction, plan.parent)?;
                let settings = library_of(transaction, &parent)?;
                new.insert(DestinationFolder { checked, parent, settings, path: plan.parent_path.clone(), now })
            }
        };
        saved.push(plan.put(transaction, destination, &mut usage)?);
    }
    if let Some(plan) = plans.first() {
        usage.charge(transaction, &plan.guard, &destinations[&plan.parent].checked)?;
    }
    Ok(saved)
}

/// Returns whether an error may concern one document only, so that the others can still be created.
fn concerns_one(error: &Error) -> bool {
    use ErrorKind::{Conflict, Forbidden, Invalid, Locked, NotFound};
    matches!(error.kind(), Conflict | Forbidden | Invalid | Locked | NotFound)
}

/// Creates all documents in one transaction. Retries once if the transaction was not sure of some bytes. The outer
/// error is a failure to make sure of them.
async fn write(content: &ContentDatabase, plans: &Arc<Vec<SavePlan>>) -> Result<Result<Vec<Saved>>> {
    let Some(first) = plans.first() else { return Ok(Ok(Vec::new())) };
    let once = || {
        let plans = plans.clone();
        first.guard.clone().write(move |transaction, _, _| run(transaction, &plans))
    };
    let outcome = once().await;
    if !outcome.as_ref().is_err_and(needs_confirmation) {
        return Ok(outcome);
    }
    for plan in plans.iter() {
        plan.pending.ensure_referenced(&plan.guard, content).await?;
    }
    Ok(once().await)
}

/// Separates a result for one document from a failure that ends the import.
fn per_document(outcome: Result<Vec<Saved>>) -> Result<Result<Saved>> {
    match outcome.map_err(crate::session::errors::name_conflict) {
        Ok(mut saved) => saved
            .pop()
            .map(Ok)
            .ok_or_else(|| Error::unavailable("the database returned no result for a document: import it again")),
        Err(error) if concerns_one(&error) => Ok(Err(error)),
        Err(error) => Err(error),
    }
}
