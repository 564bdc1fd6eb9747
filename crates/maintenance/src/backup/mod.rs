//! Backups: a farm's databases and BLOBs as of one point in time, in a separate location. Each object is stored once
//! across all generations.
//!
//! A set consists of lists of digests. The objects they reference are in one BLOB store: plain, compressed or
//! encrypted. The manifest is written last. This module does not know how a set is restored.
//!
//! Dependencies point one way: `take` and `keep` use `place`, and all of them use `format`. `validity` is below these.

pub(crate) mod format;
#[cfg(fuzzing)]
pub(crate) mod fuzzing;
mod keep;
pub(crate) mod place;
pub(crate) mod take;
mod validity;

pub use keep::{
    Forgotten, Listing, Pruned, Retain, SetSummary, Verified, forget_backup, list_backups, prune_backups,
    remove_backup, verify_backups,
};
pub(crate) use place::TemporaryDirectory;
pub use place::{BackupLocation, Unreadable};
pub use take::{BackupOptions, BackupSummary, PostgresMethod, backup};
