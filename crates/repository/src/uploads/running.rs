//! Uploads in progress, and the disk space that each user's uploads claim.

use std::collections::HashMap;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex};

use model::Id;

/// The uploads in progress of all users.
#[derive(Default)]
pub(crate) struct Unfinished {
    /// Maximum number of bytes for one user; 0 for no limit.
    pub(super) limit: AtomicU64,
    pub(super) people: Mutex<HashMap<Id, Arc<UserClaims>>>,
}

#[derive(Default)]
pub(super) struct UserClaims {
    /// Bytes of the uploads in progress.
    pub(super) held: AtomicU64,
    /// Lock held while counting and adding, so that claims of one user take turns.
    pub(super) lock: tokio::sync::Mutex<()>,
}
