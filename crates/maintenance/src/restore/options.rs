//! The options of a restoration, and its answer.

use std::collections::BTreeMap;
use std::path::PathBuf;

use model::{Id, Timestamp};

use crate::backup::BackupPlace;

/// What to bring back, and where to.
#[derive(Clone, Debug, Default)]
pub struct RestoreOptions {
    /// Where the backups are.
    pub source: BackupPlace,
    /// A file with the key or passphrase of encrypted backups.
    pub key_file: Option<PathBuf>,
    /// The set; the latest when absent.
    pub set: Option<Id>,
    /// The data directory of the farm that is made.
    pub directory: PathBuf,
    /// Where databases of PostgreSQL go: new, empty databases by the name of the content database, or `configuration`;
    /// or where they are on a server that was brought back as a whole.
    pub database_urls: BTreeMap<String, String>,
    /// Whether stores outside of the data directory, also those in object storage, are used where they are, and only
    /// what is missing there is copied. Otherwise their BLOBs go into stores below the data directory.
    pub use_stores: bool,
    /// Whether a farm that is in the directory is replaced; its databases are set aside.
    pub force: bool,
    /// Whether the farm is made although BLOBs, databases or site collections are missing or damaged in the backup.
    pub accept_missing: bool,
    /// Whether pages of databases that are not what their checksums say get new checksums, where SQLite finds the
    /// database in order.
    pub rebuild_checksums: bool,
    /// Whether the BLOBs of the stores are left alone: neither copied nor looked for.
    pub leave_blobs: bool,
    /// True if the directory may lie within that of a farm, as scratch places do.
    pub is_scratch: bool,
}

/// What was brought back.
#[derive(Clone, Debug)]
pub struct RestoreSummary {
    /// The set.
    pub set: Id,
    /// Everything that was acknowledged before this is there again.
    pub started_at: Timestamp,
    /// Databases, the configuration included.
    pub databases: u64,
    /// BLOBs that were copied, and their bytes.
    pub copied: (u64, u64),
    /// BLOBs that were in their stores already, and their bytes.
    pub present: (u64, u64),
    /// BLOBs that documents need and that are nowhere; only when that was accepted.
    pub missing: u64,
    /// What the set lacks of the farm that it is of, for a person; only when that was accepted.
    pub lacks: Vec<String>,
    /// BLOBs that documents need and whose loss was accepted before the backup was taken.
    pub lost: u64,
    /// What was changed on the way, for a person.
    pub notes: Vec<String>,
}
