//! The backup location: its address, marker, sets and small files, its lock, and directories for temporary copies.
//!
//! This module uses only the format of the content. It knows nothing about databases or retention.

pub(crate) mod destination;
pub(crate) mod ground;
pub(crate) mod location;
mod lock;
pub(crate) mod papers;
mod scratch;

pub use destination::Unreadable;
pub use location::BackupPlace;
pub(crate) use scratch::Scratch;
