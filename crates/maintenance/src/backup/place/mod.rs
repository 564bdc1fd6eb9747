//! The backup location: its address, marker, sets and small files, its lock, and directories for temporary copies.
//!
//! This module uses only the format of the content. It knows nothing about databases or retention.

pub(crate) mod destination;
mod first_use;
mod lease;
pub(crate) mod location;
mod lock;
mod scratch;
pub(crate) mod small_files;

pub use destination::Unreadable;
pub use location::BackupLocation;
pub(crate) use scratch::TemporaryDirectory;
