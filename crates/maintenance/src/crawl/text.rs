//! The text of a version: its bytes are read from the store, and a child process extracts the text.

use blobs::Locator;
use database::content::version::{self, VersionRow};
use model::{Code, Error, ErrorKind, Result};
use repository::{Sandbox, Storage, StorageDatabase};
use search::readers::{DocumentText, ReadableFormat};
use search::sandbox::Patience;

/// Result of reading the text of a version.
pub(super) enum FoundText {
    /// It has none, or none that may be kept.
    None,
    Text(DocumentText),
    /// It cannot be read: because of the document, or because its BLOB is missing or damaged.
    Fault(Error),
}

/// Reads the texts of versions.
#[derive(Clone)]
pub(super) struct TextReader {
    sandbox: Sandbox,
    storage: Storage,
    database: StorageDatabase,
    /// True if texts from stores that encrypt are read too.
    index_encrypted_texts: bool,
}

impl TextReader {
    /// Reads documents of a content database in children of `sandbox`.
    pub(super) async fn new(sandbox: Sandbox, storage: Storage, database: StorageDatabase) -> Result<Self> {
        let index_encrypted_texts = storage.search_settings().await?.index_encrypted_texts;
        Ok(Self { sandbox, storage, database, index_encrypted_texts })
    }

    /// Looks for stores and settings that were added or changed.
    pub(super) async fn refresh(&mut self) -> Result<()> {
        self.storage = self.storage.refreshed().await?;
        self.index_encrypted_texts = self.storage.search_settings().await?.index_encrypted_texts;
        Ok(())
    }

    /// Returns whether texts from stores that encrypt are read too.
    pub(super) fn reads_encrypted(&self) -> bool {
        self.index_encrypted_texts
    }

    /// The content database.
    pub(super) fn database(&self) -> &StorageDatabase {
        &self.database
    }

    /// Returns whether no text can be read any more, because the server stops.
    pub(super) fn is_stopping(&self) -> bool {
        self.sandbox.is_stopping()
    }

    /// Returns the text of a version.
    ///
    /// # Errors
    /// `Unavailable` when the store or the program that reads documents does not answer, and when reading takes longer
    /// than the short time limit.
    pub(super) async fn text(&self, name: &str, version: &VersionRow, patience: Patience) -> Result<FoundText> {
        let format = ReadableFormat::of(&version.media_type, name).filter(|_| version.size > 0);
        let Some(format) = format else { return Ok(FoundText::None) };
        match self.read(format, version, patience).await {
            Ok(found) => Ok(found),
            Err(error) if patience == Patience::Short && error.code() == Code::TookTooLong => {
                Err(Error::unavailable("the document takes long to read").with_source(error))
            }
            // A document that cannot be read is found by its name.
            Err(error) if error.kind() != ErrorKind::Unavailable => {
                metrics::counter!("strongroom_search_unread_total", "code" => error.code().as_str()).increment(1);
                Ok(FoundText::Fault(error))
            }
            Err(error) => Err(error),
        }
    }

    async fn read(&self, format: ReadableFormat, version: &VersionRow, patience: Patience) -> Result<FoundText> {
        let (limit, may_be_cut) = format.limit();
        let is_long = model::unsigned(version.size) > limit;
        if is_long && !may_be_cut {
            let message = format!("text is read only from documents of this kind of up to {} MiB", limit >> 20);
            return Err(Error::invalid(message).with_code(Code::TooLarge));
        }
        let room = self.sandbox.text_room(patience, model::unsigned(version.size).min(limit)).await?;
        let Some(bytes) = self.bytes(version, limit).await? else { return Ok(FoundText::None) };
        let mut text = self.sandbox.read_text(patience, room, format, &bytes).await?;
        text.is_cut |= is_long;
        Ok(FoundText::Text(text))
    }

    /// Returns the first bytes of a version, at most `limit`; `None` if its store encrypts and such text must not be
    /// kept in the clear. Reads them again if they have moved to another store.
    async fn bytes(&self, version: &VersionRow, limit: u64) -> Result<Option<Vec<u8>>> {
        let error = match self.bytes_at(version, limit).await {
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::Corrupt) => error,
            read => return read,
        };
        let id = version.id;
        let now = self.database.database.read(move |reader| version::find(reader, id)).await?;
        match now {
            Some(now) if (now.store_id, &now.locator) != (version.store_id, &version.locator) => {
                self.bytes_at(&now, limit).await
            }
            _ => Err(error),
        }
    }

    async fn bytes_at(&self, version: &VersionRow, limit: u64) -> Result<Option<Vec<u8>>> {
        if !self.index_encrypted_texts && self.storage.encrypts(version.store_id).await? {
            return Ok(None);
        }
        let locator = version.locator.as_deref().map(Locator::from_bytes).transpose()?;
        let store = self.storage.store(version.store_id, &self.database)?;
        let size = model::unsigned(version.size);
        let mut content = store.open(version.digest, size, locator.as_ref()).await?;
        content.set_range(0..size.min(limit));
        let mut bytes = Vec::with_capacity(usize::try_from(size.min(limit)).unwrap_or_default());
        while let Some(chunk) = content.next_chunk().await? {
            bytes.extend_from_slice(&chunk);
        }
        Ok(Some(bytes))
    }
}
