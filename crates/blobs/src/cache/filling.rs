//! Reading a BLOB that is not cached, and caching it when it is read from beginning to end.

use std::fs::File;
use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use bytes::Bytes;
use model::{Digest, Result};

use super::files::{CacheFiles, remove};
use crate::BlobHasher;
use crate::directory::{ChunkChecksums, Footer};
use crate::provider::{BoxFuture, Source};

/// Approximate number of bytes per write.
const WRITE_SIZE: usize = 1 << 20;

/// A source that copies the bytes it delivers into a file of the cache.
pub struct FillingSource {
    inner: Box<dyn Source>,
    copy: Option<CopyInProgress>,
    digest: Digest,
    size: u64,
    /// Position up to which the BLOB was copied.
    position: u64,
    gathered: Vec<Bytes>,
    gathered_bytes: usize,
}

/// The copy in progress; a task on the blocking pool writes it.
struct CopyInProgress {
    files: Arc<CacheFiles>,
    deleted: Arc<AtomicBool>,
    written: Option<Written>,
    task: Option<tokio::task::JoinHandle<std::io::Result<Written>>>,
}

/// The part of the copy that is in the file.
struct Written {
    file: Unfinished,
    sums: ChunkChecksums,
    hasher: BlobHasher,
}

struct Unfinished {
    path: PathBuf,
    file: File,
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        // A finished file has been renamed, so that nothing is removed here.
        remove(&self.path);
    }
}

impl FillingSource {
    /// Wraps `inner`. `deleted` is the flag that [`CacheFiles::announce`] returned before `inner` was opened.
    pub fn new(
        inner: Box<dyn Source>,
        files: Arc<CacheFiles>,
        deleted: Arc<AtomicBool>,
        digest: Digest,
        size: u64,
    ) -> Self {
        let copy = Some(CopyInProgress { files, deleted, written: None, task: None });
        Self { inner, copy, digest, size, position: 0, gathered: Vec::new(), gathered_bytes: 0 }
    }

    /// Adds delivered bytes to the copy. Returns whether enough are gathered for a write.
    fn note(&mut self, offset: u64, bytes: &Bytes) -> bool {
        if self.copy.is_none() || offset < self.position {
            return false;
        }
        if offset > self.position {
            // A reader that seeks reads only a part of the BLOB; parts are not cached.
            self.copy = None;
            self.gathered.clear();
            return false;
        }
        self.position += bytes.len() as u64;
        self.gathered_bytes += bytes.len();
        self.gathered.push(bytes.clone());
        if self.position == self.size {
            self.end();
            return false;
        }
        self.gathered_bytes >= WRITE_SIZE
    }

    /// Starts writing the gathered bytes once the previous write has finished.
    async fn write(&mut self) {
        let Some(mut copy) = self.copy.take() else { return };
        let gathered = std::mem::take(&mut self.gathered);
        self.gathered_bytes = 0;
        if let Some(task) = copy.task.take() {
            match task.await {
                Ok(Ok(written)) => copy.written = Some(written),
                // Most likely a full disk. Reading continues without a copy.
                Ok(Err(error)) => return tracing::warn!(%error, "the BLOB cache cannot be written"),
                Err(_) => return,
            }
        }
        let (files, written) = (copy.files.clone(), copy.written.take());
        copy.task = Some(tokio::task::spawn_blocking(move || append(&files, written, &gathered)));
        self.copy = Some(copy);
    }

    /// Writes the remaining bytes and publishes the file in the cache, in a task that the reader does not wait for.
    fn end(&mut self) {
        let Some(mut copy) = self.copy.take() else { return };
        let gathered = std::mem::take(&mut self.gathered);
        let (digest, size) = (self.digest, self.size);
        tokio::spawn(async move {
            if let Some(task) = copy.task.take() {
                match task.await {
                    Ok(Ok(written)) => copy.written = Some(written),
                    _ => return,
                }
            }
            let (files, deleted) = (copy.files.clone(), copy.deleted.clone());
            let finish = move || {
                let written = append(&files, copy.written, &gathered)?;
                finish(&files, &deleted, written, digest, size)
            };
            if let Ok(Err(error)) = tokio::task::spawn_blocking(finish).await {
                tracing::warn!(%error, "the BLOB cache cannot be written");
            }
        });
    }
}

fn append(files: &CacheFiles, written: Option<Written>, pieces: &[Bytes]) -> std::io::Result<Written> {
    let mut written = match written {
        Some(written) => written,
        None => {
            let (path, file) = files.begin()?;
            Written { file: Unfinished { path, file }, sums: ChunkChecksums::default(), hasher: BlobHasher::new() }
        }
    };
    for piece in pieces {
        written.file.file.write_all(piece)?;
        written.sums.update(piece);
        written.hasher.update(piece);
    }
    Ok(written)
}

fn finish(
    files: &CacheFiles,
    deleted: &AtomicBool,
    written: Written,
    digest: Digest,
    size: u64,
) -> std::io::Result<()> {
    let Written { mut file, sums, hasher } = written;
    if hasher.finish() != digest {
        return Err(std::io::Error::other(format!("the bytes read of BLOB {digest} do not match its digest")));
    }
    let table = sums.into_table(&digest);
    file.file.write_all(&table)?;
    file.file.write_all(&Footer::plain(size, digest).encode(&table))?;
    files.publish(&file.path, &file.file, &digest, deleted)
}

impl Source for FillingSource {
    fn try_read(&mut self, offset: u64, limit: usize) -> Option<Result<Bytes>> {
        if self.gathered_bytes >= WRITE_SIZE {
            return None;
        }
        let answer = self.inner.try_read(offset, limit)?;
        if let Ok(bytes) = &answer {
            self.note(offset, bytes);
        }
        Some(answer)
    }

    fn read(&mut self, offset: u64, limit: usize) -> BoxFuture<'_, Bytes> {
        Box::pin(async move {
            let bytes = self.inner.read(offset, limit).await?;
            if self.note(offset, &bytes) {
                self.write().await;
            }
            Ok(bytes)
        })
    }
}
