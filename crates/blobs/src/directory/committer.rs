//! Group commit: all waiting BLOBs are written with one call and flushed with one call; then all callers are answered.

use std::collections::{HashMap, VecDeque};
use std::io::IoSlice;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Instant;

use bytes::Bytes;
use model::{Digest, Error, ErrorKind, Result, Timestamp};
use tokio::sync::oneshot;

use super::catalog::Catalog;
use super::files::{io_error, write_parts};
use super::growing::GrowingSegment;
use super::index::Slot;
use super::record::{ALIGN, BLOCK, Extent, HEADER, RecordHeader, footprint, span};
use super::segment_pool::SegmentPool;

/// A BLOB waiting to be written.
pub struct Job {
    pub digest: Digest,
    pub extent: Extent,
    /// The content of its record.
    pub pieces: Vec<Bytes>,
    /// The checksums of the chunks of `pieces`.
    pub table: Vec<u8>,
    /// Damaged copies (segment and offset) that this one replaces.
    pub replaces: Vec<(u64, u64)>,
}

/// The location of a BLOB: newly written, or of a copy that already existed.
#[derive(Clone, Copy, Debug)]
pub struct Placed {
    pub segment: u64,
    pub offset: u64,
    pub existed: bool,
}

type Answer = oneshot::Sender<Result<Placed>>;

/// The threads that write segments, one open segment each.
pub struct Committer {
    shared: Arc<Shared>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

struct Shared {
    catalog: Arc<Catalog>,
    nursery: SegmentPool,
    batch_bytes: u64,
    queue: Mutex<Queue>,
    wake: Condvar,
}

#[derive(Default)]
struct Queue {
    jobs: VecDeque<Job>,
    /// Waiting callers for each digest that is queued or being written; the first of them submitted the job.
    waiting: HashMap<Digest, Vec<Answer>>,
    /// Segments whose last write failed. They stay locked, so that no other process takes them for abandoned while this
    /// one reads from them.
    suspect: Vec<GrowingSegment>,
    closed: bool,
}

impl Committer {
    pub fn start(catalog: Arc<Catalog>, nursery: SegmentPool, writers: usize, batch_bytes: u64) -> Result<Self> {
        let shared = Arc::new(Shared { catalog, nursery, batch_bytes, queue: Mutex::default(), wake: Condvar::new() });
        let committer = Self { shared, threads: Mutex::default() };
        for number in 0..writers.max(1) {
            let shared = committer.shared.clone();
            let thread = std::thread::Builder::new()
                .name(format!("blob-writer-{number}"))
                .spawn(move || Writer { shared: &shared, open: None }.run())
                .map_err(|e| Error::unavailable("cannot start a thread for the BLOB store").with_source(e))?;
            committer.threads.lock().unwrap_or_else(PoisonError::into_inner).push(thread);
        }
        Ok(committer)
    }

    /// Queues a BLOB; the receiver is answered when the BLOB is durable.
    pub fn submit(&self, job: Job) -> oneshot::Receiver<Result<Placed>> {
        let (answer, receiver) = oneshot::channel();
        let mut queue = self.shared.lock();
        if queue.closed {
            // Dropping `answer` yields the same error as a writer that has ended.
            return receiver;
        }
        let waiting = queue.waiting.entry(job.digest).or_default();
        waiting.push(answer);
        if waiting.len() == 1 {
            queue.jobs.push_back(job);
            drop(queue);
            self.shared.wake.notify_one();
        }
        receiver
    }

    /// Writes all queued BLOBs, seals the segments and ends the threads. Blocks.
    pub fn close(&self) {
        self.stop();
        let threads = std::mem::take(&mut *self.threads.lock().unwrap_or_else(PoisonError::into_inner));
        for thread in threads {
            if thread.join().is_err() {
                tracing::error!("a thread that writes BLOBs panicked; the next start recovers its segment");
            }
        }
        self.shared.nursery.close();
        self.shared.lock().suspect.clear();
    }

    fn stop(&self) {
        self.shared.lock().closed = true;
        self.shared.wake.notify_all();
    }
}

impl Drop for Committer {
    fn drop(&mut self) {
        self.stop();
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for work and takes as much as fits into a batch; `None` when the queue is empty and closed.
    fn next_batch(&self) -> Option<Vec<Job>> {
        let mut queue = self.lock();
        while queue.jobs.is_empty() {
            if queue.closed {
                return None;
            }
            queue = self.wake.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
        let mut bytes = 0;
        let mut batch = Vec::new();
        while let Some(job) = queue.jobs.front() {
            bytes += footprint(job.extent.stored());
            if bytes > self.batch_bytes && !batch.is_empty() {
                break;
            }
            batch.extend(queue.jobs.pop_front());
        }
        Some(batch)
    }

    fn answer(&self, digest: &Digest, result: &Result<Placed>) {
        let waiting = self.lock().waiting.remove(digest).unwrap_or_default();
        for (position, answer) in waiting.into_iter().enumerate() {
            let copy = match result {
                Ok(placed) => Ok(Placed { existed: placed.existed || position > 0, ..*placed }),
                Err(error) => Err(Error::new(error.kind(), error.message().to_owned()).with_code(error.code())),
            };
            // If the caller no longer waits, the BLOB stays in the store as an orphan until it is collected.
            let _ = answer.send(copy);
        }
    }
}

struct Writer<'a> {
    shared: &'a Shared,
    open: Option<GrowingSegment>,
}

impl Writer<'_> {
    fn run(mut self) {
        while let Some(batch) = self.shared.next_batch() {
            let digests: Vec<Digest> = batch.iter().map(|job| job.digest).collect();
            // The thread must survive a panic: without it every later upload would wait for ever.
            if catch_unwind(AssertUnwindSafe(|| self.commit(batch))).is_err() {
                self.give_up(&digests);
            }
        }
        if let Some(growing) = self.open.take() {
            self.shared.nursery.seal(growing);
        }
    }

    /// Reports an error to the callers of a batch that still wait, and abandons the segment, whose state is now
    /// unknown.
    fn give_up(&mut self, digests: &[Digest]) {
        let suspect = self.open.take();
        self.shared.lock().suspect.extend(suspect);
        tracing::error!("a thread that writes BLOBs panicked; it continues with another segment");
        let result = Err(Error::new(
            ErrorKind::Unavailable,
            "the BLOB was not stored because of a fault inside the server; try again",
        ));
        digests.iter().for_each(|digest| self.shared.answer(digest, &result));
    }

    fn commit(&mut self, batch: Vec<Job>) {
        let mut rest = VecDeque::from(batch);
        rest.retain(|job| !self.is_there(job));
        while let Some(first) = rest.front() {
            let growing = match self.ensure_room(span(first.extent.stored())) {
                Ok(growing) => growing,
                Err(error) => return self.fail(rest, error),
            };
            let mut room = growing.room();
            let fits = rest.iter().take_while(|job| {
                let fits = span(job.extent.stored()) <= room;
                room = room.saturating_sub(footprint(job.extent.stored()));
                fits
            });
            let now: Vec<Job> = rest.drain(..fits.count()).collect();
            let written = write(growing, &now);
            self.shared.nursery.note_commit();
            match written {
                Ok(slots) => self.publish(&now, &slots),
                Err(error) => {
                    // The bytes on the disk are now unknown, so this segment is not written to again.
                    let suspect = self.open.take();
                    self.shared.lock().suspect.extend(suspect);
                    self.fail(now, error);
                }
            }
        }
    }

    /// Completes a job whose BLOB has become durable since its look-up. Returns whether that is the case.
    fn is_there(&self, job: &Job) -> bool {
        let Some((segment, slot)) = self.shared.catalog.find_in_memory(&job.digest) else { return false };
        if job.replaces.contains(&(segment.id, slot.offset)) {
            return false;
        }
        self.shared.answer(&job.digest, &Ok(Placed { segment: segment.id, offset: slot.offset, existed: true }));
        true
    }

    fn ensure_room(&mut self, need: u64) -> Result<&mut GrowingSegment> {
        let growing = match self.open.take() {
            Some(growing) if growing.room() >= need => growing,
            full => {
                full.into_iter().for_each(|growing| self.shared.nursery.seal(growing));
                self.shared.nursery.take(need)?
            }
        };
        Ok(self.open.insert(growing))
    }

    fn publish(&self, jobs: &[Job], slots: &[Slot]) {
        let Some(growing) = &self.open else { return };
        for (job, slot) in jobs.iter().zip(slots) {
            self.shared.catalog.publish(&growing.segment, job.digest, *slot);
            let placed = Placed { segment: growing.segment.id, offset: slot.offset, existed: false };
            self.shared.answer(&job.digest, &Ok(placed));
        }
    }

    fn fail(&self, jobs: impl IntoIterator<Item = Job>, error: Error) {
        tracing::error!(error = error.report(), "BLOBs could not be stored");
        metrics::counter!("strongroom_blob_commit_failures_total").increment(1);
        let result = Err(error);
        jobs.into_iter().for_each(|job| self.shared.answer(&job.digest, &result));
    }
}

/// Writes one batch to the end of a segment and flushes it.
fn write(growing: &mut GrowingSegment, jobs: &[Job]) -> Result<Vec<Slot>> {
    const ZEROS: [u8; BLOCK as usize] = [0; BLOCK as usize];
    let started = Instant::now();
    let stored_at = Timestamp::now();
    let batch = growing.end;
    let mut slots = Vec::with_capacity(jobs.len());
    let mut headers = Vec::with_capacity(jobs.len());
    let mut at = batch;
    for job in jobs {
        let Job { digest, extent, .. } = *job;
        headers
            .push(RecordHeader { segment: growing.segment.id, offset: at, batch, extent, stored_at, digest }.encode());
        slots.push(Slot { offset: at, extent, stored_at });
        at += footprint(extent.stored());
    }
    let mut parts = Vec::with_capacity(jobs.len() * 4 + 1);
    for (job, header) in jobs.iter().zip(&headers) {
        parts.push(IoSlice::new(header));
        parts.extend(job.pieces.iter().map(|piece| IoSlice::new(piece)));
        parts.push(IoSlice::new(&job.table));
        parts.push(IoSlice::new(&ZEROS[..(footprint(job.extent.stored()) - span(job.extent.stored())) as usize]));
    }
    // Pads to whole blocks, so that the kernel never has to read a block in order to change a part of it.
    let end = at.next_multiple_of(BLOCK);
    parts.push(IoSlice::new(&ZEROS[..(end - at) as usize]));
    let flushed = write_parts(&growing.file, &parts, batch).and_then(|()| growing.file.sync_data());
    flushed.map_err(|e| io_error("write a batch of BLOBs to", growing.segment.path(), e))?;
    growing.end = end;
    metrics::histogram!("strongroom_blob_commit_seconds").record(started.elapsed().as_secs_f64());
    metrics::histogram!("strongroom_blob_commit_blobs").record(jobs.len() as f64);
    metrics::counter!("strongroom_blob_written_bytes_total").increment(end - batch);
    debug_assert!(
        jobs.iter()
            .all(|job| job.table.len() as u64 + HEADER as u64 + job.extent.stored() == span(job.extent.stored()))
    );
    debug_assert!(slots.iter().all(|slot| slot.offset % ALIGN == 0));
    Ok(slots)
}

/// The error for a put whose store was closed before the BLOB was written.
pub fn closed() -> Error {
    Error::new(ErrorKind::Unavailable, "the BLOB store is closed; nothing was stored")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::directory::coded::Coding;
    use crate::directory::layout::Layout;
    use crate::directory::record::ChunkChecksums;
    use crate::{DirectoryOptions, Owner};

    #[tokio::test]
    async fn a_writer_that_panics_answers_and_goes_on() {
        let scratch = tempfile::tempdir().unwrap();
        let options = DirectoryOptions { writers: 1, ..DirectoryOptions::default() };
        let layout = Layout::open(scratch.path(), &Owner::new("farm").unwrap(), true).unwrap();
        let catalog = Arc::new(Catalog::open(layout, Coding::new(scratch.path(), &options)).unwrap());
        let nursery = SegmentPool::start(catalog.clone(), options.segment_bytes, false, || {}).unwrap();
        let committer = Committer::start(catalog.clone(), nursery, options.writers, options.batch_bytes).unwrap();
        let job = |byte: u8, table: Option<Vec<u8>>| {
            let (digest, pieces) = (Digest::new([byte; 32]), vec![Bytes::from(vec![byte; 100])]);
            let table = table.unwrap_or_else(|| ChunkChecksums::of(&pieces).into_table(&digest));
            Job { digest, extent: Extent::plain(100), pieces, table, replaces: Vec::new() }
        };
        let placed = committer.submit(job(1, None)).await.unwrap().unwrap();
        // A table of the wrong length is a programming error: the writer's own assertion panics.
        let refused = committer.submit(job(2, Some(vec![0; 400]))).await.unwrap().unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Unavailable, "{refused}");
        let after = committer.submit(job(3, None)).await.unwrap().unwrap();
        assert_ne!(after.segment, placed.segment, "what is on the disk of the first one is unknown");
        assert!(catalog.find_in_memory(&Digest::new([2; 32])).is_none());
        committer.close();
    }
}
