//! The in-database provider: a BLOB store inside a content database. It is the counterpart in comparisons with external
//! stores, and holds BLOBs that are too small to be worth a reference. It belongs in this crate because neither `blobs`
//! nor `database` knows the other.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use blobs::{BlobInMemory, BoxFuture, Entry, Locator, Page, Provider, Source, Stored, Upload, Usage, digest_of};
use bytes::{Bytes, BytesMut};
use database::content::stored;
use database::{Database, Transaction};
use model::{Digest, Error, Id, IdSource, Result, StoreKind, Timestamp};

/// Size of one part in bytes. The database engines hold a whole part in memory.
pub(crate) const PART: usize = 512 * 1024;
/// Age at which an incomplete upload counts as abandoned.
const ABANDONED_AFTER: Duration = Duration::from_secs(48 * 3600);

/// Stores BLOBs as rows of one content database.
pub(crate) struct DatabaseStore {
    database: Database,
    ids: Arc<IdSource>,
    closed: AtomicBool,
}

impl DatabaseStore {
    pub(crate) fn new(database: Database, ids: Arc<IdSource>) -> Self {
        Self { database, ids, closed: AtomicBool::new(false) }
    }

    fn require_open(&self) -> Result<()> {
        match self.closed.load(Ordering::Acquire) {
            true => Err(Error::unavailable("the BLOB store is closed")),
            false => Ok(()),
        }
    }

    /// Deletes the parts of abandoned uploads.
    pub(crate) async fn remove_abandoned(&self) -> Result<()> {
        let before = Timestamp::now().before(ABANDONED_AFTER);
        while !self.database.read(move |reader| stored::abandoned(reader, before)).await?.is_empty() {
            self.database
                .write_vital(move |transaction| {
                    stored::abandoned(transaction, before)?
                        .into_iter()
                        .try_for_each(|id| stored::delete(transaction, id))
                })
                .await?;
        }
        Ok(())
    }
}

fn no_locator() -> Locator {
    // Zero bytes never exceed the limit.
    Locator::from_bytes(&[]).unwrap_or_else(|_| unreachable!("an empty locator is valid"))
}

/// Stores one part of a BLOB with its checksum.
fn insert_part(transaction: &mut Transaction<'_>, id: Id, part: i64, data: &[u8]) -> Result<()> {
    stored::insert_chunk(transaction, id, part, &checksum(id, part, data), data)
}

/// Returns the first half of a BLAKE3 hash over the part's BLOB, index and bytes, so that swapped parts are detected.
pub(crate) fn checksum(id: Id, part: i64, data: &[u8]) -> [u8; 16] {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&id.get().to_le_bytes()).update(&part.to_le_bytes()).update(data);
    let mut half = [0; 16];
    half.copy_from_slice(&hasher.finalize().as_bytes()[..16]);
    half
}

fn stored_as(digest: Digest, size: u64, existed: bool) -> Stored {
    Stored { digest, size, locator: no_locator(), existed }
}

fn signed(size: u64) -> Result<i64> {
    i64::try_from(size).map_err(|_| Error::invalid("a BLOB cannot be that large"))
}

impl Provider for DatabaseStore {
    fn kind(&self) -> StoreKind {
        StoreKind::Database
    }

    fn put_limit(&self) -> u64 {
        PART as u64
    }

    fn put(&self, blob: BlobInMemory) -> BoxFuture<'_, Stored> {
        Box::pin(async move {
            self.require_open()?;
            let (id, size) = (self.ids.next(), signed(blob.size)?);
            let digest = blob.digest;
            let bytes = gather(blob.pieces);
            debug_assert_eq!(digest, digest_of(&bytes));
            let write = move |transaction: &mut Transaction<'_>| {
                if !stored::insert(transaction, id, Some(digest), size, Timestamp::now())? {
                    return Ok(true);
                }
                for (part, data) in bytes.chunks(PART).enumerate() {
                    insert_part(transaction, id, part as i64, data)?;
                }
                Ok(false)
            };
            let existed = self.database.write(write).await?;
            Ok(stored_as(digest, blob.size, existed))
        })
    }

    fn upload(&self, _announced: Option<u64>) -> BoxFuture<'_, Box<dyn Upload>> {
        Box::pin(async move {
            self.require_open()?;
            let id = self.ids.next();
            let write =
                move |transaction: &mut Transaction<'_>| stored::insert(transaction, id, None, 0, Timestamp::now());
            self.database.write(write).await?;
            let upload =
                DatabaseUpload { database: self.database.clone(), id, part: 0, buffer: BytesMut::new(), done: false };
            Ok(Box::new(upload) as Box<dyn Upload>)
        })
    }

    fn open(&self, digest: Digest, size: u64, _locator: Option<Locator>) -> BoxFuture<'_, Box<dyn Source>> {
        Box::pin(async move {
            let found = self.database.read(move |reader| stored::find(reader, &digest)).await?;
            let (id, kept) =
                found.ok_or_else(|| Error::not_found(format!("the BLOB {digest} is not in the database")))?;
            if signed(size)? != kept {
                return Err(Error::corrupt(format!("the BLOB {digest} has {kept} bytes instead of {size}")));
            }
            let source = DatabaseSource { database: self.database.clone(), digest, id, size, part: None };
            Ok(Box::new(source) as Box<dyn Source>)
        })
    }

    fn delete(&self, digest: Digest) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            let write = move |transaction: &mut Transaction<'_>| match stored::find(transaction, &digest)? {
                Some((id, _)) => stored::delete(transaction, id),
                None => Ok(()),
            };
            self.database.write_vital(write).await
        })
    }

    fn enumerate(&self, after: Option<Digest>, limit: usize) -> BoxFuture<'_, Page> {
        Box::pin(async move {
            let rows = self.database.read(move |reader| stored::after(reader, after, limit)).await?;
            let next = rows.last().map(|(digest, ..)| *digest).filter(|_| rows.len() == limit);
            let entries = rows.into_iter().map(|(digest, size, stored_at)| Entry {
                digest,
                size: model::unsigned(size),
                stored_at,
            });
            Ok(Page { entries: entries.collect(), next })
        })
    }

    fn usage(&self) -> BoxFuture<'_, Usage> {
        Box::pin(async move {
            let (blobs, bytes) = self.database.read(stored::totals).await?;
            let content_bytes = model::unsigned(bytes);
            Ok(Usage {
                blobs: model::unsigned(blobs),
                content_bytes,
                disk_bytes: content_bytes,
                reclaimable_bytes: 0,
                free_bytes: None,
            })
        })
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        self.closed.store(true, Ordering::Release);
        Box::pin(async { Ok(()) })
    }
}

fn gather(mut pieces: Vec<Bytes>) -> Bytes {
    if pieces.len() == 1 {
        return pieces.remove(0);
    }
    let mut all = BytesMut::with_capacity(pieces.iter().map(Bytes::len).sum());
    pieces.iter().for_each(|piece| all.extend_from_slice(piece));
    all.freeze()
}

struct DatabaseUpload {
    database: Database,
    id: Id,
    part: i64,
    buffer: BytesMut,
    done: bool,
}

impl DatabaseUpload {
    async fn flush(&mut self) -> Result<()> {
        let length = self.buffer.len().min(PART);
        let (id, part, data) = (self.id, self.part, self.buffer.split_to(length).freeze());
        self.part += 1;
        let write = move |transaction: &mut Transaction<'_>| insert_part(transaction, id, part, &data);
        self.database.write(write).await
    }
}

impl Upload for DatabaseUpload {
    fn write(&mut self, bytes: Bytes) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            self.buffer.extend_from_slice(&bytes);
            while self.buffer.len() >= PART {
                self.flush().await?;
            }
            Ok(())
        })
    }

    fn finish(mut self: Box<Self>, digest: Digest, size: u64) -> BoxFuture<'static, Stored> {
        Box::pin(async move {
            while !self.buffer.is_empty() {
                self.flush().await?;
            }
            let (id, length) = (self.id, signed(size)?);
            let write = move |transaction: &mut Transaction<'_>| {
                if stored::find(transaction, &digest)?.is_some() {
                    stored::delete(transaction, id)?;
                    return Ok(true);
                }
                stored::complete(transaction, id, &digest, length, Timestamp::now())?;
                Ok(false)
            };
            let existed = self.database.write(write).await?;
            self.done = true;
            Ok(stored_as(digest, size, existed))
        })
    }
}

impl Drop for DatabaseUpload {
    fn drop(&mut self) {
        // Without a runtime, a later start deletes the parts, once they count as abandoned.
        if let (false, Ok(runtime)) = (self.done, tokio::runtime::Handle::try_current()) {
            let (database, id) = (self.database.clone(), self.id);
            runtime.spawn(async move {
                let _ = database.write_vital(move |transaction| stored::delete(transaction, id)).await;
            });
        }
    }
}

/// Reads parts and verifies each against its checksum.
struct DatabaseSource {
    database: Database,
    digest: Digest,
    id: Id,
    size: u64,
    part: Option<(u64, Bytes)>,
}

impl DatabaseSource {
    async fn load(&mut self, part: u64) -> Result<Bytes> {
        let (id, index) = (self.id, signed(part)?);
        let data = self.database.read(move |reader| stored::chunk(reader, id, index)).await?;
        let expected = (self.size - part * PART as u64).min(PART as u64);
        let data = data.filter(|(data, _)| data.len() as u64 == expected);
        let data = data.filter(|(data, sum)| checksum(self.id, index, data).as_slice() == sum).map(|(data, _)| data);
        let data = data.ok_or_else(|| {
            Error::corrupt(format!("the bytes of the BLOB {} in the database are not what was stored", self.digest))
        })?;
        Ok(Bytes::from(data))
    }
}

impl Source for DatabaseSource {
    fn try_read(&mut self, offset: u64, limit: usize) -> Option<Result<Bytes>> {
        let (part, data) = self.part.as_ref()?;
        let start = usize::try_from(offset.checked_sub(part * PART as u64)?).ok()?;
        let end = data.len().min(start.checked_add(limit)?);
        (start < end).then(|| Ok(data.slice(start..end)))
    }

    fn read(&mut self, offset: u64, limit: usize) -> BoxFuture<'_, Bytes> {
        Box::pin(async move {
            let part = offset / PART as u64;
            if self.part.as_ref().is_none_or(|(loaded, _)| *loaded != part) {
                self.part = Some((part, self.load(part).await?));
            }
            self.try_read(offset, limit).unwrap_or_else(|| Err(Error::invalid("the BLOB was read beyond its end")))
        })
    }
}

#[cfg(test)]
mod tests {
    use blobs::BlobStore;
    use database::testing::{Fresh, fresh_database};
    use database::{Engine, Options, Schema};
    use model::id_time;

    use super::*;

    /// Creates an empty store in a database, which lasts as long as the second value.
    async fn within(engine: Engine) -> (BlobStore, Fresh) {
        let fresh = fresh_database(engine).await;
        let database = Database::make(&fresh.location, Schema::Content, &Options::default()).await.unwrap();
        let ids = IdSource::new(1, id_time()..id_time() + 3_600_000);
        (BlobStore::from_provider(Arc::new(DatabaseStore::new(database, Arc::new(ids)))), fresh)
    }

    blobs::provider_contract! {
        in_sqlite => within(Engine::Sqlite),
        in_postgres => within(Engine::Postgres),
    }
}
