//! Content databases of the farm: adding one, writing one anew, and whether they answer.

use database::configuration::event;
use database::configuration::farm::{self, ContentDatabaseRow};
use database::content::collection;
use database::{Location, Transaction};
use model::{Error, Id, Name, Result, Timestamp};
use tokio::task::JoinSet;

use crate::farm::{DEFAULT_MINIMUM_SIZE, FILES_STORE};
use crate::{Repository, Session, Storage};

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
}

impl Repository {
    /// Whether the configuration database and at least one content database answer: while one content database of several is away, the
    /// sites of the others can be served. May wait as long as a database takes to answer.
    pub async fn databases_answer(&self) -> bool {
        if self.inner.configuration.read_one(farm::find).await.is_err() {
            return false;
        }
        let Ok(map) = self.map().await else { return false };
        let mut asked = JoinSet::new();
        for content in &map.databases {
            let database = content.database.clone();
            asked.spawn(async move { database.read_one(|reader| collection::find(reader, Id::NONE)).await.is_ok() });
        }
        while let Some(answer) = asked.join_next().await {
            if matches!(answer, Ok(true)) {
                return true;
            }
        }
        map.databases.is_empty()
    }
}

impl Storage {
    /// Writes the indexes of a content database anew, table by table, while people work.
    ///
    /// Errors: `NotFound` for an unknown name.
    pub async fn rebuild_indexes(&self, name: &str) -> Result<()> {
        let database = self.database(name)?;
        database.database.rebuild_indexes().await?;
        self.note(name, "database.rebuild_indexes", "").await
    }

    /// Writes a content database anew, without gaps; answers with the bytes that this gave back to the system. Nobody can change
    /// anything in it meanwhile.
    ///
    /// Errors: `NotFound` for an unknown name; as [`database::Database::compact`].
    pub async fn compact(&self, name: &str) -> Result<u64> {
        let freed = self.database(name)?.database.compact().await?;
        self.note(name, "database.compact", &format!("{freed} bytes given back")).await?;
        Ok(freed)
    }

    async fn note(&self, name: &str, action: &'static str, detail: &str) -> Result<()> {
        let (actor, subject, detail) = (self.clone(), name.to_owned(), detail.to_owned());
        let record = move |transaction: &mut Transaction<'_>| actor.record(transaction, action, &subject, &detail);
        self.configuration().write_vital(record).await
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
