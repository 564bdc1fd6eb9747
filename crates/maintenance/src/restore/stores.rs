//! The BLOB stores of a farm that is being restored.

use std::path::Path;

use ::blobs::{BlobStore, DirectoryOptions, Owner};
use database::configuration::farm::StoreRow;
use model::{Error, Id, Result};
use repository::DATABASE_STORE;

/// A store that is open, or that of the databases themselves.
pub(super) struct Store {
    pub id: Id,
    pub name: String,
    /// None for the store of what lies in the databases themselves.
    pub open: Option<BlobStore>,
    /// Where it is from now on, when that is another place.
    pub moved_to: Option<String>,
}

/// Opens the stores of a farm. Those outside of the data directory get a place below it, unless they are used where they are:
/// two farms that share a store would delete each other's BLOBs.
pub(super) async fn open(directory: &Path, farm: &str, rows: &[StoreRow], use_stores: bool) -> Result<Vec<Store>> {
    let mut stores = Vec::new();
    for row in rows {
        let mut store = Store { id: row.id, name: row.name.clone(), open: None, moved_to: None };
        if row.id == DATABASE_STORE || row.kind == "database" {
            stores.push(store);
            continue;
        }
        let location = Path::new(&row.location);
        let is_within = row.kind == "directory" && location.is_relative() && !row.location.contains("..");
        let place = if is_within {
            directory.join(location)
        } else if use_stores {
            if row.kind != "directory" {
                return Err(Error::invalid(format!(
                    "the store \"{}\" of kind {} cannot be restored into where it is: leave out --use-stores, and migrate its BLOBs afterwards",
                    row.name, row.kind
                )));
            }
            directory.join(location)
        } else {
            let moved = format!("stores/{}", row.id);
            let place = directory.join(&moved);
            store.moved_to = Some(moved);
            place
        };
        let options = DirectoryOptions { zero_fill: false, ..DirectoryOptions::default() };
        let opened = BlobStore::open_directory(&place, &Owner::new(farm)?, options).await;
        store.open = Some(opened.map_err(|error| {
            Error::new(error.kind(), format!("the store \"{}\" cannot be opened: {}", row.name, error.message()))
        })?);
        stores.push(store);
    }
    Ok(stores)
}
