//! The backup location: one directory or prefix per farm, with a marker, a lock, the stored objects and the sets.
//!
//! ```text
//! strongroom-backup.json    the marker: format, farm, key derivation
//! data/                     a BLOB store with all objects
//! sets/<id>-<digest>.json   one finished set each; `.sealed` instead of `.json` when encrypted
//! unfinished/<id>.json      objects stored so far by a set that is being made or was interrupted
//! incoming/                 temporary copies of databases; worthless while nothing runs
//! damaged.json              digests of stored objects that a verification found damaged
//! lock                      empty; locked (flock) by every user of the location; on a bucket, `leases/` instead
//! ```

use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_recursion::async_recursion as boxed;
use blobs::{Owner, digest_of};
use bytes::Bytes;
use model::{Code, Digest, Error, ErrorKind, Id, Result, Timestamp};
use repository::BACKUP_MARKER;
use serde::{Deserialize, Serialize};

use crate::backup::format::codec::{self, Codec, needs_key};
use crate::backup::format::index::Entry;
use crate::backup::format::json::pretty;
use crate::backup::format::key::{Derivation, Key};
use crate::backup::format::manifest::Manifest;
use crate::backup::format::vault::BackupObjects;

use super::first_use::{prepare, require_empty, require_marker};
use super::location::BackupLocation;
use super::lock::Lock;
use super::small_files::{SmallFiles, blocking};

const DAMAGED: &str = "damaged.json";
const FORMAT: u32 = 1;
/// Maximum length of a set's manifest in bytes.
const MAX_MANIFEST: usize = 512 << 20;

/// Content of the marker file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Marker {
    pub format: u32,
    /// Farm that owns the backups.
    pub farm: String,
    /// Microseconds since 1970-01-01 UTC.
    pub created: i64,
    /// Key derivation, when the backups are encrypted.
    pub encryption: Option<Derivation>,
}

pub(crate) use super::lock::Use;

/// A backup location that is open and locked.
pub(crate) struct Destination {
    pub files: SmallFiles,
    pub vault: BackupObjects,
    lock: Lock,
}

/// An unreadable set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unreadable {
    /// Identifier.
    pub id: Id,
    /// Description of the fault.
    pub why: String,
}

/// A set and its file name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SetName {
    pub id: Id,
    file: String,
}

impl Destination {
    /// Opens the backup location of a farm. An empty or missing location is initialised, unless the farm has records of
    /// backups in it (`known`): then the cause is usually a disk that is not mounted.
    #[boxed]
    pub async fn create_or_open(
        place: &BackupLocation,
        farm: Id,
        key_file: Option<&Path>,
        known: &[Id],
    ) -> Result<Self> {
        if let Some(latest) = known.iter().max() {
            require_marker(&place.files()?, known.len(), *latest).await?;
        }
        if let Some(root) = place.directory().map(Path::to_owned) {
            blocking(move || prepare(&root)).await?;
        }
        let files = place.files()?;
        if place.directory().is_none() && files.read(BACKUP_MARKER).await?.is_none() {
            require_empty(&files).await?;
        }
        let lock = Lock::take(&files, Use::Change).await?;
        let opened = match Self::read_or_create_marker(&files, farm, key_file).await {
            Ok(marker) => Self::enter(place, &files, &lock, marker, key_file).await,
            Err(error) => Err(error),
        };
        Self::or_release(files, lock, opened).await
    }

    /// Returns the marker of the location, and creates it if there is none.
    async fn read_or_create_marker(files: &SmallFiles, farm: Id, key_file: Option<&Path>) -> Result<Marker> {
        if files.read(BACKUP_MARKER).await?.is_none() {
            let encryption = match key_file.map(Path::to_owned) {
                Some(file) => Some(blocking(move || Key::create(&file)).await?.1),
                None => None,
            };
            let created = Timestamp::now().micros();
            let marker = Marker { format: FORMAT, farm: farm.to_string(), created, encryption };
            files.write(BACKUP_MARKER, pretty(&marker)?).await?;
        }
        let marker = read_marker(files).await?;
        if marker.farm != farm.to_string() {
            return Err(Error::conflict(format!(
                "{} holds the backups of another farm ({}): choose a separate destination for each farm",
                files.place(),
                marker.farm
            ))
            .with_code(Code::BackupOtherFarm));
        }
        if marker.encryption.is_none() && key_file.is_some() {
            return Err(Error::conflict(format!(
                "the backups in {} are not encrypted: leave out --encrypt-with, or choose a new destination",
                files.place()
            )));
        }
        Ok(marker)
    }

    /// Opens an existing location, whichever farm owns it.
    #[boxed]
    pub async fn open(place: &BackupLocation, key_file: Option<&Path>, how: Use) -> Result<Self> {
        let files = place.files()?;
        let marker = read_marker(&files).await?;
        let lock = Lock::take(&files, how).await?;
        let opened = Self::enter(place, &files, &lock, marker, key_file).await;
        Self::or_release(files, lock, opened).await
    }

    /// Releases the lock when opening failed.
    async fn or_release(files: SmallFiles, lock: Lock, opened: Result<BackupObjects>) -> Result<Self> {
        match opened {
            Ok(vault) => Ok(Self { files, vault, lock }),
            Err(error) => {
                lock.release().await;
                Err(error)
            }
        }
    }

    async fn enter(
        place: &BackupLocation,
        files: &SmallFiles,
        lock: &Lock,
        marker: Marker,
        key_file: Option<&Path>,
    ) -> Result<BackupObjects> {
        let key = match (&marker.encryption, key_file) {
            (Some(derivation), Some(file)) => {
                let (derivation, file) = (derivation.clone(), file.to_owned());
                Some(blocking(move || Key::open(&file, &derivation)).await?)
            }
            (Some(_), None) => return Err(needs_key()),
            (None, _) => None,
        };
        let store = place.store(&Owner::new(format!("backup-of-{}", marker.farm))?).await?;
        let damaged = files.read(DAMAGED).await?.unwrap_or_default();
        // An unreadable note counts as empty. The next verification writes it again.
        let damaged: Vec<String> = serde_json::from_slice(&damaged).unwrap_or_default();
        let damaged = Arc::new(damaged.iter().filter_map(|text| text.parse().ok()).collect());
        Ok(BackupObjects { store, key, damaged, validity: lock.validity() })
    }

    /// Closes the store and releases the lock.
    #[boxed]
    pub async fn close(&self) {
        self.vault.store.close().await;
        self.lock.release().await;
    }

    /// Directory for temporary copies of databases. None for an encrypted location, where they would lie unencrypted,
    /// and none for a bucket.
    pub fn incoming(&self) -> Option<PathBuf> {
        match &self.files {
            SmallFiles::Directory(root) if self.vault.key.is_none() => Some(root.join("incoming")),
            _ => None,
        }
    }

    /// Returns the finished sets, oldest first.
    #[boxed]
    pub async fn sets(&self) -> Result<Vec<SetName>> {
        sets_in(&self.files).await
    }

    /// Returns the readable finished sets, oldest first, and the unreadable ones with the reason.
    ///
    /// # Errors
    /// `Unavailable` when the location as a whole does not respond.
    #[boxed]
    pub async fn described(&self) -> Result<(Vec<(SetName, Manifest)>, Vec<Unreadable>)> {
        let (mut readable, mut unreadable) = (Vec::new(), Vec::new());
        for set in self.sets().await? {
            match self.manifest(&set).await {
                Ok(manifest) => readable.push((set, manifest)),
                Err(error) if self.is_confined_to_set(&error) => {
                    unreadable.push(Unreadable { id: set.id, why: error.message().to_owned() });
                }
                Err(error) => return Err(error),
            }
        }
        Ok((readable, unreadable))
    }

    /// Returns whether an error in reading a set concerns this set alone. An unresponsive bucket affects every set.
    pub fn is_confined_to_set(&self, error: &Error) -> bool {
        error.kind() != ErrorKind::Unavailable || matches!(self.files, SmallFiles::Directory(_))
    }

    /// Reads the manifest of a finished set.
    ///
    /// # Errors
    /// `Corrupt` when the content does not match the digest in the file name, or cannot be decoded.
    #[boxed]
    pub async fn manifest(&self, set: &SetName) -> Result<Manifest> {
        // Another process may remove the file after the lease lapsed.
        self.read_manifest(set).await.map_err(|error| self.vault.validity.explain(error))
    }

    async fn read_manifest(&self, set: &SetName) -> Result<Manifest> {
        let name = format!("sets/{}", set.file);
        let lost = || Error::corrupt(format!("the set {} in {} is damaged", set.id, self.files.place()));
        let bytes = Bytes::from(self.files.read(&name).await?.ok_or_else(lost)?);
        if !set.file.contains(&digest_of(&bytes).to_string()) {
            return Err(lost());
        }
        Manifest::read(&self.unseal(bytes, &set_context(set.id)).map_err(|error| {
            Error::new(error.kind(), format!("the set {} in {}: {}", set.id, self.files.place(), error.message()))
        })?)
    }

    /// Makes sure that the lock on the location was held until now.
    ///
    /// # Errors
    /// `Unavailable` after a lease on a bucket lapsed.
    #[boxed]
    pub async fn confirm(&self) -> Result<()> {
        self.lock.confirm().await
    }

    /// Writes the manifest, which makes the set exist.
    ///
    /// # Errors
    /// `Unavailable` after a lease lapsed: a prune of another process may have removed objects of the set. The manifest
    /// is removed again then. After other errors the set may exist or not.
    #[boxed]
    pub async fn finish(&self, manifest: &Manifest) -> Result<()> {
        let id: Id = manifest.id.parse()?;
        let bytes = self.seal(manifest.write()?, &set_context(id))?;
        let kind = if self.vault.key.is_some() { "sealed" } else { "json" };
        let name = format!("sets/{id}-{}.{kind}", digest_of(&bytes));
        self.confirm().await?;
        self.files.write(&name, bytes.to_vec()).await?;
        if let Err(lapsed) = self.confirm().await {
            if let Err(error) = self.files.remove(&name).await {
                tracing::warn!(error = error.report(), "the manifest of a backup that may lack objects is still there");
            }
            return Err(lapsed);
        }
        Ok(())
    }

    /// Removes the manifest of a set. The set's objects stay until a prune finds that no set needs them.
    #[boxed]
    pub async fn remove(&self, set: &SetName) -> Result<()> {
        self.vault.validity.check()?;
        self.files.remove(&format!("sets/{}", set.file)).await
    }

    /// Records the objects that an unfinished set has stored, so that the next backup can reuse them.
    #[boxed]
    pub async fn note(&self, id: Id, parts: &[Entry]) -> Result<()> {
        self.vault.validity.check()?;
        let bytes = Bytes::from(pretty(&parts)?);
        let bytes = self.seal(bytes, &set_context(id))?;
        self.files.write(&format!("unfinished/{id}.json"), bytes.to_vec()).await
    }

    /// Returns the notes of interrupted sets: file names and parts. An unreadable note counts as empty.
    #[boxed]
    pub async fn unfinished(&self) -> Result<Vec<(String, Vec<Entry>)>> {
        let mut found = Vec::new();
        for file in self.files.list("unfinished").await? {
            let name = format!("unfinished/{file}");
            let id: Option<Id> = file.split_once('.').and_then(|(id, _)| id.parse().ok());
            let bytes = Bytes::from(self.files.read(&name).await?.unwrap_or_default());
            let plain = id.and_then(|id| self.unseal(bytes, &set_context(id)).ok());
            let parts = plain.and_then(|plain| serde_json::from_slice(&plain).ok());
            found.push((name, parts.unwrap_or_default()));
        }
        Ok(found)
    }

    /// Records the stored objects that are damaged, so that the next backup stores them again.
    #[boxed]
    pub async fn note_damage(&self, damaged: &[Digest]) -> Result<()> {
        self.vault.validity.check()?;
        let texts: Vec<String> = damaged.iter().map(Digest::to_string).collect();
        self.files.write(DAMAGED, pretty(&texts)?).await
    }

    /// Removes the record of damaged objects, after a backup has stored them again.
    #[boxed]
    pub async fn forget_damage(&self) -> Result<()> {
        self.vault.validity.check()?;
        self.files.remove(DAMAGED).await
    }

    fn seal(&self, plain: Bytes, context: &[u8]) -> Result<Bytes> {
        match &self.vault.key {
            Some(key) => Ok(codec::encode(&plain, Some(key), context)?.1),
            None => Ok(plain),
        }
    }

    fn unseal(&self, bytes: Bytes, context: &[u8]) -> Result<Bytes> {
        match &self.vault.key {
            Some(key) => codec::decode(Codec::Sealed, bytes, Some(key), context, MAX_MANIFEST),
            None => Ok(bytes),
        }
    }
}

/// Returns the finished sets in a location, oldest first, readable or not.
pub(crate) async fn sets_in(files: &SmallFiles) -> Result<Vec<SetName>> {
    let mut sets = Vec::new();
    for file in files.list("sets").await? {
        let id = file.split_once('-').and_then(|(id, _)| id.parse().ok());
        sets.extend(id.map(|id| SetName { id, file }));
    }
    sets.sort_by_key(|set| set.id);
    Ok(sets)
}

fn set_context(id: Id) -> Vec<u8> {
    format!("set {id}").into_bytes()
}

async fn read_marker(files: &SmallFiles) -> Result<Marker> {
    let bytes = files.read(BACKUP_MARKER).await?.ok_or_else(|| {
        Error::not_found(format!("there are no backups in {}: it has no file {BACKUP_MARKER}", files.place()))
    })?;
    parse_marker(&bytes).map_err(|error| Error::new(error.kind(), format!("{}: {}", files.place(), error.message())))
}

pub(crate) fn parse_marker(bytes: &[u8]) -> Result<Marker> {
    let marker: Marker = serde_json::from_slice(bytes)
        .map_err(|e| Error::corrupt(format!("its {BACKUP_MARKER} cannot be read ({e})")))?;
    if marker.format != FORMAT {
        return Err(Error::invalid(format!(
            "these backups have format {}, but this program knows format {FORMAT}: use the version that made them",
            marker.format
        )));
    }
    Ok(marker)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markers_are_read_for_ever() {
        let plain = parse_marker(include_bytes!("../../../tests/golden/backup/marker.json")).unwrap();
        assert_eq!((plain.format, plain.farm.as_str(), plain.encryption.is_none()), (1, "4711", true));
        assert_eq!(pretty(&plain).unwrap(), include_bytes!("../../../tests/golden/backup/marker.json"));
        let sealed = parse_marker(include_bytes!("../../../tests/golden/backup/marker-encrypted.json")).unwrap();
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "correct horse battery staple\n").unwrap();
        assert!(Key::open(file.path(), sealed.encryption.as_ref().unwrap()).is_ok());
        std::fs::write(file.path(), "correct horse battery stable\n").unwrap();
        let refused = Key::open(file.path(), sealed.encryption.as_ref().unwrap());
        assert_eq!(refused.err().map(|error| error.code()), Some(Code::WrongKey));
    }

    #[test]
    fn a_newer_format_is_refused_by_name() {
        let error = parse_marker(br#"{"format": 2, "farm": "1", "created": 0, "encryption": null}"#).unwrap_err();
        assert!(error.message().contains("format 2"), "{error}");
    }
}
