//! Unneeded copies of BLOBs on their way to deletion.

use crate::words::words;

words! {
    /// The reason why a copy of a BLOB is not needed.
    ReclaimReason: "the reason for deleting a copy of a BLOB";
    /// No document has the bytes any more.
    Deleted = "deleted",
    /// The bytes have been moved to another store.
    Moved = "moved",
    /// No database ever referenced the bytes, or none does any more.
    Orphan = "orphan",
}

words! {
    /// The progress of a copy towards its deletion.
    ReclaimState: "the state of an unneeded copy of a BLOB";
    /// Kept for a while; a reference to it may still be added.
    Quarantined = "quarantined",
    /// The deletion has begun, and references to it are refused.
    Deleting = "deleting",
}

words! {
    /// The reason why a BLOB is pending deletion, as administrators see it. It covers BLOBs that still have a
    /// reference, which are not among the unneeded copies yet.
    PendingReason: "the reason why a BLOB is pending deletion";
    /// The reference still exists, but no version uses it.
    Unreferenced = "unreferenced",
    /// No document has the bytes any more.
    Deleted = "deleted",
    /// The bytes have been moved to another store.
    Moved = "moved",
    /// No database ever referenced the bytes, or none does any more.
    Orphan = "orphan",
}

impl From<ReclaimReason> for PendingReason {
    fn from(reason: ReclaimReason) -> Self {
        match reason {
            ReclaimReason::Deleted => Self::Deleted,
            ReclaimReason::Moved => Self::Moved,
            ReclaimReason::Orphan => Self::Orphan,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_keeps_its_word_when_it_is_shown() {
        for reason in ReclaimReason::ALL {
            assert_eq!(PendingReason::from(reason).as_str(), reason.as_str());
        }
    }
}
