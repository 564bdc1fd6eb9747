//! Turns for work that keeps a processor busy. Who waits for one is served in rounds: each person, and each address of
//! strangers, has one piece of work in each round, so that nobody waits for all that another asked for.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

use super::memory::Sender;

/// Turns, and who waits for one.
pub struct Turns(Mutex<Waiting>);

#[derive(Default)]
struct Waiting {
    free: usize,
    /// Senders that wait, once each, in the order in which they are served.
    round: VecDeque<Sender>,
    /// Waiting requests of each sender, oldest first.
    asked: HashMap<Sender, VecDeque<oneshot::Sender<Turn>>>,
}

/// A turn, given on when it is dropped.
pub struct Turn(Option<Arc<Turns>>);

impl Turns {
    /// So many turns.
    pub fn new(count: usize) -> Arc<Self> {
        Arc::new(Self(Mutex::new(Waiting { free: count, ..Waiting::default() })))
    }

    /// Waits for a turn on behalf of somebody; none comes when the program is being stopped.
    pub async fn take(self: &Arc<Self>, sender: Sender) -> Option<Turn> {
        let come = {
            let mut waiting = self.locked();
            if waiting.free > 0 {
                waiting.free -= 1;
                return Some(Turn(Some(self.clone())));
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
    /// Takes the next waiting request and skips those that were given up. Frees the turn if there is none.
    fn next(&mut self) -> Option<oneshot::Sender<Turn>> {
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

impl Drop for Turn {
    fn drop(&mut self) {
        let Some(turns) = self.0.take() else { return };
        loop {
            let next = turns.locked().next();
            let Some(next) = next else { return };
            // Who stopped waiting just now leaves it to the next; the turn itself must not come back here.
            match next.send(Self(Some(turns.clone()))) {
                Ok(()) => return,
                Err(mut turn) => drop(turn.0.take()),
            }
        }
    }
}
