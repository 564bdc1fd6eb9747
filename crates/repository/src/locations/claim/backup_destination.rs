//! Rules for a backup destination: it is not a part of the farm, of a store or of another backup destination, and lies
//! neither within one nor around one. A backup within the farm would contain itself, and be lost together with it.

use std::path::{Path, PathBuf};

use async_recursion::async_recursion as boxed;
use blobs::{ObjectOptions, ObjectSecrets};
use model::{Code, Error, Result, StoreKind};

use crate::Storage;
use crate::locations::markers::{
    MarkerKind, marker_within, markers_around, real_path, sign_of_prefix, signs_around_prefix,
};
use crate::locations::nesting::Nesting;

impl Storage {
    /// Returns the real path of a directory that may be a backup destination of the farm. Blocks.
    ///
    /// # Errors
    /// `Conflict` with code `backup_within_farm` or `backup_place_taken`; `Unavailable` when a directory cannot be
    /// examined.
    pub fn require_backup_directory(&self, directory: &Path) -> Result<PathBuf> {
        let path = real_path(directory)?;
        self.refuse_farm(&path)?;
        refuse_nested_markers(directory, &path)?;
        Ok(path)
    }

    /// Refuses a directory that overlaps the farm's data directory or one of its stores.
    fn refuse_farm(&self, place: &Path) -> Result<()> {
        let data = real_path(&self.directory())?;
        let mut parts = vec![("the data directory".to_owned(), data.clone())];
        for (row, _) in self.stores().iter().filter(|(row, _)| row.kind == StoreKind::Directory) {
            let place = data.join(&row.location);
            // An unresponsive disk does not prevent a backup. Its path is then used unresolved.
            parts.push((format!("the BLOB store \"{}\"", row.name), real_path(&place).unwrap_or(place)));
        }
        // Reports the innermost part that contains the location, otherwise the outermost part within it.
        let around = |(_, part): &&(String, PathBuf)| place.starts_with(part);
        let inside = |(_, part): &&(String, PathBuf)| part.starts_with(place);
        let length = |(_, part): &&(String, PathBuf)| part.as_os_str().len();
        match parts.iter().filter(around).max_by_key(length).or_else(|| parts.iter().filter(inside).min_by_key(length))
        {
            Some((name, part)) => Err(Error::conflict(format!(
                "{} and {name}, {}, overlap: choose a directory outside, preferably on another disk",
                place.display(),
                part.display()
            ))
            .with_code(Code::BackupWithinFarm)),
            None => Ok(()),
        }
    }

    /// Refuses a prefix that is, or lies within, a store or another backup location, and a prefix that contains one of
    /// the farm's own stores.
    ///
    /// # Errors
    /// `Conflict` with code `backup_place_taken`; those of the service.
    #[boxed]
    pub async fn require_backup_prefix(&self, options: &ObjectOptions, secrets: &ObjectSecrets) -> Result<()> {
        let own = options.prefix.trim_matches('/');
        let taken = |why: &str| prefix_taken(options, why);
        let rows = self.stores().iter().map(|(row, _)| row).filter(|row| row.kind == StoreKind::from(options.kind));
        let stores: Vec<(&str, &str, &str)> = rows
            .map(|row| {
                let (bucket, prefix) = row.location.split_once('/').unwrap_or((&row.location, ""));
                (row.name.as_str(), bucket, prefix.trim_matches('/'))
            })
            .collect();
        for marked in signs_around_prefix(options, secrets).await? {
            let named = stores.iter().find(|(_, bucket, prefix)| *bucket == options.bucket && *prefix == marked.place);
            let (named, around) = (named.map(|(name, ..)| *name), options.address_of(&marked.place));
            match marked.sign {
                // The credential cannot read this prefix. The prefix is refused only if the farm has a store with that
                // name.
                MarkerKind::Closed if named.is_none() => {}
                MarkerKind::Closed | MarkerKind::Store => return Err(taken(&in_store(named, &around))),
                MarkerKind::Backups if marked.place != own => return Err(taken(&in_backups(&around))),
                MarkerKind::Backups | MarkerKind::Farm => {}
            }
        }
        let is_within = |prefix: &str| Nesting::of_prefixes(own, prefix) == Some(Nesting::Around);
        for (name, _, prefix) in stores.iter().filter(|(.., prefix)| is_within(prefix)) {
            if matches!(sign_of_prefix(options, secrets, prefix).await?, Some((MarkerKind::Store, _))) {
                let (other, what) = (options.address_of(prefix), format!("the BLOB store \"{name}\""));
                return Err(taken(&Nesting::Around.sentence("it", &other, &what)));
            }
        }
        Ok(())
    }
}

/// Refuses a directory that lies within a store, another backup location or a farm, or that contains one. `named` is
/// the directory as the administrator named it, `path` its real path.
fn refuse_nested_markers(named: &Path, path: &Path) -> Result<()> {
    let around = markers_around(path)?;
    // A destination may hold itself: with its first backup it has a marker, and a store of its own within it.
    let is_itself = |sign, nesting| sign == MarkerKind::Backups && nesting == Nesting::Same;
    let is_destination = around.iter().any(|marked| is_itself(marked.sign, marked.nesting_of(path)));
    for marked in around {
        let nesting = marked.nesting_of(path);
        match marked.sign {
            MarkerKind::Store => return Err(directory_taken(named, &in_store(None, &marked.place))),
            MarkerKind::Backups if nesting != Nesting::Same => {
                return Err(directory_taken(named, &in_backups(&marked.place)));
            }
            // An existing backup location within a farm's directory remains usable.
            MarkerKind::Farm if !is_destination => {
                let why = nesting.sentence("it", &marked.place, &marked.sign.to_string());
                return Err(directory_taken(named, &why));
            }
            _ => {}
        }
    }
    match if is_destination { None } else { marker_within(path, |_| false)? } {
        Some(marked) => {
            let why = Nesting::Around.sentence("it", &marked.place, &marked.sign.to_string());
            Err(directory_taken(named, &why))
        }
        None => Ok(()),
    }
}

fn in_backups(around: &str) -> String {
    Nesting::Within.sentence("it", around, "another backup destination")
}

/// Says that a location is or lies within a store, whose own prefixes and directories count as the store.
fn in_store(named: Option<&str>, around: &str) -> String {
    let store = named.map_or_else(|| "a BLOB store".to_owned(), |name| format!("the BLOB store \"{name}\""));
    format!("it belongs to {store}, at {around}")
}

fn directory_taken(named: &Path, why: &str) -> Error {
    let advice = "choose a directory outside of it, preferably on another disk";
    taken(&named.display().to_string(), why, advice)
}

fn prefix_taken(options: &ObjectOptions, why: &str) -> Error {
    let advice = "choose a prefix outside of it, preferably in another bucket";
    taken(&options.address_of(&options.prefix), why, advice)
}

fn taken(place: &str, why: &str, advice: &str) -> Error {
    Error::conflict(format!("{place} cannot be a backup destination: {why}: {advice}"))
        .with_code(Code::BackupPlaceTaken)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_destination_keeps_away_from_everything_but_itself() {
        let scratch = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(scratch.path()).unwrap();
        let put = |path: &str, text: &str| {
            let path = root.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        put("kept/backups/strongroom-backup.json", "{}");
        put("kept/backups/data/store.toml", "owner = \"backup-of-4711\"\n");
        put("far/store.toml", "owner = \"4711\"\n");
        put("farm/server.lock", "");
        put("farm/strongroom.toml", "");
        let refuse = |path: &str| refuse_nested_markers(&root.join(path), &root.join(path));
        for (path, other, how) in [
            ("kept/backups/new", "kept/backups", "it lies within "),
            ("kept", "kept/backups", ", a backup destination, lies within it: choose a directory"),
            ("kept/backups/data", "kept/backups/data", "it belongs to a BLOB store, at "),
            ("far/new", "far", "it belongs to a BLOB store, at "),
            ("farm/new", "farm", "it lies within "),
            ("farm", "farm", "it is the data directory of a farm"),
        ] {
            let refused = refuse(path).unwrap_err();
            assert_eq!(refused.code(), Code::BackupPlaceTaken, "{path}: {refused}");
            let said = refused.message();
            assert!(said.contains(&root.join(other).display().to_string()), "{path}: {said}");
            assert!(said.contains(how), "{path}: {said}");
        }
        refuse("kept/backups").unwrap();
        refuse("new").unwrap();
        // A destination that was made before its surroundings became a farm's.
        put("farm/backups/strongroom-backup.json", "{}");
        refuse("farm/backups").unwrap();
    }
}
