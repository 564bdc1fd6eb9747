//! Status of the farm's content databases and BLOB stores.

use std::collections::BTreeMap;

use async_recursion::async_recursion as boxed;
use blobs::{BlobStore, Usage};
use database::configuration::farm::StoreRow;
use database::content::{blob, tree};
use futures_util::future::join_all;
use model::{Error, Id, Result, Right, StoreKind, StoreState, Timestamp, unsigned};

use crate::storage::built_in::DATABASE_STORE;
use crate::storage::settings::KEYS;
use crate::storage::usage_cache::Reading;
use crate::{Repository, Session, Target};

/// A content database with its references to BLOBs.
#[derive(Clone, Debug)]
pub struct DatabaseStatus {
    /// Name.
    pub name: String,
    /// `sqlite` or `postgres`.
    pub engine: &'static str,
    /// The reason when it is not open, is damaged or does not respond. `references` may be empty then.
    pub trouble: Option<String>,
    /// Size of the database itself in bytes; `None` when it does not respond.
    pub bytes: Option<u64>,
    /// BLOBs smaller than this stay in the database.
    pub minimum_size: u64,
    /// Name of the store for new BLOBs.
    pub active_store: String,
    /// For each store: its name, the number of BLOBs referred to, and their bytes.
    pub references: Vec<(String, u64, u64)>,
}

/// A BLOB store with its usage.
#[derive(Clone, Debug)]
pub struct StoreStatus {
    /// Identifier.
    pub id: Id,
    /// Name.
    pub name: String,
    /// Kind of its provider.
    pub kind: StoreKind,
    /// State with regard to new BLOBs.
    pub state: StoreState,
    /// Location.
    pub location: String,
    /// Settings of its provider by name, without credentials and keys.
    pub settings: BTreeMap<String, String>,
    /// Set when it has credentials or keys.
    pub has_secrets: bool,
    /// Set when new BLOBs are encrypted before they are stored.
    pub encrypted: bool,
    /// Its usage; `None` when it does not respond, was not queried, or is being measured for the first time.
    pub usage: Option<Usage>,
    /// Time of that measurement.
    pub counted_at: Option<Timestamp>,
    /// The reason when it was queried and does not respond.
    pub trouble: Option<String>,
}

impl Session {
    /// Returns the number of documents below an item and the bytes of their latest versions. Needs the right to manage
    /// the site, because documents that the caller may not see are included. Takes long for millions of documents.
    #[boxed]
    pub async fn contents(&self, target: &Target) -> Result<(u64, u64)> {
        let located = self.locate(target).await?.to(Right::ManageSite)?;
        let id = located.node().id;
        let (documents, bytes) = located.content.database.read_long(move |reader| tree::contents(reader, id)).await?;
        Ok((unsigned(documents), unsigned(bytes)))
    }

    /// Checks whether the caller may see the metrics that each server of the farm keeps for itself.
    ///
    /// # Errors
    /// `Forbidden` unless the caller is a farm administrator.
    pub fn may_see_figures(&self) -> Result<()> {
        self.require_farm_administrator("see the figures of the farm's servers")
    }

    /// Returns the content databases and stores of the farm. A server queries stores with a short timeout and otherwise
    /// reports the last measurement. A command waits until all stores are measured.
    ///
    /// # Errors
    /// `Forbidden` unless the caller is a farm administrator.
    #[boxed]
    pub async fn storage_status(&self) -> Result<(Vec<DatabaseStatus>, Vec<StoreStatus>)> {
        let databases = self.database_status().await?;
        let registry = self.registry().await?;
        let ask = async |(row, store): &(StoreRow, Option<BlobStore>)| -> Result<StoreStatus> {
            let reading = self.reading(row, store.as_ref()).await;
            let (usage, counted_at) = reading.usage.unzip();
            Ok(StoreStatus { usage, counted_at, trouble: reading.trouble, ..self.described(row).await? })
        };
        let stores = join_all(registry.stores.iter().map(ask)).await.into_iter().collect::<Result<_>>()?;
        Ok((databases, stores))
    }

    /// Returns the usage of a store, as far as it can be determined now.
    pub(crate) async fn reading(&self, row: &StoreRow, store: Option<&BlobStore>) -> Reading {
        let inner = &self.repository.inner;
        match store {
            Some(store) => inner.gauges.read(row.id, store, inner.serving).await,
            None if row.id == DATABASE_STORE => match self.database_store_usage().await {
                Ok(usage) => Reading { usage: Some((usage, Timestamp::now())), trouble: None },
                Err(error) => Reading { usage: None, trouble: Some(error.message().to_owned()) },
            },
            None => {
                let trouble = format!("there is no BLOB store of this farm in {}", row.location);
                Reading { usage: None, trouble: Some(trouble) }
            }
        }
    }

    /// Returns the content databases of the farm.
    ///
    /// # Errors
    /// `Forbidden` unless the caller is a farm administrator.
    #[boxed]
    pub async fn database_status(&self) -> Result<Vec<DatabaseStatus>> {
        self.require_farm_administrator("see the farm's storage")?;
        let registry = self.registry().await?;
        let name_of = |id: Id| {
            let found = registry.stores.iter().find(|(row, _)| row.id == id);
            found.map_or_else(|| id.to_string(), |(row, _)| row.name.clone())
        };
        let mut databases = Vec::new();
        for content in &registry.databases {
            let totals = content.database.read_long(blob::totals).await;
            let bytes = content.database.size_bytes().await;
            let trouble = totals.as_ref().err().or(bytes.as_ref().err()).map(Error::report);
            let totals = totals.unwrap_or_default();
            databases.push(DatabaseStatus {
                name: content.row.name.clone(),
                engine: content.database.engine().as_str(),
                trouble: content.database.damage().map(|damage| damage.report.clone()).or(trouble),
                bytes: bytes.ok(),
                minimum_size: unsigned(content.row.minimum_size),
                active_store: name_of(content.row.active_store_id),
                references: totals
                    .into_iter()
                    .map(|(id, n, bytes)| (name_of(id), unsigned(n), unsigned(bytes)))
                    .collect(),
            });
        }
        for absent in &registry.absent {
            databases.push(DatabaseStatus {
                name: absent.row.name.clone(),
                engine: self.repository.inner.place_of(&absent.row)?.engine().as_str(),
                trouble: Some(absent.message().to_owned()),
                bytes: None,
                minimum_size: unsigned(absent.row.minimum_size),
                active_store: name_of(absent.row.active_store_id),
                references: Vec::new(),
            });
        }
        Ok(databases)
    }

    /// Returns the names of the content databases that are not open or are damaged. Figures and lists for
    /// administrators lack their content.
    ///
    /// # Errors
    /// `Forbidden` unless the caller is a farm administrator.
    #[boxed]
    pub async fn databases_away(&self) -> Result<Vec<String>> {
        self.require_farm_administrator("see the farm's storage")?;
        self.repository.databases_away().await
    }

    /// Returns the stores of the farm without their usage, which may take long to measure.
    ///
    /// # Errors
    /// `Forbidden` unless the caller is a farm administrator.
    #[boxed]
    pub async fn stores(&self) -> Result<Vec<StoreStatus>> {
        self.require_farm_administrator("see the farm's storage")?;
        self.repository.refresh_registry().await?;
        let registry = self.repository.registry().await?;
        join_all(registry.stores.iter().map(|(row, _)| self.described(row))).await.into_iter().collect()
    }

    /// Returns the status of a store without its usage.
    async fn described(&self, row: &StoreRow) -> Result<StoreStatus> {
        // A store whose secrets cannot be opened counts as not encrypted; its keys cannot be changed either.
        let encrypted = row.secret.is_some()
            && self.repository.inner.store_settings(row).await.is_ok_and(|(_, secrets)| secrets.contains_key(KEYS));
        Ok(StoreStatus {
            id: row.id,
            name: row.name.clone(),
            kind: row.kind,
            state: row.state,
            location: row.location.clone(),
            settings: crate::storage::settings::settings_from(row.settings.as_bytes(), &row.name)?,
            has_secrets: row.secret.is_some(),
            encrypted,
            usage: None,
            counted_at: None,
            trouble: None,
        })
    }

    async fn database_store_usage(&self) -> Result<Usage> {
        let mut sum = Usage::default();
        for content in &self.registry().await?.databases {
            let usage = content.own_store.usage().await?;
            sum.blobs += usage.blobs;
            sum.content_bytes += usage.content_bytes;
            sum.disk_bytes += usage.disk_bytes;
        }
        Ok(sum)
    }
}

impl Repository {
    /// Returns the names of the content databases that are not open or are damaged, as far as this process knows,
    /// without querying them.
    ///
    /// # Errors
    /// Those of reading the farm's registry for the first time.
    #[boxed]
    pub async fn databases_away(&self) -> Result<Vec<String>> {
        let registry = self.registry().await?;
        let damaged = registry.databases.iter().filter(|content| content.database.damage().is_some());
        let mut names = registry.away();
        names.extend(damaged.map(|content| content.row.name.clone()));
        Ok(names)
    }
}
