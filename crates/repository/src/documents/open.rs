//! Opening a document's content.

use std::sync::Arc;

use async_recursion::async_recursion as boxed;
use blobs::{BlobReader, Locator};
use bytes::Bytes;
use database::content::version::{self, VersionRow};
use database::content::{blob, fault};
use model::{Code, Digest, Error, ErrorKind, FaultState, Id, NodeKind, Result, Right, VersionNumber};

use crate::farm::registry::ContentDatabase;
use crate::items::item::{Item, Version, etag};
use crate::session::errors::no_item;
use crate::session::known::Viewed;
use crate::session::locate::Located;
use crate::session::lookup::FolderLookup;
use crate::storage::redaction::without_store_details;
use crate::{Session, Target};

/// The version of a document to open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VersionChoice {
    /// The version that the caller sees: the caller's working copy, the latest draft, or the published version.
    Visible,
    /// The version with this number.
    Number(VersionNumber),
}

/// A half-open byte range of a document: from `start`, up to but excluding `end`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadRange {
    /// Offset of the first byte.
    pub start: u64,
    /// Offset after the last byte.
    pub end: u64,
}

/// An opened document: its metadata, and its bytes, which are read on demand.
pub struct Content {
    /// The document.
    pub item: Item,
    /// The version that was opened.
    pub version: Version,
    reader: BlobReader,
    location: BlobLocation,
}

/// Location that a BLOB is read from, with the data needed to find the BLOB again if it moves meanwhile.
struct BlobLocation {
    session: Session,
    content: Arc<ContentDatabase>,
    digest: Digest,
    size: u64,
    store: Id,
    locator: Option<Vec<u8>>,
    /// True if the reader may see store locations.
    is_insider: bool,
}

impl BlobLocation {
    async fn open(&self) -> Result<BlobReader> {
        let registry = self.session.registry().await?;
        let store = registry.store(self.store, &self.content)?;
        let locator = self.locator.as_deref().map(Locator::from_bytes).transpose()?;
        store.open(self.digest, self.size, locator.as_ref()).await
    }

    /// Opens the BLOB. If it may have moved since its location was read, looks the location up and tries again.
    async fn find(&mut self) -> Result<BlobReader> {
        let opened = match self.open().await {
            Err(error) if is_missing_or_damaged(&error) && self.look_up().await? => self.open().await,
            opened => opened,
        };
        if let Err(error) = &opened {
            self.note(error);
        }
        opened
    }

    /// Reports a missing or damaged BLOB, so that the fault is put on record.
    fn note(&self, said: &Error) {
        if is_missing_or_damaged(said) {
            self.session.record_unreadable(&self.content, self.store, self.digest, self.size);
        }
    }

    /// Looks up the BLOB's current location. Returns false when nothing refers to the BLOB. The location may be
    /// unchanged: the BLOB may have been moved away and back again.
    async fn look_up(&mut self) -> Result<bool> {
        let digest = self.digest;
        let row = self.content.database.read(move |reader| blob::find(reader, &digest)).await?;
        let Some(row) = row else { return Ok(false) };
        if row.store_id != self.store {
            // Another process may have added the store that the BLOB is in now.
            self.session.repository.refresh_registry().await?;
        }
        (self.store, self.locator) = (row.store_id, row.locator);
        Ok(true)
    }
}

/// Returns whether an error may mean that this copy of the BLOB was given up.
fn is_missing_or_damaged(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::Corrupt)
}

impl Content {
    /// Returns the strong entity tag of this version, without quotes.
    pub fn etag(&self) -> String {
        etag(self.version.id)
    }

    /// Size of the whole version in bytes.
    pub fn size(&self) -> u64 {
        self.version.size
    }

    /// Hides store locations in errors from now on: the reader is not the user who opened the document.
    pub(crate) fn hide_store_locations(&mut self) {
        self.location.is_insider = false;
    }

    /// Limits further reads to `range`.
    pub fn set_range(&mut self, range: ReadRange) {
        self.reader.set_range(range.start..range.end);
    }

    /// Returns the whole of a small document that is already in memory. On `None`, the caller must read chunks; those
    /// report the fault, if there is one.
    pub fn try_whole(&mut self) -> Option<Result<Bytes>> {
        self.reader.try_whole().filter(Result::is_ok)
    }

    /// Refuses content that is on record as missing or damaged, before any of it is sent. Has the record compared with
    /// the store soon, because the store may be whole again. Short content is not checked here: it is verified as a
    /// whole anyway.
    ///
    /// # Errors
    /// `Corrupt` with code `content_missing` or `content_damaged`.
    #[boxed]
    pub async fn refuse_known_fault(&mut self) -> Result<()> {
        if self.version.size <= BlobReader::AT_ONCE {
            return Ok(());
        }
        let digest = self.location.digest;
        let known = self.location.content.database.read(move |reader| fault::find(reader, &digest)).await?;
        let Some(known) = known.into_iter().find(|known| known.store_id == self.location.store) else { return Ok(()) };
        self.location.session.reread(&self.location.content, self.location.store, digest, self.location.size);
        let error = match known.state {
            FaultState::Missing => Error::not_found(known.detail),
            FaultState::Damaged => Error::corrupt(known.detail),
        };
        Err(explain(error, &self.item, self.version.id, &self.location))
    }

    /// Returns the next bytes, verified against their digest or checksum; `None` at the end.
    #[boxed]
    pub async fn next_chunk(&mut self) -> Result<Option<Bytes>> {
        let chunk = match self.reader.next_chunk().await {
            Err(error) if is_missing_or_damaged(&error) => self.read_again(error).await,
            chunk => chunk,
        };
        if let Err(error) = &chunk {
            self.location.note(error);
        }
        chunk.map_err(|error| {
            let error = explain(error, &self.item, self.version.id, &self.location);
            without_store_details(error, self.location.is_insider)
        })
    }

    /// Reads the next bytes from the BLOB's current location. Returns `error` when nothing refers to the BLOB any more.
    async fn read_again(&mut self, error: Error) -> Result<Option<Bytes>> {
        if !self.location.look_up().await? {
            return Err(error);
        }
        let left = self.reader.remaining();
        self.reader = self.location.open().await?;
        self.reader.set_range(left);
        self.reader.next_chunk().await
    }
}

impl Session {
    /// Opens a document's content.
    ///
    /// # Errors
    /// `NotFound`; `Corrupt` when its bytes are missing from the store or damaged; `Unavailable` when the store does
    /// not answer.
    #[boxed]
    pub async fn open(&self, target: &Target, choice: VersionChoice) -> Result<Content> {
        let seen = match (target, choice) {
            (Target::Path(path), VersionChoice::Visible) => {
                self.look_up_cached(path).await?.and_then(FolderLookup::document)
            }
            _ => None,
        };
        let (located, item, row) = match seen {
            Some((located, row)) => {
                let located = located.viewed()?;
                let item = located.latest();
                (located, item, row)
            }
            None => {
                let (located, (item, row)) = self
                    .view(target, move |reader, located| {
                        located.require_kind(NodeKind::Document)?;
                        let row = choose(reader, located, choice)?;
                        Ok((located.item(reader)?, row))
                    })
                    .await?;
                (located, item, row)
            }
        };
        let mut location = BlobLocation {
            session: self.clone(),
            content: located.content.clone(),
            digest: row.digest,
            size: model::unsigned(row.size),
            store: row.store_id,
            locator: row.locator.clone(),
            is_insider: self.principal.farm_administrator,
        };
        let found = location.find().await.map_err(|error| explain(error, &item, row.id, &location));
        let reader = found.map_err(|error| without_store_details(error, location.is_insider))?;
        if located.collection.audit_reads {
            self.record_read(&located, &item).await?;
        }
        self.repository.inner.accesses.note(&located.registry, located.content.row.id, row.blob_id);
        metrics::counter!("strongroom_downloads_total").increment(1);
        Ok(Content { version: located.version(&row), item, reader, location })
    }

    async fn record_read(&self, located: &Viewed, item: &Item) -> Result<()> {
        let guard = self.guard([&**located])?;
        let (id, path) = (item.id, item.path.clone());
        let write = move |transaction: &mut database::Transaction<'_>| {
            guard.record(transaction, id, "document.read", path.as_str())
        };
        located.content.database.write_vital(write).await
    }
}

pub(crate) fn choose(
    reader: &mut database::Reader<'_>,
    located: &Located,
    choice: VersionChoice,
) -> Result<VersionRow> {
    let number = match choice {
        VersionChoice::Visible => return located.read_visible(reader),
        VersionChoice::Number(number) => number,
    };
    let row = version::find_number(reader, located.node().id, number)?;
    // The rights are checked before the answer reveals whether such a version exists.
    if row.as_ref().map(|row| row.id) != located.visible_version(located.node()) {
        located.require(Right::ViewVersions)?;
        require_draft(located, number)?;
    }
    row.ok_or_else(|| Error::not_found(format!("the document has no version {number}")))
}

/// Refuses a draft to users other than the document's author and those who may edit or publish.
pub(crate) fn require_draft(located: &Located, number: VersionNumber) -> Result<()> {
    let rights = located.rights();
    let author = located.node().created_by == located.principal.id;
    if number.is_major() || author || rights.has(Right::Edit) || rights.has(Right::Publish) {
        return Ok(());
    }
    Err(no_item())
}

/// Turns a failure to find or read a BLOB into an error for the reader of the document.
fn explain(error: Error, item: &Item, version: Id, location: &BlobLocation) -> Error {
    let (what, code) = match error.kind() {
        ErrorKind::NotFound => ("is missing from", Code::ContentMissing),
        ErrorKind::Corrupt => ("is damaged in", Code::ContentDamaged),
        _ => return error,
    };
    Error::corrupt(format!(
        "the content of \"{}\" {what} its BLOB store: contact an administrator, who finds details with `strongroom \
         blobs faults`",
        item.name
    ))
    .with_code(code)
    .with_source(format!(
        "BLOB {} of version {version} in store {}: {}",
        location.digest,
        location.store,
        error.report()
    ))
}
