//! The BLOB stores of a farm that is being restored.

use std::path::Path;

use ::blobs::{BlobStore, DirectoryOptions, Owner};
use bytes::Bytes;
use database::configuration::farm::StoreRow;
use model::{Error, Id, Result};
use repository::{DATABASE_STORE, open_directory_store, open_object_store};

/// A store that is open, or that of the databases themselves.
pub(super) struct Store {
    pub id: Id,
    pub name: String,
    /// None for the store of what lies in the databases themselves.
    pub open: Option<BlobStore>,
    /// Where it is from now on, when that is another place.
    pub moved_to: Option<String>,
}

/// What opening the stores of a farm that is being restored needs.
pub(super) struct Opening<'a> {
    pub directory: &'a Path,
    pub farm: &'a str,
    /// The content of the farm's key file, which opens the credentials of its stores.
    pub key_file: Option<Bytes>,
    /// Whether stores outside of the data directory are used where they are.
    pub use_stores: bool,
}

impl Opening<'_> {
    /// Opens the stores. Those outside of the data directory get a place below it, unless they are used where they are: two farms that
    /// share a store would delete each other's BLOBs.
    pub async fn open(&self, rows: &[StoreRow]) -> Result<Vec<Store>> {
        let mut stores = Vec::new();
        for row in rows {
            let mut store = Store { id: row.id, name: row.name.clone(), open: None, moved_to: None };
            if row.id != DATABASE_STORE && row.kind != "database" {
                let (opened, moved_to) = self.open_one(row).await.map_err(|error| self.named(row, &error))?;
                (store.open, store.moved_to) = (Some(opened), moved_to);
            }
            stores.push(store);
        }
        Ok(stores)
    }

    async fn open_one(&self, row: &StoreRow) -> Result<(BlobStore, Option<String>)> {
        let is_directory = row.kind == "directory";
        let (location, key_file) = (Path::new(&row.location), self.key_file.as_deref());
        if is_directory && (self.use_stores || location.is_relative() && !row.location.contains("..")) {
            let place = self.directory.join(location);
            return Ok((open_directory_store(row, self.farm, key_file, &place).await?, None));
        }
        if self.use_stores {
            return Ok((open_object_store(row, self.farm, key_file).await?, None));
        }
        let moved = format!("stores/{}", row.id);
        let place = self.directory.join(&moved);
        let store = match is_directory {
            // With its settings and keys, as the row keeps them.
            true => open_directory_store(row, self.farm, key_file, &place).await?,
            false => {
                let options = DirectoryOptions { zero_fill: false, ..DirectoryOptions::default() };
                BlobStore::open_directory(&place, &Owner::new(self.farm)?, options).await?
            }
        };
        Ok((store, Some(moved)))
    }

    fn named(&self, row: &StoreRow, error: &Error) -> Error {
        let hint = match self.use_stores && row.kind != "directory" {
            true => "; without --use-stores its BLOBs are restored into a directory below the data directory",
            false => "",
        };
        Error::new(error.kind(), format!("the store \"{}\" cannot be opened: {}{hint}", row.name, error.message()))
    }
}
