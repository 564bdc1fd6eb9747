//! Faults of stored BLOBs.

use crate::words::words;

words! {
    /// The fault of a BLOB in its store.
    FaultState: "the fault of a BLOB";
    /// The store does not have it.
    Missing = "missing",
    /// The store has other bytes, or bytes that cannot be read.
    Damaged = "damaged",
}
