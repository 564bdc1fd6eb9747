//! Bringing backups back: a whole farm into a directory, its stores first, then its databases, the configuration last.
//!
//! While it is under way a note in the directory keeps everything else away from it, so that a restoration that was cut short is simply
//! begun again; what is in the stores by then is not copied a second time.

mod assemble;
mod blobs;
mod cluster;
mod content;
mod drill;
mod drill_stores;
mod farm;
mod items;
mod leftovers;
mod place;
mod repair;
mod settings;
mod stores;
mod unfinished;

use std::collections::BTreeMap;
use std::path::PathBuf;

use model::{Error, Id, Result, Timestamp};

use crate::backup::BackupPlace;
use crate::backup::format::manifest::Manifest;
use crate::backup::place::destination::{Destination, SetName};

pub use cluster::{ClusterOptions, ClustersSummary, CopiedDatabase, RestoredCluster, restore_clusters};
pub use content::restore_content_database;
pub use drill::{Drilled, drill};
pub use drill_stores::Outside;
pub use farm::restore_farm;
pub use items::{ItemsOptions, ItemsSummary, restore_items};
pub use repair::{RepairOptions, RepairSummary, repair_from_backup};
pub use unfinished::refuse_unfinished;

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
    /// Where databases of PostgreSQL go: new, empty databases by the name of the content database, or `configuration`; or where they are on
    /// a server that was brought back as a whole.
    pub database_urls: BTreeMap<String, String>,
    /// Whether stores outside of the data directory, also those in object storage, are used where they are, and only what is missing
    /// there is copied. Otherwise
    /// their BLOBs go into stores below the data directory.
    pub use_stores: bool,
    /// Whether a farm that is in the directory is replaced; its databases are set aside.
    pub force: bool,
    /// Whether the farm is made although BLOBs, databases or site collections are missing or damaged in the backup.
    pub accept_missing: bool,
    /// Whether pages of databases that are not what their checksums say get new checksums, where SQLite finds the database
    /// in order.
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

/// Finds a set by its identifier, or the latest.
pub(crate) async fn choose(destination: &Destination, set: Option<Id>) -> Result<(SetName, Manifest)> {
    let sets = destination.sets().await?;
    let found = match set {
        Some(id) => sets.into_iter().find(|set| set.id == id),
        None => sets.into_iter().next_back(),
    };
    let found = found.ok_or_else(|| {
        let place = destination.papers.place();
        Error::not_found(match set {
            Some(id) => {
                format!("there is no set {id} in {place}: `strongroom backup list {place}` shows those that there are")
            }
            None => format!("there are no finished backups in {place}"),
        })
    })?;
    let manifest = destination.manifest(&found).await.map_err(|error| match set {
        Some(_) => error,
        None => {
            let place = destination.papers.place();
            let hint = format!("{}; `strongroom backup list {place}` shows others, which --set names", error.message());
            Error::new(error.kind(), hint).with_source(error)
        }
    })?;
    Ok((found, manifest))
}
