//! Resumable uploads: bytes that arrive in parts, over days and across restarts, and become a document when all have
//! arrived.
//!
//! A row in the content database records the owner and the destination of the upload. A file below `uploads/` in the
//! data directory holds the bytes. The file is created before the row and removed after it. A crash therefore leaves at
//! most a file without a row, which [`Repository::tidy_uploads`] removes.

#[cfg(fuzzing)]
pub(crate) mod fuzzing;
mod partial;
pub(crate) mod running;
#[cfg(test)]
mod tests;
mod tidy;
pub(crate) mod unfinished;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use async_recursion::async_recursion as boxed;
use bytes::Bytes;
use database::content::upload::{self, UploadRow};
use model::{Code, Error, ErrorKind, Id, Result, Timestamp};

use crate::blocking::blocking;
use crate::documents::{Destination, Saved, UploadOptions};
use crate::farm::registry::ContentDatabase;
use crate::{Repository, Session};
use partial::{Partial, fault};

/// Maximum number of unfinished uploads of one user in one content database.
const MAX_UPLOADS: i64 = 100;
/// Time after which an upload is removed, complete or not.
const KEPT: Duration = Duration::from_secs(7 * 24 * 60 * 60);
/// Number of bytes gathered before they are written.
const GATHERED: usize = 1024 * 1024;
/// Number of bytes after which a part is committed to stable storage while more of it is arriving.
const COMMITTED: u64 = 32 * 1024 * 1024;

/// Time for which a request waits for another one that uses the same upload; it checks every `POLL_INTERVAL`.
const BUSY: Duration = Duration::from_secs(1);
const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// An upload that is in progress or was completed recently.
#[derive(Clone, Debug)]
pub struct Resumable {
    /// Its unguessable name in URLs.
    pub id: String,
    /// Total number of bytes.
    pub length: u64,
    /// Number of bytes on stable storage.
    pub offset: u64,
    /// The client's metadata from the beginning of the upload, unchanged.
    pub metadata: String,
    /// The document created from it, if any.
    pub document: Option<Id>,
    /// Time at which it is removed.
    pub expires_at: Timestamp,
}

impl Resumable {
    /// Returns whether all bytes have arrived but the document has not been created.
    pub fn is_due(&self) -> bool {
        self.document.is_none() && self.offset == self.length
    }
}

/// An arriving part of an upload. Dropping it keeps the committed bytes.
pub struct UploadPart {
    partial: Partial,
    length: u64,
    received: u64,
    gathered: Vec<Bytes>,
    gathered_bytes: usize,
    all_or_nothing: bool,
}

impl Session {
    /// Begins an upload of `length` bytes in parts. Checks that the caller may store there now; the completion checks
    /// it again. `metadata` is kept for the client.
    ///
    /// # Errors
    /// Errors of [`Session::begin_upload`]; `Exhausted` with code `too_many_uploads` when the caller has 100 in
    /// progress, and with code `too_much_unfinished` when these take more space than the caller may use.
    #[boxed]
    pub async fn begin_resumable(
        &self,
        destination: &Destination,
        options: UploadOptions,
        length: u64,
        metadata: &str,
    ) -> Result<Resumable> {
        let bytes = i64::try_from(length).map_err(|_| Error::invalid("an upload is at most 2^63 - 1 bytes long"))?;
        let place = self.begin_upload(destination, options, Some(length)).await?.destination();
        let now = Timestamp::now();
        let row = UploadRow {
            id: format!("{}-{}", place.content.row.id, random()?),
            owner_id: self.principal.id,
            collection_id: place.collection,
            parent_id: place.parent,
            name: place.name.as_str().to_owned(),
            length: bytes,
            metadata: metadata.to_owned(),
            node_id: None,
            expires_at: now.after(KEPT),
        };
        // Counts the upload until its row does.
        let mut claim = self.repository.claim(self.principal.id);
        claim.extend_exactly_to(length).await?;
        let (directory, name) = (self.repository.uploads(), row.id.clone());
        blocking(move || Partial::create(&directory, &name, length)).await?;
        let (kept, owner) = (row.clone(), row.owner_id);
        let insert = move |transaction: &mut database::Transaction<'_>| {
            if upload::count(transaction, owner)? >= MAX_UPLOADS {
                return Err(Error::exhausted(format!(
                    "you already have {MAX_UPLOADS} unfinished uploads: complete or cancel one first"
                ))
                .with_code(Code::TooManyUploads));
            }
            upload::insert(transaction, &kept, now)
        };
        if let Err(error) = place.content.database.write(insert).await {
            // It can be unknown whether the row was written. The file must then stay; if there is no row, it is tidied
            // up later.
            if error.kind() != ErrorKind::Unavailable {
                // A file that stays is tidied up later. The first error is the one to report.
                let _ = self.repository.remove_partial(&row.id).await;
            }
            return Err(error);
        }
        Ok(shown(row, 0))
    }

    /// Returns one of the caller's uploads.
    ///
    /// # Errors
    /// `NotFound` for an upload that is another user's, expired or cancelled; `Locked` with code `upload_busy` while a
    /// part is arriving.
    #[boxed]
    pub async fn resumable(&self, id: &str) -> Result<Resumable> {
        let (_, row) = self.own_upload(id).await?;
        let offset = match row.node_id {
            Some(_) => size(row.length),
            None => self.repository.open_partial(id).await?.durable(),
        };
        Ok(shown(row, offset))
    }

    /// Starts the next part of one of the caller's uploads. With `all_or_nothing`, none of it counts until its end.
    ///
    /// # Errors
    /// `Conflict` with code `offset_mismatch` when `offset` is not the upload's current offset; errors of
    /// [`Session::resumable`].
    #[boxed]
    pub async fn append_upload(&self, id: &str, offset: u64, all_or_nothing: bool) -> Result<UploadPart> {
        let (content, row) = self.own_upload(id).await?;
        content.database.require_room()?;
        let mismatch = |stands: u64| {
            Error::conflict(format!("the next byte of the upload is {stands}: continue there"))
                .with_code(Code::OffsetMismatch)
        };
        if row.node_id.is_some() {
            return Err(mismatch(size(row.length)));
        }
        let partial = self.repository.open_partial(id).await?;
        if partial.durable() != offset {
            return Err(mismatch(partial.durable()));
        }
        Ok(UploadPart {
            partial,
            length: size(row.length),
            received: offset,
            gathered: Vec::new(),
            gathered_bytes: 0,
            all_or_nothing,
        })
    }

    /// Creates the document of an upload whose bytes have all arrived. Repeating the call creates no second document.
    /// Returns `None` when the document was created before.
    ///
    /// # Errors
    /// Errors of [`Session::begin_upload`] and [`Upload::finish`](crate::Upload::finish). The bytes are kept, so that
    /// the call can be repeated.
    #[boxed]
    pub async fn complete_upload(
        &self,
        id: &str,
        destination: &Destination,
        mut options: UploadOptions,
    ) -> Result<Option<Saved>> {
        let (content, row) = self.own_upload(id).await?;
        if row.node_id.is_some() {
            return Ok(None);
        }
        let partial = self.repository.open_partial(id).await?;
        let length = size(row.length);
        if partial.durable() != length {
            return Err(Error::conflict("the upload is not complete").with_code(Code::OffsetMismatch));
        }
        options.idempotency_key = Some(format!("upload {id}"));
        let mut upload = self.begin_upload(destination, options, Some(length)).await?.without_claim();
        let mut offset = 0;
        while offset < length {
            let source = partial.clone();
            let bytes = blocking(move || source.read(offset, GATHERED)).await?;
            offset += bytes.len() as u64;
            upload.write(bytes).await?;
        }
        let saved = upload.finish().await?;
        let (word, node) = (row.id, saved.id);
        content.database.write(move |transaction| upload::complete(transaction, &word, node)).await?;
        self.repository.remove_partial(id).await?;
        Ok(Some(saved))
    }

    /// Cancels one of the caller's uploads, even if its bytes were lost. A document created from it stays.
    ///
    /// # Errors
    /// Errors of [`Session::resumable`], except those of a file that is definitely absent or damaged.
    #[boxed]
    pub async fn cancel_upload(&self, id: &str) -> Result<()> {
        let (content, row) = self.own_upload(id).await?;
        let _held = match row.node_id {
            Some(_) => None,
            None => match self.repository.open_partial(id).await {
                Ok(partial) => Some(partial),
                // No request can continue this upload.
                Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::Corrupt) => None,
                Err(error) => return Err(error),
            },
        };
        let word = row.id;
        content.database.write_vital(move |transaction| upload::delete(transaction, &word)).await?;
        self.repository.remove_partial(id).await
    }

    /// Returns the row of one of the caller's uploads, and its content database.
    async fn own_upload(&self, id: &str) -> Result<(Arc<ContentDatabase>, UploadRow)> {
        let unknown = || Error::not_found("there is no such upload, or it has expired: begin a new one");
        let content = self.repository.upload_database(id).await?.ok_or_else(unknown)?;
        let word = id.to_owned();
        let row = content.database.read(move |reader| upload::find(reader, &word)).await?;
        let row = row.filter(|row| row.owner_id == self.principal.id && row.expires_at > Timestamp::now());
        Ok((content, row.ok_or_else(unknown)?))
    }
}

impl UploadPart {
    /// Takes the next bytes.
    ///
    /// # Errors
    /// `Invalid` with code `length_mismatch` when more bytes arrive than were announced.
    #[boxed]
    pub async fn write(&mut self, bytes: Bytes) -> Result<()> {
        let total = self.received + self.gathered_bytes as u64 + bytes.len() as u64;
        if total > self.length {
            return Err(Error::invalid("more bytes were received than announced").with_code(Code::LengthMismatch));
        }
        self.gathered_bytes += bytes.len();
        self.gathered.push(bytes);
        if self.gathered_bytes >= GATHERED {
            self.flush().await?;
        }
        if !self.all_or_nothing && self.received - self.partial.durable() >= COMMITTED {
            self.commit().await?;
        }
        Ok(())
    }

    /// Puts all received bytes on stable storage. Returns the new offset of the upload.
    #[boxed]
    pub async fn commit(&mut self) -> Result<u64> {
        self.flush().await?;
        if self.received > self.partial.durable() {
            let (mut partial, end) = (self.partial.clone(), self.received);
            self.partial = blocking(move || partial.commit(end).map(|()| partial)).await?;
        }
        Ok(self.received)
    }

    async fn flush(&mut self) -> Result<()> {
        if self.gathered.is_empty() {
            return Ok(());
        }
        let (partial, pieces, offset) = (self.partial.clone(), std::mem::take(&mut self.gathered), self.received);
        blocking(move || partial.write(&pieces, offset)).await?;
        self.received += std::mem::take(&mut self.gathered_bytes) as u64;
        Ok(())
    }
}

impl Repository {
    fn uploads(&self) -> PathBuf {
        self.inner.directory.join("uploads")
    }

    /// Returns the content database that the identifier of an upload names; `None` when the farm has no such database.
    async fn upload_database(&self, id: &str) -> Result<Option<Arc<ContentDatabase>>> {
        let well_formed = id.len() <= 60 && id.bytes().all(|b| b.is_ascii_hexdigit() || b == b'-');
        let Some((database, _)) = id.split_once('-').filter(|_| well_formed) else { return Ok(None) };
        let registry = self.registry().await?;
        if let Some(absent) = registry.absent.iter().find(|absent| absent.row.id.to_string() == database) {
            return Err(absent.error());
        }
        Ok(registry.databases.iter().find(|content| content.row.id.to_string() == database).cloned())
    }

    /// Opens the file of an upload. Waits for requests that hold the file for a moment, such as those that only read
    /// its state.
    async fn open_partial(&self, id: &str) -> Result<Partial> {
        let path = self.uploads().join(id);
        let asked = Instant::now();
        loop {
            let place = path.clone();
            match blocking(move || Partial::open(&place)).await {
                Err(error) if error.code() == Code::UploadBusy && asked.elapsed() < BUSY => {
                    // sleep: the other request gives no signal when it has ended
                    tokio::time::sleep(POLL_INTERVAL).await;
                }
                opened => return opened,
            }
        }
    }

    async fn remove_partial(&self, id: &str) -> Result<()> {
        let path = self.uploads().join(id);
        blocking(move || match std::fs::remove_file(&path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(fault("the bytes of an upload cannot be removed", error))
            }
            _ => Ok(()),
        })
        .await
    }
}

fn shown(row: UploadRow, offset: u64) -> Resumable {
    Resumable {
        id: row.id,
        length: size(row.length),
        offset,
        metadata: row.metadata,
        document: row.node_id,
        expires_at: row.expires_at,
    }
}

fn size(bytes: i64) -> u64 {
    model::unsigned(bytes)
}

/// Returns 128 random bits in hexadecimal.
fn random() -> Result<String> {
    let mut bytes = [0u8; 16];
    getrandom::fill(&mut bytes).map_err(|error| {
        Error::unavailable("the operating system's random number generator failed").with_source(error.to_string())
    })?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}
