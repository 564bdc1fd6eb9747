//! Backups: a farm's databases and BLOBs as of one point in time, in a place of their own, each thing stored once over all
//! generations.
//!
//! A set consists of lists of digests; what they name lies in one BLOB store, plain, compressed or sealed. The manifest is
//! written last. This module knows nothing of how a set is brought back.
//!
//! Arrows point one way: `take` and `keep` know `place`, and all of them know `format`.

pub(crate) mod format;
#[cfg(fuzzing)]
pub(crate) mod fuzzing;
mod keep;
pub(crate) mod place;
pub(crate) mod take;

pub use keep::{
    Forgotten, Listing, Pruned, Retain, SetSummary, Verified, forget_backup, list_backups, prune_backups,
    remove_backup, verify_backups,
};
pub(crate) use place::Scratch;
pub use place::{BackupPlace, Unreadable};
pub use take::{BackupOptions, BackupSummary, PostgresMethod, backup};
