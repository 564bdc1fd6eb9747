//! Recognises backup locations, BLOB stores and farm data directories by the marker files in a directory or bucket
//! prefix. Code that needs a location of its own looks here for markers around it and within it, by whatever path or
//! address it is reached.

use std::ffi::OsString;
use std::io::{self, Read};
use std::path::{Component, Path, PathBuf};
use std::{fmt, fs};

use blobs::{NamedObjects, ObjectOptions, ObjectSecrets, STORE_MARKER};
use model::{Code, Error, Result};

use crate::locations::data_directory::{DataDirectory, inaccessible, is_there};
use crate::locations::nesting::{Nesting, prefixes};

/// Marker file of a backup location.
pub const BACKUP_MARKER: &str = "strongroom-backup.json";
/// Limit on the bytes read of a marker file.
const MARK_LIMIT: u64 = 64 << 10;
/// Limits on the depth and the number of names of a search for markers within a location.
const DEPTH: usize = 3;
const NAMES: usize = 2_000;

/// Kind of a marked location.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MarkerKind {
    /// A backup location.
    Backups,
    /// A BLOB store.
    Store,
    /// The data directory of a farm.
    Farm,
    /// A part of a bucket to which the credential gives no access.
    Closed,
}

impl fmt::Display for MarkerKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Backups => "a backup destination",
            Self::Store => "a BLOB store",
            Self::Farm => "the data directory of a farm",
            Self::Closed => "a part of the bucket to which the credential gives no access",
        })
    }
}

/// A location that carries a Strongroom marker.
#[derive(Clone, Debug)]
pub(super) struct MarkedLocation {
    /// Its kind.
    pub sign: MarkerKind,
    /// The directory, or the prefix within its bucket.
    pub place: String,
    /// The farm that a store belongs to, from its owner marker.
    pub owner: Option<String>,
}

impl MarkedLocation {
    /// Returns how a directory lies to this one, which is the directory itself or lies around it.
    pub fn nesting_of(&self, place: &Path) -> Nesting {
        // Paths that are not UTF-8 are compared as they are shown.
        if self.place == place.to_string_lossy() { Nesting::Same } else { Nesting::Within }
    }
}

/// Returns the absolute path without symbolic links and `..`. Components that do not exist yet are kept as written.
/// Blocks.
///
/// # Errors
/// `Invalid` for an empty path; `Unavailable` when a component cannot be examined.
pub fn real_path(path: &Path) -> Result<PathBuf> {
    let whole = std::path::absolute(path)
        .map_err(|e| Error::invalid(format!("\"{}\" is not a usable path: {e}", path.display())).with_source(e))?;
    let mut real = PathBuf::new();
    for part in whole.components() {
        match part {
            Component::ParentDir => {
                real.pop();
            }
            part => real.push(part),
        }
        match fs::canonicalize(&real) {
            Ok(found) => real = found,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(inaccessible(&real, error)),
        }
    }
    Ok(real)
}

/// Returns the markers of a directory and of those around it, innermost first. `place` is a [`real_path`]. Blocks.
///
/// # Errors
/// `Unavailable` when a directory cannot be examined.
pub(super) fn markers_around(place: &Path) -> Result<Vec<MarkedLocation>> {
    let mut found = Vec::new();
    for directory in place.ancestors() {
        found.extend(sign_of(directory)?);
    }
    Ok(found)
}

/// Returns the innermost farm whose data directory lies around a directory, other than the directory itself. `place` is
/// a [`real_path`]. Blocks.
///
/// # Errors
/// `Unavailable` when a directory cannot be examined.
pub(super) fn farm_around(place: &Path) -> Result<Option<MarkedLocation>> {
    let around = markers_around(place)?;
    Ok(around.into_iter().find(|marked| marked.sign == MarkerKind::Farm && marked.nesting_of(place) == Nesting::Within))
}

/// Returns the first marked location found a few levels within a directory, except those that `passes` accepts. Blocks.
///
/// # Errors
/// `Unavailable` when the directory cannot be examined.
pub(super) fn marker_within(place: &Path, passes: impl Fn(&MarkedLocation) -> bool) -> Result<Option<MarkedLocation>> {
    let (mut level, mut names) = (vec![place.to_path_buf()], 0);
    for _ in 0..DEPTH {
        let mut next = Vec::new();
        for directory in level {
            for name in names_in(&directory, NAMES - names)? {
                names += 1;
                let below = directory.join(name);
                // Symbolic links lead to other locations.
                if !fs::symlink_metadata(&below).is_ok_and(|found| found.is_dir()) {
                    continue;
                }
                match sign_of(&below) {
                    Ok(Some(marked)) if passes(&marked) => {}
                    Ok(Some(marked)) => return Ok(Some(marked)),
                    // An unreadable directory belongs to another user.
                    Ok(None) | Err(_) => next.push(below),
                }
            }
        }
        level = next;
    }
    Ok(None)
}

fn names_in(directory: &Path, most: usize) -> Result<Vec<OsString>> {
    match fs::read_dir(directory) {
        Ok(entries) => Ok(entries.take(most).filter_map(|entry| Some(entry.ok()?.file_name())).collect()),
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied) => {
            Ok(Vec::new())
        }
        Err(error) => Err(inaccessible(directory, error)),
    }
}

fn sign_of(directory: &Path) -> Result<Option<MarkedLocation>> {
    let there = |name: &str| is_there(&directory.join(name));
    let marked = |sign, owner| Ok(Some(MarkedLocation { sign, place: directory.display().to_string(), owner }));
    if there(BACKUP_MARKER)? {
        return marked(MarkerKind::Backups, None);
    }
    if there(STORE_MARKER)? {
        let (path, mut text) = (directory.join(STORE_MARKER), Vec::new());
        let read = fs::File::open(&path).and_then(|file| file.take(MARK_LIMIT).read_to_end(&mut text));
        read.map_err(|error| inaccessible(&path, error))?;
        // An unrelated file may have this name.
        if let Some(owner) = owner_of(&text) {
            return marked(MarkerKind::Store, Some(owner));
        }
    }
    match DataDirectory::new(directory).holds_farm()? {
        true => marked(MarkerKind::Farm, None),
        false => Ok(None),
    }
}

/// Returns the markers of a bucket prefix and of those around it, innermost first. The bucket as a whole has an empty
/// prefix.
///
/// # Errors
/// Those of the service, except a refusal to show what is around the prefix.
pub(super) async fn signs_around_prefix(
    options: &ObjectOptions,
    secrets: &ObjectSecrets,
) -> Result<Vec<MarkedLocation>> {
    let (own, mut found) = (options.prefix.trim_matches('/'), Vec::new());
    for prefix in prefixes(own) {
        let marked = |sign, owner| MarkedLocation { sign, place: prefix.to_owned(), owner };
        match sign_of_prefix(options, secrets, prefix).await {
            Ok(Some((sign, owner))) => found.push(marked(sign, owner)),
            Ok(None) => {}
            // A credential limited to the prefix cannot read what is around it.
            Err(error) if error.code() == Code::StoreCredentialRefused && prefix != own => {
                found.push(marked(MarkerKind::Closed, None));
            }
            Err(error) => return Err(error),
        }
    }
    Ok(found)
}

/// Returns the marker of a bucket prefix itself.
///
/// # Errors
/// Those of the service.
pub(super) async fn sign_of_prefix(
    options: &ObjectOptions,
    secrets: &ObjectSecrets,
    prefix: &str,
) -> Result<Option<(MarkerKind, Option<String>)>> {
    let notes = NamedObjects::open(&ObjectOptions { prefix: prefix.to_owned(), ..options.clone() }, secrets)?;
    if notes.read(BACKUP_MARKER, MARK_LIMIT).await?.is_some() {
        return Ok(Some((MarkerKind::Backups, None)));
    }
    let owner = notes.read(STORE_MARKER, MARK_LIMIT).await?.and_then(|text| owner_of(&text));
    Ok(owner.map(|owner| (MarkerKind::Store, Some(owner))))
}

fn owner_of(mark: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(mark);
    let owner = text.lines().find_map(|line| line.strip_prefix("owner = "));
    owner.map(|owner| owner.trim().trim_matches('"').to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_followed_through_links_and_what_is_not_there_yet() {
        let directory = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(directory.path()).unwrap();
        fs::create_dir_all(root.join("real/inner")).unwrap();
        std::os::unix::fs::symlink(root.join("real/inner"), root.join("link")).unwrap();
        for (path, real) in [
            ("link/new", "real/inner/new"),
            ("link/../new", "real/new"),
            ("missing/../real/./new/", "real/new"),
            ("missing/more/../../link", "real/inner"),
        ] {
            assert_eq!(real_path(&root.join(path)).unwrap(), root.join(real), "{path}");
        }
        assert!(real_path(Path::new("")).is_err());
    }

    #[test]
    fn what_lies_around_and_within_is_known_by_its_mark() {
        let directory = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(directory.path()).unwrap();
        let put = |path: &str, text: &str| {
            let path = root.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        put("kept/backups/strongroom-backup.json", "{}");
        put("kept/store/store.toml", "format = 1\nowner = \"4711\"\n");
        put("kept/shop/store.toml", "name = 'a shop'\n");
        put("farm/configuration.sqlite", "");
        let around = |path: &str| -> Vec<MarkerKind> {
            markers_around(&root.join(path)).unwrap().into_iter().map(|marked| marked.sign).collect()
        };
        assert_eq!(around("kept/backups/a/b"), [MarkerKind::Backups]);
        assert_eq!(around("kept/store"), [MarkerKind::Store]);
        assert_eq!(around("farm/x"), [MarkerKind::Farm]);
        assert_eq!(around("kept/shop/x"), []);
        let within = marker_within(&root.join("kept"), |marked| marked.sign == MarkerKind::Backups).unwrap().unwrap();
        assert_eq!((within.sign, within.owner.as_deref()), (MarkerKind::Store, Some("4711")));
        assert_eq!(marker_within(&root.join("farm"), |_| false).unwrap().map(|marked| marked.sign), None);
    }
}
