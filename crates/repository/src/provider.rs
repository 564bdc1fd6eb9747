//! Opening a BLOB store from what the configuration database says about it.

use std::collections::BTreeMap;
use std::sync::Arc;

use blobs::{BlobStore, CacheOptions, CachedProvider, DirectoryOptions, Owner};
use database::configuration::farm::StoreRow;
use model::{Error, Id, Result};

use crate::farm::Inner;
use crate::{object_settings as object, seal};

/// Names and values of a provider's settings.
pub(crate) type Settings = BTreeMap<String, String>;

/// Settings as they are stored: a JSON object of texts.
pub(crate) fn settings_text(settings: &Settings) -> Result<String> {
    serde_json::to_string(settings).map_err(|error| Error::invalid("the settings cannot be stored").with_source(error))
}

pub(crate) fn settings_from(text: &[u8], name: &str) -> Result<Settings> {
    serde_json::from_slice(text).map_err(|error| {
        Error::unavailable(format!("the settings of the BLOB store \"{name}\" cannot be read")).with_source(error)
    })
}

fn subject(store: Id) -> String {
    format!("blob store {store}")
}

impl Inner {
    /// Opens a store; the place of a directory is below the data directory when it is relative. Only with `create` a directory that
    /// is no store becomes one.
    ///
    /// Errors: `Invalid` for an unknown kind or setting; what the provider says.
    pub(crate) async fn open_store(&self, row: &StoreRow, create: bool) -> Result<BlobStore> {
        let (settings, secrets) = self.store_settings(row).await?;
        let owner = Owner::new(self.farm_id.to_string())?;
        match row.kind.as_str() {
            "directory" => {
                if let Some(key) = settings.keys().chain(secrets.keys()).next() {
                    return Err(Error::invalid(format!("a store of the kind directory has no setting \"{key}\"")));
                }
                if row.location.is_empty() {
                    return Err(Error::invalid("a store of the kind directory needs a directory"));
                }
                let path = self.directory.join(&row.location);
                let options = DirectoryOptions { create, ..self.blobs.clone() };
                BlobStore::open_directory(&path, &owner, options).await
            }
            kind => {
                let store = open_object(kind, row, &settings, &secrets, &owner).await?;
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
        }
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
pub async fn open_object_store(row: &StoreRow, farm: &str, key_file: Option<&[u8]>) -> Result<BlobStore> {
    let settings = settings_from(row.settings.as_bytes(), &row.name)?;
    let secrets = match (&row.secret, key_file) {
        (None, _) => Settings::new(),
        (Some(sealed), Some(key)) => settings_from(&seal::open_with(key, &subject(row.id), sealed)?, &row.name)?,
        (Some(_), None) => return Err(Error::unavailable("the key that opens its credentials is missing")),
    };
    open_object(&row.kind, row, &settings, &secrets, &Owner::new(farm)?).await
}

async fn open_object(
    kind: &str,
    row: &StoreRow,
    settings: &Settings,
    secrets: &Settings,
    owner: &Owner,
) -> Result<BlobStore> {
    let options = object::options(kind, &row.location, settings)?;
    BlobStore::open_object(&options, &object::secrets(secrets)?, owner).await
}

async fn blocking<T: Send + 'static>(work: impl FnOnce() -> Result<T> + Send + 'static) -> Result<T> {
    tokio::task::spawn_blocking(work).await.unwrap_or_else(|error| {
        Err(Error::unavailable("the program was stopped while it worked with the farm's key").with_source(error))
    })
}
