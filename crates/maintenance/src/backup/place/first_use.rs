//! Checks of a location before a backup uses it for the first time, and the creation of its directory.

use std::fs;
use std::path::Path;

use blobs::create_private_directories;
use model::{Code, Error, Id, Result, counted};
use repository::BACKUP_MARKER;

use super::lease::LEASES;
use super::small_files::{SmallFiles, failed};

/// Refuses a location that has no marker although the farm has records of backups in it.
pub(super) async fn require_marker(files: &SmallFiles, count: usize, latest: Id) -> Result<()> {
    if files.read(BACKUP_MARKER).await?.is_some() {
        return Ok(());
    }
    Err(Error::unavailable(format!(
        "{} does not hold the {} that the farm has on record there (the latest is {latest}): mount its disk; if they \
         are gone for good, name another destination, or make the farm forget each of them with \
         `strongroom backup forget ID`",
        files.place(),
        counted(count as u64, "backup")
    ))
    .with_code(Code::BackupPlaceAbsent))
}

/// Refuses a prefix that holds other objects.
pub(super) async fn require_empty(files: &SmallFiles) -> Result<()> {
    // First backups that were interrupted before they wrote the marker leave leases, earlier programs in `lease.json`.
    match files.first(100).await?.iter().find(|name| !name.starts_with(LEASES) && *name != "lease.json") {
        Some(found) => Err(not_empty(&files.place(), found, "prefix")),
        None => Ok(()),
    }
}

fn not_empty(place: &str, found: &str, kind: &str) -> Error {
    Error::conflict(format!(
        "{place} holds other data, such as \"{found}\": name an empty {kind} or one that holds this farm's backups"
    ))
    .with_code(Code::BackupNotEmpty)
}

/// Creates the directory. Refuses a directory that holds other files, and one whose parent is missing, usually because
/// a disk is not mounted.
pub(super) fn prepare(root: &Path) -> Result<()> {
    let there = |path: &Path| path.try_exists().map_err(|e| failed("examine", path, e));
    let parent = root.parent().filter(|parent| !parent.as_os_str().is_empty());
    if let Some(parent) = parent
        && !there(root)?
        && !there(parent)?
    {
        let text =
            format!("{} does not exist: create it or mount its disk before backing up below it", parent.display());
        return Err(Error::invalid(text).with_code(Code::BackupPlaceAbsent));
    }
    // The directory will contain all documents and the password hashes.
    create_private_directories(root)?;
    if root.join(BACKUP_MARKER).try_exists().map_err(|e| failed("read", root, e))? {
        return Ok(());
    }
    for entry in fs::read_dir(root).map_err(|e| failed("read", root, e))? {
        let name = entry.map_err(|e| failed("read", root, e))?.file_name();
        // Leftovers of a first backup that was interrupted before it wrote the marker, and a directory that file
        // systems create.
        if !["lock", "lost+found", "strongroom-backup.new"].iter().any(|known| name == *known) {
            return Err(not_empty(&root.display().to_string(), &name.to_string_lossy(), "directory"));
        }
    }
    Ok(())
}
