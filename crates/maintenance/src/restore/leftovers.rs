//! Intended leftovers of a restore, which the administrator may remove: databases that were replaced, stores that the
//! farm no longer knows, and stores outside of the data directory whose BLOBs were copied.

use std::fs;
use std::path::{Path, PathBuf};

use ::blobs::STORE_MARKER;
use database::configuration::farm::StoreRow;
use model::{Result, StoreKind};

use super::stores::Store;
use crate::backup::place::small_files::failed;

/// Infix in the names of databases that were set aside.
pub(super) const ASIDE: &str = ".before-restore-";
/// Maximum number of paths named.
const MAX_NAMED: usize = 20;

/// Returns notes about all leftovers. Blocking.
pub(super) fn notes(directory: &Path, rows: &[StoreRow], places: &[StoreLocation]) -> Result<Vec<String>> {
    let mut notes = Vec::new();
    let is_moved = |row: &&StoreRow| places.iter().any(|place| place.id == row.id.get() && place.is_moved);
    for row in rows.iter().filter(is_moved) {
        notes.push(format!(
            "the old content of the store \"{}\" in {} was left unchanged, and its BLOBs were copied from the backup: \
             remove the old content if no other farm uses it; --use-stores would have used it in place",
            row.name,
            outside(row)
        ));
    }
    let aside = set_aside(directory)?;
    if !aside.is_empty() {
        notes.push(format!(
            "the previous databases were set aside; remove them once you have verified the restored farm: {}",
            listed(&aside)
        ));
    }
    let known: Vec<PathBuf> = places.iter().map(|place| directory.join(&place.location)).collect();
    let unknown: Vec<PathBuf> = stores_below(directory)?.into_iter().filter(|store| !known.contains(store)).collect();
    if !unknown.is_empty() {
        notes.push(format!(
            "the restored farm does not know these BLOB stores; remove them when nothing in them is needed: {}",
            listed(&unknown)
        ));
    }
    Ok(notes)
}

/// New location of a store.
pub(super) struct StoreLocation {
    id: i64,
    is_moved: bool,
    /// Location relative to the data directory, or absolute.
    location: String,
}

/// Returns the new locations of the stores.
pub(super) fn places(rows: &[StoreRow], stores: &[Store]) -> Vec<StoreLocation> {
    let of = |row: &StoreRow| {
        let moved_to = stores.iter().find(|store| store.id == row.id).and_then(|store| store.moved_to.clone());
        let is_moved = moved_to.is_some();
        StoreLocation {
            id: row.id.get(),
            is_moved,
            location: moved_to.map_or_else(|| row.location.clone(), |row| row.location),
        }
    };
    rows.iter().map(of).collect()
}

fn outside(row: &StoreRow) -> String {
    match row.kind {
        StoreKind::Directory => row.location.clone(),
        kind @ (StoreKind::Database | StoreKind::S3 | StoreKind::Azure | StoreKind::Gcs) => {
            format!("{kind}://{}", row.location)
        }
    }
}

/// Returns replaced databases in a data directory, and in its `databases` directory.
fn set_aside(directory: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for folder in [directory.to_owned(), directory.join("databases")] {
        let is_aside = |path: &PathBuf| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            name.contains(ASIDE) && !name.ends_with("-wal") && !name.ends_with("-shm")
        };
        found.extend(entries(&folder)?.into_iter().filter(is_aside));
    }
    found.sort();
    Ok(found)
}

/// Returns store directories in a data directory, and in its `stores` directory.
fn stores_below(directory: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for folder in [directory.to_owned(), directory.join("stores")] {
        found.extend(entries(&folder)?.into_iter().filter(|path| path.join(STORE_MARKER).is_file()));
    }
    found.sort();
    Ok(found)
}

fn entries(folder: &Path) -> Result<Vec<PathBuf>> {
    match fs::read_dir(folder) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Vec::new()),
        entries => {
            let entries = entries.map_err(|e| failed("read", folder, e))?;
            entries.map(|entry| entry.map(|entry| entry.path()).map_err(|e| failed("read", folder, e))).collect()
        }
    }
}

fn listed(paths: &[PathBuf]) -> String {
    let names: Vec<String> = paths.iter().take(MAX_NAMED).map(|path| path.display().to_string()).collect();
    let more = if paths.len() > MAX_NAMED { format!(" and {} more", paths.len() - MAX_NAMED) } else { String::new() };
    format!("{}{more}", names.join(", "))
}
