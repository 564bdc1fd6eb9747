//! In-memory state of the identity functions.

use std::sync::atomic::AtomicI64;

use crate::farm::busy::UserLimits;

use super::{cache, password};

/// In-memory state of the identity functions, one for each open farm.
pub(crate) struct Identities {
    pub(super) hasher: password::Hasher,
    pub(super) verified: cache::VerifiedPasswords,
    /// Users whose change of their own password is in progress.
    pub(super) changes: UserLimits,
    pub(super) held: cache::Credentials,
    pub(super) groups: cache::GroupCache,
    pub(super) names: cache::NameCache,
    pub(super) touches: cache::RecentTouches,
    /// Time, in microseconds, at which this process last purged old counters and sessions.
    pub(super) purged_at: AtomicI64,
}

impl Identities {
    /// Returns an empty state.
    ///
    /// # Errors
    /// `Unavailable` when the operating system gives no random numbers.
    pub(crate) fn new() -> model::Result<Self> {
        Ok(Self {
            hasher: password::Hasher::new(),
            verified: cache::VerifiedPasswords::new()?,
            changes: UserLimits::new(1),
            held: cache::Credentials::default(),
            groups: cache::GroupCache::default(),
            names: cache::NameCache::default(),
            touches: cache::RecentTouches::default(),
            purged_at: AtomicI64::new(0),
        })
    }
}
