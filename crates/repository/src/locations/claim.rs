//! Checks whether a directory or bucket can become a new store. It must not be, contain or lie within another store, a
//! backup location or anything that belongs to a farm, by whatever path or address it is reached.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use blobs::BlobStore;
use database::Location;
use database::configuration::farm::StoreRow;
use model::{Code, Error, Result};

use crate::Session;
use crate::blocking::blocking;
use crate::locations::markers::{self, MarkerKind, prefix_within, real_path};
use crate::storage::settings as object_settings;

/// Directories below the data directory to which the farm itself writes.
const RESERVED: [&str; 3] = ["databases", "cache", "uploads"];

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
        refuse_nested(&place, &base, "the data directory of the farm", false)?;
        for name in RESERVED {
            refuse_nested(&place, &base.join(name), "a directory that the farm itself writes to", true)?;
        }
        for (name, other) in &self.stores {
            let known = fs::canonicalize(other).unwrap_or_else(|_| other.clone());
            let identity = |path: &Path| fs::metadata(path).ok().map(|data| (data.dev(), data.ino()));
            if place == known || identity(&place).is_some_and(|of_place| identity(&known) == Some(of_place)) {
                let text = format!(
                    "the BLOB store \"{name}\" is already at that location ({}): choose another location",
                    place.display()
                );
                return Err(Error::conflict(text).with_code(Code::PlaceTaken));
            }
            refuse_nested(&place, &known, &format!("the BLOB store \"{name}\""), true)?;
        }
        for (name, file) in &self.databases {
            refuse_nested(&place, &real_path(file)?, &format!("the content database \"{name}\""), true)?;
        }
        for marked in markers::markers_around(&place)? {
            let other = Path::new(&marked.place);
            // The owner of a store that is there is checked when the store is opened.
            let is_store = marked.sign == MarkerKind::Store && other == place;
            // Directories around the data directory do not concern stores inside it, unless they are backup locations.
            let is_of_farm = marked.sign != MarkerKind::Backups && is_below && base.starts_with(other);
            if !is_of_farm && !is_store {
                return Err(nested(&place.display().to_string(), &marked.place, &marked.sign.to_string()));
            }
        }
        match markers::marker_within(&place, |_| false)? {
            Some(marked) => Err(nested(&place.display().to_string(), &marked.place, &marked.sign.to_string())),
            None => Ok(()),
        }
    }
}

/// Refuses a location that contains `other` and, where `is_closed`, one that lies within it.
fn refuse_nested(place: &Path, other: &Path, what: &str, is_closed: bool) -> Result<()> {
    if other.starts_with(place) || is_closed && place.starts_with(other) {
        return Err(nested(&place.display().to_string(), &other.display().to_string(), what));
    }
    Ok(())
}

/// Returns the error for a location that is another one, contains it, or lies within it.
fn nested(place: &str, other: &str, what: &str) -> Error {
    let (how, advice) = match (place == other, prefix_within(place, other)) {
        (true, _) => (format!("{place} is {what}"), "choose another location"),
        (_, true) => (format!("{place} lies within {other}, {what}"), "choose a location outside it"),
        _ => (format!("{other}, {what}, lies within {place}"), "choose a location beside it"),
    };
    Error::conflict(format!("{how}: {advice}")).with_code(Code::PlaceNested)
}

impl Session {
    /// Refuses a directory that is, contains or lies within a store of the farm (by any path), a backup location, or
    /// anything that belongs to a farm.
    pub(crate) async fn require_free_directory(&self, row: &StoreRow) -> Result<()> {
        if row.location.trim().is_empty() {
            return Err(Error::invalid(
                "a store of the kind directory needs a directory: name one, such as stores/archive below the data directory",
            ));
        }
        let (base, registry) = (self.repository.inner.directory.clone(), self.registry().await?);
        let new = base.join(&row.location);
        let stores = registry.stores.iter().map(|(row, _)| row).filter(|row| row.kind == "directory");
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

    /// Refuses a prefix that overlaps another store of the farm at the same endpoint, or that is or lies within a
    /// backup location or lies within a store.
    pub(crate) async fn require_free_prefix(&self, row: &StoreRow) -> Result<()> {
        let endpoint = async |row: &StoreRow| -> Result<String> {
            let (settings, _) = self.repository.inner.store_settings(row).await?;
            Ok(settings.get("endpoint").map(|url| url.trim_end_matches('/').to_lowercase()).unwrap_or_default())
        };
        let new = endpoint(row).await?;
        for (other, _) in &self.registry().await?.stores {
            let near = other.id != row.id && other.kind == row.kind && are_nested(other, row);
            if near && endpoint(other).await? == new {
                return Err(taken(row, other));
            }
        }
        self.refuse_marks_around(row).await
    }

    /// Refuses a prefix that is a backup location, or that lies within one or within a store.
    async fn refuse_marks_around(&self, row: &StoreRow) -> Result<()> {
        let (settings, secrets) = self.repository.inner.store_settings(row).await?;
        let options = object_settings::options(&row.kind, &row.location, &settings)?;
        let secrets = object_settings::secrets(&secrets)?;
        let own = options.prefix.trim_matches('/');
        for marked in markers::signs_around_prefix(&options, &secrets).await? {
            // The owner of a store that is there is checked when the store is opened.
            if marked.sign != MarkerKind::Closed && !(marked.sign == MarkerKind::Store && marked.place == own) {
                let place = |prefix: &str| format!("{}/{prefix}", options.bucket).trim_end_matches('/').to_owned();
                return Err(nested(&place(own), &place(&marked.place), &marked.sign.to_string()));
            }
        }
        Ok(())
    }

    /// Refuses a bucket that is already a store of the farm under any address: moving BLOBs from one to the other would
    /// delete the only copy. A store that does not respond counts as a different location, unless bucket and prefix
    /// have the same names.
    pub(crate) async fn require_distinct_bucket(&self, row: &StoreRow, opened: &BlobStore) -> Result<()> {
        let registry = self.registry().await?;
        let remote = |other: &StoreRow| other.id != row.id && other.kind == row.kind && row.kind != "directory";
        for (other, store) in registry.stores.iter().filter(|(other, _)| remote(other)) {
            let leads = match store {
                Some(store) => opened.leads_to(store).await?,
                None => None,
            };
            match leads {
                Some(false) => {}
                Some(true) => return Err(taken(row, other)),
                None if are_nested(other, row) => {
                    let text = format!(
                        "it cannot be determined whether \"{}\" is the same location while the BLOB store \"{}\" does \
                         not answer: try again when it does",
                        row.location, other.name
                    );
                    return Err(Error::unavailable(text));
                }
                None => tracing::warn!(store = other.name, "a BLOB store does not answer and was not compared"),
            }
        }
        Ok(())
    }
}

/// Returns whether the location of one store is or lies within that of the other, judged by their names.
fn are_nested(one: &StoreRow, other: &StoreRow) -> bool {
    prefix_within(&one.location, &other.location) || prefix_within(&other.location, &one.location)
}

/// Returns the error for a location that another store of the farm has. The same location reached by another address
/// counts too.
pub(crate) fn taken(row: &StoreRow, other: &StoreRow) -> Error {
    // The leading slash of a directory is significant; that of a bucket prefix is not.
    let shown = |row: &StoreRow| match row.kind.as_str() {
        "directory" if row.location.len() > 1 => row.location.trim_end_matches('/').to_owned(),
        "directory" => row.location.clone(),
        _ => row.location.trim_matches('/').to_owned(),
    };
    let (new, known) = (&shown(row), &shown(other));
    if new != known && are_nested(row, other) {
        return nested(new, known, &format!("the BLOB store \"{}\"", other.name));
    }
    let text =
        format!("the BLOB store \"{}\" is already at that location ({known}): choose another location", other.name);
    Error::conflict(text).with_code(Code::PlaceTaken)
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
