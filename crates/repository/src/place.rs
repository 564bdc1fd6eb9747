//! Whether a directory or bucket can become a store of its own: it must not be, hold or lie within another one, whatever it is called.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use blobs::{BlobStore, ObjectNotes, ObjectOptions};
use database::configuration::farm::StoreRow;
use model::{Error, Result};

use crate::{Session, object_settings};

/// The file by which a place of backups is known.
pub const BACKUP_MARK: &str = "strongroom-backup.json";
/// It is small.
const MARK_LIMIT: u64 = 64 << 10;

/// Refuses a directory that is one of the others (each with its name), lies within one, or holds one; and one whose parent is not there,
/// which is mostly a disk that is not mounted, unless that is to be made below `base`, the data directory. Blocks.
fn require_own(base: &Path, new: &Path, others: &[(String, PathBuf)]) -> Result<()> {
    let failed = |path: &Path, error: io::Error| {
        Error::unavailable(format!("{} cannot be looked at: {error}", path.display())).with_source(error)
    };
    // As far as it is there; what is missing below the data directory is made.
    let (mut present, mut missing) = (new.to_path_buf(), Vec::new());
    let place = loop {
        match fs::canonicalize(&present) {
            Ok(found) => break missing.iter().rev().fold(found, |path, name| path.join(name)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let (Some(parent), Some(name)) = (present.parent(), present.file_name()) else {
                    return Err(Error::invalid(format!("{} is no directory that can be made", new.display())));
                };
                missing.push(name.to_owned());
                present = parent.to_path_buf();
            }
            Err(error) => return Err(failed(new, error)),
        }
    };
    if missing.len() > 1 && !new.starts_with(base) {
        return Err(Error::invalid(format!(
            "{} is not there: make it, or mount its disk, before a store is made in it",
            new.parent().unwrap_or(new).display()
        )));
    }
    for around in place.ancestors() {
        let mark = around.join(BACKUP_MARK);
        if mark.try_exists().map_err(|error| failed(&mark, error))? {
            return Err(in_backups(&around.display().to_string()));
        }
    }
    let identity = |path: &Path| fs::metadata(path).ok().map(|data| (data.dev(), data.ino()));
    for (name, other) in others {
        let known = fs::canonicalize(other).unwrap_or_else(|_| other.clone());
        let same = identity(&place).is_some_and(|identity_of| identity(&known) == Some(identity_of));
        if same || place.starts_with(&known) || known.starts_with(&place) {
            let message =
                format!("the BLOB store \"{name}\" is in that place ({}): choose another one", other.display());
            return Err(Error::conflict(message).with_code("place_taken"));
        }
    }
    Ok(())
}

impl Session {
    /// Refuses a directory that is a store of the farm by another name, lies within one, or holds one.
    pub(crate) async fn require_place_of_its_own(&self, row: &StoreRow) -> Result<()> {
        let (base, stores) = (self.repository.inner.directory.clone(), self.map().await?.stores.clone());
        let new = base.join(&row.location);
        let others = stores.into_iter().map(|(row, _)| row).filter(|row| row.kind == "directory");
        let others: Vec<(String, PathBuf)> = others.map(|row| (row.name, base.join(row.location))).collect();
        let check = move || require_own(&base, &new, &others);
        tokio::task::spawn_blocking(check).await.unwrap_or_else(|error| {
            Err(Error::unavailable("looking at the directory was interrupted").with_source(error))
        })
    }

    /// Refuses a prefix that another store of the farm has at the same address, lies within one, or holds one.
    pub(crate) async fn require_prefix_of_its_own(&self, row: &StoreRow) -> Result<()> {
        let endpoint = async |row: &StoreRow| -> Result<String> {
            let (settings, _) = self.repository.inner.store_settings(row).await?;
            Ok(settings.get("endpoint").map(|url| url.trim_end_matches('/').to_lowercase()).unwrap_or_default())
        };
        self.refuse_backups_around(row).await?;
        let new = endpoint(row).await?;
        for (other, _) in &self.map().await?.stores {
            let near = other.id != row.id && other.kind == row.kind && nested(&other.location, &row.location);
            if near && endpoint(other).await? == new {
                return Err(taken(&other.name));
            }
        }
        Ok(())
    }

    /// Refuses a prefix that is a place of backups or lies within one.
    async fn refuse_backups_around(&self, row: &StoreRow) -> Result<()> {
        let (settings, secrets) = self.repository.inner.store_settings(row).await?;
        let options = object_settings::options(&row.kind, &row.location, &settings)?;
        let secrets = object_settings::secrets(&secrets)?;
        let mut around = Some(options.prefix.as_str());
        while let Some(prefix) = around {
            let notes = ObjectNotes::open(&ObjectOptions { prefix: prefix.to_owned(), ..options.clone() }, &secrets)?;
            match notes.read(BACKUP_MARK, MARK_LIMIT).await {
                Ok(None) => {}
                Ok(Some(_)) => return Err(in_backups(&format!("{}/{prefix}", options.bucket))),
                // A credential for the prefix alone tells nothing of what is around it.
                Err(error) if error.code() == "store_credential_refused" && prefix != options.prefix => {}
                Err(error) => return Err(error),
            }
            around =
                if prefix.is_empty() { None } else { Some(prefix.rsplit_once('/').map_or("", |(above, _)| above)) };
        }
        Ok(())
    }

    /// Refuses a bucket that is a store of the farm already, by whatever address: moving BLOBs from one to the other would
    /// remove the only copy. One that does not answer is taken for another place unless bucket and prefix have the same names.
    pub(crate) async fn require_bucket_of_its_own(&self, row: &StoreRow, opened: &BlobStore) -> Result<()> {
        let map = self.map().await?;
        let remote = |other: &StoreRow| other.id != row.id && other.kind == row.kind && row.kind != "directory";
        for (other, store) in map.stores.iter().filter(|(other, _)| remote(other)) {
            let leads = match store {
                Some(store) => opened.leads_to(store).await?,
                None => None,
            };
            match leads {
                Some(false) => {}
                Some(true) => return Err(taken(&other.name)),
                None if nested(&other.location, &row.location) => {
                    let text = format!(
                        "whether \"{}\" is the same place cannot be told while the BLOB store \"{}\" does not answer: try again \
                         when it does",
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

fn in_backups(place: &str) -> Error {
    Error::conflict(format!("{place} is a place of backups: choose a place outside of it, best on another disk"))
        .with_code("place_taken")
}

/// Whether one place is the other or lies in it.
fn nested(one: &str, other: &str) -> bool {
    let within = |inner: &str, outer: &str| {
        inner.strip_prefix(outer.trim_end_matches('/')).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    within(one, other) || within(other, one)
}

/// The error for a place that a store of this name has.
pub(crate) fn taken(name: &str) -> Error {
    Error::conflict(format!("the BLOB store \"{name}\" is in that place, around it or within it"))
        .with_code("place_taken")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_known_by_every_name_that_it_has() {
        let directory = tempfile::tempdir().unwrap();
        let at = |path: &str| directory.path().join(path);
        let require_own = |new: &Path, others: &[_]| require_own(&at("data"), new, others);
        fs::create_dir_all(at("store/sub")).unwrap();
        std::os::unix::fs::symlink(at("store"), at("link")).unwrap();
        let others = [("files".to_owned(), at("store"))];
        for taken in ["store", "store/", "./store", "link", "store/../store", "store/sub", "store/new", "link/new", "."]
        {
            assert_eq!(require_own(&at(taken), &others).unwrap_err().code(), "place_taken", "{taken}");
        }
        require_own(&at("other"), &others).unwrap();
        require_own(&at("store2"), &others).unwrap();
        require_own(&at("data/stores/other"), &others).unwrap();
        assert!(require_own(&at("missing/other"), &others).unwrap_err().message().contains("mount its disk"));
    }
}
