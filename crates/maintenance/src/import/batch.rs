//! Import of small files in batches. Files are read and hashed on blocking threads. Their bytes are stored concurrently
//! to fill the store's group commit. One transaction then creates all documents of the batch.

use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use blobs::digest_of;
use model::{Digest, Error, Id, Result, Timestamp};
use repository::{HashedBytes, ImportDocument, MAX_IMPORT_BATCH, Ownership};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::buffers::Buffers;
use super::context::{Context, Job, SMALL};
use super::read::read_whole;
use crate::posix::Status;
use crate::progress::{Fault, Reason};

/// Number of concurrent batches: while one waits for the disk, the others read and hash.
const AT_ONCE: usize = 3;
/// Maximum number of documents per batch.
const MAX_FILES: usize = MAX_IMPORT_BATCH;
/// Number of bytes at which a batch is closed.
const MAX_BYTES: u64 = 24 * 1024 * 1024;
/// Number of folders at which a batch is closed, because each keeps a directory open.
const MAX_FOLDERS: usize = 64;

/// A batch of files that are stored together.
#[derive(Default)]
struct Batch {
    jobs: Vec<Job>,
    bytes: u64,
    folders: HashSet<Id>,
}

impl Batch {
    fn add(&mut self, job: Job) {
        self.bytes += job.size;
        self.folders.insert(job.folder.id());
        self.jobs.push(job);
    }

    fn is_full(&self) -> bool {
        self.jobs.len() >= MAX_FILES || self.bytes >= MAX_BYTES || self.folders.len() >= MAX_FOLDERS
    }
}

/// Stores files until the queue is closed.
pub(super) async fn run(context: Arc<Context>, mut jobs: mpsc::Receiver<Job>) -> Result<()> {
    let mut running = JoinSet::new();
    let mut batch = Batch::default();
    while let Some(job) = jobs.recv().await {
        batch.add(job);
        if batch.is_full() {
            if running.len() >= AT_ONCE {
                await_one(running.join_next().await)?;
            }
            running.spawn(store(context.clone(), std::mem::take(&mut batch).jobs));
        }
    }
    running.spawn(store(context.clone(), batch.jobs));
    while !running.is_empty() {
        await_one(running.join_next().await)?;
    }
    Ok(())
}

fn await_one(ended: Option<Result<Result<()>, tokio::task::JoinError>>) -> Result<()> {
    match ended {
        None => Ok(()),
        Some(Ok(outcome)) => outcome,
        Some(Err(error)) => Err(Error::unavailable("a part of the import ended unexpectedly").with_source(error)),
    }
}

async fn store(context: Arc<Context>, jobs: Vec<Job>) -> Result<()> {
    let buffers = context.buffers.clone();
    let read = tokio::task::spawn_blocking(move || read(&buffers, jobs));
    let read = read.await.map_err(|error| Error::unavailable("reading files ended unexpectedly").with_source(error))?;
    let mut files = Vec::with_capacity(read.len());
    let mut storing = Vec::with_capacity(read.len());
    for (job, outcome) in read {
        match outcome {
            Ok((hashed, status)) => {
                let (folder, name) = (job.folder.clone(), job.name.clone());
                storing.push(async move { folder.store_bytes(&name, hashed).await });
                files.push((job, status));
            }
            Err(fault) => context.refuse_file(&fault, job.size),
        }
    }
    let contents = futures_util::future::try_join_all(storing).await?;
    let mut documents = Vec::with_capacity(files.len());
    for ((job, status), content) in files.iter().zip(contents) {
        documents.push(ImportDocument {
            folder: job.folder.clone(),
            name: job.name.clone(),
            content,
            ownership: ownership(&context, status),
        });
    }
    commit(&context, files, documents).await
}

/// Result of reading a file.
type ReadFile<T> = (Job, Result<(T, Status), Fault>);

/// Reads and hashes files. Each file is hashed while its bytes are still in the processor's cache.
fn read(buffers: &Buffers, jobs: Vec<Job>) -> Vec<ReadFile<HashedBytes>> {
    let mut gathered = buffers.take();
    let expected: u64 = jobs.iter().map(|job| job.size + 1).sum();
    gathered.reserve(usize::try_from(expected).unwrap_or(0));
    let mut read = Vec::with_capacity(jobs.len());
    for job in jobs {
        let found = read_whole(&job.directory, &job.name, SMALL, &mut gathered);
        let found = found.map(|(start, status)| ((digest_of(&gathered[start..]), start..gathered.len()), status));
        read.push((job, found));
    }
    let gathered = buffers.share(gathered);
    let cut = |(job, found): ReadFile<(Digest, Range<usize>)>| {
        let hashed = found.map(|((digest, range), status)| (HashedBytes::new(digest, gathered.slice(range)), status));
        (job, hashed)
    };
    read.into_iter().map(cut).collect()
}

/// Returns owner and times of a file. Most file systems do not report the creation time, so the modification time is
/// used, but no later than now.
pub(super) fn ownership(context: &Context, status: &Status) -> Ownership {
    let owner = context.owner(status.user);
    let created_at = status.modified.min(Timestamp::now());
    Ownership { created_by: owner, created_at, modified_by: owner, modified_at: status.modified }
}

/// Creates documents from files whose bytes are stored, and counts them.
pub(super) async fn commit(context: &Context, files: Vec<(Job, Status)>, documents: Vec<ImportDocument>) -> Result<()> {
    let outcomes = context.session.import_documents(documents).await?;
    for ((job, status), outcome) in files.into_iter().zip(outcomes) {
        match outcome {
            Ok(saved) => {
                let counter = if saved.created { &context.created } else { &context.replaced };
                counter.fetch_add(1, Ordering::Relaxed);
                context.bytes.fetch_add(status.size, Ordering::Relaxed);
                context.progress.add_files(1);
                if job.size <= SMALL {
                    context.progress.add_bytes(status.size);
                }
            }
            Err(error) => {
                let path = job.directory.path_of(job.name.as_str().as_ref());
                let fault = Fault::new(&path, Reason::Refused, error.message());
                // The bytes of a large file were counted while it was read.
                context.refuse_file(&fault, if job.size <= SMALL { status.size } else { 0 });
            }
        }
    }
    Ok(())
}
