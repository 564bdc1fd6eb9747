//! The options of bringing single items back, and the answer.

use std::collections::BTreeMap;
use std::path::PathBuf;

use model::{Id, NodeKind, NodePath};

use crate::backup::BackupPlace;

/// What to bring back into a farm.
#[derive(Clone, Debug)]
pub struct ItemsOptions {
    /// Where the backups are.
    pub source: BackupPlace,
    /// A file with the key or passphrase of encrypted backups.
    pub key_file: Option<PathBuf>,
    /// The set; the latest when absent.
    pub set: Option<Id>,
    /// A site, library or document, as its path was then.
    pub path: NodePath,
    /// What the path is expected to be.
    pub kind: NodeKind,
    /// Whether it comes beside what is there now, under a name that says when it is from.
    pub beside: bool,
    /// Whether pages of databases that are not what their checksums say get new checksums, where SQLite finds the
    /// database in order.
    pub rebuild_checksums: bool,
    /// New, empty PostgreSQL databases to look into, by the name of the content database or `configuration`.
    pub database_urls: BTreeMap<String, String>,
}

/// What was brought back.
#[derive(Clone, Debug, Default)]
pub struct ItemsSummary {
    /// The set.
    pub set: Option<Id>,
    /// Where it is now.
    pub path: String,
    /// Documents that were made with all their versions.
    pub created: u64,
    /// Documents that got their latest version from the set as the next one.
    pub replaced: u64,
    /// Documents whose latest version is the same.
    pub unchanged: u64,
    /// Versions and bytes that were stored.
    pub versions: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Documents that could not be brought back, and why.
    pub faults: Vec<String>,
    /// What could not be kept as it was, for a person.
    pub notes: Vec<String>,
}
