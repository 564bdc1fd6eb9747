//! What sets there are, and removing those that no rule keeps.

use std::path::Path;

use futures_util::future::BoxFuture;
use model::{Id, Result, Timestamp};
use repository::Storage;

use super::prune::{self, Pruned, Retain};
use crate::backup::format::manifest::Manifest;
use crate::backup::place::destination::{Destination, SetName, Unreadable, Use};
use crate::backup::place::location::BackupPlace;

/// A finished set.
#[derive(Clone, Debug)]
pub struct SetSummary {
    /// Identifier.
    pub id: Id,
    /// Everything that was acknowledged before this is in the set.
    pub started_at: Timestamp,
    /// When it was complete.
    pub finished_at: Timestamp,
    /// Whether it holds no BLOBs, so that it can only be restored beside the farm's stores.
    pub needs_stores: bool,
    /// Names of its content databases.
    pub databases: Vec<String>,
    /// Servers of PostgreSQL that it has as a whole, by host and port.
    pub clusters: Vec<String>,
    /// Number of its BLOBs outside of databases.
    pub blobs: u64,
    /// Bytes of everything that it brings back.
    pub bytes: u64,
    /// Bytes that it added to the place when it was made.
    pub new_bytes: u64,
}

/// The finished sets in a place.
#[derive(Clone, Debug, Default)]
pub struct Listing {
    /// Those that can be read, oldest first.
    pub sets: Vec<SetSummary>,
    /// Those that cannot.
    pub unreadable: Vec<Unreadable>,
}

/// The finished sets in a place.
///
/// # Errors
/// `NotFound` when there are no backups; `Invalid` with code `key_needed` or `wrong_key`.
pub fn list_backups<'a>(place: &'a BackupPlace, key_file: Option<&'a Path>) -> BoxFuture<'a, Result<Listing>> {
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

/// Removes the sets that no rule keeps, then the bytes that no set needs. The farm, where it can be opened, learns which sets are gone.
///
/// # Errors
/// Those of [`list_backups`].
pub fn prune_backups<'a>(
    place: &'a BackupPlace,
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

/// Removes one set, whether it can be read or not, then the bytes that no set needs. The farm, where it can be opened, learns of it.
///
/// # Errors
/// Those of [`list_backups`]; `NotFound` when there is no such set.
pub fn remove_backup<'a>(
    place: &'a BackupPlace,
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
