//! The place of backups: its address, its marker, sets and small files, the lock on it, directories for copies on their
//! way.
//!
//! This module knows what is written only by its format, and neither databases nor what is kept for how long.

pub(crate) mod destination;
pub(crate) mod ground;
pub(crate) mod location;
mod lock;
pub(crate) mod papers;
mod scratch;

pub use destination::Unreadable;
pub use location::BackupPlace;
pub(crate) use scratch::Scratch;
