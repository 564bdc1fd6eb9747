//! Opening a BLOB store from what the configuration database says about it.

use std::path::Path;
use std::sync::Arc;

use blobs::{BlobStore, CacheOptions, CachedProvider, DirectoryOptions, Owner};
use database::configuration::farm::StoreRow;
use model::{Error, Id, Result};

use crate::farm::repository::Inner;
use crate::farm::seal;
use crate::storage::settings as object;
use crate::storage::settings::{Settings, settings_from, settings_text};

fn subject(store: Id) -> String {
    format!("blob store {store}")
}

impl Inner {
    /// A store of the farm, for use by all. One in object storage is asked when it is first used; then it serves through the cache of
    /// this process.
    ///
    /// Errors: those of [`Self::open_store`].
    pub(crate) async fn attach_store(&self, row: &StoreRow, create: bool) -> Result<BlobStore> {
        if row.kind == "directory" {
            return self.open_store(row, create).await;
        }
        let (settings, secrets) = self.store_settings(row).await?;
        let options = object::options(&row.kind, &row.location, &settings)?;
        let store = BlobStore::expect_object(&options, &object::secrets(&secrets)?, &self.owner()?)?;
        let bytes = object::cache_bytes(&settings)?;
        // The cache is one process's own.
        if bytes == 0 || !self.serving {
            return Ok(store);
        }
        let path = self.directory.join("cache").join(row.id.to_string());
        let cache = CacheOptions { path, bytes, largest: bytes / 4 };
        let cached = CachedProvider::open(store.provider(), cache).await?;
        Ok(BlobStore::from_provider(Arc::new(cached)))
    }

    /// Opens a store and sees that it answers; the place of a directory is below the data directory when it is relative. Only with
    /// `create` a place that is no store becomes one.
    ///
    /// Errors: `Invalid` for an unknown kind or setting; what the provider says.
    pub(crate) async fn open_store(&self, row: &StoreRow, create: bool) -> Result<BlobStore> {
        let (settings, secrets) = self.store_settings(row).await?;
        let owner = self.owner()?;
        if row.kind == "directory" {
            if row.location.is_empty() {
                return Err(Error::invalid("a store of the kind directory needs a directory"));
            }
            let path = self.directory.join(&row.location);
            let options = object::directory(&settings, &secrets, DirectoryOptions { create, ..self.blobs.clone() })?;
            return BlobStore::open_directory(&path, &owner, options).await;
        }
        let options = object::options(&row.kind, &row.location, &settings)?;
        object::cache_bytes(&settings)?;
        let secrets = object::secrets(&secrets)?;
        if create {
            return BlobStore::open_object(&options, &secrets, &owner).await;
        }
        let store = BlobStore::expect_object(&options, &secrets, &owner)?;
        store.answers().await.map(|()| store)
    }

    fn owner(&self) -> Result<Owner> {
        Owner::new(self.farm_id.to_string())?.held_by(self.holder.clone())
    }

    /// The settings and secrets of a store.
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

/// Opens a store in object storage of a farm that is not there yet: `key_file` is the content of the key file that sealed its
/// credentials. Nothing is cached.
///
/// Errors: `Unavailable` when the credentials cannot be opened; those of [`BlobStore::open_object`].
pub async fn open_object_store(row: &StoreRow, owner: &Owner, key_file: Option<&[u8]>) -> Result<BlobStore> {
    let (settings, secrets) = settings_with(row, key_file)?;
    let options = object::options(&row.kind, &row.location, &settings)?;
    BlobStore::open_object(&options, &object::secrets(&secrets)?, owner).await
}

/// The same for a store in a directory, which is `place` from now on; an empty or absent one becomes a store.
///
/// Errors: `Unavailable` when its keys cannot be opened; those of [`BlobStore::open_directory`].
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

/// The row of a store as the directory that takes its place, which compresses and encrypts as the store did. Without the key file nobody
/// knows its keys.
///
/// Errors: `Unavailable` when its keys cannot be opened.
pub fn as_directory(row: &StoreRow, location: &str, key_file: Option<&[u8]>) -> Result<StoreRow> {
    let mut new = StoreRow { kind: "directory".to_owned(), location: location.to_owned(), ..row.clone() };
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

async fn blocking<T: Send + 'static>(work: impl FnOnce() -> Result<T> + Send + 'static) -> Result<T> {
    tokio::task::spawn_blocking(work).await.unwrap_or_else(|error| {
        Err(Error::unavailable("the program was stopped while it worked with the farm's key").with_source(error))
    })
}
