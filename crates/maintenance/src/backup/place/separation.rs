//! Checks that a backup location is separate: not a part of the farm, a BLOB store or another backup location, and
//! neither within one nor around one. These are recognised by their markers, whatever address leads to them.

use std::path::{Path, PathBuf};

use blobs::{ObjectOptions, ObjectSecrets};
use model::{Code, Error, Result};
use repository::{
    MarkedLocation, MarkerKind, Storage, marker_within, markers_around, prefix_within, real_path, sign_of_prefix,
    signs_around_prefix,
};

use super::location::BackupLocation;
use super::small_files::blocking;

/// Returns the location if it is separate. A directory is returned as an absolute path with symbolic links resolved.
///
/// # Errors
/// `Conflict` when the location is not separate.
pub(crate) async fn require_separate(place: &BackupLocation, storage: &Storage) -> Result<BackupLocation> {
    match place {
        BackupLocation::Directory(path) => {
            let (path, storage, named) = (path.clone(), storage.clone(), place.clone());
            let find = move || {
                let path = real_path(&path)?;
                refuse_farm(&storage, &path)?;
                refuse_nested_markers(&named, &path)?;
                Ok(path)
            };
            Ok(BackupLocation::Directory(blocking(find).await?))
        }
        BackupLocation::Objects(options, secrets) => {
            refuse_prefix(place, options, secrets, storage).await?;
            Ok(place.clone())
        }
    }
}

/// Refuses a directory that lies within a store, another backup location or a farm, or that contains one. Blocking.
fn refuse_nested_markers(place: &BackupLocation, path: &Path) -> Result<()> {
    let around = markers_around(path)?;
    let itself = path.display().to_string();
    let is_place = around.iter().any(|marked| marked.place == itself && marked.sign == MarkerKind::Backups);
    for marked in around {
        match marked.sign {
            MarkerKind::Store => return Err(in_store(place, None, &marked.place)),
            MarkerKind::Backups if marked.place != itself => return Err(in_backups(place, &marked.place)),
            // An existing backup location within a farm's directory remains usable.
            MarkerKind::Farm if !is_place => {
                return Err(taken(place, &format!("it lies within the data directory of a farm, {}", marked.place)));
            }
            _ => {}
        }
    }
    match if is_place { None } else { marker_within(path, |_| false)? } {
        Some(MarkedLocation { sign, place: within, .. }) => {
            Err(taken(place, &format!("{within}, {sign}, lies within it")))
        }
        None => Ok(()),
    }
}

/// Refuses a prefix that is, or lies within, a store or another backup location, and a prefix that contains one of the
/// farm's own stores.
async fn refuse_prefix(
    place: &BackupLocation,
    options: &ObjectOptions,
    secrets: &ObjectSecrets,
    storage: &Storage,
) -> Result<()> {
    let own = options.prefix.trim_matches('/');
    let name = |prefix: &str| format!("{}://{}/{prefix}", options.kind.as_str(), options.bucket);
    let rows = storage.stores().iter().map(|(row, _)| row).filter(|row| row.kind == options.kind.as_str());
    let stores: Vec<(&str, &str, &str)> = rows
        .map(|row| {
            let (bucket, prefix) = row.location.split_once('/').unwrap_or((&row.location, ""));
            (row.name.as_str(), bucket, prefix.trim_matches('/'))
        })
        .collect();
    for marked in signs_around_prefix(options, secrets).await? {
        let named = stores.iter().find(|(_, bucket, prefix)| *bucket == options.bucket && *prefix == marked.place);
        let named = named.map(|(name, ..)| *name);
        match marked.sign {
            // The credential cannot read this prefix. The prefix is refused only if the farm has a store with that
            // name.
            MarkerKind::Closed if named.is_none() => {}
            MarkerKind::Closed | MarkerKind::Store => return Err(in_store(place, named, &name(&marked.place))),
            MarkerKind::Backups if marked.place != own => return Err(in_backups(place, &name(&marked.place))),
            MarkerKind::Backups | MarkerKind::Farm => {}
        }
    }
    for (name, _, prefix) in stores.iter().filter(|(.., prefix)| *prefix != own && prefix_within(prefix, own)) {
        if matches!(sign_of_prefix(options, secrets, prefix).await?, Some((MarkerKind::Store, _))) {
            return Err(taken(place, &format!("the BLOB store \"{name}\" lies within it, at {prefix}")));
        }
    }
    Ok(())
}

fn in_backups(place: &BackupLocation, around: &str) -> Error {
    taken(place, &format!("it lies within {around}, another backup destination"))
}

fn in_store(place: &BackupLocation, named: Option<&str>, around: &str) -> Error {
    let store = named.map_or_else(|| "a BLOB store".to_owned(), |name| format!("the BLOB store \"{name}\""));
    taken(place, &format!("it belongs to {store}, at {around}"))
}

fn taken(place: &BackupLocation, why: &str) -> Error {
    let advice = match place {
        BackupLocation::Directory(_) => "choose a directory outside of it, preferably on another disk",
        BackupLocation::Objects(..) => "choose a prefix outside of it, preferably in another bucket",
    };
    Error::conflict(format!("{place} cannot be a backup destination: {why}: {advice}"))
        .with_code(Code::BackupPlaceTaken)
}

/// Refuses a directory that is part of the farm: the backup would contain itself, and be lost together with the farm.
fn refuse_farm(storage: &Storage, place: &Path) -> Result<()> {
    let data = real_path(&storage.directory())?;
    let mut parts = vec![("the data directory".to_owned(), data.clone())];
    for (row, _) in storage.stores().iter().filter(|(row, _)| row.kind == "directory") {
        let place = data.join(&row.location);
        // An unresponsive disk does not prevent a backup. Its path is then used unresolved.
        parts.push((format!("the BLOB store \"{}\"", row.name), real_path(&place).unwrap_or(place)));
    }
    // Reports the innermost part that contains the location, otherwise the outermost part within it.
    let around = |(_, part): &&(String, PathBuf)| place.starts_with(part);
    let inside = |(_, part): &&(String, PathBuf)| part.starts_with(place);
    let length = |(_, part): &&(String, PathBuf)| part.as_os_str().len();
    match parts.iter().filter(around).max_by_key(length).or_else(|| parts.iter().filter(inside).min_by_key(length)) {
        Some((name, part)) => Err(Error::conflict(format!(
            "{} and {name}, {}, overlap: choose a directory outside, preferably on another disk",
            place.display(),
            part.display()
        ))
        .with_code(Code::BackupWithinFarm)),
        None => Ok(()),
    }
}
