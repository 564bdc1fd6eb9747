//! Content databases of the farm: adding one, and the policy that says where its new BLOBs go.

use database::configuration::event;
use database::configuration::farm::{self, ContentDatabaseRow};
use database::{Location, Transaction};
use model::{Error, Id, Name, Result, Timestamp};

use crate::Session;
use crate::farm::{DEFAULT_MINIMUM_SIZE, FILES_STORE};
use crate::view::size;

/// Where new BLOBs of a content database go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoragePolicy {
    /// Name of the content database.
    pub database: String,
    /// Name of the store that BLOBs go to.
    pub active_store: String,
    /// BLOBs smaller than this many bytes stay in the database.
    pub minimum_size: u64,
}

impl Session {
    /// Adds a content database, which is created when it is not there: at `location` (a path, relative to the data
    /// directory, or a PostgreSQL URL), or as a SQLite file of that name in the data directory.
    ///
    /// Errors: `Forbidden` for others than farm administrators; `Invalid` for a bad name or location; `Conflict` when the
    /// farm has one of that name or place; `Unavailable` when it cannot be opened.
    pub async fn create_content_database(&self, name: &str, location: Option<&str>) -> Result<()> {
        self.require_farm_administrator("add content databases")?;
        let name = Name::new(name)?;
        let location = location.map_or_else(|| format!("databases/{name}.sqlite"), str::to_owned);
        // The place as it is stored; written differently, two places may still be one.
        let parsed = Location::parse(&location)?;
        let row = ContentDatabaseRow {
            id: self.repository.next_id(),
            name: name.as_str().to_owned(),
            location,
            active_store_id: FILES_STORE,
            minimum_size: DEFAULT_MINIMUM_SIZE,
        };
        let map = self.map().await?;
        refuse_known(&map.databases.iter().map(|content| content.row.clone()).collect::<Vec<_>>(), &row)?;
        // Opening makes the schema, and shows whether the place can be used, before the farm relies on it.
        self.repository.inner.open_content(&row).await?.close().await;
        let actor = self.principal.id;
        let insert = move |transaction: &mut Transaction<'_>| {
            farm::change_directory(transaction)?;
            refuse_known(&farm::databases(transaction)?, &row)?;
            farm::insert_database(transaction, &row, Timestamp::now())?;
            let detail = format!("{} at {parsed}", row.name);
            event::record(transaction, Timestamp::now(), actor, "database.create", &row.name, &detail)
        };
        self.repository.inner.configuration.write(insert).await?;
        self.repository.refresh_map().await
    }

    /// The policies of all content databases.
    pub async fn storage_policies(&self) -> Result<Vec<StoragePolicy>> {
        self.require_farm_administrator("see storage policies")?;
        let map = self.map().await?;
        let policy = |row: &ContentDatabaseRow| StoragePolicy {
            database: row.name.clone(),
            active_store: map
                .stores
                .iter()
                .find(|(store, _)| store.id == row.active_store_id)
                .map_or_else(|| row.active_store_id.to_string(), |(store, _)| store.name.clone()),
            minimum_size: size(row.minimum_size),
        };
        Ok(map.databases.iter().map(|content| policy(&content.row)).collect())
    }

    /// Changes a content database's policy for the uploads that begin from now on; what is stored stays where it is.
    ///
    /// Errors: `Forbidden` for others than farm administrators; `NotFound` naming the database or store that there is not.
    pub async fn set_storage_policy(
        &self,
        database: &str,
        active_store: Option<&str>,
        minimum_size: Option<u64>,
    ) -> Result<StoragePolicy> {
        self.require_farm_administrator("change storage policies")?;
        let minimum_size = minimum_size
            .map(|bytes| {
                i64::try_from(bytes).map_err(|_| Error::invalid("the minimum size is greater than any document"))
            })
            .transpose()?;
        let (wanted, store, actor) = (database.to_owned(), active_store.map(str::to_owned), self.principal.id);
        let change = move |transaction: &mut Transaction<'_>| {
            farm::change_directory(transaction)?;
            let databases = farm::databases(transaction)?;
            let row = databases.iter().find(|row| row.name == wanted).ok_or_else(|| {
                let names: Vec<&str> = databases.iter().map(|row| row.name.as_str()).collect();
                Error::not_found(format!("there is no content database \"{wanted}\"; there are: {}", names.join(", ")))
            })?;
            let stores = farm::stores(transaction)?;
            let active: Id = match &store {
                None => row.active_store_id,
                Some(name) => {
                    stores.iter().find(|store| &store.name == name).map(|store| store.id).ok_or_else(|| {
                        let names: Vec<&str> = stores.iter().map(|store| store.name.as_str()).collect();
                        Error::not_found(format!("there is no BLOB store \"{name}\"; there are: {}", names.join(", ")))
                    })?
                }
            };
            let minimum = minimum_size.unwrap_or(row.minimum_size);
            farm::update_policy(transaction, row.id, active, minimum)?;
            let active_store = stores.iter().find(|store| store.id == active).map(|store| store.name.clone());
            let policy = StoragePolicy {
                database: row.name.clone(),
                active_store: active_store.unwrap_or_else(|| active.to_string()),
                minimum_size: size(minimum),
            };
            let detail = format!("BLOBs from {minimum} bytes on go to {}", policy.active_store);
            event::record(transaction, Timestamp::now(), actor, "database.policy", &row.name, &detail)?;
            Ok(policy)
        };
        let policy = self.repository.inner.configuration.write(change).await?;
        self.repository.refresh_map().await?;
        Ok(policy)
    }
}

/// Refuses a name or place that the farm has already.
fn refuse_known(known: &[ContentDatabaseRow], new: &ContentDatabaseRow) -> Result<()> {
    let folded = model::fold(&new.name);
    if known.iter().any(|row| model::fold(&row.name) == folded) {
        return Err(
            Error::conflict(format!("there is a content database \"{}\" already", new.name)).with_code("name_taken")
        );
    }
    match known.iter().find(|row| row.location == new.location) {
        Some(row) => {
            Err(Error::conflict(format!("the content database \"{}\" is in that place", row.name))
                .with_code("place_taken"))
        }
        None => Ok(()),
    }
}
