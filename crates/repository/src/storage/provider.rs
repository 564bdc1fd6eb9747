//! Opening a BLOB store from its row in the configuration database.

use std::path::Path;

use async_recursion::async_recursion as boxed;
use blobs::{BlobStore, CacheOptions, DirectoryOptions, Owner};
use database::configuration::farm::StoreRow;
use model::{Error, Id, Result, StoreKind};

use crate::blocking::blocking;
use crate::farm::repository::Inner;
use crate::farm::seal;
use crate::storage::settings as object;
use crate::storage::settings::{Settings, settings_from, settings_text};

fn subject(store: Id) -> String {
    format!("blob store {store}")
}

impl Inner {
    /// Opens a shared store of the farm. A store in object storage is contacted only on first use, and is read through
    /// the cache of this process.
    ///
    /// # Errors
    /// Those of [`Self::open_store`].
    pub(crate) async fn attach_store(&self, row: &StoreRow, create: bool) -> Result<BlobStore> {
        if row.kind == StoreKind::Directory {
            return self.open_store(row, create).await;
        }
        let (settings, secrets) = self.store_settings(row).await?;
        let options = object::options(row.kind, &row.location, &settings)?;
        let store = BlobStore::expect_object(&options, &object::secrets(&secrets)?, &self.owner()?)?;
        let bytes = object::cache_bytes(&settings)?;
        // The cache belongs to a single process, the server.
        if bytes == 0 || !self.serving {
            return Ok(store);
        }
        let path = self.directory.join("cache").join(row.id.to_string());
        let cache = CacheOptions { path, bytes, largest: bytes / 4 };
        store.cached(cache).await
    }

    /// Opens a store and checks that it responds. A relative directory is below the data directory. Only with `create`,
    /// a location that is not a store becomes one.
    ///
    /// # Errors
    /// `Invalid` for a kind without a location or an unknown setting; those of the provider.
    pub(crate) async fn open_store(&self, row: &StoreRow, create: bool) -> Result<BlobStore> {
        let (settings, secrets) = self.store_settings(row).await?;
        let owner = self.owner()?;
        if row.kind == StoreKind::Directory {
            if row.location.is_empty() {
                return Err(Error::invalid("a store of the kind directory needs a directory"));
            }
            let path = self.directory.join(&row.location);
            let options = object::directory(&settings, &secrets, DirectoryOptions { create, ..self.blobs.clone() })?;
            return BlobStore::open_directory(&path, &owner, options).await;
        }
        let options = object::options(row.kind, &row.location, &settings)?;
        object::cache_bytes(&settings)?;
        let secrets = object::secrets(&secrets)?;
        if create {
            return BlobStore::open_object(&options, &secrets, &owner).await;
        }
        let store = BlobStore::expect_object(&options, &secrets, &owner)?;
        store.ping().await.map(|()| store)
    }

    fn owner(&self) -> Result<Owner> {
        Owner::new(self.farm_id.to_string())?.held_by(self.restore_id.clone())
    }

    /// Returns the settings and secrets of a store.
    pub(crate) async fn store_settings(&self, row: &StoreRow) -> Result<(Settings, Settings)> {
        let settings = settings_from(row.settings.as_bytes(), &row.name)?;
        let Some(sealed) = row.secret.clone() else { return Ok((settings, Settings::new())) };
        let (directory, subject) = (self.directory.clone(), subject(row.id));
        let opened = blocking(move || seal::open(&directory, &subject, &sealed)).await?;
        Ok((settings, settings_from(&opened, &row.name)?))
    }

    pub(crate) async fn seal_secrets(&self, store: Id, secrets: &Settings) -> Result<Vec<u8>> {
        let (directory, subject, text) = (self.directory.clone(), subject(store), settings_text(secrets)?);
        blocking(move || seal::seal(&directory, &subject, text.as_bytes())).await
    }
}

/// Opens a store in object storage for a farm that does not exist yet. `key_file` is the content of the key file with
/// which its credentials were sealed. Nothing is cached.
///
/// # Errors
/// `Unavailable` when the credentials cannot be opened; those of [`BlobStore::open_object`].
#[boxed]
pub async fn open_object_store(row: &StoreRow, owner: &Owner, key_file: Option<&[u8]>) -> Result<BlobStore> {
    let (settings, secrets) = settings_with(row, key_file)?;
    let options = object::options(row.kind, &row.location, &settings)?;
    BlobStore::open_object(&options, &object::secrets(&secrets)?, owner).await
}

/// Opens a store in the directory `place` for a farm that does not exist yet. An empty or missing directory becomes a
/// store.
///
/// # Errors
/// `Unavailable` when its keys cannot be opened; those of [`BlobStore::open_directory`].
#[boxed]
pub async fn open_directory_store(
    row: &StoreRow,
    owner: &Owner,
    key_file: Option<&[u8]>,
    place: &Path,
) -> Result<BlobStore> {
    let (settings, secrets) = settings_with(row, key_file)?;
    let usual = DirectoryOptions { zero_fill: false, ..DirectoryOptions::default() };
    BlobStore::open_directory(place, owner, object::directory(&settings, &secrets, usual)?).await
}

/// Returns the row of a directory store that replaces a store, with the same compression and encryption. Without the
/// key file, the encryption keys are unknown and left out.
///
/// # Errors
/// `Unavailable` when the keys cannot be opened.
pub fn as_directory(row: &StoreRow, location: &str, key_file: Option<&[u8]>) -> Result<StoreRow> {
    let mut new = StoreRow { kind: StoreKind::Directory, location: location.to_owned(), ..row.clone() };
    if row.kind == new.kind {
        return Ok(new);
    }
    let mut settings = settings_from(row.settings.as_bytes(), &row.name)?;
    settings.retain(|name, _| name == object::COMPRESSION);
    new.settings = settings_text(&settings)?;
    new.secret = None;
    if let Some(key) = key_file {
        let (_, mut secrets) = settings_with(row, key_file)?;
        secrets.retain(|name, _| name == object::KEYS);
        if !secrets.is_empty() {
            new.secret = Some(seal::seal_with(key, &subject(row.id), settings_text(&secrets)?.as_bytes())?);
        }
    }
    Ok(new)
}

fn settings_with(row: &StoreRow, key_file: Option<&[u8]>) -> Result<(Settings, Settings)> {
    let secrets = match (&row.secret, key_file) {
        (None, _) => Settings::new(),
        (Some(sealed), Some(key)) => settings_from(&seal::open_with(key, &subject(row.id), sealed)?, &row.name)?,
        (Some(_), None) => return Err(Error::unavailable("the key that opens its credentials is missing")),
    };
    Ok((settings_from(row.settings.as_bytes(), &row.name)?, secrets))
}
