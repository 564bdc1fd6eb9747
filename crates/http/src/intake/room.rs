//! The room in memory for bodies that are being read: so much for all who have signed in, with a share for each person,
//! and a small part of its own for everybody else, with a share for each address. So nobody who sends slowly keeps
//! others from sending, and no stranger keeps anybody who has signed in from it.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

use tokio::sync::{Semaphore, SemaphorePermit};

use super::Refused;
use crate::request;

/// Bytes for all bodies, and those for bodies of strangers among them. They are counted in steps; the first step of
/// each body counts not.
const HELD: usize = 64 << 20;
const OF_STRANGERS: usize = HELD / 8;
const STEP: usize = 16 << 10;
/// Of each of the two parts, this fraction is the most of one person or address.
const SHARE: usize = 4;

static ROOM: Room = Room::new(HELD - OF_STRANGERS);
static ROOM_OF_STRANGERS: Room = Room::new(OF_STRANGERS);
static SHARES: LazyLock<Mutex<HashMap<Sender, usize>>> = LazyLock::new(Mutex::default);

struct Room {
    steps: Semaphore,
    share: usize,
}

impl Room {
    const fn new(bytes: usize) -> Self {
        Self { steps: Semaphore::const_new(bytes / STEP), share: bytes / STEP / SHARE }
    }
}

/// Who sends.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Sender {
    /// Somebody who has signed in, from any address.
    Person(String),
    /// A stranger.
    Address(IpAddr),
    /// A stranger whose address is not counted.
    Unknown,
}

impl Sender {
    /// Returns the sender of the request under way.
    pub fn current() -> Self {
        match request::senders() {
            (Some(person), _) => Self::Person(person),
            (None, Some(address)) => Self::Address(address),
            (None, None) => Self::Unknown,
        }
    }

    fn room(&self) -> &'static Room {
        if matches!(self, Self::Person(_)) { &ROOM } else { &ROOM_OF_STRANGERS }
    }
}

/// What one body takes of the room, given back when it is dropped.
#[derive(Debug)]
pub struct Taken {
    sender: Sender,
    steps: usize,
    permit: Option<SemaphorePermit<'static>>,
}

impl Taken {
    /// Nothing yet, of whoever makes the request under way.
    pub fn nothing() -> Self {
        Self { sender: Sender::current(), steps: 0, permit: None }
    }

    /// Takes what a body of so many bytes needs.
    pub fn grow(&mut self, length: usize) -> Result<(), Refused> {
        let more = length.div_ceil(STEP).saturating_sub(1 + self.steps);
        if more == 0 {
            return Ok(());
        }
        let (mut shares, room) = (shares(), self.sender.room());
        let taken = shares.get(&self.sender).copied().unwrap_or(0);
        if self.sender != Sender::Unknown && taken + more > room.share {
            return Err(Refused::NoShare);
        }
        let permit = u32::try_from(more).ok().and_then(|more| room.steps.try_acquire_many(more).ok());
        let permit = permit.ok_or(Refused::NoRoom)?;
        match &mut self.permit {
            Some(own) => own.merge(permit),
            None => self.permit = Some(permit),
        }
        *shares.entry(self.sender.clone()).or_default() += more;
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
        if let Some(taken) = shares.get_mut(&self.sender) {
            *taken = taken.saturating_sub(self.steps);
            if *taken == 0 {
                shares.remove(&self.sender);
            }
        }
    }
}

fn shares() -> MutexGuard<'static, HashMap<Sender, usize>> {
    SHARES.lock().unwrap_or_else(PoisonError::into_inner)
}
