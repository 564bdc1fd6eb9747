//! Import of large files: one file at a time per worker, read ahead on a blocking thread, in bounded memory.

use std::fs::File;
use std::io::Read;
use std::sync::Arc;

use bytes::Bytes;
use model::{Error, Result};
use repository::{ImportContent, ImportDocument};
use tokio::sync::{Mutex, mpsc};

use super::batch::{commit, ownership};
use super::context::{Context, Job};
use super::read::{broken, changed, check, open};
use crate::posix::Status;
use crate::progress::Fault;

/// Number of bytes per read.
const READ_SIZE: usize = 1024 * 1024;
/// Number of pieces that are read ahead.
const AHEAD: usize = 4;

/// Stores files until the queue is closed.
pub(super) async fn run(context: Arc<Context>, jobs: Arc<Mutex<mpsc::Receiver<Job>>>) -> Result<()> {
    loop {
        // The lock is released before the file is read, so that the other worker can take the next file.
        let next = jobs.lock().await.recv().await;
        let Some(job) = next else { return Ok(()) };
        match store(&context, &job).await? {
            Ok((content, status)) => {
                let document = ImportDocument {
                    folder: job.folder.clone(),
                    name: job.name.clone(),
                    content,
                    ownership: ownership(&context, &status),
                };
                commit(&context, vec![(job, status)], vec![document]).await?;
            }
            Err(fault) => context.refuse_file(&fault, 0),
        }
    }
}

/// Stores a file's bytes. The inner error is a fault of the file itself.
async fn store(context: &Context, job: &Job) -> Result<Result<(ImportContent, Status), Fault>> {
    let (directory, name) = (job.directory.clone(), job.name.clone());
    let opened = tokio::task::spawn_blocking(move || open(&directory, &name)).await.map_err(ended)?;
    let (file, status) = match opened {
        Ok(opened) => opened,
        Err(fault) => return Ok(Err(fault)),
    };
    let mut writer = job.folder.writer(&job.name, status.size).await?;
    let (pieces, mut received) = mpsc::channel(AHEAD);
    let (directory, name) = (job.directory.clone(), job.name.clone());
    let reading = tokio::task::spawn_blocking(move || {
        let read = read_ahead(&file, status.size, &pieces);
        let length = read.map_err(|error| broken(&directory, &name, &error))?;
        match length {
            Some(length) => check(&directory, &name, &file, &status, length),
            None => Err(changed(&directory, &name)),
        }
    });
    while let Some(piece) = received.recv().await {
        context.progress.add_bytes(piece.len() as u64);
        writer.write(piece).await?;
    }
    match reading.await.map_err(ended)? {
        Ok(()) => Ok(Ok((writer.finish().await?, status))),
        Err(fault) => Ok(Err(fault)),
    }
}

fn ended(error: tokio::task::JoinError) -> Error {
    Error::unavailable("reading a file ended unexpectedly").with_source(error)
}

/// Sends a file piece by piece and returns its length. Returns none when the file has more than `size` bytes, of which
/// the excess is not sent, or when the receiver is closed.
fn read_ahead(file: &File, size: u64, pieces: &mpsc::Sender<Bytes>) -> std::io::Result<Option<u64>> {
    let mut length = 0;
    loop {
        let mut piece = Vec::with_capacity(READ_SIZE);
        file.take(READ_SIZE as u64).read_to_end(&mut piece)?;
        length += piece.len() as u64;
        if piece.is_empty() {
            return Ok(Some(length));
        }
        if length > size || pieces.blocking_send(Bytes::from(piece)).is_err() {
            return Ok(None);
        }
    }
}
