//! Access control: finding items together with the caller's rights, authorising, and checking again inside
//! transactions. All other modules go through this one.

pub(crate) mod access;
pub(crate) mod caller;
pub(crate) mod errors;
pub(crate) mod guard;
pub(crate) mod idempotency;
pub(crate) mod known;
pub(crate) mod locate;
pub(crate) mod lookup;
pub(crate) mod path_cache;
mod recorded;
pub(crate) mod root;
pub(crate) mod target;
