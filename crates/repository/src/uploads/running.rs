//! Uploads that are running, and the room on the disk that each person's claim.

use std::collections::HashMap;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex};

use model::Id;

/// The running uploads of everybody.
#[derive(Default)]
pub(crate) struct Unfinished {
    /// Most bytes of one person; 0 for any number.
    pub(super) limit: AtomicU64,
    pub(super) people: Mutex<HashMap<Id, Arc<Person>>>,
}

#[derive(Default)]
pub(super) struct Person {
    /// Bytes of the running uploads.
    pub(super) held: AtomicU64,
    /// Who has it counts and adds, one after the other.
    pub(super) turn: tokio::sync::Mutex<()>,
}
