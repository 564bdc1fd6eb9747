//! Limits on the number of concurrent children, in total and per user. A permit is released when its holder drops it,
//! which happens once the child is gone.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use model::{Code, Error, Id, Result};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Number of remembered users from which those without a permit are forgotten.
const MANY: usize = 1_000;

/// The permits for one kind of child.
pub struct ChildPermits {
    all: Arc<Semaphore>,
    most: usize,
    each: usize,
    users: Mutex<HashMap<Id, Weak<Semaphore>>>,
}

/// A permit for one child.
#[derive(Debug)]
pub struct ChildPermit {
    _of_all: OwnedSemaphorePermit,
    _of_user: OwnedSemaphorePermit,
}

impl ChildPermits {
    /// Creates `most` permits in total, and `each` per user.
    pub fn new(most: usize, each: usize) -> Self {
        Self { all: Arc::new(Semaphore::new(most)), most, each, users: Mutex::default() }
    }

    /// Waits for a permit. A user who waits for one of their own permits does not block other users.
    pub async fn take(&self, user: Id, longest: Duration) -> Result<ChildPermit> {
        let own = self.own(user);
        let both = async {
            let own = own.acquire_owned().await?;
            Ok((self.all.clone().acquire_owned().await?, own))
        };
        let taken: std::result::Result<std::result::Result<_, tokio::sync::AcquireError>, _> =
            tokio::time::timeout(longest, both).await;
        match taken {
            Ok(Ok((of_all, of_user))) => Ok(ChildPermit { _of_all: of_all, _of_user: of_user }),
            _ => {
                Err(Error::unavailable("too many documents are being read: try again in a minute")
                    .with_code(Code::Busy))
            }
        }
    }

    /// Waits until all permits have been released.
    pub async fn wait_for_all(&self) {
        // Cannot fail: the semaphore is never closed and has this many permits.
        let _ = self.all.acquire_many(u32::try_from(self.most).unwrap_or(u32::MAX)).await;
    }

    fn own(&self, user: Id) -> Arc<Semaphore> {
        let mut users = self.users.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(own) = users.get(&user).and_then(Weak::upgrade) {
            return own;
        }
        if users.len() >= MANY {
            users.retain(|_, own| own.strong_count() > 0);
        }
        let own = Arc::new(Semaphore::new(self.each));
        users.insert(user, Arc::downgrade(&own));
        own
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOON: Duration = Duration::from_millis(50);
    const PATIENT: Duration = Duration::from_secs(60);

    #[tokio::test]
    async fn one_user_cannot_take_the_turns_of_others() {
        let permits = ChildPermits::new(2, 1);
        let first = permits.take(Id::new(1), PATIENT).await.unwrap();
        assert_eq!(permits.take(Id::new(1), SOON).await.unwrap_err().code(), "busy");
        let second = permits.take(Id::new(2), PATIENT).await.unwrap();
        assert_eq!(permits.take(Id::new(3), SOON).await.unwrap_err().code(), "busy");
        drop(first);
        permits.take(Id::new(3), PATIENT).await.unwrap();
        permits.take(Id::new(1), PATIENT).await.unwrap();
        drop(second);
        permits.wait_for_all().await;
    }

    #[tokio::test]
    async fn users_without_a_turn_are_forgotten() {
        let permits = ChildPermits::new(1, 1);
        for user in 0..3 * MANY as i64 {
            permits.take(Id::new(user), PATIENT).await.unwrap();
        }
        assert!(permits.users.lock().unwrap().len() <= MANY);
    }
}
