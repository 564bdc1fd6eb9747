//! Rule for a directory that is to become a store: it must not be, contain or lie within another store, a backup
//! location or anything that belongs to a farm, by whatever path it is reached.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use database::Location;
use database::configuration::farm::StoreRow;
use model::{Error, Result, StoreKind};

use super::store_refusal::{nested, occupied};
use crate::Session;
use crate::blocking::blocking;
use crate::locations::data_directory::RESERVED;
use crate::locations::markers::{MarkedLocation, MarkerKind, marker_within, markers_around, real_path};
use crate::locations::nesting::Nesting;

/// Locations that a new store must not overlap.
struct ReservedLocations {
    /// The farm's data directory.
    base: PathBuf,
    /// Stores in directories, by name.
    stores: Vec<(String, PathBuf)>,
    /// Files of content databases, by name.
    databases: Vec<(String, PathBuf)>,
}

impl ReservedLocations {
    /// Refuses a directory that is already in use, lies within one in use, or contains one. Also refuses a directory
    /// whose parent is missing, unless it is below the data directory: usually its disk is not mounted. Blocks.
    fn require_own(&self, new: &Path) -> Result<()> {
        let (place, base) = (real_path(new)?, real_path(&self.base)?);
        let is_below = place.starts_with(&base);
        if !is_below && !place.exists() && !place.parent().is_some_and(Path::exists) {
            return Err(Error::invalid(format!(
                "{} does not exist: create it, or mount its disk, before you create a store in it",
                place.parent().unwrap_or(&place).display()
            )));
        }
        // A store may lie within the data directory, as the store `files` does, beside what the farm itself writes.
        refuse_nested(&place, &base, "the data directory of the farm", false)?;
        for name in RESERVED {
            refuse_nested(&place, &base.join(name), "a directory that the farm itself writes to", true)?;
        }
        for (name, other) in &self.stores {
            let known = fs::canonicalize(other).unwrap_or_else(|_| other.clone());
            let identity = |path: &Path| fs::metadata(path).ok().map(|data| (data.dev(), data.ino()));
            if place == known || identity(&place).is_some_and(|of_place| identity(&known) == Some(of_place)) {
                return Err(occupied(name, &place.display().to_string()));
            }
            refuse_nested(&place, &known, &format!("the BLOB store \"{name}\""), true)?;
        }
        for (name, file) in &self.databases {
            refuse_nested(&place, &real_path(file)?, &format!("the content database \"{name}\""), true)?;
        }
        for marked in markers_around(&place)? {
            let other = Path::new(&marked.place);
            // A store on top of a store is allowed: it is how a store that was removed from the farm, or outlived it,
            // comes back. Its owner is checked when the store is opened.
            let is_store = marked.sign == MarkerKind::Store && marked.nesting_of(&place) == Nesting::Same;
            // Directories around the data directory do not concern stores inside it, unless they are backup locations.
            let is_of_farm = marked.sign != MarkerKind::Backups && is_below && base.starts_with(other);
            if !is_of_farm && !is_store {
                return Err(nested_marker(&place, marked.nesting_of(&place), &marked));
            }
        }
        let within = marker_within(&place, |_| false)?;
        within.map_or(Ok(()), |marked| Err(nested_marker(&place, Nesting::Around, &marked)))
    }
}

/// Refuses a location that contains `other` and, where `is_closed`, one that lies within it.
fn refuse_nested(place: &Path, other: &Path, what: &str, is_closed: bool) -> Result<()> {
    match Nesting::of_paths(place, other) {
        None => Ok(()),
        Some(Nesting::Within) if !is_closed => Ok(()),
        Some(nesting) => Err(nested(nesting, &place.display().to_string(), &other.display().to_string(), what)),
    }
}

fn nested_marker(place: &Path, nesting: Nesting, marked: &MarkedLocation) -> Error {
    nested(nesting, &place.display().to_string(), &marked.place, &marked.sign.to_string())
}

impl Session {
    /// Refuses a directory that is, contains or lies within a store of the farm (by any path), a backup location, or
    /// anything that belongs to a farm.
    pub(crate) async fn require_free_directory(&self, row: &StoreRow) -> Result<()> {
        if row.location.trim().is_empty() {
            return Err(Error::invalid(
                "a store of the kind directory needs a directory: name one, such as stores/archive below the data \
                directory",
            ));
        }
        let (base, registry) = (self.repository.inner.directory.path().to_owned(), self.registry().await?);
        let new = base.join(&row.location);
        let stores = registry.stores.iter().map(|(row, _)| row).filter(|row| row.kind == StoreKind::Directory);
        let stores = stores.map(|row| (row.name.clone(), base.join(&row.location))).collect();
        let mut databases = Vec::new();
        for row in registry.database_rows() {
            if let Location::Sqlite(file) = self.repository.inner.place_of(row)? {
                databases.push((row.name.clone(), file));
            }
        }
        let ground = ReservedLocations { base, stores, databases };
        blocking(move || ground.require_own(&new)).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_known_by_every_name_that_it_has() {
        let directory = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(directory.path()).unwrap();
        let at = |path: &str| root.join(path);
        for made in ["store/sub", "data/databases", "data/blobs", "far", "foreign/store", "foreign/farm"] {
            fs::create_dir_all(at(made)).unwrap();
        }
        std::os::unix::fs::symlink(at("store"), at("link")).unwrap();
        fs::write(at("data/configuration.sqlite"), "").unwrap();
        fs::write(at("foreign/farm/configuration.sqlite"), "").unwrap();
        fs::write(at("foreign/store/store.toml"), "format = 1\nowner = \"4711\"\n").unwrap();
        let ground = ReservedLocations {
            base: at("data"),
            stores: vec![("files".to_owned(), at("store")), ("usual".to_owned(), at("data/blobs"))],
            databases: vec![
                ("main".to_owned(), at("data/databases/main.sqlite")),
                ("far".to_owned(), at("far/far.sqlite")),
            ],
        };
        let said = |new: &str| ground.require_own(&at(new)).unwrap_err();
        for same in ["store", "store/", "./store", "link", "store/../store", "missing/../store"] {
            assert_eq!(said(same).code(), "place_taken", "{same}");
        }
        for (new, other) in [
            ("store/sub", "store"),
            ("store/new", "store"),
            ("link/new", "store"),
            ("link/sub/../../store/new", "store"),
            (".", "data"),
            ("data", "data"),
            ("data/databases", "data/databases"),
            ("data/databases/new", "data/databases"),
            ("data/cache/new", "data/cache"),
            ("data/blobs/new", "data/blobs"),
            ("far", "far/far.sqlite"),
            ("foreign", "foreign/store"),
            ("foreign/store/new", "foreign/store"),
            ("foreign/farm", "foreign/farm"),
            ("foreign/farm/new", "foreign/farm"),
        ] {
            let error = said(new);
            assert_eq!(error.code(), "place_nested", "{new}");
            let (place, known) = (real_path(&at(new)).unwrap(), at(other).display().to_string());
            assert!(error.message().contains(&place.display().to_string()), "{error:?}");
            assert!(["foreign"].contains(&new) || error.message().contains(&known), "{new}: {error:?}");
        }
        for free in ["other", "store2", "data/stores/other", "data/archive", "far/blobs", "foreign/store"] {
            ground.require_own(&at(free)).unwrap_or_else(|error| panic!("{free}: {error:?}"));
        }
        assert!(said("missing/other").message().contains("mount its disk"));
    }
}
