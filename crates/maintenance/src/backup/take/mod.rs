//! Making a backup: the databases, the BLOBs they need, and the manifest at the end.
//!
//! This module must not know how a set is read.

mod census;
pub(crate) mod chunks;
mod clusters;
mod copying;
mod databases;
mod options;
mod pace;
mod run;

pub use options::{BackupOptions, PostgresMethod};
pub use run::{BackupSummary, backup};
