//! The farm's registry in memory: content databases, stores, site collections and roles. It is reread when its version
//! in the configuration database has changed.

use std::collections::HashMap;
use std::sync::{Arc, RwLock};

use blobs::BlobStore;
use database::Database;
use database::configuration::farm::{ContentDatabaseRow, StoreRow};
use database::configuration::site_collection::SiteCollectionRow;
use model::{Code, Error, ErrorKind, Id, NodePath, Result, Rights, Role, StoreState};
use tokio::sync::Mutex;

use crate::farm::absent::{AbsentDatabase, Reopening, reason, reason_of, require_none_troubled};
use crate::storage::built_in::DATABASE_STORE;
use crate::storage::policy::Policies;

/// An open content database.
pub(crate) struct ContentDatabase {
    pub(crate) row: ContentDatabaseRow,
    pub(crate) database: Database,
    /// The store that keeps BLOBs inside this database.
    pub(crate) own_store: BlobStore,
}

impl ContentDatabase {
    /// Returns the database's name, for a response that is gathered from all databases and lacks the content of this
    /// one, which returned this error.
    ///
    /// # Errors
    /// The given error, when it is not about the database itself.
    pub(crate) fn name_if_database_error(&self, error: Error) -> Result<String> {
        if !is_of_the_database(&error) {
            return Err(error);
        }
        tracing::warn!(
            database = self.row.name,
            error = error.report(),
            "a response is incomplete, because a content database cannot be read"
        );
        Ok(self.row.name.clone())
    }

    /// Returns the error for a request that needs this database, which returned this error.
    pub(crate) fn away(&self, error: Error) -> Error {
        if !is_of_the_database(&error) {
            return error;
        }
        let message = format!(
            "the content database \"{}\" of this site cannot be read: {}. An administrator of the farm must repair it",
            self.row.name,
            reason(error.kind(), error.code())
        );
        Error::unavailable(message).with_code(Code::DatabaseAway).with_source(error)
    }
}

/// Returns whether an error means that a database is damaged or does not respond. Any other error is a valid response.
fn is_of_the_database(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::Corrupt | ErrorKind::Unavailable)
}

/// All that requests need to locate databases, stores and site collections, as of one version.
pub(crate) struct Registry {
    pub(super) version: i64,
    /// Open content databases, oldest first.
    pub(crate) databases: Vec<Arc<ContentDatabase>>,
    /// Content databases that are not open.
    pub(crate) absent: Vec<AbsentDatabase>,
    pub(crate) stores: Vec<(StoreRow, Option<BlobStore>)>,
    pub(crate) collections: Vec<SiteCollectionRow>,
    pub(super) by_address: HashMap<String, usize>,
    pub(crate) roles: Arc<HashMap<Id, Role>>,
    pub(crate) policies: Policies,
    /// Set when a policy needs to know when BLOBs were read.
    pub(crate) wants_accesses: bool,
}

#[derive(Default)]
pub(crate) struct RegistryCell {
    pub(super) current: RwLock<Option<Arc<Registry>>>,
    pub(super) reading: Mutex<()>,
    pub(crate) looking: Reopening,
}

impl Registry {
    /// Returns the site collection whose address is the longest prefix of `path`, and the number of names in that
    /// address.
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

    /// Returns the content database with this identifier.
    pub(crate) fn database(&self, id: Id) -> Result<&Arc<ContentDatabase>> {
        if let Some(found) = self.databases.iter().find(|database| database.row.id == id) {
            return Ok(found);
        }
        let absent = self.absent.iter().find(|absent| absent.row.id == id).map(AbsentDatabase::error);
        Err(absent
            .unwrap_or_else(|| Error::unavailable("the content database of this site is not attached to the farm")))
    }

    /// Returns the content database with this name; without a name, the one that was added first.
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

    /// Returns the rows of all content databases, open or not.
    pub(crate) fn database_rows(&self) -> impl Iterator<Item = &ContentDatabaseRow> {
        self.databases.iter().map(|content| &content.row).chain(self.absent.iter().map(|absent| &absent.row))
    }

    /// Returns the names of the content databases that are not open.
    pub(crate) fn away(&self) -> Vec<String> {
        self.absent.iter().map(|absent| absent.name().to_owned()).collect()
    }

    /// Refuses work that would take an absent database for an empty one.
    ///
    /// # Errors
    /// `Unavailable` with code `database_away`, naming the databases that are not open or are damaged.
    pub(crate) fn require_all(&self) -> Result<()> {
        let absent = self.absent.iter().map(|absent| (absent.name(), absent.reason()));
        let damaged = self.databases.iter().filter_map(|content| {
            content.database.damage().map(|damage| (content.row.name.as_str(), reason_of(damage)))
        });
        require_none_troubled(absent.chain(damaged))
    }

    /// Returns the store with this identifier, as the content database `database` sees it.
    pub(crate) fn store<'a>(&'a self, id: Id, database: &'a ContentDatabase) -> Result<&'a BlobStore> {
        if id == DATABASE_STORE {
            return Ok(&database.own_store);
        }
        let found = self.stores.iter().find(|(row, _)| row.id == id).and_then(|(_, store)| store.as_ref());
        found.ok_or_else(|| Error::unavailable("the BLOB store that holds this content is not attached to the farm"))
    }

    /// Returns the store for a new BLOB.
    ///
    /// # Errors
    /// `Unavailable` when the store takes no new BLOBs.
    pub(crate) fn writable_store<'a>(&'a self, id: Id, database: &'a ContentDatabase) -> Result<&'a BlobStore> {
        let store = self.store(id, database)?;
        match self.stores.iter().find(|(row, _)| row.id == id) {
            Some((row, _)) if row.state != StoreState::Active => Err(Error::unavailable(format!(
                "the BLOB store \"{}\" is {}, and the storage policy still names it for new documents: an \
                administrator must \
                 activate it or name another store",
                row.name, row.state
            ))
            .with_code(Code::StoreNotActive)),
            _ => Ok(store),
        }
    }

    /// Returns the row of the store with this name. The `NotFound` error lists the existing names.
    pub(crate) fn store_named(&self, name: &str) -> Result<&StoreRow> {
        self.stores.iter().map(|(row, _)| row).find(|row| row.name == name).ok_or_else(|| {
            let names: Vec<&str> = self.stores.iter().map(|(row, _)| row.name.as_str()).collect();
            Error::not_found(format!("there is no BLOB store \"{name}\"; there are: {}", names.join(", ")))
        })
    }

    /// Returns the name of a store; its number when the farm does not know it.
    pub(crate) fn store_name(&self, id: Id) -> String {
        let found = self.stores.iter().find(|(row, _)| row.id == id);
        found.map_or_else(|| id.to_string(), |(row, _)| row.name.clone())
    }

    /// Returns the rights of a role. A role that was deleted grants nothing.
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
