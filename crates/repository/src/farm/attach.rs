//! Opening content databases: checking that the database at a location is the expected one, and refusing it otherwise.
//!
//! Only the first start and `create_content_database` create a database. A database that the farm knows is opened when
//! it is present and carries the right identity. Otherwise it is absent, and nothing is created or changed at its
//! location.

use database::configuration::farm::{self, ContentDatabaseRow};
use database::configuration::site_collection;
use database::content::identity::{self, Identity};
use database::content::{collection, tree};
use database::{Database, Location, Options, Reader, Schema, Transaction};
use model::{Code, Error, Id, Result, Timestamp};

use crate::Repository;
use crate::farm::absent::AbsentDatabase;
use crate::farm::repository::Inner;

fn foreign(what: &str) -> Error {
    Error::conflict(format!("{what}; that database was not changed")).with_code(Code::DatabaseForeign)
}

/// Returns whether the site collections in a database consist only of their root sites, as an interrupted creation
/// leaves them.
fn holds_nothing(reader: &mut Reader<'_>) -> Result<bool> {
    for id in collection::created_before(reader, Timestamp::from_micros(i64::MAX))? {
        if tree::has_more(reader, id, 1)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Compares the identity of a database with the expected one. A database from a version that wrote no identity is
/// adopted when it holds a site collection that the farm has there. When the farm has none there, it is adopted if it
/// holds nothing that could belong to another farm.
fn recognize(transaction: &mut Transaction<'_>, wanted: Identity, listed: &[Id]) -> Result<()> {
    if let Some(found) = identity::find(transaction)? {
        return match (found == wanted, found.farm == wanted.farm) {
            (true, _) => Ok(()),
            (_, true) => Err(foreign("another content database of this farm is at its location")),
            _ => Err(foreign("a content database of another farm is at its location")),
        };
    }
    let mut is_ours = listed.is_empty() && holds_nothing(transaction)?;
    for id in listed {
        is_ours = is_ours || collection::find(transaction, *id)?.is_some();
    }
    if !is_ours {
        return Err(foreign("the database at its location has none of the site collections that belong in it"));
    }
    identity::put(transaction, wanted)
}

/// Gives an empty database an identity; `known` are the content databases of the farm.
fn claim(transaction: &mut Transaction<'_>, wanted: Identity, known: &[Id]) -> Result<()> {
    let free = match identity::find(transaction)? {
        Some(found) if found == wanted => return Ok(()),
        // The identity may be left over from a database of this farm whose addition was never completed.
        Some(found) => found.farm == wanted.farm && !known.contains(&found.database),
        None => true,
    };
    if !free || !holds_nothing(transaction)? {
        return Err(foreign("there is already a content database of a farm at this location: choose another location"));
    }
    identity::put(transaction, wanted)
}

impl Inner {
    /// Opens a content database that the farm knows.
    pub(crate) async fn open_content(&self, row: &ContentDatabaseRow) -> Result<Database> {
        let id = row.id;
        let read = move |reader: &mut Reader<'_>| Ok((farm::pending_database(reader)?, site_collection::list(reader)?));
        let (to_make, listed) = self.configuration.read(read).await?;
        if to_make == Some(id) && listed.iter().all(|row| row.database_id != id) {
            let database = self.make_content(row).await?;
            self.configuration.write_vital(farm::clear_pending_database).await?;
            return Ok(database);
        }
        let database = Database::open(&self.place_of(row)?, Schema::Content, &Options::default()).await?;
        let wanted = Identity { farm: self.farm_id, database: id };
        // In the usual case the identity is right, and nothing is written.
        let recognized = match database.read_one(identity::find).await {
            Ok(Some(found)) if found == wanted => Ok(()),
            Ok(_) => {
                let listed: Vec<Id> = listed.iter().filter(|row| row.database_id == id).map(|row| row.id).collect();
                database.write_vital(move |transaction| recognize(transaction, wanted, &listed)).await
            }
            Err(error) => Err(error),
        };
        if let Err(error) = recognized {
            database.close().await;
            return Err(error);
        }
        Ok(database)
    }

    /// Creates a content database, or takes over an empty one.
    pub(crate) async fn make_content(&self, row: &ContentDatabaseRow) -> Result<Database> {
        let place = self.place_of(row)?;
        if let (Location::Sqlite(path), Location::Sqlite(written)) = (&place, Location::parse(&row.location)?)
            && written.is_relative()
        {
            let folder = path.parent().unwrap_or(self.directory.path());
            blobs::create_directories(folder)?;
        }
        let known = self.configuration.read(farm::databases).await?;
        let known: Vec<Id> = known.iter().map(|row| row.id).collect();
        let database = Database::make(&place, Schema::Content, &Options::default()).await?;
        let wanted = Identity { farm: self.farm_id, database: row.id };
        let claimed = database.write_vital(move |transaction| claim(transaction, wanted, &known)).await;
        if let Err(error) = claimed {
            database.close().await;
            return Err(error);
        }
        Ok(database)
    }
}

/// Refuses a location for the first content database of a new farm when another farm's content database is there.
/// Creates an empty database if there is none.
pub(crate) async fn require_unused(place: &Location) -> Result<()> {
    let database = Database::make(place, Schema::Content, &Options::default()).await?;
    let look = |reader: &mut Reader<'_>| Ok(identity::find(reader)?.is_none() && holds_nothing(reader)?);
    let unused = database.read(look).await;
    database.close().await;
    match unused? {
        true => Ok(()),
        false => Err(Error::conflict(format!(
            "{place} holds a content database of a farm, and a new farm does not overwrite it: bring back the \
             configuration database of that farm, or name an empty database"
        ))
        .with_code(Code::DatabaseForeign)),
    }
}

impl Repository {
    /// Tries to open absent content databases, in the background: requests go on without them.
    pub(crate) fn look_for_absent(&self, absent: &[AbsentDatabase]) {
        if absent.is_empty() || !self.inner.registry.looking.begin() {
            return;
        }
        let (repository, absent) = (self.clone(), absent.to_vec());
        tokio::spawn(async move {
            let mut found = false;
            for one in absent {
                if let Ok(database) = repository.inner.open_content(&one.row).await {
                    tracing::info!(database = one.row.name, "a content database is available again");
                    repository.inner.registry.looking.put(one.row.id, database);
                    found = true;
                }
            }
            if found && let Err(error) = repository.refresh_registry().await {
                tracing::warn!(error = error.report(), "a content database that is available again cannot be used yet");
            }
            repository.inner.registry.looking.end();
        });
    }
}
