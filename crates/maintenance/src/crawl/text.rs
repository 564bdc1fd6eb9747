//! The text of a version: its bytes are read from the store, and a child process or another program extracts the text.

use blobs::Locator;
use database::content::version::{self, VersionRow};
use model::{Code, Error, ErrorKind, Result};
use repository::{Programs, SearchSettings, Storage, StorageDatabase};
use search::programs::{ReadDocument, Reading, Recognition};
use search::readers::{MAX_DOCUMENT_BYTES, ReadableFormat};
use search::sandbox::ReadLimit;

/// Result of reading the text of a version.
pub(super) enum FoundText {
    /// It has none, or none that may be kept.
    None,
    /// Its text, or the part that can be read.
    Text(ReadDocument),
    /// It cannot be read: because of the document, or because its BLOB is missing or damaged.
    Fault(Error),
}

/// The occasion on which a document is read. A document that takes longer than allowed waits for the next one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReadPass {
    /// It changed, or the walk came to it.
    First,
    /// It takes long to read.
    Slow,
    /// It contains pictures in which text is to be recognised.
    Recognition,
}

/// Returns whether an error says nothing about the document: a store, a database or this machine cannot answer now.
fn is_transient(error: &Error) -> bool {
    // Statements that PostgreSQL has forgotten fail once.
    matches!(error.kind(), ErrorKind::Unavailable | ErrorKind::Exhausted) || error.code() == Code::InvalidStatement
}

/// Reads the texts of versions.
#[derive(Clone)]
pub(super) struct TextReader {
    programs: Programs,
    storage: Storage,
    database: StorageDatabase,
    settings: SearchSettings,
}

impl TextReader {
    /// Reads documents of a content database with these programs.
    pub(super) async fn new(programs: Programs, storage: Storage, database: StorageDatabase) -> Result<Self> {
        let settings = storage.search_settings().await?;
        Ok(Self { programs, storage, database, settings })
    }

    /// Looks for stores and settings that were added or changed.
    pub(super) async fn refresh(&mut self) -> Result<()> {
        self.storage = self.storage.refreshed().await?;
        self.settings = self.storage.search_settings().await?;
        Ok(())
    }

    /// Returns whether texts from stores that encrypt are read too.
    pub(super) fn reads_encrypted(&self) -> bool {
        self.settings.index_encrypted_texts
    }

    /// Returns what other programs can do now, with the languages of the wished recognition.
    ///
    /// # Errors
    /// Those of [`Programs::abilities`].
    pub(super) async fn abilities(&self) -> Result<Vec<String>> {
        let languages: &[String] =
            if self.settings.recognizes_text { &self.settings.recognition_languages } else { &[] };
        self.programs.abilities(languages).await
    }

    /// The content database.
    pub(super) fn database(&self) -> &StorageDatabase {
        &self.database
    }

    /// Returns whether no text can be read any more, because the server stops.
    pub(super) fn is_stopping(&self) -> bool {
        self.programs.sandbox().is_stopping()
    }

    /// Returns the text of a version.
    ///
    /// # Errors
    /// `Unavailable` when the store or the program that reads documents does not answer, and when reading takes longer
    /// than the short time limit.
    pub(super) async fn text(&self, name: &str, version: &VersionRow, pass: ReadPass) -> Result<FoundText> {
        let format = ReadableFormat::of(&version.media_type, name).filter(|_| version.size > 0);
        let Some(format) = format else { return Ok(FoundText::None) };
        let found = match self.read(format, version, pass).await {
            Err(error) if pass == ReadPass::First && error.code() == Code::TookTooLong => {
                return Err(Error::unavailable("the document takes long to read").with_source(error));
            }
            Err(error) if is_transient(&error) => return Err(error),
            // A document that cannot be read is found by its name.
            found => found.unwrap_or_else(FoundText::Fault),
        };
        if let FoundText::Fault(error) | FoundText::Text(ReadDocument { fault: Some(error), .. }) = &found {
            metrics::counter!("strongroom_search_unreadable_total", "code" => error.code().as_str()).increment(1);
        }
        if let FoundText::Text(read) = &found {
            metrics::counter!("strongroom_search_text_bytes_total").increment(read.text.text.len() as u64);
        }
        Ok(found)
    }

    async fn read(&self, format: ReadableFormat, version: &VersionRow, pass: ReadPass) -> Result<FoundText> {
        let (most, may_be_cut) = match format {
            // The whole picture is needed, not its metadata alone.
            ReadableFormat::Picture if pass == ReadPass::Recognition => (MAX_DOCUMENT_BYTES, true),
            format => format.limit(),
        };
        let is_long = model::unsigned(version.size) > most;
        if is_long && !may_be_cut {
            let message = format!("text is read only from documents of this kind of up to {} MiB", most >> 20);
            return Err(Error::invalid(message).with_code(Code::TooLarge));
        }
        let limit = if pass == ReadPass::First { ReadLimit::Short } else { ReadLimit::Long };
        let size = model::unsigned(version.size).min(most);
        let room = self.programs.sandbox().text_room(limit, size).await?;
        let Some(bytes) = self.bytes(version, most).await? else { return Ok(FoundText::None) };
        let languages = &self.settings.recognition_languages;
        let recognition = match (self.settings.recognizes_text, pass) {
            (false, _) => Recognition::Off,
            (true, ReadPass::Recognition) => Recognition::Now(languages),
            (true, _) => Recognition::Later(languages),
        };
        let reading = Reading { format, bytes: &bytes, is_whole: !is_long, room, limit, recognition };
        let mut read = self.programs.read(reading).await?;
        read.text.is_cut |= is_long;
        Ok(FoundText::Text(read))
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
        if !self.settings.index_encrypted_texts && self.storage.encrypts(version.store_id).await? {
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
