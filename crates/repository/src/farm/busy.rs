//! Counts the tasks of one kind that each user has running or waiting. Independent of the task and of the user's
//! identity.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use model::Id;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Limits for tasks of one kind.
pub(crate) struct UserLimits {
    at_once: usize,
    most: usize,
    people: Mutex<HashMap<Id, Person>>,
}

/// The tasks that one user has running or waiting.
struct Person {
    pieces: usize,
    permits: Arc<Semaphore>,
}

/// A task of a user, counted until it is dropped.
pub(crate) struct CountedTask<'a> {
    busy: &'a UserLimits,
    person: Id,
    permits: Arc<Semaphore>,
}

/// A running task, whose permit is released when this is dropped.
pub(crate) struct RunningTask<'a> {
    _permit: OwnedSemaphorePermit,
    _work: CountedTask<'a>,
}

impl UserLimits {
    /// Allows each user `most` tasks at a time.
    pub(crate) fn new(most: usize) -> Self {
        Self::with_turns(most, most)
    }

    /// Allows each user `at_once` running tasks, and `most` including those that wait for a permit.
    pub(crate) fn with_turns(at_once: usize, most: usize) -> Self {
        Self { at_once, most, people: Mutex::default() }
    }

    /// Begins a task, unless the user has too many.
    pub(crate) fn begin(&self, person: Id) -> Option<CountedTask<'_>> {
        let mut people = self.locked();
        let new = || Person { pieces: 0, permits: Arc::new(Semaphore::new(self.at_once)) };
        let of_person = people.entry(person).or_insert_with(new);
        if of_person.pieces >= self.most {
            return None;
        }
        of_person.pieces += 1;
        Some(CountedTask { busy: self, person, permits: Arc::clone(&of_person.permits) })
    }

    /// Begins a task as soon as it gets a permit, unless the user has too many or this takes longer than `patience`.
    pub(crate) async fn acquire(&self, person: Id, patience: Duration) -> Option<RunningTask<'_>> {
        let work = self.begin(person)?;
        let permit = tokio::time::timeout(patience, Arc::clone(&work.permits).acquire_owned()).await.ok()?.ok()?;
        Some(RunningTask { _permit: permit, _work: work })
    }

    fn locked(&self) -> MutexGuard<'_, HashMap<Id, Person>> {
        self.people.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for CountedTask<'_> {
    fn drop(&mut self) {
        let mut people = self.busy.locked();
        if let Some(of_person) = people.get_mut(&self.person) {
            of_person.pieces -= 1;
            if of_person.pieces == 0 {
                people.remove(&self.person);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOON: Duration = Duration::from_millis(20);
    const PATIENT: Duration = Duration::from_secs(60);

    #[tokio::test(start_paused = true)]
    async fn each_person_has_turns_of_their_own_and_few_that_wait() {
        let busy = UserLimits::with_turns(2, 3);
        let (ann, bob) = (Id::new(1), Id::new(2));
        let first = busy.acquire(ann, SOON).await.unwrap();
        let second = busy.acquire(ann, SOON).await.unwrap();
        assert!(busy.acquire(ann, SOON).await.is_none(), "a permit that does not come");
        assert!(busy.acquire(bob, SOON).await.is_some(), "a permit of another person");
        let third = busy.acquire(ann, PATIENT);
        let too_many = async {
            tokio::task::yield_now().await;
            let refused = busy.acquire(ann, PATIENT).await.is_none();
            drop(first);
            refused
        };
        let (third, refused) = tokio::join!(third, too_many);
        assert!(third.is_some());
        assert!(refused);
        drop((third, second));
        assert!(busy.locked().is_empty(), "nobody is remembered who has nothing under way");
    }
}
