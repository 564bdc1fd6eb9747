//! Locks: while somebody has one on an item, only who shows its token may change the item, through whatever door they come.
//!
//! A lock belongs to whom it was given to and ends by itself. A deep one covers everything below its item too.

mod lock;
mod rules;
mod taking;

pub use lock::{LONGEST_LOCK, Lock, MAX_LOCK_OWNER, NewLock};
pub(crate) use rules::{covering, mark_open};
