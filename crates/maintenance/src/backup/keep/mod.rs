//! Maintenance of existing sets: listing, verifying and removing them, and forgetting backups whose location is lost.
//!
//! This module must not know how a set is made.

mod forget;
mod listing;
pub(crate) mod prune;
mod verify;

pub use forget::{Forgotten, forget_backup};
pub use listing::{Listing, SetSummary, list_backups, prune_backups, remove_backup};
pub use prune::{Pruned, Retain};
pub use verify::{Verified, verify_backups};
