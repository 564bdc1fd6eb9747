//! Options and result of a restore.

use std::collections::BTreeMap;
use std::path::PathBuf;

use model::{Id, Timestamp};

use crate::backup::BackupLocation;

/// Options of a restore: its source and its destination.
#[derive(Clone, Debug, Default)]
pub struct RestoreOptions {
    /// Backup location.
    pub source: BackupLocation,
    /// File with the key or passphrase, for encrypted backups.
    pub key_file: Option<PathBuf>,
    /// Set to use. None for the latest.
    pub set: Option<Id>,
    /// Data directory of the restored farm.
    pub directory: PathBuf,
    /// Destinations of PostgreSQL databases, by the name of the content database or `configuration`: new, empty
    /// databases, or the databases on a server that was restored as a whole.
    pub database_urls: BTreeMap<String, String>,
    /// Use stores outside of the data directory, including object storage, where they are, and copy only missing BLOBs.
    /// Otherwise their BLOBs go into stores below the data directory.
    pub use_stores: bool,
    /// Replace an existing farm in the directory. Its databases are set aside.
    pub force: bool,
    /// Complete the restore even if BLOBs, databases or site collections are missing or damaged in the backup.
    pub accept_missing: bool,
    /// Rebuild page checksums of databases that do not match, if SQLite finds the database valid.
    pub rebuild_checksums: bool,
    /// Neither copy nor check the BLOBs of the stores.
    pub leave_blobs: bool,
    /// Allow a directory within that of another farm, as used by drills.
    pub is_scratch: bool,
}

/// Result of the restore.
#[derive(Clone, Debug)]
pub struct RestoreSummary {
    /// Set that was used.
    pub set: Id,
    /// Start of the backup. Every change that was acknowledged before is restored.
    pub started_at: Timestamp,
    /// Number of databases, including the configuration database.
    pub databases: u64,
    /// Number and total bytes of BLOBs that were copied.
    pub copied: (u64, u64),
    /// Number and total bytes of BLOBs that were already in their stores.
    pub present: (u64, u64),
    /// Number of BLOBs that documents need and that are missing everywhere. Non-zero only if that was accepted.
    pub missing: u64,
    /// Parts of the farm that the set lacks, for the administrator. Non-empty only if that was accepted.
    pub lacks: Vec<String>,
    /// Number of BLOBs that documents need and whose loss was accepted before the backup was taken.
    pub lost: u64,
    /// Changes made during the restore, for the administrator.
    pub notes: Vec<String>,
}
