//! Rereading the registry when its version in the configuration database has changed, and opening new databases and
//! stores.

use std::sync::Arc;

use blobs::BlobStore;
use database::configuration::farm::{self, ContentDatabaseRow, StoreRow};
use database::configuration::{policy, role, site_collection};
use futures_util::future::join_all;
use model::{Code, Result, StoreKind};

use crate::farm::absent::AbsentDatabase;
use crate::farm::registry::{ContentDatabase, Registry};
use crate::farm::repository::Repository;
use crate::storage::built_in::FILES_STORE;
use crate::storage::database_store::DatabaseStore;
use crate::storage::policy::{Policies, Policy};

impl Repository {
    /// Returns the registry as last read, at any version.
    pub(crate) async fn registry(&self) -> Result<Arc<Registry>> {
        self.registry_at(0).await
    }

    /// Returns the registry, reread when the one in memory is older than `version`.
    pub(crate) async fn registry_at(&self, version: i64) -> Result<Arc<Registry>> {
        if let Some(registry) = self.current_registry().filter(|registry| registry.version >= version) {
            self.look_for_absent(&registry.absent);
            return Ok(registry);
        }
        let _one_reader = self.inner.registry.reading.lock().await;
        if let Some(registry) = self.current_registry().filter(|registry| registry.version >= version) {
            return Ok(registry);
        }
        self.read_registry().await
    }

    /// Rereads the registry after a change by this process.
    pub(crate) async fn refresh_registry(&self) -> Result<()> {
        let _one_reader = self.inner.registry.reading.lock().await;
        self.read_registry().await.map(drop)
    }

    fn current_registry(&self) -> Option<Arc<Registry>> {
        self.inner.registry.current.read().unwrap_or_else(|poisoned| poisoned.into_inner()).clone()
    }

    async fn read_registry(&self) -> Result<Arc<Registry>> {
        let previous = self.current_registry();
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
        let wants_accesses = crate::storage::policy::are_wanted(&policies);
        let by_address = collections.iter().enumerate().map(|(index, row)| (row.folded.clone(), index)).collect();
        let roles = Arc::new(roles.into_iter().map(|role| (role.id, role)).collect());
        let registry = Arc::new(Registry {
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
        *self.inner.registry.current.write().unwrap_or_else(|poisoned| poisoned.into_inner()) = Some(registry.clone());
        Ok(registry)
    }

    /// Returns a store with its row: the open one if its row still describes it, otherwise newly opened. A store that
    /// does not respond does not stop the farm; only its content is unavailable until it responds.
    async fn keep_or_attach(
        &self,
        previous: Option<&Registry>,
        row: StoreRow,
    ) -> Result<(StoreRow, Option<BlobStore>)> {
        let known = previous.and_then(|registry| registry.stores.iter().find(|(old, _)| same_place(old, &row)));
        let store = match known {
            Some((_, Some(store))) => Some(store.clone()),
            _ if row.kind == StoreKind::Database => None,
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
            Err(error) if starting && row.id == FILES_STORE && error.code() != Code::StoreAbsent => Err(error),
            Err(error) => {
                tracing::error!(store = row.name, error = error.report(), "a BLOB store cannot be opened");
                Ok(None)
            }
        }
    }

    async fn keep_or_open_database(
        &self,
        previous: Option<&Registry>,
        row: ContentDatabaseRow,
    ) -> Result<std::result::Result<Arc<ContentDatabase>, AbsentDatabase>> {
        let open = previous.and_then(|registry| registry.databases.iter().find(|database| database.row.id == row.id));
        if let Some(open) = open
            && open.row.active_store_id == row.active_store_id
            && open.row.minimum_size == row.minimum_size
        {
            return Ok(Ok(open.clone()));
        }
        let known = previous.and_then(|registry| registry.absent.iter().find(|absent| absent.row.id == row.id));
        let opened = match (open, self.inner.registry.looking.take(row.id), known) {
            (Some(open), ..) => Ok(open.database.clone()),
            (None, Some(found), _) => Ok(found),
            // A background task tries to open it, so that no request waits for an absent database.
            (None, None, Some(known)) => return Ok(Err(known.clone().with_row(row))),
            (None, None, None) => self.inner.open_content(&row).await,
        };
        let database = match opened {
            Ok(database) => database,
            // A newer schema version is not a temporary condition, so the start fails.
            Err(error) if previous.is_none() && error.code() == Code::SchemaNewer => return Err(error),
            Err(error) => {
                let absent = AbsentDatabase::new(row, &error);
                tracing::error!(
                    database = absent.name(),
                    error = error.report(),
                    help = absent.recovery_advice(self.inner.directory.path()),
                    "a content database is not open; its sites cannot be used, and nothing is deleted meanwhile"
                );
                return Ok(Err(absent));
            }
        };
        let provider = DatabaseStore::new(database.clone(), self.inner.ids.clone());
        if open.is_none()
            && let Err(error) = provider.remove_abandoned().await
        {
            tracing::warn!(database = row.name, error = error.report(), "leftovers of uploads cannot be removed now");
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

/// Returns whether an open store is the one that a row describes.
fn same_place(old: &StoreRow, new: &StoreRow) -> bool {
    old.id == new.id && old.location == new.location && old.settings == new.settings && old.secret == new.secret
}
