//! Content databases of the farm: adding and rebuilding them, and checking that they respond.

use std::sync::Arc;
use std::time::{Duration, Instant};

use async_recursion::async_recursion as boxed;
use database::configuration::event;
use database::configuration::farm::{self, ContentDatabaseRow};
use database::content::collection;
use database::{ExclusiveRight, Location, Transaction};
use futures_util::future::join_all;
use model::{Code, Error, Id, Name, Result, Timestamp};

use crate::farm::absent::{self, DISK_FAILS};
use crate::farm::open::DEFAULT_MINIMUM_SIZE;
use crate::farm::registry::ContentDatabase;
use crate::farm::repository::Inner;
use crate::storage::built_in::FILES_STORE;
use crate::{Repository, Session, Storage};

/// Name of the lock for deleting copies of BLOBs.
pub const DELETION_LOCK: &str = "deleting";
/// Maximum time for which adding a database or removing a store waits for that lock.
const DELETES_AT_MOST: Duration = Duration::from_secs(60);
/// Delay between two attempts to take the lock, first and longest.
const FIRST_RETRY_DELAY: Duration = Duration::from_millis(20);
const MAX_RETRY_DELAY: Duration = Duration::from_millis(500);
/// Time within which a database must respond.
const ANSWERS: Duration = Duration::from_millis(1_500);

impl Session {
    /// Creates a content database and adds it to the farm: at `location` (a path relative to the data directory, or a
    /// PostgreSQL URL), or by default as a SQLite file named after it in the directory `databases` of the data
    /// directory.
    ///
    /// Holds the lock for deleting copies of BLOBs meanwhile. A deletion queries all databases for references, and
    /// would miss one that is added while it runs.
    ///
    /// # Errors
    /// `Forbidden` unless the caller is a farm administrator; `Invalid` for a bad name or location; `Conflict` when the
    /// farm has a database with that name or location, or a farm's database is at that location; `Unavailable` when it
    /// cannot be opened.
    #[boxed]
    pub async fn create_content_database(&self, name: &str, location: Option<&str>) -> Result<()> {
        self.require_farm_administrator("add content databases")?;
        let name = Name::new(name)?;
        let location = location.map_or_else(|| format!("databases/{name}.sqlite"), str::to_owned);
        // The event records the parsed location, which is displayed without a password. Two different spellings may
        // still mean the same location; then `make_content` refuses the second.
        let parsed = Location::parse(&location)?;
        let row = ContentDatabaseRow {
            id: self.repository.next_id(),
            name: name.as_str().to_owned(),
            location,
            active_store_id: FILES_STORE,
            minimum_size: DEFAULT_MINIMUM_SIZE,
        };
        let registry = self.registry().await?;
        refuse_known(&registry.database_rows().cloned().collect::<Vec<_>>(), &row)?;
        let deletion_lock = self.repository.inner.lock_deletions("no content database can be added").await?;
        // Shows that the location can be used, before the farm relies on it.
        self.repository.inner.make_content(&row).await?.close().await;
        let actor = self.principal.id;
        let insert = move |transaction: &mut Transaction<'_>| {
            farm::change_directory(transaction)?;
            refuse_known(&farm::databases(transaction)?, &row)?;
            farm::insert_database(transaction, &row, Timestamp::now())?;
            let detail = format!("{} at {parsed}", row.name);
            event::record(transaction, Timestamp::now(), actor, "database.create", &row.name, &detail)
        };
        deletion_lock.require().await?;
        self.repository.inner.configuration.write(insert).await?;
        deletion_lock.release().await;
        self.repository.refresh_registry().await
    }
}

impl Inner {
    /// Takes the lock for deleting copies of BLOBs, which a deletion holds for a page of them at a time. When the lock
    /// stays taken, the error message says that `prevented`.
    pub(crate) async fn lock_deletions(&self, prevented: &str) -> Result<ExclusiveRight> {
        let (begun, mut pause) = (Instant::now(), FIRST_RETRY_DELAY);
        loop {
            if let Some(deletion_lock) = self.configuration.try_exclusive(DELETION_LOCK).await? {
                return Ok(deletion_lock);
            }
            if begun.elapsed() > DELETES_AT_MOST {
                return Err(Error::unavailable(format!(
                    "copies of BLOBs have been in deletion for too long, and {prevented} meanwhile: try again later, \
                     or pause the job that deletes them"
                ))
                .with_code(Code::Busy));
            }
            // sleep: the other process sends no notification when it has finished
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(MAX_RETRY_DELAY);
        }
    }
}

/// State of the farm's databases, in words that any user may read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Readiness {
    /// Set when requests can be served. While only some content databases are absent, the sites in the others can be.
    pub is_ready: bool,
    /// The databases that do not work, with the reasons.
    pub troubles: Vec<String>,
}

impl Repository {
    /// Checks all databases of the farm concurrently, with a short timeout for each.
    #[boxed]
    pub async fn readiness(&self) -> Readiness {
        let configuration = with_timeout(self.inner.configuration.read_one(farm::find)).await;
        let registry = match configuration {
            Ok(_) => self.registry().await,
            Err(error) => Err(error),
        };
        let registry = match registry {
            Ok(registry) => registry,
            Err(error) => {
                let trouble = format!("the configuration database: {}", absent::reason(error.kind(), error.code()));
                return Readiness { is_ready: false, troubles: vec![trouble] };
            }
        };
        let asked = registry
            .databases
            .iter()
            .map(|content| with_timeout(content.database.read_one(|reader| collection::find(reader, Id::NONE))));
        let asked = join_all(asked).await;
        let named = |name: &str, why: &str| format!("the content database \"{name}\": {why}");
        let mut troubles = Vec::new();
        let of_configuration = |why: &str| format!("the configuration database: {why}");
        let is_failing = self.inner.configuration.is_disk_failing();
        if let Some(damage) = self.inner.configuration.damage() {
            troubles.push(of_configuration(absent::reason_of(damage)));
        } else if is_failing {
            troubles.push(of_configuration(DISK_FAILS));
        }
        troubles.extend(registry.absent.iter().map(|one| named(one.name(), one.reason())));
        let works = |(content, answer): (&Arc<ContentDatabase>, &Result<_>)| {
            answer.is_ok() && !content.database.is_disk_failing()
        };
        let is_ready = !is_failing && registry.databases.iter().zip(&asked).any(works);
        for (content, answer) in registry.databases.iter().zip(asked) {
            match answer {
                Err(error) => troubles.push(named(&content.row.name, absent::reason(error.kind(), error.code()))),
                Ok(_) => {
                    let failing = || content.database.is_disk_failing().then_some(DISK_FAILS);
                    let why = content.database.damage().map(absent::reason_of).or_else(failing);
                    troubles.extend(why.map(|why| named(&content.row.name, why)));
                }
            }
        }
        Readiness { is_ready, troubles }
    }
}

/// Awaits a result with a short timeout.
async fn with_timeout<T>(asked: impl Future<Output = Result<T>>) -> Result<T> {
    let in_time = tokio::time::timeout(ANSWERS, asked).await;
    in_time.unwrap_or_else(|_| Err(Error::unavailable("a database does not answer")))
}

impl Storage {
    /// Rebuilds the indexes of a content database, table by table, while it stays in use.
    ///
    /// # Errors
    /// `NotFound` for an unknown name.
    #[boxed]
    pub async fn rebuild_indexes(&self, name: &str) -> Result<()> {
        let database = self.database(name)?;
        database.database.rebuild_indexes().await?;
        self.note(name, "database.rebuild_indexes", "").await
    }

    /// Compacts a content database by rewriting it; returns the bytes given back to the operating system. Changes to
    /// the database are blocked meanwhile.
    ///
    /// # Errors
    /// `NotFound` for an unknown name; those of [`database::Database::compact`].
    #[boxed]
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

/// Refuses a name or location that the farm already has.
fn refuse_known(known: &[ContentDatabaseRow], new: &ContentDatabaseRow) -> Result<()> {
    let folded = model::fold(&new.name);
    if known.iter().any(|row| model::fold(&row.name) == folded) {
        return Err(
            Error::conflict(format!("there is already a content database \"{}\"", new.name)).with_code(Code::NameTaken)
        );
    }
    match known.iter().find(|row| row.location == new.location) {
        Some(row) => Err(Error::conflict(format!("the content database \"{}\" is already at that location", row.name))
            .with_code(Code::PlaceTaken)),
        None => Ok(()),
    }
}
