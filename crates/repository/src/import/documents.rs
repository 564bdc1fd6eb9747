//! Making the documents of an import: bytes first, then one transaction for many documents.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

use blobs::{BlobStore, BlobWriter, Locator, Stored};
use bytes::Bytes;
use database::content::{blob, fault};
use database::{Reader, Transaction};
use model::{Digest, Error, ErrorKind, Id, Name, Result, Timestamp};

use crate::documents::{Placed, Plan, Shelf, Tally, is_unsure, library_of, media_type};
use crate::farm::registry::ContentDatabase;
use crate::items::tree::held_parent;
use crate::storage::faults::note_unreadable;
use crate::storage::placement::secure;
use crate::storage::repair::is_whole;
use crate::{OnConflict, Ownership, Saved, Session, UploadOptions};

use super::folder::{ImportFolder, MAX_IMPORT_BATCH};

/// A document's bytes in memory with their identity.
pub struct HashedBytes {
    digest: Digest,
    bytes: Bytes,
}

impl HashedBytes {
    /// Bytes whose identity is known: `digest` is what [`blobs::digest_of`] says of them, or reading them will fail.
    pub fn new(digest: Digest, bytes: Bytes) -> Self {
        Self { digest, bytes }
    }
}

/// Bytes that are durable in a store, or go into the content database with their document.
pub struct ImportContent(pub(super) Placed);

/// Bytes of a large document on their way into a store. Dropping it stores nothing.
pub struct ImportWriter {
    folder: ImportFolder,
    store: (Id, BlobStore),
    writer: BlobWriter,
}

impl ImportWriter {
    /// Takes the next bytes, in bounded memory.
    pub async fn write(&mut self, bytes: Bytes) -> Result<()> {
        self.writer.write(bytes).await
    }

    /// Makes the bytes durable.
    ///
    /// Errors: `Invalid` when fewer or more bytes came than were announced.
    pub async fn finish(self) -> Result<ImportContent> {
        let stored = self.writer.finish().await?;
        self.folder.secured((self.store.0, &self.store.1), stored).await
    }
}

/// A document that is to be made, or to get its next version.
pub struct ImportDocument {
    /// Where.
    pub folder: ImportFolder,
    /// Its name.
    pub name: Name,
    /// Its bytes.
    pub content: ImportContent,
    /// Its authors and times.
    pub ownership: Ownership,
}

impl ImportFolder {
    /// Makes the bytes of a small document durable, or keeps them for the transaction when they belong into the database.
    pub async fn store_bytes(&self, name: &Name, hashed: HashedBytes) -> Result<ImportContent> {
        let HashedBytes { digest, bytes } = hashed;
        let placement = self.placement(name.as_str())?;
        let size = bytes.len() as u64;
        if size < placement.inline_limit() {
            return Ok(ImportContent(Placed::inline(self.inner.guard.next_id(), digest, bytes)));
        }
        let store = placement.store_for(Some(size));
        let stored = store.1.put(digest, bytes).await?;
        self.secured(store, stored).await
    }

    /// Begins a large document of exactly `size` bytes.
    pub async fn writer(&self, name: &Name, size: u64) -> Result<ImportWriter> {
        let placement = self.placement(name.as_str())?;
        let (id, store) = placement.store_for(Some(size));
        Ok(ImportWriter { folder: self.clone(), store: (id, store.clone()), writer: store.writer(Some(size)).await? })
    }

    /// Bytes for a document that the content database has already, in whatever store of the farm. None when it has none, when those that it
    /// has are not whole, which goes on record, and when they are so few that they are written with their document.
    ///
    /// Errors: those of the databases. A store that does not answer counts as not having them.
    pub async fn standing(&self, name: &Name, digest: Digest, size: u64) -> Result<Option<ImportContent>> {
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
                tracing::warn!(blob = %digest, error = error.report(), "a BLOB that cannot be read is not on record");
            }
            return Ok(None);
        }
        let locator = Locator::from_bytes(row.locator.as_deref().unwrap_or_default())?;
        let stored = Stored { digest, size, locator, existed: true };
        self.secured(from, stored).await.map(Some)
    }

    async fn secured(&self, store: (Id, &BlobStore), stored: Stored) -> Result<ImportContent> {
        secure(&self.inner.content, store, &stored, self.inner.guard.next_id()).await?;
        Ok(ImportContent(Placed::external(store.0, store.1.clone(), stored)))
    }
}

impl Session {
    /// Makes documents, at most [`MAX_IMPORT_BATCH`] and all in one content database, and answers for each in order. When
    /// this returns, all that succeeded are on stable storage.
    ///
    /// A document of that name gets a new version, which a library with drafts publishes at once. What is wrong with one
    /// document (another's check-out, a name that is taken by a folder) is that document's answer; `Exhausted`,
    /// `Unavailable` and `Corrupt` are the answer to all, and some may be stored then.
    pub async fn import_documents(&self, documents: Vec<ImportDocument>) -> Result<Vec<Result<Saved>>> {
        let Some(first) = documents.first() else { return Ok(Vec::new()) };
        if documents.len() > MAX_IMPORT_BATCH {
            return Err(Error::invalid(format!("at most {MAX_IMPORT_BATCH} documents can be made at once")));
        }
        let content = first.folder.inner.content.clone();
        if documents.iter().any(|document| document.folder.inner.content.row.id != content.row.id) {
            return Err(Error::invalid("documents that are made at once belong into one content database"));
        }
        let mut plans: Vec<(usize, Plan)> = documents.into_iter().map(plan).enumerate().collect();
        // Batches that run at once lock the rows of equal BLOBs in the same order, so that none waits for the other.
        plans.sort_by_key(|(_, plan)| *plan.placed.digest().as_bytes());
        let (places, plans): (Vec<usize>, Vec<Plan>) = plans.into_iter().unzip();
        let plans = Arc::new(plans);
        let saved: Vec<Result<Saved>> = match write(&content, &plans).await? {
            Ok(saved) => saved.into_iter().map(Ok).collect(),
            Err(error) if plans.len() > 1 && concerns_one(&error) => {
                let mut saved = Vec::with_capacity(plans.len());
                for plan in plans.iter().cloned() {
                    saved.push(settle(write(&content, &Arc::new(vec![plan])).await?)?);
                }
                saved
            }
            Err(error) => vec![settle(Err(error))?],
        };
        let (count, bytes) = saved.iter().flatten().fold((0, 0), |(n, bytes), saved| (n + 1, bytes + saved.size));
        metrics::counter!("strongroom_uploads_total").increment(count);
        metrics::counter!("strongroom_upload_bytes_total").increment(bytes);
        let mut answers: Vec<(usize, Result<Saved>)> = places.into_iter().zip(saved).collect();
        answers.sort_by_key(|(place, _)| *place);
        Ok(answers.into_iter().map(|(_, saved)| saved).collect())
    }
}

fn plan(document: ImportDocument) -> Plan {
    let ImportDocument { folder, name, content, ownership } = document;
    Plan {
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
        placed: content.0,
    }
}

/// One transaction: each folder is decided and held once, the counters are raised once.
fn run(transaction: &mut Transaction<'_>, plans: &[Plan]) -> Result<Vec<Saved>> {
    let now = Timestamp::now();
    let mut shelves: HashMap<Id, Shelf> = HashMap::new();
    let mut tally = Tally::default();
    let mut saved = Vec::with_capacity(plans.len());
    for plan in plans {
        let shelf = match shelves.entry(plan.parent) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => {
                let checked = plan.guard.check(transaction)?;
                let parent = held_parent(transaction, plan.parent)?;
                let settings = library_of(transaction, &parent)?;
                new.insert(Shelf { checked, parent, settings, path: plan.parent_path.clone(), now })
            }
        };
        saved.push(plan.put(transaction, shelf, &mut tally)?);
    }
    if let Some(plan) = plans.first() {
        tally.charge(transaction, &plan.guard, &shelves[&plan.parent].checked)?;
    }
    Ok(saved)
}

/// Whether an error may be one document's own, so that the others can still be made.
fn concerns_one(error: &Error) -> bool {
    use ErrorKind::{Conflict, Forbidden, Invalid, Locked, NotFound};
    matches!(error.kind(), Conflict | Forbidden | Invalid | Locked | NotFound)
}

/// Makes all in one transaction, once more when it was not sure of the bytes of some. The outer error is about making sure.
async fn write(content: &ContentDatabase, plans: &Arc<Vec<Plan>>) -> Result<Result<Vec<Saved>>> {
    let Some(first) = plans.first() else { return Ok(Ok(Vec::new())) };
    let once = || {
        let plans = plans.clone();
        first.guard.clone().write(move |transaction, _, _| run(transaction, &plans))
    };
    let outcome = once().await;
    if !outcome.as_ref().is_err_and(is_unsure) {
        return Ok(outcome);
    }
    for plan in plans.iter() {
        plan.placed.hold(&plan.guard, content).await?;
    }
    Ok(once().await)
}

/// Tells an answer about one document from a failure that ends the import.
fn settle(outcome: Result<Vec<Saved>>) -> Result<Result<Saved>> {
    match outcome.map_err(crate::session::refusals::explain) {
        Ok(mut saved) => saved
            .pop()
            .map(Ok)
            .ok_or_else(|| Error::unavailable("the database did not say what became of a document: import again")),
        Err(error) if concerns_one(&error) => Ok(Err(error)),
        Err(error) => Err(error),
    }
}
