//! Backups as the farm records them.

use crate::words::words;

words! {
    /// State of a recorded backup.
    BackupState: "the state of a backup";
    /// Has not ended.
    Running = "running",
    /// Complete, and at its destination.
    Kept = "kept",
    /// Ended without a complete set.
    Failed = "failed",
    /// Removed from its destination, or forgotten by the farm.
    Removed = "removed",
}
