//! The farm's databases and BLOB stores as maintenance sees them: whole, below all permissions. Only a farm administrator's
//! session gives it out; what is done with it is written into the farm's audit log.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use blobs::BlobStore;
use database::configuration::event;
use database::configuration::farm::{self, ContentDatabaseRow, StoreRow};
use database::{Database, Location, Transaction};
use model::{Error, Id, Result, Timestamp};

use crate::Session;
use crate::farm::activity::Watch;
use crate::farm::registry::Registry;
use crate::locations::markers::SERVER_LOCK;
use crate::storage::built_in::DATABASE_STORE;

/// A content database that is open.
#[derive(Clone)]
pub struct StorageDatabase {
    /// Identifier.
    pub id: Id,
    /// Unique name.
    pub name: String,
    /// The database.
    pub database: Database,
    /// Where it is: a file (absolute, or relative to the directory of the program) or a PostgreSQL URL.
    pub location: Location,
    /// The store of BLOBs that lie in this database itself.
    pub own_store: BlobStore,
    /// The store that new BLOBs go to, unless a narrower policy says otherwise.
    pub active_store: Id,
    /// BLOBs smaller than this many bytes stay in the database, unless a narrower policy says otherwise.
    pub minimum_size: u64,
}

/// The farm's databases and stores as of one moment. Cheap to clone.
#[derive(Clone)]
pub struct Storage {
    registry: Arc<Registry>,
    pub(crate) repository: crate::Repository,
    actor: Id,
}

impl Session {
    /// The farm's databases and stores.
    ///
    /// Errors: `Forbidden` for others than farm administrators.
    pub async fn storage(&self) -> Result<Storage> {
        self.require_farm_administrator("maintain the farm's storage")?;
        let repository = self.repository.clone();
        repository.refresh_registry().await?;
        Ok(Storage { registry: repository.registry().await?, repository, actor: self.principal.id })
    }
}

impl Storage {
    /// The same as of now.
    pub async fn refreshed(&self) -> Result<Self> {
        self.repository.refresh_registry().await?;
        Ok(Self { registry: self.repository.registry().await?, ..self.clone() })
    }

    /// The same with all content databases that the farm has now, at the cost of one question where none was added.
    pub async fn with_new_databases(&self) -> Result<Self> {
        let rows = self.configuration().read(farm::databases).await?;
        let is_known = |row: &ContentDatabaseRow| self.registry.database_rows().any(|known| known.id == row.id);
        if rows.iter().all(is_known) { Ok(self.clone()) } else { self.refreshed().await }
    }

    /// Who maintains.
    pub fn actor(&self) -> Id {
        self.actor
    }

    /// The identifier of the farm.
    pub fn farm_id(&self) -> Id {
        self.repository.farm_id()
    }

    /// The farm's data directory.
    pub fn directory(&self) -> PathBuf {
        self.repository.inner.directory.clone()
    }

    /// A new identifier.
    pub fn next_id(&self) -> Id {
        self.repository.next_id()
    }

    /// The configuration database.
    pub fn configuration(&self) -> &Database {
        &self.repository.inner.configuration
    }

    /// All content databases, oldest first, for what takes it as an answer when none of them knows something.
    ///
    /// Errors: `Unavailable` with code `database_away`, naming those that are not open.
    pub fn all_databases(&self) -> Result<Vec<StorageDatabase>> {
        self.registry.require_all()?;
        self.databases()
    }

    /// Content databases that are not open.
    pub fn absent(&self) -> &[crate::AbsentDatabase] {
        &self.registry.absent
    }

    /// All content databases that are open, oldest first.
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

    /// The content database of this name.
    ///
    /// Errors: `NotFound`, with the names that there are.
    pub fn database(&self, name: &str) -> Result<StorageDatabase> {
        let id = self.registry.database_named(Some(name))?.row.id;
        let found = self.databases()?.into_iter().find(|database| database.id == id);
        found.ok_or_else(|| Error::not_found(format!("there is no content database \"{name}\"")))
    }

    /// Identifier of the content database of this name, whether it is open or not, and where it is.
    ///
    /// Errors: `NotFound`.
    pub fn database_place(&self, name: &str) -> Result<(Id, Location)> {
        let row = self.registry.database_rows().find(|row| row.name == name);
        let row = row.ok_or_else(|| Error::not_found(format!("there is no content database \"{name}\"")))?;
        Ok((row.id, self.repository.inner.place_of(row)?))
    }

    /// All BLOB stores, oldest first. The store of the kind `database` has no provider of its own: each content database
    /// has one.
    pub fn stores(&self) -> &[(StoreRow, Option<BlobStore>)] {
        &self.registry.stores
    }

    /// Identifiers of the BLOB stores that the farm has at this moment.
    pub async fn stores_now(&self) -> Result<Vec<Id>> {
        let rows = self.configuration().read(farm::stores).await?;
        Ok(rows.iter().map(|row| row.id).collect())
    }

    /// The row of the store of this name.
    ///
    /// Errors: `NotFound`, with the names that there are.
    pub fn store_named(&self, name: &str) -> Result<&StoreRow> {
        self.registry.store_named(name)
    }

    /// The name of a store; its number when the farm does not know it.
    pub fn store_name(&self, id: Id) -> String {
        self.registry.store_name(id)
    }

    /// The store with this identifier as a content database sees it.
    ///
    /// Errors: `Unavailable` when the farm does not know it, or when it does not answer.
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

    /// Writes into the farm's audit log, within a transaction on the configuration database.
    pub fn record(&self, transaction: &mut Transaction<'_>, action: &str, subject: &str, detail: &str) -> Result<()> {
        event::record(transaction, Timestamp::now(), self.actor, action, subject, detail)
    }
}

impl crate::Repository {
    /// The database that the farm's jobs are in.
    pub fn jobs_database(&self) -> &Database {
        &self.inner.configuration
    }
}

impl Storage {
    /// Whether people have worked since the last look.
    pub fn is_busy(&self, watch: &mut Watch) -> bool {
        let inner = &self.repository.inner;
        if inner.serving {
            return watch.is_busy(&inner.activity);
        }
        // Without a server, or where its file cannot be seen, nobody is known to work.
        let told = std::fs::metadata(inner.directory.join(SERVER_LOCK)).and_then(|file| file.modified());
        told.is_ok_and(|told| told.elapsed().is_ok_and(|age| age < COUNTS))
    }
}

const COUNTS: Duration = Duration::from_millis(500);
