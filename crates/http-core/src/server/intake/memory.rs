//! The room in memory for bodies that are being read: so much for all who have signed in, with a share for each person
//! and a larger one for all at one address, and a small part of its own for everybody else, with a share for each
//! address. So nobody who sends slowly keeps others from sending, whatever accounts they have, and no stranger keeps
//! anybody who has signed in from it.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

use tokio::sync::{Semaphore, SemaphorePermit};

use super::refusal::Refused;
use crate::server::request;

/// Bytes for all bodies, and those for bodies of strangers among them. They are counted in steps; the first step of
/// each body counts not.
const HELD: usize = 64 << 20;
const OF_STRANGERS: usize = HELD / 8;
const STEP: usize = 16 << 10;
/// One person, or one address of strangers, takes at most the part divided by this.
const SHARE: usize = 4;
/// All who have signed in from one address take at most their part divided by this.
const OFFICE: usize = 2;

static ROOM: Room = Room::new(HELD - OF_STRANGERS);
static ROOM_OF_STRANGERS: Room = Room::new(OF_STRANGERS);
static SHARES: LazyLock<Mutex<HashMap<Share, usize>>> = LazyLock::new(Mutex::default);

#[derive(Debug)]
struct Room {
    steps: Semaphore,
    all: usize,
}

impl Room {
    const fn new(bytes: usize) -> Self {
        Self { steps: Semaphore::const_new(bytes / STEP), all: bytes / STEP }
    }
}

/// Who has a share.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Share {
    One(Sender),
    /// All who have signed in and send from one address.
    Office(IpAddr),
}

impl Share {
    /// Returns whose shares count for the request under way, and what fraction of the room each of them is.
    fn current() -> Vec<(Self, usize)> {
        let (sender, address) = (Sender::current(), request::senders().1);
        let office = address.filter(|_| matches!(sender, Sender::Person(_)));
        let one = Some(sender).filter(|sender| *sender != Sender::Unknown).map(|sender| (Self::One(sender), SHARE));
        one.into_iter().chain(office.map(|address| (Self::Office(address), OFFICE))).collect()
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
}

/// What one body takes of the room, given back when it is dropped.
#[derive(Debug)]
pub struct BodyMemory {
    room: &'static Room,
    shares: Vec<(Share, usize)>,
    steps: usize,
    permit: Option<SemaphorePermit<'static>>,
}

impl BodyMemory {
    /// Nothing yet, of whoever makes the request under way.
    pub fn nothing() -> Self {
        let room = if matches!(Sender::current(), Sender::Person(_)) { &ROOM } else { &ROOM_OF_STRANGERS };
        Self { room, shares: Share::current(), steps: 0, permit: None }
    }

    /// Takes what a body of so many bytes needs.
    pub fn grow(&mut self, length: usize) -> Result<(), Refused> {
        let more = length.div_ceil(STEP).saturating_sub(1 + self.steps);
        if more == 0 {
            return Ok(());
        }
        let mut shares = shares();
        let full = |(share, fraction): &(Share, usize)| {
            shares.get(share).copied().unwrap_or(0) + more > self.room.all / fraction
        };
        if self.shares.iter().any(full) {
            return Err(Refused::NoShare);
        }
        let permit = u32::try_from(more).ok().and_then(|more| self.room.steps.try_acquire_many(more).ok());
        let permit = permit.ok_or(Refused::NoRoom)?;
        match &mut self.permit {
            Some(own) => own.merge(permit),
            None => self.permit = Some(permit),
        }
        for (share, _) in &self.shares {
            *shares.entry(share.clone()).or_default() += more;
        }
        self.steps += more;
        Ok(())
    }
}

impl Drop for BodyMemory {
    fn drop(&mut self) {
        if self.steps == 0 {
            return;
        }
        let mut shares = shares();
        for (share, _) in &self.shares {
            if let Some(taken) = shares.get_mut(share) {
                *taken = taken.saturating_sub(self.steps);
                if *taken == 0 {
                    shares.remove(share);
                }
            }
        }
    }
}

fn shares() -> MutexGuard<'static, HashMap<Share, usize>> {
    SHARES.lock().unwrap_or_else(PoisonError::into_inner)
}
