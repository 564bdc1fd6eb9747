//! Databases as chunks, so that unchanged content is stored once. Files are cut at fixed lengths that match database
//! pages, dumps at content-defined boundaries.

use std::collections::HashMap;
use std::io::Read;
use std::path::PathBuf;

use async_recursion::async_recursion as boxed;
use blobs::{BlobHasher, digest_of};
use bytes::Bytes;
use database::Dump;
use fastcdc::v2020::FastCDC;
use model::{Digest, Error, Result};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use crate::Progress;
use crate::backup::format::index::{Entry, PART};
use crate::backup::format::list::{List, store_part};
use crate::backup::format::manifest::DatabasePart;
use crate::backup::format::vault::BackupObjects;
use crate::backup::place::small_files::failed;

/// Chunk length for files in bytes, and the file size above which chunks are four times as long.
const CHUNK: u64 = 64 << 10;
const LARGE: u64 = 16 << 30;
/// Minimum, average and maximum chunk length for dumps in bytes.
const CHUNK_LIMITS: (u32, u32, u32) = (64 << 10, 256 << 10, 1 << 20);
/// Maximum number of chunks stored concurrently.
const AT_ONCE: usize = 128;

/// Chunks of a database in an earlier set, by digest.
#[derive(Default)]
pub(crate) struct KnownChunks {
    chunks: HashMap<Digest, Entry>,
    chunk_bytes: Option<u64>,
}

impl KnownChunks {
    /// Loads the chunks of `part`. If the earlier set is damaged, the missing chunks are merely stored again.
    #[boxed]
    pub async fn of(vault: &BackupObjects, part: Option<&DatabasePart>) -> Self {
        let Some(part) = part else { return Self::default() };
        let mut chunks = HashMap::new();
        let mut list = List::new(part.chunks.clone());
        while let Ok(Some(entry)) = list.next(vault).await {
            if vault.is_intact(&entry) {
                chunks.insert(entry.digest, entry);
            }
        }
        Self { chunks, chunk_bytes: part.chunk_bytes }
    }
}

/// Result of storing a database.
pub(crate) struct Chunked {
    pub lists: Vec<Entry>,
    pub bytes: u64,
    pub new_bytes: u64,
    pub digest: Digest,
    pub chunk_bytes: Option<u64>,
}

impl Chunked {
    /// Returns the result for a database without bytes of its own.
    pub fn empty() -> Self {
        Self { lists: Vec::new(), bytes: 0, new_bytes: 0, digest: digest_of(&[]), chunk_bytes: None }
    }
}

/// Stores the file at `path` in chunks of fixed length.
pub(crate) async fn store_file(
    vault: &BackupObjects,
    path: PathBuf,
    earlier: KnownChunks,
    progress: &Progress,
) -> Result<Chunked> {
    let length = std::fs::metadata(&path).map_err(|e| failed("read", &path, e))?.len();
    let usual = if length > LARGE { 4 * CHUNK } else { CHUNK };
    let chunk = earlier.chunk_bytes.unwrap_or(usual).clamp(4096, 1 << 20);
    let (sender, mut chunks) = mpsc::channel(AT_ONCE);
    let reading = tokio::task::spawn_blocking(move || {
        let mut file = std::fs::File::open(&path).map_err(|e| failed("read", &path, e))?;
        loop {
            let mut bytes = Vec::with_capacity(chunk as usize);
            (&mut file).take(chunk).read_to_end(&mut bytes).map_err(|e| failed("read", &path, e))?;
            let digest = digest_of(&bytes);
            if bytes.is_empty() || sender.blocking_send((digest, Bytes::from(bytes))).is_err() {
                return Ok(());
            }
        }
    });
    let mut storing = Storing::new(vault, earlier);
    while let Some((digest, bytes)) = chunks.recv().await {
        progress.add_bytes(bytes.len() as u64);
        storing.take(digest, bytes).await?;
    }
    reading.await.map_err(|e| Error::unavailable("reading a database was interrupted").with_source(e))??;
    let mut chunked = storing.finish().await?;
    chunked.chunk_bytes = Some(chunk);
    Ok(chunked)
}

/// Stores a dump in content-defined chunks while it is being read.
pub(crate) async fn store_dump(
    vault: &BackupObjects,
    mut dump: Dump,
    earlier: KnownChunks,
    progress: &Progress,
) -> Result<Chunked> {
    let mut storing = Storing::new(vault, earlier);
    let mut rest: Vec<u8> = Vec::new();
    loop {
        let piece = dump.next().await?;
        let ended = piece.is_none();
        if let Some(piece) = piece {
            progress.add_bytes(piece.len() as u64);
            rest.extend_from_slice(&piece);
        }
        let mut taken = 0;
        // A cut near the end of the buffered bytes might move when more bytes arrive, so enough bytes stay in the
        // buffer.
        while ended && taken < rest.len() || rest.len() - taken >= 2 * CHUNK_LIMITS.2 as usize {
            let known = &rest[taken..];
            let end = FastCDC::new(known, CHUNK_LIMITS.0, CHUNK_LIMITS.1, CHUNK_LIMITS.2)
                .next()
                .map_or(known.len(), |chunk| chunk.length);
            let bytes = Bytes::copy_from_slice(&known[..end]);
            storing.take(digest_of(&bytes), bytes).await?;
            taken += end;
        }
        rest.drain(..taken);
        if ended {
            return storing.finish().await;
        }
    }
}

/// Stores chunks concurrently and lists them in order.
struct Storing<'a> {
    vault: &'a BackupObjects,
    known: HashMap<Digest, Entry>,
    running: JoinSet<(usize, Result<(Entry, u64)>)>,
    /// Entries of the current part of the list. None while a chunk is being stored.
    entries: Vec<Option<Entry>>,
    chunked: Chunked,
    hasher: BlobHasher,
}

impl<'a> Storing<'a> {
    fn new(vault: &'a BackupObjects, earlier: KnownChunks) -> Self {
        let chunked = Chunked::empty();
        let (running, hasher) = (JoinSet::new(), BlobHasher::new());
        Self { vault, known: earlier.chunks, running, entries: Vec::new(), chunked, hasher }
    }

    async fn take(&mut self, digest: Digest, bytes: Bytes) -> Result<()> {
        self.hasher.update(&bytes);
        self.chunked.bytes += bytes.len() as u64;
        match self.known.get(&digest) {
            Some(entry) => self.entries.push(Some(*entry)),
            None => {
                let (place, vault) = (self.entries.len(), self.vault.clone());
                self.entries.push(None);
                self.running.spawn(async move { (place, vault.put(digest, bytes).await) });
            }
        }
        while self.running.len() >= AT_ONCE {
            self.settle_one().await?;
        }
        if self.entries.len() == PART { self.write_list().await } else { Ok(()) }
    }

    async fn settle_one(&mut self) -> Result<()> {
        let Some(stored) = self.running.join_next().await else { return Ok(()) };
        let (place, stored) =
            stored.map_err(|e| Error::unavailable("storing a chunk was interrupted").with_source(e))?;
        let (entry, new_bytes) = stored?;
        self.chunked.new_bytes += new_bytes;
        if let Some(open) = self.entries.get_mut(place) {
            *open = Some(entry);
        }
        Ok(())
    }

    async fn write_list(&mut self) -> Result<()> {
        while !self.running.is_empty() {
            self.settle_one().await?;
        }
        let entries: Vec<Entry> = self.entries.drain(..).flatten().collect();
        let (list, new_bytes) = store_part(self.vault, &entries).await?;
        self.chunked.lists.push(list);
        self.chunked.new_bytes += new_bytes;
        Ok(())
    }

    async fn finish(mut self) -> Result<Chunked> {
        if !self.entries.is_empty() {
            self.write_list().await?;
        }
        self.chunked.digest = self.hasher.finish();
        Ok(self.chunked)
    }
}
