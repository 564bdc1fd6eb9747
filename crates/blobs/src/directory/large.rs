//! Large BLOBs, a file each: the raw bytes first, so that `head -c SIZE` yields the document, or else an encoded form
//! of it.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use model::{Digest, Error, ErrorKind, Result, Timestamp};
use rustix::fs::Advice;

use super::coded::{self, Coding};
use super::files::{io_error, read_error, read_resident, read_up_to};
use super::layout::Layout;
use super::record::{
    CHUNK, HEADER, chunks_are_intact, digest_at, has_valid_checksum, table_length, u32_at, u64_at, write_checksum,
};
use crate::coding::Envelope;
use crate::provider::{BoxFuture, Source};

const MAGIC: &[u8; 8] = b"SRlarge1";
/// Files up to this length are opened for each read; longer ones stay open.
const NAMED_LIMIT: u64 = 64 << 20;
/// Read-ahead distance requested for a reader that has to wait for the disk.
const READ_AHEAD: u64 = 4 << 20;

/// Footer versions: after the BLOB's own bytes, and after an encoded form of it.
const PLAIN: u32 = 1;
const ENCODED: u32 = 2;

/// The last bytes of a large file.
#[derive(Clone, Copy, Debug)]
pub struct Footer {
    /// Length of the BLOB.
    pub length: u64,
    /// Number of bytes before the table of checksums.
    pub stored: u64,
    /// Set when these bytes are an encoded form of the BLOB.
    pub encoded: bool,
    pub stored_at: Timestamp,
    pub digest: Digest,
}

impl Footer {
    /// Creates the footer of a file that holds the BLOB's own bytes, dated now.
    pub fn plain(length: u64, digest: Digest) -> Self {
        Self { length, stored: length, encoded: false, stored_at: Timestamp::now(), digest }
    }

    /// Creates the footer of a file that holds an encoded form of `stored` bytes, dated now.
    pub fn encoded(length: u64, stored: u64, digest: Digest) -> Self {
        Self { stored, encoded: true, ..Self::plain(length, digest) }
    }

    pub fn encode(&self, table: &[u8]) -> [u8; HEADER] {
        let mut out = [0; HEADER];
        out[0..8].copy_from_slice(MAGIC);
        out[8..12].copy_from_slice(&(if self.encoded { ENCODED } else { PLAIN }).to_le_bytes());
        out[12..16].copy_from_slice(&(CHUNK as u32).to_le_bytes());
        out[16..20].copy_from_slice(&crc32fast::hash(table).to_le_bytes());
        out[40..48].copy_from_slice(&self.length.to_le_bytes());
        out[48..56].copy_from_slice(&self.stored_at.micros().to_le_bytes());
        out[56..88].copy_from_slice(self.digest.as_bytes());
        if self.encoded {
            out[88..96].copy_from_slice(&self.stored.to_le_bytes());
        }
        write_checksum(&mut out);
        out
    }

    /// Reads the footer and the checksum of the table; `None` when there is no valid footer.
    pub fn read(file: &File) -> io::Result<Option<(Self, u32)>> {
        let end = file.metadata()?.len();
        let mut bytes = [0; HEADER];
        let Some(at) = end.checked_sub(HEADER as u64) else { return Ok(None) };
        if read_up_to(file, &mut bytes, at)? < HEADER || &bytes[0..8] != MAGIC || !has_valid_checksum(&bytes) {
            return Ok(None);
        }
        let Some(digest) = digest_at(&bytes, 56) else { return Ok(None) };
        let stored_at = Timestamp::from_micros(u64_at(&bytes, 48) as i64);
        let length = u64_at(&bytes, 40);
        let (stored, encoded) = match u32_at(&bytes, 8) {
            PLAIN => (length, false),
            ENCODED => (u64_at(&bytes, 88), true),
            _ => return Ok(None),
        };
        let footer = Self { length, stored, encoded, stored_at, digest };
        let fits = length < 1 << 48 && stored < 1 << 48 && stored + table_length(stored) == at;
        Ok(fits.then_some((footer, u32_at(&bytes, 16))))
    }
}

/// An open large file.
pub struct LargeFile {
    pub footer: Footer,
    path: PathBuf,
    bytes: Access,
    table: Vec<u8>,
    /// The envelope of the encoded form; `None` when the bytes are the BLOB itself.
    envelope: Option<Envelope>,
}

/// The means of access to a file's bytes.
enum Access {
    /// Opened by name for each read, so that many files can be cached.
    Named,
    Opened(File),
}

impl LargeFile {
    /// Opens the file of a BLOB; `None` when it is absent.
    pub fn open(path: &Path, digest: &Digest, coding: &Coding) -> Result<Option<Self>> {
        let io = |e: io::Error| read_error("read", path, e);
        let file = match File::open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(io(error)),
        };
        let (footer, sum) = Footer::read(&file)
            .map_err(io)?
            .filter(|(footer, _)| footer.digest == *digest)
            .ok_or_else(|| corrupt(digest, path, "its end is damaged or missing"))?;
        let mut table = vec![0; table_length(footer.stored) as usize];
        let read = read_up_to(&file, &mut table, footer.stored).map_err(io)?;
        if read < table.len() || crc32fast::hash(&table) != sum {
            return Err(corrupt(digest, path, "its table of checksums is damaged"));
        }
        let envelope = match footer.encoded {
            true => Some(coding.open_trailer(&file, path, footer.stored, digest, footer.length)?),
            false => None,
        };
        let bytes = match footer.stored <= NAMED_LIMIT && envelope.is_none() {
            true => Access::Named,
            // Another file may replace an encoded one; an open handle still reads the old file.
            false => Access::Opened(file),
        };
        Ok(Some(Self { footer, path: path.to_path_buf(), bytes, table, envelope }))
    }

    /// Returns a range of the BLOB, read from the disk if necessary. Blocks.
    pub fn content(&self, range: Range<u64>) -> Result<Bytes> {
        match &self.envelope {
            None => self.load(range),
            Some(envelope) => coded::content(envelope, range, |span| self.load(span)),
        }
    }

    /// Like [`Self::content`], but opens the file again when the bytes are damaged: under other store settings the same
    /// BLOB may have been stored again in another form, which replaces the file. The newer file is then returned too.
    /// Blocks.
    fn content_or_newer(&self, range: Range<u64>, coding: Option<&Coding>) -> Result<(Bytes, Option<Arc<Self>>)> {
        match (self.content(range.clone()), coding) {
            (Err(error), Some(coding)) if error.kind() == ErrorKind::Corrupt => {
                match Self::open(&self.path, &self.footer.digest, coding)? {
                    Some(newer) if newer.footer.length == self.footer.length => {
                        newer.content(range).map(|bytes| (bytes, Some(Arc::new(newer))))
                    }
                    _ => Err(error),
                }
            }
            (done, _) => done.map(|bytes| (bytes, None)),
        }
    }

    /// Returns a range of the BLOB if it is stored unencoded and in the page cache. The bytes are copied and never
    /// mapped: where the disk cannot read a page of a mapping, a signal (SIGBUS) kills the process. Bytes that do not
    /// match their checksums are left for [`Self::load`] to judge.
    fn resident(&self, range: Range<u64>) -> Option<Bytes> {
        if self.envelope.is_some() {
            return None;
        }
        let chunks = self.chunks_around(&range);
        let length = (chunks.end - chunks.start) as usize;
        let buffer = match &self.bytes {
            Access::Opened(file) => read_resident(file, length, chunks.start)?,
            Access::Named => read_resident(&File::open(&self.path).ok()?, length, chunks.start)?,
        };
        self.checked(&chunks, range, buffer).ok()
    }

    /// Returns stored bytes, read from the disk if necessary. Blocks.
    fn load(&self, range: Range<u64>) -> Result<Bytes> {
        let chunks = self.chunks_around(&range);
        let mut buffer = vec![0; (chunks.end - chunks.start) as usize];
        let opened;
        let file = match &self.bytes {
            Access::Opened(file) => file,
            Access::Named => {
                opened = File::open(&self.path).map_err(|error| match error.kind() {
                    io::ErrorKind::NotFound => {
                        Error::not_found(format!("the BLOB {} was deleted while it was read", self.footer.digest))
                    }
                    _ => read_error("read", &self.path, error),
                })?;
                &opened
            }
        };
        let read = read_up_to(file, &mut buffer, chunks.start);
        let read = read.map_err(|e| read_error("read", &self.path, e))?;
        if read < buffer.len() {
            return Err(self.damaged(&chunks));
        }
        let ahead = std::num::NonZeroU64::new(READ_AHEAD);
        if let Err(error) = rustix::fs::fadvise(file, chunks.end, ahead, Advice::WillNeed) {
            tracing::debug!(%error, "the system does not accept advice about read-ahead");
        }
        self.checked(&chunks, range, buffer)
    }

    /// Returns whether every chunk matches its checksum. Blocks.
    pub fn checksums_fit(&self) -> Result<bool> {
        let mut at = 0;
        while at < self.footer.stored {
            let to = (at + 16 * CHUNK as u64).min(self.footer.stored);
            match self.load(at..to) {
                Ok(_) => at = to,
                Err(error) if error.kind() == ErrorKind::Corrupt => return Ok(false),
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }

    fn checked(&self, chunks: &Range<u64>, range: Range<u64>, buffer: Vec<u8>) -> Result<Bytes> {
        if !self.is_intact(chunks, &buffer) {
            return Err(self.damaged(chunks));
        }
        let skip = (range.start - chunks.start) as usize;
        Ok(Bytes::from(buffer).slice(skip..skip + (range.end - range.start) as usize))
    }

    fn is_intact(&self, chunks: &Range<u64>, data: &[u8]) -> bool {
        let sums = &self.table[(chunks.start / CHUNK as u64 * 4) as usize..];
        chunks_are_intact(&self.footer.digest, data, sums)
    }

    fn is_open(&self) -> bool {
        matches!(self.bytes, Access::Opened(_))
    }

    fn chunks_around(&self, range: &Range<u64>) -> Range<u64> {
        let chunk = CHUNK as u64;
        range.start / chunk * chunk..range.end.next_multiple_of(chunk).min(self.footer.stored)
    }

    fn damaged(&self, chunks: &Range<u64>) -> Error {
        corrupt(&self.footer.digest, &self.path, &format!("bytes {} to {} are damaged", chunks.start, chunks.end))
    }
}

/// The error for a BLOB whose bytes are damaged.
pub fn corrupt(digest: &Digest, path: &Path, what: &str) -> Error {
    let text = format!("BLOB {digest} in {} is damaged ({what}): restore it from a backup", path.display());
    Error::corrupt(text)
}

/// A reader of a large BLOB.
pub struct LargeSource {
    file: Arc<LargeFile>,
    /// `None` where the file cannot be replaced by another form.
    coding: Option<Arc<Coding>>,
}

impl LargeSource {
    pub fn new(file: Arc<LargeFile>, coding: Option<Arc<Coding>>) -> Self {
        Self { file, coding }
    }
}

impl Source for LargeSource {
    fn try_read(&mut self, offset: u64, limit: usize) -> Option<Result<Bytes>> {
        self.file.resident(offset..(offset + limit as u64).min(self.file.footer.length)).map(Ok)
    }

    fn read(&mut self, offset: u64, limit: usize) -> BoxFuture<'_, Bytes> {
        let (file, coding) = (self.file.clone(), self.coding.clone());
        let range = offset..(offset + limit as u64).min(file.footer.length);
        Box::pin(async move {
            let read = super::cold::cold(move || file.content_or_newer(range, coding.as_deref()));
            let (bytes, newer) = read.await?;
            if let Some(newer) = newer {
                self.file = newer;
            }
            Ok(bytes)
        })
    }
}

/// A cache of recently read large files, so that the next reader need not load their tables of checksums.
#[derive(Default)]
pub struct LargeCache {
    files: Mutex<HashMap<Digest, (Arc<LargeFile>, u64)>>,
    clock: AtomicU64,
}

impl LargeCache {
    /// Limit on cached files.
    const FILES: usize = 4096;
    /// Limit on cached files that stay open; a process may often have no more than 1,024 open files.
    const OPEN: usize = 64;
    /// Limit on the length of a cached table of checksums (that of an 8 GB file).
    const TABLE: usize = 512 * 1024;

    pub fn get(&self, digest: &Digest) -> Option<Arc<LargeFile>> {
        let now = self.clock.fetch_add(1, Ordering::Relaxed);
        self.files().get_mut(digest).map(|(file, used)| {
            *used = now;
            file.clone()
        })
    }

    pub fn open(&self, layout: &Layout, digest: &Digest, coding: &Coding) -> Result<Option<Arc<LargeFile>>> {
        if let Some(file) = self.get(digest) {
            return Ok(Some(file));
        }
        let Some(file) = LargeFile::open(&layout.large_file(digest), digest, coding)?.map(Arc::new) else {
            return Ok(None);
        };
        if file.table.len() <= Self::TABLE {
            let mut files = self.files();
            if files.len() >= Self::FILES {
                drop_oldest(&mut files, |_| true);
            }
            if file.is_open() && files.values().filter(|(file, _)| file.is_open()).count() >= Self::OPEN {
                drop_oldest(&mut files, LargeFile::is_open);
            }
            files.insert(*digest, (file.clone(), self.clock.fetch_add(1, Ordering::Relaxed)));
        }
        Ok(Some(file))
    }

    pub fn forget(&self, digest: &Digest) {
        self.files().remove(digest);
    }

    pub fn clear(&self) {
        self.files().clear();
    }

    fn files(&self) -> MutexGuard<'_, HashMap<Digest, (Arc<LargeFile>, u64)>> {
        self.files.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn drop_oldest(files: &mut HashMap<Digest, (Arc<LargeFile>, u64)>, which: impl Fn(&LargeFile) -> bool) {
    let oldest = files.iter().filter(|(_, (file, _))| which(file)).min_by_key(|(_, (_, used))| *used);
    if let Some(digest) = oldest.map(|(digest, _)| *digest) {
        files.remove(&digest);
    }
}

/// Removes the file of a BLOB, durably. An absent file is no error. With `flush`, a removal by another process is made
/// durable too.
pub fn remove(layout: &Layout, digest: &Digest, flush: bool) -> Result<()> {
    let (path, directory) = (layout.large_file(digest), layout.large_directory(digest.as_bytes()[0]));
    match fs::remove_file(&path) {
        Ok(()) => super::files::sync_directory(&directory),
        // The process that removed the name may not have flushed the directory yet.
        Err(error) if error.kind() == io::ErrorKind::NotFound => match flush && !super::files::is_gone(&directory) {
            true => super::files::sync_directory(&directory),
            false => Ok(()),
        },
        Err(error) => Err(io_error("remove", &path, error)),
    }
}
