//! The farm's map in memory: content databases, stores, site collections and roles, read again when their version in
//! the configuration database has changed.

use std::collections::HashMap;
use std::sync::{Arc, RwLock};

use blobs::BlobStore;
use database::Database;
use database::configuration::farm::{self, ContentDatabaseRow, StoreRow};
use database::configuration::policy;
use database::configuration::role;
use database::configuration::site_collection::{self, SiteCollectionRow};
use futures_util::future::join_all;
use model::{Error, ErrorKind, Id, NodePath, Result, Rights, Role};
use tokio::sync::Mutex;

use crate::Repository;
use crate::farm::attach::{AbsentDatabase, DATABASE_AWAY, Looking, needs_all, reason, reason_of};
use crate::farm::repository::{DATABASE_STORE, FILES_STORE};
use crate::storage::database_store::DatabaseStore;
use crate::storage::placement::{Policies, Policy};

/// A content database that is open.
pub(crate) struct ContentDatabase {
    pub(crate) row: ContentDatabaseRow,
    pub(crate) database: Database,
    /// The store that keeps BLOBs in this database itself.
    pub(crate) own_store: BlobStore,
}

impl ContentDatabase {
    /// Its name, for an answer that is gathered from all databases and lacks what is in this one, which gave this
    /// error.
    ///
    /// # Errors
    /// One that tells of something else than the database itself.
    pub(crate) fn left_out(&self, error: Error) -> Result<String> {
        if !is_of_the_database(&error) {
            return Err(error);
        }
        tracing::warn!(
            database = self.row.name,
            error = error.report(),
            "an answer lacks what is in a content database that cannot be read"
        );
        Ok(self.row.name.clone())
    }

    /// The error for a request that needs this database, which gave this error.
    pub(crate) fn away(&self, error: Error) -> Error {
        if !is_of_the_database(&error) {
            return error;
        }
        let message = format!(
            "the content database \"{}\" of this site cannot be read: {}. An administrator of the farm must mend it",
            self.row.name,
            reason(error.kind(), error.code())
        );
        Error::unavailable(message).with_code(DATABASE_AWAY).with_source(error)
    }
}

/// Returns whether an error tells that a database is damaged or gives no answer. Other errors are answers.
fn is_of_the_database(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::Corrupt | ErrorKind::Unavailable)
}

/// Everything that requests need to find their way, as of one version.
pub(crate) struct Map {
    version: i64,
    /// Content databases that are open, oldest first.
    pub(crate) databases: Vec<Arc<ContentDatabase>>,
    /// Those that are not.
    pub(crate) absent: Vec<AbsentDatabase>,
    pub(crate) stores: Vec<(StoreRow, Option<BlobStore>)>,
    pub(crate) collections: Vec<SiteCollectionRow>,
    by_address: HashMap<String, usize>,
    pub(crate) roles: Arc<HashMap<Id, Role>>,
    pub(crate) policies: Policies,
    /// Whether a policy wants to know when BLOBs were read.
    pub(crate) wants_accesses: bool,
}

#[derive(Default)]
pub(crate) struct MapCell {
    current: RwLock<Option<Arc<Map>>>,
    reading: Mutex<()>,
    pub(crate) looking: Looking,
}

impl Map {
    /// The site collection with the longest address that begins `path`, and the number of names it takes.
    pub(crate) fn collection_of(&self, path: &NodePath) -> Option<(&SiteCollectionRow, usize)> {
        let mut found = self.by_address.get("").map(|index| (&self.collections[*index], 0));
        let mut address = String::new();
        for (count, name) in path.names().iter().enumerate().take(4) {
            if count > 0 {
                address.push('/');
            }
            address.push_str(&name.folded());
            if let Some(index) = self.by_address.get(&address) {
                found = Some((&self.collections[*index], count + 1));
            }
        }
        found
    }

    /// The site collection with this identifier.
    pub(crate) fn collection(&self, id: Id) -> Result<&SiteCollectionRow> {
        let found = self.collections.iter().find(|collection| collection.id == id);
        found.ok_or_else(|| Error::not_found("there is no such site collection"))
    }

    /// The content database with this identifier.
    pub(crate) fn database(&self, id: Id) -> Result<&Arc<ContentDatabase>> {
        if let Some(found) = self.databases.iter().find(|database| database.row.id == id) {
            return Ok(found);
        }
        let absent = self.absent.iter().find(|absent| absent.row.id == id).map(AbsentDatabase::error);
        Err(absent
            .unwrap_or_else(|| Error::unavailable("the content database of this site is not attached to the farm")))
    }

    /// The content database of this name; that with the oldest entry when there is no name.
    pub(crate) fn database_named(&self, name: Option<&str>) -> Result<&Arc<ContentDatabase>> {
        let mut rows: Vec<&ContentDatabaseRow> = self.database_rows().collect();
        rows.sort_unstable_by_key(|row| row.id);
        let found = rows.iter().find(|row| name.is_none_or(|name| row.name == name));
        let found = found.ok_or_else(|| {
            let names: Vec<&str> = rows.iter().map(|row| row.name.as_str()).collect();
            let name = name.unwrap_or_default();
            Error::not_found(format!("there is no content database \"{name}\"; there are: {}", names.join(", ")))
        });
        self.database(found?.id)
    }

    /// What the farm knows of its content databases, whether they are open or not.
    pub(crate) fn database_rows(&self) -> impl Iterator<Item = &ContentDatabaseRow> {
        self.databases.iter().map(|content| &content.row).chain(self.absent.iter().map(|absent| &absent.row))
    }

    /// Names of the content databases that are not open.
    pub(crate) fn away(&self) -> Vec<String> {
        self.absent.iter().map(|absent| absent.name().to_owned()).collect()
    }

    /// Refuses what would take the silence of a database that is away for an answer.
    ///
    /// # Errors
    /// Unavailable with code `database_away`, naming those that are not open or are damaged.
    pub(crate) fn require_all(&self) -> Result<()> {
        let absent = self.absent.iter().map(|absent| (absent.name(), absent.reason()));
        let damaged = self.databases.iter().filter_map(|content| {
            content.database.damage().map(|damage| (content.row.name.as_str(), reason_of(damage)))
        });
        needs_all(absent.chain(damaged))
    }

    /// The store with this identifier, as the content database `database` sees it.
    pub(crate) fn store<'a>(&'a self, id: Id, database: &'a ContentDatabase) -> Result<&'a BlobStore> {
        if id == DATABASE_STORE {
            return Ok(&database.own_store);
        }
        let found = self.stores.iter().find(|(row, _)| row.id == id).and_then(|(_, store)| store.as_ref());
        found.ok_or_else(|| Error::unavailable("the BLOB store that holds this content is not attached to the farm"))
    }

    /// The same for a new BLOB: `Unavailable` when the store takes none.
    pub(crate) fn writable_store<'a>(&'a self, id: Id, database: &'a ContentDatabase) -> Result<&'a BlobStore> {
        let store = self.store(id, database)?;
        match self.stores.iter().find(|(row, _)| row.id == id) {
            Some((row, _)) if row.state != "active" => Err(Error::unavailable(format!(
                "the BLOB store \"{}\" is {}, and the storage policy still names it for new documents: an administrator must \
                 activate it or name another store",
                row.name, row.state
            ))
            .with_code("store_not_active")),
            _ => Ok(store),
        }
    }

    /// The row of the store of this name; `NotFound` tells which there are.
    pub(crate) fn store_named(&self, name: &str) -> Result<&StoreRow> {
        self.stores.iter().map(|(row, _)| row).find(|row| row.name == name).ok_or_else(|| {
            let names: Vec<&str> = self.stores.iter().map(|(row, _)| row.name.as_str()).collect();
            Error::not_found(format!("there is no BLOB store \"{name}\"; there are: {}", names.join(", ")))
        })
    }

    /// The name of a store; its number when the farm does not know it.
    pub(crate) fn store_name(&self, id: Id) -> String {
        let found = self.stores.iter().find(|(row, _)| row.id == id);
        found.map_or_else(|| id.to_string(), |(row, _)| row.name.clone())
    }

    /// Rights of a role; a role that was deleted allows nothing.
    pub(crate) fn rights(roles: &HashMap<Id, Role>, id: Id) -> Rights {
        roles.get(&id).map_or(Rights::NONE, |role| role.rights)
    }

    pub(crate) async fn close(&self) {
        for (_, store) in &self.stores {
            if let Some(store) = store {
                store.close().await;
            }
        }
        for content in &self.databases {
            content.database.close().await;
        }
    }
}

impl Repository {
    /// The map, at whatever version it was last read.
    pub(crate) async fn map(&self) -> Result<Arc<Map>> {
        self.map_at(0).await
    }

    /// The map, read again when it is older than `version`.
    pub(crate) async fn map_at(&self, version: i64) -> Result<Arc<Map>> {
        if let Some(map) = self.current_map().filter(|map| map.version >= version) {
            self.look_for_absent(&map.absent);
            return Ok(map);
        }
        let _one_reader = self.inner.map.reading.lock().await;
        if let Some(map) = self.current_map().filter(|map| map.version >= version) {
            return Ok(map);
        }
        self.read_map().await
    }

    /// Reads the map afresh, after this process has changed it.
    pub(crate) async fn refresh_map(&self) -> Result<()> {
        let _one_reader = self.inner.map.reading.lock().await;
        self.read_map().await.map(drop)
    }

    fn current_map(&self) -> Option<Arc<Map>> {
        self.inner.map.current.read().unwrap_or_else(|poisoned| poisoned.into_inner()).clone()
    }

    async fn read_map(&self) -> Result<Arc<Map>> {
        let previous = self.current_map();
        let (farm_row, database_rows, store_rows, collections, roles, policy_rows) = self
            .inner
            .configuration
            .read(|reader| {
                Ok((
                    farm::find(reader)?,
                    farm::databases(reader)?,
                    farm::stores(reader)?,
                    site_collection::list(reader)?,
                    role::list(reader)?,
                    policy::list(reader)?,
                ))
            })
            .await?;
        let version = farm_row.map_or(0, |row| row.directory_version);
        let (mut databases, mut absent) = (Vec::new(), Vec::new());
        for row in database_rows {
            match self.keep_or_open_database(previous.as_deref(), row.clone()).await? {
                Ok(open) => databases.push(open),
                Err(error) => absent.push(error),
            }
        }
        let stores = join_all(store_rows.into_iter().map(|row| self.keep_or_attach(previous.as_deref(), row))).await;
        let stores = stores.into_iter().collect::<Result<_>>()?;
        let policies: Policies =
            policy_rows.iter().map(|row| Ok((row.target_id, Policy::read(row)?))).collect::<Result<_>>()?;
        let wants_accesses = crate::storage::read_tracking::are_wanted(&policies);
        let by_address = collections.iter().enumerate().map(|(index, row)| (row.folded.clone(), index)).collect();
        let roles = Arc::new(roles.into_iter().map(|role| (role.id, role)).collect());
        let map = Arc::new(Map {
            version,
            databases,
            absent,
            stores,
            collections,
            by_address,
            roles,
            policies,
            wants_accesses,
        });
        *self.inner.map.current.write().unwrap_or_else(|poisoned| poisoned.into_inner()) = Some(map.clone());
        Ok(map)
    }

    /// A store as it was, or as it is now. One that is elsewhere and does not answer leaves the rest of the farm at work: what lies in it
    /// is unavailable until it does.
    async fn keep_or_attach(&self, previous: Option<&Map>, row: StoreRow) -> Result<(StoreRow, Option<BlobStore>)> {
        let known = previous.and_then(|map| map.stores.iter().find(|(old, _)| same_place(old, &row)));
        let store = match known {
            Some((_, Some(store))) => Some(store.clone()),
            _ if row.kind == "database" => None,
            _ => {
                self.inner.gauges.forget(row.id);
                self.attach_or_leave(&row, previous.is_none()).await?
            }
        };
        Ok((row, store))
    }

    async fn attach_or_leave(&self, row: &StoreRow, starting: bool) -> Result<Option<BlobStore>> {
        let make = row.id == FILES_STORE && !self.inner.configuration.read(farm::has_made_files).await?;
        match self.inner.attach_store(row, make).await {
            Ok(store) => {
                if make {
                    self.inner.configuration.write_vital(farm::note_made_files).await?;
                }
                Ok(Some(store))
            }
            Err(error) if starting && row.id == FILES_STORE && error.code() != "store_absent" => Err(error),
            Err(error) => {
                tracing::error!(store = row.name, error = error.report(), "a BLOB store cannot be opened");
                Ok(None)
            }
        }
    }

    async fn keep_or_open_database(
        &self,
        previous: Option<&Map>,
        row: ContentDatabaseRow,
    ) -> Result<std::result::Result<Arc<ContentDatabase>, AbsentDatabase>> {
        let open = previous.and_then(|map| map.databases.iter().find(|database| database.row.id == row.id));
        if let Some(open) = open
            && open.row.active_store_id == row.active_store_id
            && open.row.minimum_size == row.minimum_size
        {
            return Ok(Ok(open.clone()));
        }
        let known = previous.and_then(|map| map.absent.iter().find(|absent| absent.row.id == row.id));
        let opened = match (open, self.inner.map.looking.take(row.id), known) {
            (Some(open), ..) => Ok(open.database.clone()),
            (None, Some(found), _) => Ok(found),
            // It is looked for by itself, so that nobody waits for one that is away.
            (None, None, Some(known)) => return Ok(Err(known.clone().with_row(row))),
            (None, None, None) => self.inner.open_content(&row).await,
        };
        let database = match opened {
            Ok(database) => database,
            // Which version the farm is of is nothing that comes and goes.
            Err(error) if previous.is_none() && error.code() == "schema_newer" => return Err(error),
            Err(error) => {
                let absent = AbsentDatabase::new(row, &error);
                tracing::error!(
                    database = absent.name(),
                    error = error.report(),
                    help = absent.help(&self.inner.directory),
                    "a content database is not open; its sites cannot be used, and nothing is deleted meanwhile"
                );
                return Ok(Err(absent));
            }
        };
        let provider = DatabaseStore::new(database.clone(), self.inner.ids.clone());
        if open.is_none()
            && let Err(error) = provider.remove_abandoned().await
        {
            tracing::warn!(database = row.name, error = error.report(), "what uploads left cannot be removed now");
        }
        if open.is_none()
            && let Err(error) = self.inner.reopen_kept_stores(&row.name, &database).await
        {
            tracing::warn!(
                database = row.name,
                error = error.report(),
                "closed stores cannot be compared with the farm"
            );
        }
        let own_store = BlobStore::from_provider(Arc::new(provider));
        Ok(Ok(Arc::new(ContentDatabase { row, database, own_store })))
    }
}

/// Whether a store that is open is the one that a row describes.
fn same_place(old: &StoreRow, new: &StoreRow) -> bool {
    old.id == new.id && old.location == new.location && old.settings == new.settings && old.secret == new.secret
}
