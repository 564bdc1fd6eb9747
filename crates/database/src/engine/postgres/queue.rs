//! Owns the bounded queue between callers and the threads that own connections.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use model::Result;
use tokio::sync::{Semaphore, oneshot};

use crate::engine::errors::{closed, overloaded};
use crate::engine::queued::{Read, Write};

/// A closure that waits for a connection.
pub(super) enum Job {
    Read(Read),
    Write(Write),
}

/// A first-in, first-out queue for many callers and many threads. A job goes to the thread that became idle last: its
/// connection has the most plans and pages at hand.
pub(super) struct Queue {
    state: Mutex<State>,
    room: Semaphore,
}

struct State {
    /// Jobs for which no thread is idle.
    jobs: VecDeque<Job>,
    /// The idle threads, the next one last.
    idle: Vec<oneshot::Sender<Job>>,
    closed: bool,
}

impl Queue {
    pub(super) fn new(bound: usize) -> Self {
        Self {
            state: Mutex::new(State { jobs: VecDeque::new(), idle: Vec::new(), closed: false }),
            room: Semaphore::new(bound.max(1)),
        }
    }

    /// Hands a job to an idle thread, or appends it. Waits at most `patience` for room in the queue.
    pub(super) async fn push(&self, mut job: Job, patience: Duration) -> Result<()> {
        let permit = match tokio::time::timeout(patience, self.room.acquire()).await {
            Ok(permit) => permit.map_err(|_| closed())?,
            Err(_) => return Err(overloaded()),
        };
        let mut state = self.state();
        if state.closed {
            return Err(closed());
        }
        while let Some(thread) = state.idle.pop() {
            match thread.send(job) {
                Ok(()) => return Ok(()),
                // The thread has gone.
                Err(returned) => job = returned,
            }
        }
        state.jobs.push_back(job);
        permit.forget();
        Ok(())
    }

    /// Takes the next job; `None` once the queue is closed and empty. A thread that has no connection comes after all
    /// others: one that cannot connect must not take the jobs of those that can.
    pub(super) async fn pop(&self, is_connected: bool) -> Option<Job> {
        let handed = {
            let mut state = self.state();
            if let Some(job) = state.jobs.pop_front() {
                self.room.add_permits(1);
                return Some(job);
            }
            if state.closed {
                return None;
            }
            let (sender, handed) = oneshot::channel();
            match is_connected {
                true => state.idle.push(sender),
                false => state.idle.insert(0, sender),
            }
            handed
        };
        // While a thread is idle the queue is empty. Closing it drops the sender.
        handed.await.ok()
    }

    /// Refuses new jobs. The threads still finish the waiting ones.
    pub(super) fn close(&self) {
        let mut state = self.state();
        state.closed = true;
        state.idle.clear();
        self.room.close();
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
