//! The text of a version: read from its store and, for office documents, extracted in a child process.

use blobs::Locator;
use database::content::version::{self, VersionRow};
use model::{Code, Error, ErrorKind, Id, Result};
use repository::{Sandbox, Storage, StorageDatabase};
use search::extract::{Content, Extract, Format, MAX_BYTES, plain};
use search::sandbox::Document;

/// Limit on the indexed bytes of a text.
const MAX_TEXT_BYTES: usize = 4 << 20;

/// Reads the texts of versions.
pub(super) struct TextReader {
    sandbox: Sandbox,
    /// Owner of the permits for child processes: each content database has one at a time.
    owner: Id,
}

impl TextReader {
    /// Reads office documents in children of `sandbox`.
    pub(super) fn new(sandbox: Sandbox, owner: Id) -> Self {
        Self { sandbox, owner }
    }

    /// Returns the text of a version; empty if it has none, or none that can be read.
    ///
    /// # Errors
    /// `Unavailable` when the store or the program that reads documents does not answer.
    pub(super) async fn text(
        &self,
        storage: &Storage,
        database: &StorageDatabase,
        name: &str,
        version: &VersionRow,
    ) -> Result<String> {
        let extension = name.rsplit_once('.').map(|(_, extension)| extension.to_lowercase()).unwrap_or_default();
        // Text from encrypted stores is not kept in the clear.
        if storage.encrypts(version.store_id).await? {
            return Ok(String::new());
        }
        let read = match Format::of(&extension) {
            Some(format) if version.size > 0 => self.office_text(storage, database, version, format).await,
            _ if plain::is_text(&version.media_type, &extension) => plain_text(storage, database, version).await,
            _ => return Ok(String::new()),
        };
        match read {
            // A document that cannot be read is found by its name.
            Err(error) if is_of_the_document(&error) => {
                metrics::counter!("strongroom_search_unread_total", "code" => error.code().as_str()).increment(1);
                tracing::debug!(
                    document = version.node_id.get(),
                    error = error.report(),
                    "the text of a document cannot be read for the search index"
                );
                Ok(String::new())
            }
            read => read,
        }
    }

    async fn office_text(
        &self,
        storage: &Storage,
        database: &StorageDatabase,
        version: &VersionRow,
        format: Format,
    ) -> Result<String> {
        if model::unsigned(version.size) > MAX_BYTES {
            return Err(Error::invalid("text is read only from documents of up to 32 MiB").with_code(Code::TooLarge));
        }
        let bytes = read(storage, database, version, MAX_BYTES).await?;
        let permit = self.sandbox.permit_to_read(self.owner).await?;
        let mut document = Document::new()?;
        document.write(&bytes)?;
        let Extract { content, .. } = self.sandbox.read(permit, format, document).await?;
        Ok(cut(match content {
            Content::Lines(lines) => lines.join("\n"),
            Content::Rows(rows) => rows.into_iter().map(|row| row.join("\t")).collect::<Vec<_>>().join("\n"),
        }))
    }
}

async fn plain_text(storage: &Storage, database: &StorageDatabase, version: &VersionRow) -> Result<String> {
    Ok(cut(plain::decode(&read(storage, database, version, MAX_TEXT_BYTES as u64).await?)))
}

fn cut(mut text: String) -> String {
    text.truncate(text.floor_char_boundary(MAX_TEXT_BYTES));
    text
}

/// Returns the first bytes of a version, at most `limit`. Reads them again if they have moved to another store.
async fn read(storage: &Storage, database: &StorageDatabase, version: &VersionRow, limit: u64) -> Result<Vec<u8>> {
    let error = match read_at(storage, database, version, limit).await {
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::Corrupt) => error,
        read => return read,
    };
    let id = version.id;
    let now = database.database.read(move |reader| version::find(reader, id)).await?;
    match now {
        Some(now) if (now.store_id, &now.locator) != (version.store_id, &version.locator) => {
            read_at(storage, database, &now, limit).await
        }
        _ => Err(error),
    }
}

async fn read_at(storage: &Storage, database: &StorageDatabase, version: &VersionRow, limit: u64) -> Result<Vec<u8>> {
    let locator = version.locator.as_deref().map(Locator::from_bytes).transpose()?;
    let store = storage.store(version.store_id, database)?;
    let size = model::unsigned(version.size);
    let mut content = store.open(version.digest, size, locator.as_ref()).await?;
    content.set_range(0..size.min(limit));
    let mut bytes = Vec::new();
    while let Some(chunk) = content.next_chunk().await? {
        bytes.extend_from_slice(&chunk);
    }
    Ok(bytes)
}

/// Returns whether an error says something about the document, and not about the server or a store.
fn is_of_the_document(error: &Error) -> bool {
    !matches!(error.kind(), ErrorKind::Unavailable)
}
