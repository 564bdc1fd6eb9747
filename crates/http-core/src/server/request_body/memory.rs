//! Memory budget for request bodies that are being read. Signed-in users share one part; each user has a quota in it,
//! and all users at one address have a larger one. Anonymous senders share a small part of their own, with a quota for
//! each address. Therefore no slow sender blocks others, whatever accounts they use, and no anonymous sender blocks
//! signed-in users.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

use tokio::sync::{Semaphore, SemaphorePermit};

use super::refusal::Refused;
use crate::server::request;

/// Bytes for all bodies, and the part of them for anonymous senders. Bytes are counted in steps; the first step of each
/// body is free.
const BODY_MEMORY: usize = 64 << 20;
const ANONYMOUS_MEMORY: usize = BODY_MEMORY / 8;
const RESERVE_STEP: usize = 16 << 10;
/// Divisor for the quota of one user, or of one anonymous address, in their part.
const SHARE: usize = 4;
/// Divisor for the quota of all signed-in users at one address.
const OFFICE: usize = 2;

static BUDGET: Room = Room::new(BODY_MEMORY - ANONYMOUS_MEMORY);
static ROOM_OF_STRANGERS: Room = Room::new(ANONYMOUS_MEMORY);
static SHARES: LazyLock<Mutex<HashMap<Quota, usize>>> = LazyLock::new(Mutex::default);

#[derive(Debug)]
struct Room {
    steps: Semaphore,
    all: usize,
}

impl Room {
    const fn new(bytes: usize) -> Self {
        Self { steps: Semaphore::const_new(bytes / RESERVE_STEP), all: bytes / RESERVE_STEP }
    }
}

/// Holder of a quota.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Quota {
    One(Sender),
    /// All signed-in users at one address.
    SharedAddress(IpAddr),
}

impl Quota {
    /// Returns the quotas that apply to the current request, each with its divisor of the budget.
    fn current() -> Vec<(Self, usize)> {
        let (sender, address) = (Sender::current(), request::senders().1);
        let office = address.filter(|_| matches!(sender, Sender::Person(_)));
        let one = Some(sender).filter(|sender| *sender != Sender::Unknown).map(|sender| (Self::One(sender), SHARE));
        one.into_iter().chain(office.map(|address| (Self::SharedAddress(address), OFFICE))).collect()
    }
}

/// Sender of a request.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Sender {
    /// A signed-in user, at any address.
    Person(String),
    /// An anonymous sender.
    Address(IpAddr),
    /// An anonymous sender whose address is not counted.
    Unknown,
}

impl Sender {
    /// Returns the sender of the current request.
    pub fn current() -> Self {
        match request::senders() {
            (Some(person), _) => Self::Person(person),
            (None, Some(address)) => Self::Address(address),
            (None, None) => Self::Unknown,
        }
    }
}

/// Memory reserved for one body, released when it is dropped.
#[derive(Debug)]
pub struct BodyMemory {
    room: &'static Room,
    shares: Vec<(Quota, usize)>,
    steps: usize,
    permit: Option<SemaphorePermit<'static>>,
}

impl BodyMemory {
    /// Creates an empty reservation for the sender of the current request.
    pub fn nothing() -> Self {
        let room = if matches!(Sender::current(), Sender::Person(_)) { &BUDGET } else { &ROOM_OF_STRANGERS };
        Self { room, shares: Quota::current(), steps: 0, permit: None }
    }

    /// Reserves what a body of this length needs.
    pub fn grow(&mut self, length: usize) -> Result<(), Refused> {
        let more = length.div_ceil(RESERVE_STEP).saturating_sub(1 + self.steps);
        if more == 0 {
            return Ok(());
        }
        let mut shares = shares();
        let full = |(share, fraction): &(Quota, usize)| {
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

fn shares() -> MutexGuard<'static, HashMap<Quota, usize>> {
    SHARES.lock().unwrap_or_else(PoisonError::into_inner)
}
