//! Options and result of restoring single items.

use std::collections::BTreeMap;
use std::path::PathBuf;

use model::{Id, NodeKind, NodePath};

use crate::backup::BackupLocation;

/// Options of an item restore.
#[derive(Clone, Debug)]
pub struct ItemsOptions {
    /// Backup location.
    pub source: BackupLocation,
    /// File with the key or passphrase, for encrypted backups.
    pub key_file: Option<PathBuf>,
    /// Set to use. None for the latest.
    pub set: Option<Id>,
    /// Path of a site, library, list or document at the time of the backup.
    pub path: NodePath,
    /// Expected kind of the item.
    pub kind: NodeKind,
    /// Restore beside the existing item, under a name that contains the date of the backup.
    pub beside: bool,
    /// Rebuild page checksums of databases that do not match, if SQLite finds the database valid.
    pub rebuild_checksums: bool,
    /// New, empty PostgreSQL databases into which dumps are loaded for reading, by the name of the content database or
    /// `configuration`.
    pub database_urls: BTreeMap<String, String>,
}

/// Result of the restore.
#[derive(Clone, Debug, Default)]
pub struct ItemsSummary {
    /// Set that was used.
    pub set: Option<Id>,
    /// Current location.
    pub path: String,
    /// Number of documents created with all their versions.
    pub created: u64,
    /// Number of documents whose latest version in the set was added as their next version.
    pub replaced: u64,
    /// Number of documents whose latest version is the same.
    pub unchanged: u64,
    /// Number of versions stored.
    pub versions: u64,
    /// Their size in bytes.
    pub bytes: u64,
    /// Documents that could not be restored, with the reason.
    pub faults: Vec<String>,
    /// Notes for the user about properties that could not be restored.
    pub notes: Vec<String>,
}
