//! The BLOB stores of a farm during its restore.

use std::path::Path;

use ::blobs::{BlobStore, HAND_OVER_GRACE, Owner};
use async_recursion::async_recursion as boxed;
use bytes::Bytes;
use database::configuration::farm::StoreRow;
use model::{Error, Id, Result, StoreKind};
use repository::{DATABASE_STORE, as_directory, open_directory_store, open_object_store};

/// A store of the farm: an open one, or the one inside the databases.
pub(super) struct Store {
    pub id: Id,
    pub name: String,
    /// None for the store inside the databases.
    pub open: Option<BlobStore>,
    /// New definition of the store, if its location changes.
    pub moved_to: Option<StoreRow>,
    /// Previous holder of the store, if it was another one. `Some(None)` means the farm before any restore.
    pub taken_from: Option<Option<String>>,
}

impl Store {
    /// Creates the entry of a store that keeps its location.
    pub fn kept(row: &StoreRow, open: Option<BlobStore>) -> Self {
        Self { id: row.id, name: row.name.clone(), open, moved_to: None, taken_from: None }
    }
}

/// Parameters for opening the stores of a farm during its restore.
pub(super) struct Opening<'a> {
    pub directory: &'a Path,
    /// The farm as owner, with this restore as the holder.
    pub owner: &'a Owner,
    /// Content of the farm's key file, which decrypts the credentials of the stores.
    pub key_file: Option<Bytes>,
    /// Use stores outside of the data directory where they are.
    pub use_stores: bool,
}

impl Opening<'_> {
    /// Opens the stores. Those outside of the data directory are relocated below it, unless they are to be used where
    /// they are. Otherwise two farms would share a store and delete each other's BLOBs.
    #[boxed]
    pub async fn open(&self, rows: &[StoreRow]) -> Result<Vec<Store>> {
        let mut stores = Vec::new();
        for row in rows {
            let mut store = Store::kept(row, None);
            if row.id != DATABASE_STORE && row.kind != StoreKind::Database {
                let (opened, moved_to) = self.open_one(row).await.map_err(|error| self.named(row, &error))?;
                (store.open, store.moved_to) = (Some(opened), moved_to);
            }
            stores.push(store);
        }
        if let Err(error) = self.take_over(rows, &mut stores).await {
            give_back(&stores).await;
            return Err(error);
        }
        Ok(stores)
    }

    /// Makes this restore the holder of the stores, which alone may write to them. Then waits until a previous holder
    /// must have noticed, so that BLOBs found in the stores from then on stay there.
    async fn take_over(&self, rows: &[StoreRow], stores: &mut [Store]) -> Result<()> {
        let mine = self.owner.holder().map(str::to_owned);
        let mut somebody_may_write = false;
        for (row, store) in rows.iter().zip(stores) {
            let Some(open) = &store.open else { continue };
            let before = open.hand_over(mine.clone()).await.map_err(|error| self.named(row, &error))?;
            if before != mine {
                store.taken_from = Some(before);
                somebody_may_write |= is_outside(row);
            }
        }
        if somebody_may_write {
            tokio::time::sleep(HAND_OVER_GRACE).await;
        }
        Ok(())
    }

    async fn open_one(&self, row: &StoreRow) -> Result<(BlobStore, Option<StoreRow>)> {
        let is_directory = row.kind == StoreKind::Directory;
        let (location, key_file) = (Path::new(&row.location), self.key_file.as_deref());
        if is_directory && (self.use_stores || location.is_relative() && !row.location.contains("..")) {
            let place = self.directory.join(location);
            return Ok((open_directory_store(row, self.owner, key_file, &place).await?, None));
        }
        if self.use_stores {
            return Ok((open_object_store(row, self.owner, key_file).await?, None));
        }
        let moved = as_directory(row, &format!("stores/{}", row.id), key_file)?;
        let place = self.directory.join(&moved.location);
        Ok((open_directory_store(&moved, self.owner, key_file, &place).await?, Some(moved)))
    }

    fn named(&self, row: &StoreRow, error: &Error) -> Error {
        let hint = match self.use_stores && row.kind != StoreKind::Directory {
            true => "; without --use-stores its BLOBs are restored into a directory below the data directory",
            false => "",
        };
        Error::new(error.kind(), format!("the store \"{}\" cannot be opened: {}{hint}", row.name, error.message()))
    }
}

/// Returns whether processes outside of this restore may write to a store. Inside the data directory none can, because
/// the directory is locked.
fn is_outside(row: &StoreRow) -> bool {
    row.kind != StoreKind::Directory || Path::new(&row.location).is_absolute()
}

/// Returns stores to their previous holders after the restore has failed.
pub(super) async fn give_back(stores: &[Store]) {
    for store in stores {
        if let (Some(open), Some(before)) = (&store.open, &store.taken_from)
            && let Err(error) = open.hand_over(before.clone()).await
        {
            tracing::warn!(
                store = store.name,
                error = error.report(),
                "a store still belongs to the failed restore; `strongroom blobs stores take-over` returns it to a farm"
            );
        }
    }
}

/// Returns notes about the stores, for the administrator.
pub(super) fn notes(rows: &[StoreRow], stores: &[Store]) -> Vec<String> {
    let mut notes = Vec::new();
    for (row, store) in rows.iter().zip(stores) {
        if let Some(to) = &store.moved_to {
            notes.push(format!(
                "the store \"{}\" was outside of the data directory and is now at {} below it",
                store.name, to.location
            ));
        } else if store.taken_from.is_some() && is_outside(row) {
            notes.push(format!(
                "the store \"{}\" belongs to this farm from now on: another copy of the farm can no longer write to \
                 it, but can still read it",
                store.name
            ));
        }
    }
    notes
}
