//! Owns the bounded queue between callers and the threads that own connections.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use model::Result;
use tokio::sync::Semaphore;

use crate::engine::errors::{closed, overloaded};
use crate::engine::queued::{Read, Write};

/// A closure that waits for a connection.
pub(super) enum Job {
    Read(Read),
    Write(Write),
}

/// A first-in, first-out queue for many callers and many threads.
pub(super) struct Queue {
    // The waiting jobs, and whether the queue has been closed.
    jobs: Mutex<Waiting>,
    ready: Semaphore,
    room: Semaphore,
}

struct Waiting {
    jobs: VecDeque<Job>,
    closed: bool,
}

impl Queue {
    pub(super) fn new(bound: usize) -> Self {
        Self {
            jobs: Mutex::new(Waiting { jobs: VecDeque::new(), closed: false }),
            ready: Semaphore::new(0),
            room: Semaphore::new(bound.max(1)),
        }
    }

    /// Appends a job. Waits at most `patience` for room in the queue.
    pub(super) async fn push(&self, job: Job, patience: Duration) -> Result<()> {
        match tokio::time::timeout(patience, self.room.acquire()).await {
            Ok(permit) => permit.map_err(|_| closed())?.forget(),
            Err(_) => return Err(overloaded()),
        }
        let mut waiting = self.waiting();
        if waiting.closed {
            return Err(closed());
        }
        waiting.jobs.push_back(job);
        drop(waiting);
        self.ready.add_permits(1);
        Ok(())
    }

    /// Takes the next job; `None` once the queue is closed and empty.
    pub(super) async fn pop(&self) -> Option<Job> {
        // A closed semaphore grants no permits, and the remaining jobs are then taken without one.
        if let Ok(permit) = self.ready.acquire().await {
            permit.forget();
        }
        let job = self.waiting().jobs.pop_front();
        self.room.add_permits(usize::from(job.is_some()));
        job
    }

    /// Refuses new jobs. The threads still finish the waiting ones.
    pub(super) fn close(&self) {
        self.waiting().closed = true;
        self.room.close();
        self.ready.close();
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.jobs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
