//! The room in memory for bodies that are being read: so much for all, and a share of it for each person and each
//! address, so that nobody who sends slowly keeps others from sending.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

use tokio::sync::{Semaphore, SemaphorePermit};

use super::Refused;
use crate::request;

/// Bytes for all bodies, and those of one person or address. They are counted in steps; the first step of each body
/// counts not.
const HELD: usize = 64 << 20;
const SHARE: usize = HELD / 4;
const STEP: usize = 16 << 10;

static ROOM: Semaphore = Semaphore::const_new(HELD / STEP);
static SHARES: LazyLock<Mutex<HashMap<Sender, usize>>> = LazyLock::new(Mutex::default);

/// Who sends.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Sender {
    Person(String),
    Address(IpAddr),
}

/// What one body takes of the room, given back when it is dropped.
pub struct Taken {
    senders: Vec<Sender>,
    steps: usize,
    permit: Option<SemaphorePermit<'static>>,
}

impl Taken {
    /// Nothing yet, of whoever makes the request under way.
    pub fn nothing() -> Self {
        let (person, address) = request::senders();
        let senders = person.map(Sender::Person).into_iter().chain(address.map(Sender::Address)).collect();
        Self { senders, steps: 0, permit: None }
    }

    /// Takes what a body of so many bytes needs.
    pub fn grow(&mut self, length: usize) -> Result<(), Refused> {
        let more = length.div_ceil(STEP).saturating_sub(1 + self.steps);
        if more == 0 {
            return Ok(());
        }
        let mut shares = shares();
        let taken = |sender: &Sender| shares.get(sender).copied().unwrap_or(0);
        if self.senders.iter().any(|sender| taken(sender) + more > SHARE / STEP) {
            return Err(Refused::NoShare);
        }
        let permit = u32::try_from(more).ok().and_then(|more| ROOM.try_acquire_many(more).ok());
        let permit = permit.ok_or(Refused::NoRoom)?;
        match &mut self.permit {
            Some(own) => own.merge(permit),
            None => self.permit = Some(permit),
        }
        for sender in &self.senders {
            *shares.entry(sender.clone()).or_default() += more;
        }
        self.steps += more;
        Ok(())
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        if self.steps == 0 {
            return;
        }
        let mut shares = shares();
        for sender in &self.senders {
            if let Some(taken) = shares.get_mut(sender) {
                *taken = taken.saturating_sub(self.steps);
                if *taken == 0 {
                    shares.remove(sender);
                }
            }
        }
    }
}

fn shares() -> MutexGuard<'static, HashMap<Sender, usize>> {
    SHARES.lock().unwrap_or_else(PoisonError::into_inner)
}
