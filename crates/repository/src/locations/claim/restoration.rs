//! Rules for a directory into which backups are restored. It is neither a part of a backup destination or a store nor
//! around one, and it holds nothing else.
//!
//! The farm does not exist yet, so everything is judged by its markers.

use std::fs;
use std::io;
use std::path::Path;

use blobs::STORE_MARKER;
use model::{Code, Error, Result};

use crate::locations::data_directory::{DataDirectory, inaccessible, is_there};
use crate::locations::markers::{MarkedLocation, MarkerKind, farm_around, marker_within, markers_around, real_path};
use crate::locations::nesting::Nesting;

/// Refuses a restore directory of the farm `farm` that is or lies within a backup location or a store, or that contains
/// a backup location or another farm's store. Removing or emptying one of them would destroy the other. `source` is the
/// directory of the backups that are restored. Blocks.
///
/// # Errors
/// `Conflict` with code `restore_nested`; `Unavailable` when a directory cannot be examined.
pub fn require_separate_restoration(directory: &Path, source: Option<&Path>, farm: &str) -> Result<()> {
    let place = real_path(directory)?;
    if let Some(source) = source {
        let source = real_path(source)?;
        if let Some(nesting) = Nesting::of_paths(&place, &source) {
            return Err(nested(&place, nesting, &source.display().to_string(), MarkerKind::Backups));
        }
    }
    let is_foreign = |marked: &MarkedLocation| matches!(marked.sign, MarkerKind::Backups | MarkerKind::Store);
    if let Some(around) = markers_around(&place)?.into_iter().find(is_foreign) {
        return Err(nested(&place, around.nesting_of(&place), &around.place, around.sign));
    }
    // Stores of the restored farm that outlived it are welcome: their BLOBs need not be copied again. Stores below an
    // existing farm's own directory are that farm's concern, whoever owns them.
    let was_used = DataDirectory::new(&place).was_used()?;
    let within = marker_within(&place, |marked| match marked.sign {
        MarkerKind::Store => was_used || marked.owner.as_deref() == Some(farm),
        sign => sign != MarkerKind::Backups,
    })?;
    within.map_or(Ok(()), |marked| Err(nested(&place, Nesting::Around, &marked.place, marked.sign)))
}

/// Refuses a data directory within that of another farm, which would treat it as its own. Blocks.
///
/// # Errors
/// Those of [`require_separate_restoration`].
pub fn require_restoration_outside_farms(directory: &Path) -> Result<()> {
    let place = real_path(directory)?;
    let around = farm_around(&place)?;
    around.map_or(Ok(()), |marked| Err(nested(&place, Nesting::Within, &marked.place, marked.sign)))
}

/// Refuses a directory with unrelated content. The directory of a former farm or of an interrupted restoration is
/// accepted, and so are stores that outlived their farm. Blocks.
///
/// # Errors
/// `Conflict` with code `restore_not_empty`; `Unavailable` when the directory cannot be examined.
pub fn require_restorable(directory: &DataDirectory) -> Result<()> {
    if directory.was_used()? {
        return Ok(());
    }
    let place = directory.path();
    let entries = match fs::read_dir(place) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        entries => entries.map_err(|error| inaccessible(place, error))?,
    };
    for entry in entries {
        let entry = entry.map_err(|error| inaccessible(place, error))?;
        let path = entry.path();
        let is_store = path.is_dir() && is_there(&path.join(STORE_MARKER))?;
        if entry.file_name() != "lost+found" && !is_store {
            return Err(Error::conflict(format!(
                "{} holds other data, such as \"{}\": restore into an empty directory or one that does not exist yet",
                place.display(),
                entry.file_name().to_string_lossy()
            ))
            .with_code(Code::RestoreNotEmpty));
        }
    }
    Ok(())
}

fn nested(place: &Path, nesting: Nesting, other: &str, what: MarkerKind) -> Error {
    let how = nesting.sentence(&place.display().to_string(), other, &what.to_string());
    Error::conflict(format!("{how}: restore into a directory outside of it, preferably on another disk"))
        .with_code(Code::RestoreNested)
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    fn put(root: &Path, path: &str, text: &str) -> PathBuf {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    #[test]
    fn a_restoration_keeps_away_from_backups_stores_and_other_farms() {
        let scratch = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(scratch.path()).unwrap();
        put(&root, "kept/backups/strongroom-backup.json", "{}");
        put(&root, "store/store.toml", "owner = \"4711\"\n");
        put(&root, "around/left/store.toml", "owner = \"4711\"\n");
        put(&root, "farm/server.lock", "");
        put(&root, "farm/strongroom.toml", "");
        let source = root.join("kept/backups");
        let require = |path: &str, farm: &str| require_separate_restoration(&root.join(path), Some(&source), farm);
        for (path, other, what) in [
            ("kept/backups", "kept/backups", " is a backup destination"),
            ("kept/backups/new", "kept/backups", " lies within "),
            ("kept", "kept/backups", ", a backup destination, lies within "),
            ("store/new", "store", " lies within "),
            ("around", "around/left", ", a BLOB store, lies within "),
        ] {
            let refused = require(path, "12").unwrap_err();
            assert_eq!(refused.code(), Code::RestoreNested, "{path}: {refused}");
            let said = refused.message();
            assert!(said.contains(&root.join(other).display().to_string()), "{path}: {said}");
            assert!(said.contains(what), "{path}: {said}");
        }
        // A store that outlived the farm, and any store once the directory is that of a farm.
        require("around", "4711").unwrap();
        put(&root, "around/server.lock", "");
        require("around", "12").unwrap();
        require("new", "12").unwrap();
        // A farm around is refused unless the restoration is a drill.
        require("farm/new", "12").unwrap();
        let refused = require_restoration_outside_farms(&root.join("farm/new")).unwrap_err();
        assert_eq!(refused.code(), Code::RestoreNested, "{refused}");
        require_restoration_outside_farms(&root.join("farm")).unwrap();
    }

    #[test]
    fn a_restoration_goes_into_nothing_but_farms_and_stores() {
        let scratch = tempfile::tempdir().unwrap();
        let require = |name: &str| require_restorable(&DataDirectory::new(scratch.path().join(name)));
        require("missing").unwrap();
        put(scratch.path(), "stores/blobs/store.toml", "");
        put(scratch.path(), "stores/lost+found/x", "");
        require("stores").unwrap();
        put(scratch.path(), "letters/letter.txt", "dear");
        let refused = require("letters").unwrap_err();
        assert_eq!(refused.code(), Code::RestoreNotEmpty, "{refused}");
        assert!(refused.message().contains("\"letter.txt\""), "{refused}");
        put(scratch.path(), "letters/server.lock", "");
        require("letters").unwrap();
    }
}
