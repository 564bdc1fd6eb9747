//! Listing of backup sets, and removal of those that no rule keeps.

use std::path::Path;

use futures_util::future::BoxFuture;
use model::{Id, Result, Timestamp};
use repository::Storage;

use super::prune::{self, Pruned, Retain};
use crate::backup::format::manifest::Manifest;
use crate::backup::place::destination::{Destination, SetName, Unreadable, Use};
use crate::backup::place::location::BackupLocation;

/// A finished set.
#[derive(Clone, Debug)]
pub struct SetSummary {
    /// Identifier.
    pub id: Id,
    /// Start of the backup. Every change that was acknowledged before is in the set.
    pub started_at: Timestamp,
    /// Time at which the set was complete.
    pub finished_at: Timestamp,
    /// Set when the backup holds no BLOBs. It can then be restored only where the farm's BLOB stores are available.
    pub needs_stores: bool,
    /// Names of the content databases in the set.
    pub databases: Vec<String>,
    /// PostgreSQL servers that the set contains as a whole, by host and port.
    pub clusters: Vec<String>,
    /// Number of BLOBs in the set that were stored outside of databases.
    pub blobs: u64,
    /// Bytes that a restore of the set brings back.
    pub bytes: u64,
    /// Bytes that the set added to the backup location when it was made.
    pub new_bytes: u64,
}

/// The finished sets in a backup location.
#[derive(Clone, Debug, Default)]
pub struct Listing {
    /// Readable sets, oldest first.
    pub sets: Vec<SetSummary>,
    /// Unreadable sets.
    pub unreadable: Vec<Unreadable>,
}

/// Lists the finished sets in a backup location.
///
/// # Errors
/// `NotFound` when there are no backups; `Invalid` with code `key_needed` or `wrong_key`.
pub fn list_backups<'a>(place: &'a BackupLocation, key_file: Option<&'a Path>) -> BoxFuture<'a, Result<Listing>> {
    Box::pin(async move {
        let destination = Destination::open(place, key_file, Use::Read).await?;
        let listed = list(&destination).await;
        destination.close().await;
        listed
    })
}

async fn list(destination: &Destination) -> Result<Listing> {
    let (readable, unreadable) = destination.described().await?;
    let summary = |(set, manifest): (SetName, Manifest)| SetSummary {
        id: set.id,
        started_at: Timestamp::from_micros(manifest.started),
        finished_at: Timestamp::from_micros(manifest.finished),
        needs_stores: manifest.needs_stores,
        databases: manifest.databases.iter().map(|part| part.name.clone()).collect(),
        clusters: manifest.clusters.iter().map(|part| part.name.clone()).collect(),
        blobs: manifest.blobs.count,
        bytes: manifest.bytes,
        new_bytes: manifest.new_bytes,
    };
    Ok(Listing { sets: readable.into_iter().map(summary).collect(), unreadable })
}

/// Removes the sets that no rule keeps, then the bytes that no remaining set needs. If the farm can be opened, its
/// records are updated too.
///
/// # Errors
/// Those of [`list_backups`].
pub fn prune_backups<'a>(
    place: &'a BackupLocation,
    key_file: Option<&'a Path>,
    farm: Option<&'a Storage>,
    rules: &'a Retain,
    dry_run: bool,
) -> BoxFuture<'a, Result<Pruned>> {
    Box::pin(async move {
        let destination = Destination::open(place, key_file, Use::Change).await?;
        let pruned = prune::run(&destination, farm, rules, None, dry_run).await;
        destination.close().await;
        pruned
    })
}

/// Removes one set, readable or not, then the bytes that no remaining set needs. If the farm can be opened, its records
/// are updated too.
///
/// # Errors
/// Those of [`list_backups`]; `NotFound` when there is no such set.
pub fn remove_backup<'a>(
    place: &'a BackupLocation,
    key_file: Option<&'a Path>,
    farm: Option<&'a Storage>,
    set: Id,
) -> BoxFuture<'a, Result<Pruned>> {
    Box::pin(async move {
        let destination = Destination::open(place, key_file, Use::Change).await?;
        let pruned = prune::remove(&destination, farm, set).await;
        destination.close().await;
        pruned
    })
}
