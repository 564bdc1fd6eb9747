//! The upload of a large BLOB into a file of its own.

use std::fs::{self, File};
use std::io::IoSlice;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use async_recursion::async_recursion as boxed;
use bytes::Bytes;
use model::{Digest, Error, Result, Timestamp, exact_size};
use rustix::fs::FlockOperation;
use tokio::task::JoinHandle;

use super::coded::Coding;
use super::files::{free_bytes, io_error, sync_directory, try_lock, write_parts};
use super::large::{Footer, LargeCache};
use super::layout::Layout;
use super::record::ChunkChecksums;
use super::record_location::RecordLocation;
use crate::blocking::{blocking, interrupted};
use crate::coding::Encoder;
use crate::provider::{BoxFuture, Stored, Upload};

/// Number of bytes that are gathered before a write; an upload takes twice this much memory. A shorter BLOB is stored
/// in one write.
const WRITE_SIZE: usize = 1 << 20;
/// Length of the windows that the disk is asked to write. Shorter ones would cause more and smaller writes.
const WINDOW: u64 = 8 << 20;
/// Number of windows by which the disk may lag behind, so that the final flush is short.
const LAG: u64 = 4;

static COUNTER: AtomicU64 = AtomicU64::new(0);

/// An upload into a temporary file, which is moved to its final name when it is complete and durable.
pub struct LargeUpload {
    target: Target,
    gathered: Vec<Bytes>,
    gathered_bytes: usize,
    /// `None` while a task owns it.
    progress: Option<Progress>,
    task: Option<JoinHandle<Result<Progress>>>,
}

/// The destination of uploads.
#[derive(Clone)]
struct Target {
    layout: Layout,
    cache: Arc<LargeCache>,
    coding: Arc<Coding>,
}

/// The state of the part written so far.
struct Progress {
    temporary: Option<Arc<Temporary>>,
    /// Number of bytes in the file.
    written: u64,
    sums: ChunkChecksums,
    /// Encodes the incoming bytes; `None` when they are written unchanged.
    encoder: Option<Encoder>,
    /// Number of bytes that the encoder has taken.
    taken: u64,
}

/// The temporary file. Dropping it removes the file, unless it was moved to its final name.
struct Temporary {
    path: PathBuf,
    file: File,
}

impl Drop for Temporary {
    fn drop(&mut self) {
        // A completed upload has been renamed, so its file is not found here. After any other failure the next start
        // removes the file.
        if let Err(error) = fs::remove_file(&self.path)
            && error.kind() != std::io::ErrorKind::NotFound
        {
            tracing::warn!(upload = %self.path.display(), %error, "cannot remove an abandoned upload");
        }
    }
}

impl Temporary {
    fn create(layout: &Layout) -> Result<Self> {
        let number = COUNTER.fetch_add(1, Ordering::Relaxed);
        let name = format!("{}-{}-{number}", Timestamp::now().micros(), std::process::id());
        let path = layout.incoming().join(name);
        // Recovery takes a file without a lock for one without an owner, so the store's lock excludes it here.
        let _guard = layout.lock(FlockOperation::LockShared)?;
        let open = File::options().read(true).write(true).create_new(true).open(&path);
        let file = open.map_err(|e| io_error("create", &path, e))?;
        try_lock(&file, &path)?;
        Ok(Self { path, file })
    }
}

impl LargeUpload {
    /// Begins an upload. The file is created when the first bytes are written.
    pub fn begin(layout: Layout, cache: Arc<LargeCache>, coding: Arc<Coding>, announced: Option<u64>) -> Result<Self> {
        let encoder = coding.is_on().then(|| coding.encoder(announced.unwrap_or(0))).transpose()?;
        let progress =
            Some(Progress { temporary: None, written: 0, sums: ChunkChecksums::default(), encoder, taken: 0 });
        let target = Target { layout, cache, coding };
        Ok(Self { target, gathered: Vec::new(), gathered_bytes: 0, progress, task: None })
    }

    /// Stores a BLOB that is entirely in memory.
    #[boxed]
    pub async fn store(mut self, digest: Digest, size: u64, pieces: Vec<Bytes>) -> Result<Stored> {
        self.gathered = pieces;
        Box::new(self).complete(digest, size).await
    }

    /// Waits for the previous group and writes the gathered one on the blocking pool.
    async fn send(&mut self) -> Result<()> {
        let mut progress = self.settled().await?;
        let pieces = std::mem::take(&mut self.gathered);
        self.gathered_bytes = 0;
        let layout = self.target.layout.clone();
        self.task = Some(tokio::task::spawn_blocking(move || {
            match progress.encoder.is_some() {
                true => progress.encode(&layout, &pieces)?,
                false => progress.append(&layout, &pieces)?,
            }
            Ok(progress)
        }));
        Ok(())
    }

    async fn settled(&mut self) -> Result<Progress> {
        if let Some(task) = &mut self.task {
            let done = task.await;
            self.task = None;
            self.progress = Some(done.map_err(interrupted)??);
        }
        let gone = || Error::unavailable("an earlier part of this upload could not be stored; upload it again");
        self.progress.take().ok_or_else(gone)
    }

    async fn complete(mut self: Box<Self>, digest: Digest, size: u64) -> Result<Stored> {
        let progress = self.settled().await?;
        blocking(move || progress.complete(&self.target, &self.gathered, digest, size)).await
    }
}

/// Fails with `Exhausted` when this many bytes certainly do not fit. Blocks.
pub fn check_space(layout: &Layout, announced: u64) -> Result<()> {
    let free = free_bytes(layout.root())?;
    if announced <= free {
        return Ok(());
    }
    let root = layout.root().display();
    let more = format!(
        "{} do not fit into the BLOB store {root}, which has {} left: free space or move the store",
        exact_size(announced),
        exact_size(free)
    );
    Err(Error::exhausted("the server has no space for a document of this size: contact its administrator")
        .with_source(more))
}

impl Progress {
    /// Encodes pieces of the BLOB and writes the result, in groups.
    fn encode(&mut self, layout: &Layout, pieces: &[Bytes]) -> Result<()> {
        let (mut frames, mut unwritten) = (Vec::new(), 0);
        for piece in pieces {
            for start in (0..piece.len()).step_by(WRITE_SIZE) {
                let part = piece.slice(start..piece.len().min(start + WRITE_SIZE));
                let Some(encoder) = &mut self.encoder else { return Ok(()) };
                encoder.push(&part, &mut frames)?;
                self.taken += part.len() as u64;
                unwritten += part.len();
                if unwritten >= WRITE_SIZE {
                    self.append(layout, &std::mem::take(&mut frames))?;
                    unwritten = 0;
                }
            }
        }
        if frames.is_empty() { Ok(()) } else { self.append(layout, &frames) }
    }

    /// Encodes the last pieces. Returns the bytes still to be written, and whether the file holds an encoded form
    /// instead of the BLOB itself.
    fn end(&mut self, target: &Target, pieces: &[Bytes], digest: &Digest, size: u64) -> Result<(Vec<Bytes>, bool)> {
        self.encode(&target.layout, pieces)?;
        let mut last = Vec::new();
        let Some(encoder) = self.encoder.take() else { return Ok((last, false)) };
        let encoded = encoder.finish(&mut last)?;
        if encoded.is_plain() {
            return Ok((last, false));
        }
        last.extend(target.coding.trailer(&encoded, digest, size)?);
        Ok((last, true))
    }

    /// Appends pieces to the file.
    fn append(&mut self, layout: &Layout, pieces: &[Bytes]) -> Result<()> {
        let temporary = self.open(layout)?;
        let Temporary { path, file } = &*temporary;
        let parts: Vec<_> = pieces.iter().map(|piece| IoSlice::new(piece)).collect();
        write_parts(file, &parts, self.written).map_err(|e| io_error("write to", path, e))?;
        let from = self.written;
        self.take(pieces);
        write_behind(file, from, self.written);
        Ok(())
    }

    fn open(&mut self, layout: &Layout) -> Result<Arc<Temporary>> {
        match &self.temporary {
            Some(temporary) => Ok(temporary.clone()),
            None => Ok(self.temporary.insert(Arc::new(Temporary::create(layout)?)).clone()),
        }
    }

    fn take(&mut self, pieces: &[Bytes]) {
        for piece in pieces {
            self.sums.update(piece);
            self.written += piece.len() as u64;
        }
    }

    /// Writes the last pieces, then makes first the bytes durable and then the name.
    fn complete(mut self, target: &Target, pieces: &[Bytes], digest: Digest, size: u64) -> Result<Stored> {
        let (last, encoded);
        let pieces = match self.encoder.is_some() {
            true => {
                (last, encoded) = self.end(target, pieces, &digest, size)?;
                &last
            }
            false => {
                encoded = false;
                pieces
            }
        };
        let from = self.written;
        self.take(pieces);
        let received = if encoded { self.taken } else { self.written };
        if size != received {
            return Err(Error::invalid(format!("an upload of {received} bytes was completed as one of {size}")));
        }
        let temporary = self.open(&target.layout)?;
        let Temporary { path, file } = &*temporary;
        let table = self.sums.into_table(&digest);
        let footer = match encoded {
            true => Footer::encoded(size, self.written, digest),
            false => Footer::plain(size, digest),
        };
        let footer = footer.encode(&table);
        // In one call, so that the disk gets few and large writes.
        let mut parts: Vec<_> = pieces.iter().map(|piece| IoSlice::new(piece)).collect();
        parts.extend([IoSlice::new(&table), IoSlice::new(&footer)]);
        let written = write_parts(file, &parts, from).and_then(|()| file.sync_data());
        written.map_err(|e| io_error("write to", path, e))?;
        let layout = &target.layout;
        let (first, name) = (digest.as_bytes()[0], layout.large_file(&digest));
        let named = match give_name(path, &name) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                layout.create_large_directory(first)?;
                give_name(path, &name)
            }
            named => named,
        };
        let existed = named.map_err(|e| io_error("create", &name, e))?;
        sync_directory(&layout.large_directory(first))?;
        target.cache.forget(&digest);
        Ok(Stored { digest, size, locator: RecordLocation::Large.locator(), existed })
    }
}

/// Moves a complete file to its final name and returns whether that name existed. An existing file is replaced by the
/// same bytes: this costs nothing more and repairs a damaged copy.
fn give_name(path: &Path, target: &Path) -> std::io::Result<bool> {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    match renameat_with(CWD, path, CWD, target, RenameFlags::NOREPLACE) {
        Ok(()) => Ok(false),
        Err(rustix::io::Errno::EXIST) => fs::rename(path, target).map(|()| true),
        // The file system lacks this operation: two concurrent uploads of the same bytes may both be reported as the
        // first.
        Err(rustix::io::Errno::INVAL | rustix::io::Errno::NOSYS) => {
            let existed = target.try_exists()?;
            fs::rename(path, target).map(|()| existed)
        }
        Err(error) => Err(error.into()),
    }
}

impl Upload for LargeUpload {
    fn write(&mut self, bytes: Bytes) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            self.gathered_bytes += bytes.len();
            self.gathered.push(bytes);
            if self.gathered_bytes >= WRITE_SIZE { self.send().await } else { Ok(()) }
        })
    }

    fn finish(self: Box<Self>, digest: Digest, size: u64) -> BoxFuture<'static, Stored> {
        Box::pin(self.complete(digest, size))
    }
}

/// Starts writing each window that was filled between two positions, and waits for the window that is [`LAG`] windows
/// behind.
fn write_behind(file: &File, from: u64, to: u64) {
    let wait = libc::SYNC_FILE_RANGE_WAIT_BEFORE | libc::SYNC_FILE_RANGE_WRITE | libc::SYNC_FILE_RANGE_WAIT_AFTER;
    for window in from / WINDOW..to / WINDOW {
        let range = |window: u64| (window * WINDOW) as i64;
        // Safety: no memory is passed. A failure is harmless: the final flush reports bytes that could not be written,
        // because this call leaves the file's error state alone.
        unsafe {
            libc::sync_file_range(file.as_raw_fd(), range(window), WINDOW as i64, libc::SYNC_FILE_RANGE_WRITE);
            if let Some(behind) = window.checked_sub(LAG) {
                libc::sync_file_range(file.as_raw_fd(), range(behind), WINDOW as i64, wait);
            }
        }
    }
}
