//! Locks, and the limits on their duration and size.

use model::{Id, Timestamp};

/// Maximum duration of a lock in seconds. A client that needs it longer refreshes it.
pub const MAX_LOCK: u64 = 24 * 60 * 60;

/// Minimum duration of a lock in seconds, whatever the client requests (RFC 4918, section 10.7, leaves it to the
/// server). It keeps clients from creating large numbers of locks that end at once.
pub const SHORTEST_LOCK: u64 = 30;

/// Maximum size in bytes of the client's description of the owner.
pub const MAX_LOCK_OWNER: usize = 4_096;

/// Beginning of the tokens of locks that office servers hold.
pub(super) const OFFICE_LOCK_PREFIX: &str = "urn:x-strongroom-editor:";

/// Returns whether a lock is held by an office server, for everyone who edits in it.
pub(super) fn is_office_lock(token: &str) -> bool {
    token.starts_with(OFFICE_LOCK_PREFIX)
}

/// A granted lock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lock {
    /// Secret that proves that a request comes from the holder.
    pub(super) token: String,
    /// Set if the caller holds the lock or may end it, and may therefore see the token.
    pub(super) shows_token: bool,
    /// The locked item.
    pub item: Id,
    /// Its path in the farm, if known.
    pub path: Option<String>,
    /// True if it is a container.
    pub collection: bool,
    /// The user who holds it.
    pub holder: Id,
    /// The client's description of the owner: XML.
    pub owner: String,
    /// True for an exclusive lock, which admits no other lock beside it.
    pub exclusive: bool,
    /// True if it covers everything below the item.
    pub deep: bool,
    /// Start time.
    pub created_at: Timestamp,
    /// Time at which it ends unless it is refreshed.
    pub expires_at: Timestamp,
}

impl Lock {
    /// Returns the token; `None` for a caller who neither holds the lock nor may end it.
    pub fn token(&self) -> Option<&str> {
        self.shows_token.then_some(self.token.as_str())
    }

    /// Returns the token whoever the caller is, to be compared with the tokens in a request's conditions. It must not
    /// be shown.
    pub fn secret(&self) -> &str {
        &self.token
    }
}

/// Parameters of a requested lock.
#[derive(Clone, Debug)]
pub struct NewLock {
    /// True for an exclusive lock, which admits no other lock beside it.
    pub exclusive: bool,
    /// True if it covers everything below the item.
    pub deep: bool,
    /// The client's description of the owner: XML of at most 4096 bytes.
    pub owner: String,
    /// Requested duration in seconds; clamped to [`SHORTEST_LOCK`]..=[`MAX_LOCK`].
    pub seconds: u64,
}
