//! Maintenance access to the farm's databases and BLOB stores, below all permissions. Only the session of a farm
//! administrator provides it. Actions are recorded in the farm's audit log.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use async_recursion::async_recursion as boxed;
use blobs::BlobStore;
use database::configuration::event;
use database::configuration::farm::{self, ContentDatabaseRow, StoreRow};
use database::{Database, Location, Transaction};
use model::{Error, Id, Result, Timestamp};
use search::index::SharedGenerations;

use crate::Session;
use crate::farm::activity::ActivityMonitor;
use crate::farm::registry::Registry;
use crate::locations::search_home::SearchHome;
use crate::storage::built_in::DATABASE_STORE;
use crate::storage::settings::KEYS;

/// An open content database.
#[derive(Clone)]
pub struct StorageDatabase {
    /// Identifier.
    pub id: Id,
    /// Unique name.
    pub name: String,
    /// The database.
    pub database: Database,
    /// Location: a file (absolute, or relative to the working directory of the process) or a PostgreSQL URL.
    pub location: Location,
    /// The store of BLOBs inside this database.
    pub own_store: BlobStore,
    /// The store for new BLOBs, unless a narrower policy says otherwise.
    pub active_store: Id,
    /// BLOBs smaller than this many bytes stay in the database, unless a narrower policy says otherwise.
    pub minimum_size: u64,
}

/// A snapshot of the farm's databases and stores. Cheap to clone.
#[derive(Clone)]
pub struct Storage {
    registry: Arc<Registry>,
    pub(crate) repository: crate::Repository,
    actor: Id,
}

impl Session {
    /// Returns the farm's databases and stores.
    ///
    /// # Errors
    /// `Forbidden` unless the caller is a farm administrator.
    #[boxed]
    pub async fn storage(&self) -> Result<Storage> {
        self.require_farm_administrator("maintain the farm's storage")?;
        let repository = self.repository.clone();
        repository.refresh_registry().await?;
        Ok(Storage { registry: repository.registry().await?, repository, actor: self.principal.id })
    }

    /// Returns the names of the open content databases, oldest first.
    ///
    /// # Errors
    /// `Forbidden` unless the caller is a farm administrator.
    #[boxed]
    pub async fn open_databases(&self) -> Result<Vec<String>> {
        let storage = self.storage().await?;
        Ok(storage.registry.databases.iter().map(|content| content.row.name.clone()).collect())
    }
}

impl Storage {
    /// Returns an up-to-date snapshot.
    #[boxed]
    pub async fn refreshed(&self) -> Result<Self> {
        self.repository.refresh_registry().await?;
        Ok(Self { registry: self.repository.registry().await?, ..self.clone() })
    }

    /// Returns a snapshot that includes all content databases added meanwhile. Costs one query when none was added.
    #[boxed]
    pub async fn with_new_databases(&self) -> Result<Self> {
        let rows = self.configuration().read(farm::databases).await?;
        let is_known = |row: &ContentDatabaseRow| self.registry.database_rows().any(|known| known.id == row.id);
        if rows.iter().all(is_known) { Ok(self.clone()) } else { self.refreshed().await }
    }

    /// Returns the user on whose behalf maintenance runs.
    pub fn actor(&self) -> Id {
        self.actor
    }

    /// The identifier of the farm.
    pub fn farm_id(&self) -> Id {
        self.repository.farm_id()
    }

    /// The farm's data directory.
    pub fn directory(&self) -> PathBuf {
        self.repository.inner.directory.path().to_owned()
    }

    /// Returns where the search indexes of a content database are.
    pub fn search_index(&self, database: Id) -> SearchHome {
        let inner = &self.repository.inner;
        match inner.search.server.get() {
            // A restored copy of a farm has the same identifiers.
            Some(server) => SearchHome::Server(SharedGenerations::new(
                server.clone(),
                inner.farm_id,
                inner.restore_id.as_deref(),
                database,
            )),
            None => SearchHome::Directory(inner.directory.search_index(database)),
        }
    }

    /// Returns the programs with which this process opens documents.
    ///
    /// # Errors
    /// `Unavailable` in a process that opens no documents.
    pub fn programs(&self) -> Result<crate::Programs> {
        self.repository.programs().cloned()
    }

    /// Returns a new identifier.
    pub fn next_id(&self) -> Id {
        self.repository.next_id()
    }

    /// The configuration database.
    pub fn configuration(&self) -> &Database {
        &self.repository.inner.configuration
    }

    /// Returns all content databases, oldest first. For work that draws conclusions when no database knows something.
    ///
    /// # Errors
    /// `Unavailable` with code `database_away`, naming the databases that are not open or are damaged.
    pub fn all_databases(&self) -> Result<Vec<StorageDatabase>> {
        self.registry.require_all()?;
        self.databases()
    }

    /// Returns the content databases that are not open.
    pub fn absent(&self) -> &[crate::AbsentDatabase] {
        &self.registry.absent
    }

    /// Returns all open content databases, oldest first.
    pub fn databases(&self) -> Result<Vec<StorageDatabase>> {
        let describe = |content: &Arc<crate::farm::registry::ContentDatabase>| {
            Ok(StorageDatabase {
                id: content.row.id,
                name: content.row.name.clone(),
                database: content.database.clone(),
                location: self.repository.inner.place_of(&content.row)?,
                own_store: content.own_store.clone(),
                active_store: content.row.active_store_id,
                minimum_size: model::unsigned(content.row.minimum_size),
            })
        };
        self.registry.databases.iter().map(describe).collect()
    }

    /// Returns the content database with this name.
    ///
    /// # Errors
    /// `NotFound`, with the existing names.
    pub fn database(&self, name: &str) -> Result<StorageDatabase> {
        let id = self.registry.database_named(Some(name))?.row.id;
        let found = self.databases()?.into_iter().find(|database| database.id == id);
        found.ok_or_else(|| Error::not_found(format!("there is no content database \"{name}\"")))
    }

    /// Returns identifier and location of the content database with this name, open or not.
    ///
    /// # Errors
    /// `NotFound`.
    pub fn database_place(&self, name: &str) -> Result<(Id, Location)> {
        let row = self.registry.database_rows().find(|row| row.name == name);
        let row = row.ok_or_else(|| Error::not_found(format!("there is no content database \"{name}\"")))?;
        Ok((row.id, self.repository.inner.place_of(row)?))
    }

    /// Returns all BLOB stores, oldest first. The store of the kind `database` has no provider of its own: each content
    /// database has one.
    pub fn stores(&self) -> &[(StoreRow, Option<BlobStore>)] {
        &self.registry.stores
    }

    /// Returns the identifiers of the farm's BLOB stores at this moment.
    #[boxed]
    pub async fn stores_now(&self) -> Result<Vec<Id>> {
        let rows = self.configuration().read(farm::stores).await?;
        Ok(rows.iter().map(|row| row.id).collect())
    }

    /// Returns the row of the store with this name.
    ///
    /// # Errors
    /// `NotFound`, with the existing names.
    pub fn store_named(&self, name: &str) -> Result<&StoreRow> {
        self.registry.store_named(name)
    }

    /// Returns the name of a store; its number when the farm does not know it.
    pub fn store_name(&self, id: Id) -> String {
        self.registry.store_name(id)
    }

    /// Returns the store with this identifier as a content database sees it.
    ///
    /// # Errors
    /// `Unavailable` when the farm does not know the store, or when it does not respond.
    pub fn store(&self, id: Id, database: &StorageDatabase) -> Result<BlobStore> {
        if id == DATABASE_STORE {
            return Ok(database.own_store.clone());
        }
        match self.registry.stores.iter().find(|(row, _)| row.id == id) {
            Some((_, Some(store))) => Ok(store.clone()),
            Some((row, None)) => Err(Error::unavailable(format!(
                "the BLOB store \"{}\" does not answer: `strongroom blobs stores test` says why",
                row.name
            ))),
            None => Err(Error::unavailable(format!("the BLOB store {id} is not attached to the farm any more"))),
        }
    }

    /// Returns whether new BLOBs of a store are encrypted before they are stored.
    ///
    /// # Errors
    /// `Unavailable` when the farm does not know the store; those of opening its secrets.
    #[boxed]
    pub async fn encrypts(&self, id: Id) -> Result<bool> {
        let known = self.registry.stores.iter().map(|(row, _)| row).find(|row| row.id == id);
        match known {
            Some(row) if row.secret.is_none() => Ok(false),
            Some(row) => Ok(self.repository.inner.store_settings(row).await?.1.contains_key(KEYS)),
            None if id == DATABASE_STORE => Ok(false),
            None => Err(Error::unavailable(format!("the BLOB store {id} is not attached to the farm any more"))),
        }
    }

    /// Writes an event to the farm's audit log, within a transaction on the configuration database.
    pub fn record(&self, transaction: &mut Transaction<'_>, action: &str, subject: &str, detail: &str) -> Result<()> {
        event::record(transaction, Timestamp::now(), self.actor, action, subject, detail)
    }
}

impl crate::Repository {
    /// Returns the database that holds the farm's jobs.
    pub fn jobs_database(&self) -> &Database {
        &self.inner.configuration
    }
}

impl Storage {
    /// Returns whether users have been active since the last check.
    pub fn is_busy(&self, watch: &mut ActivityMonitor) -> bool {
        let inner = &self.repository.inner;
        if inner.serving {
            return watch.is_busy(&inner.activity);
        }
        // Without a server, or when its lock file cannot be read, no activity is assumed.
        let told = std::fs::metadata(inner.directory.server_lock()).and_then(|file| file.modified());
        told.is_ok_and(|told| told.elapsed().is_ok_and(|age| age < COUNTS))
    }
}

const COUNTS: Duration = Duration::from_millis(500);
