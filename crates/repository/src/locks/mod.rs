//! Locks. While a user holds a lock on an item, only requests that present its token may change the item, whatever the
//! protocol.
//!
//! A lock belongs to the user who took it, or to an office server for everyone who edits in it, and ends by
//! itself. A deep lock also covers everything below its item.

mod lock;
mod office;
mod rules;
mod taking;

pub use lock::{Lock, MAX_LOCK, MAX_LOCK_OWNER, NewLock};
pub use office::OfficeLockChange;
pub(crate) use rules::{covering, set_locked_by};
