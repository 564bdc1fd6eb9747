//! Owns the bounded queue between callers and the threads that own connections.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use model::Result;
use tokio::sync::Semaphore;

use crate::engine::errors::{closed, overloaded};
use crate::engine::job::{Read, Write};

/// A closure that waits for a connection.
pub(super) enum Job {
    Read(Read),
    Write(Write),
}

/// First in, first out, for many callers and many threads.
pub(super) struct Queue {
    // None once the queue is closed and drained.
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

    /// Puts a job at the end, waiting for room no longer than `patience`.
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

    /// The next job; none when the queue is closed and everything in it was taken.
    pub(super) async fn pop(&self) -> Option<Job> {
        // A closed semaphore hands out no permits; what is left is then taken without.
        if let Ok(permit) = self.ready.acquire().await {
            permit.forget();
        }
        let job = self.waiting().jobs.pop_front();
        self.room.add_permits(usize::from(job.is_some()));
        job
    }

    /// Refuses new jobs and lets the threads finish what waits.
    pub(super) fn close(&self) {
        self.waiting().closed = true;
        self.room.close();
        self.ready.close();
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.jobs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
