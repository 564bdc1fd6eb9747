//! The caller: finding items with the rights on them, deciding, and deciding again inside transactions. Every other room
//! asks here.

pub(crate) mod access;
pub(crate) mod caller;
pub(crate) mod guard;
pub(crate) mod idempotency;
pub(crate) mod known;
pub(crate) mod locate;
pub(crate) mod lookup;
pub(crate) mod path_cache;
pub(crate) mod refusals;
pub(crate) mod root;
pub(crate) mod target;
