//! A lock, and how long and how large one may be.

use model::{Id, Timestamp};

/// Longest time in seconds for which a lock is given; who needs it longer refreshes it.
pub const LONGEST_LOCK: u64 = 24 * 60 * 60;

/// Shortest time in seconds for which a lock is given, whatever is asked for (RFC 4918, section 10.7, leaves it to the
/// server): nobody makes locks that have ended at once in great numbers.
pub const SHORTEST_LOCK: u64 = 30;

/// Most bytes of what a client says about the owner.
pub const MAX_LOCK_OWNER: usize = 4_096;

/// A lock as it was given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lock {
    /// The secret that shows that a request comes from who holds it.
    pub token: String,
    /// The item that was locked.
    pub item: Id,
    /// Its path in the farm, where that is known.
    pub path: Option<String>,
    /// Whether it holds others.
    pub collection: bool,
    /// Who holds it.
    pub holder: Id,
    /// What the client said about who that is: XML.
    pub owner: String,
    /// Whether nobody else may have one too.
    pub exclusive: bool,
    /// Whether it covers everything below the item.
    pub deep: bool,
    /// Since when.
    pub created_at: Timestamp,
    /// When it ends unless it is refreshed.
    pub expires_at: Timestamp,
}

/// The lock that somebody wants.
#[derive(Clone, Debug)]
pub struct NewLock {
    /// Whether nobody else may have one too.
    pub exclusive: bool,
    /// Whether it covers everything below the item.
    pub deep: bool,
    /// What the client says about its owner: XML of at most 4096 bytes.
    pub owner: String,
    /// For how long, in seconds; [`SHORTEST_LOCK`] to [`LONGEST_LOCK`] are given.
    pub seconds: u64,
}
