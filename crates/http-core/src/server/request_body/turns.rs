//! Permits for CPU-bound work. Waiters are served in rounds: each user, and each anonymous address, gets one permit per
//! round, so that nobody waits for all the work that another sender has queued.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

use super::memory::Sender;

/// Permits, and the queue for them.
pub struct FairSemaphore(Mutex<Waiting>);

#[derive(Default)]
struct Waiting {
    free: usize,
    /// Waiting senders, once each, in the order in which they are served.
    round: VecDeque<Sender>,
    /// Waiting requests of each sender, oldest first.
    asked: HashMap<Sender, VecDeque<oneshot::Sender<FairPermit>>>,
}

/// A permit, passed to the next waiter when it is dropped.
pub struct FairPermit(Option<Arc<FairSemaphore>>);

impl FairSemaphore {
    /// Creates this many permits.
    pub fn new(count: usize) -> Arc<Self> {
        Arc::new(Self(Mutex::new(Waiting { free: count, ..Waiting::default() })))
    }

    /// Waits for a permit for this sender. Returns `None` when the program is shutting down.
    pub async fn take(self: &Arc<Self>, sender: Sender) -> Option<FairPermit> {
        let come = {
            let mut waiting = self.locked();
            if waiting.free > 0 {
                waiting.free -= 1;
                return Some(FairPermit(Some(self.clone())));
            }
            let (give, come) = oneshot::channel();
            let asked = waiting.asked.entry(sender.clone()).or_default();
            asked.push_back(give);
            if asked.len() == 1 {
                waiting.round.push_back(sender);
            }
            come
        };
        come.await.ok()
    }

    fn locked(&self) -> MutexGuard<'_, Waiting> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Waiting {
    /// Takes the next waiting request and skips cancelled ones. Frees the permit if there is none.
    fn next(&mut self) -> Option<oneshot::Sender<FairPermit>> {
        while let Some(sender) = self.round.pop_front() {
            let Some(asked) = self.asked.get_mut(&sender) else { continue };
            let next = std::iter::from_fn(|| asked.pop_front()).find(|give| !give.is_closed());
            if asked.is_empty() {
                self.asked.remove(&sender);
            } else {
                self.round.push_back(sender);
            }
            if next.is_some() {
                return next;
            }
        }
        self.free += 1;
        None
    }
}

impl Drop for FairPermit {
    fn drop(&mut self) {
        let Some(turns) = self.0.take() else { return };
        loop {
            let next = turns.locked().next();
            let Some(next) = next else { return };
            // A waiter that was cancelled just now passes the permit on. The permit must not be dropped here, or it
            // would return to this function.
            match next.send(Self(Some(turns.clone()))) {
                Ok(()) => return,
                Err(mut turn) => drop(turn.0.take()),
            }
        }
    }
}
