//! Owns connections, threads and transactions of both engines behind one handle, [`Database`].
//!
//! This module must not know any table.

mod alone;
mod at;
mod job;
mod location;
mod metrics;
mod options;
pub(crate) mod postgres;
mod row;
mod session;
pub(crate) mod sqlite;

use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use model::{Error, Result};

#[cfg(any(test, feature = "testing"))]
pub(crate) use sqlite::open_file;

pub use alone::Alone;
pub use location::{Engine, Location};
pub use options::Options;
pub use row::Row;
pub use session::{Reader, Transaction};
pub use sqlite::{PageSums, WrongPages, runtime_threads};

use job::{Kind, ReadClosure, Returned, WriteClosure};

use crate::dialect;
use crate::migrate::{Plan, Schema};

/// Code of the error for a disk that fails.
pub const DISK_ERROR: &str = "disk_error";
/// Code of the error for a copy of a database that its disk does not take, or gives back as something else.
pub const COPY_FAILED: &str = "copy_failed";
/// Code of the error for pages of a file that are not what their checksums say.
pub const WRONG_CHECKSUM: &str = "page_checksum";
/// Code of the error for a transaction that found no place in time, because its database has too much to do.
pub const OVERLOADED: &str = "overloaded";
/// Code of the error for a transaction that waited in vain for a file that another process writes.
pub const BUSY: &str = "busy";

/// Code of the error for a database that is not what was written.
const DAMAGED: &str = "database_corrupt";
/// Code of the error for a database of which the disk does not give all.
const UNREADABLE: &str = "database_unreadable";

/// How long a failure of the disk is told: the next question may be answered from memory, and proves nothing.
const DISK_REMEMBERED: Duration = Duration::from_secs(60);

/// How long a pause looks for others who write before it decides that there are none.
const LOOK: Duration = Duration::from_millis(25);

/// An open database. Clones share its connections; [`Database::close`] ends them.
#[derive(Clone)]
pub struct Database(Arc<Backend>, Arc<Troubles>);

/// What the engine met so far.
#[derive(Default)]
struct Troubles {
    damage: OnceLock<Damage>,
    /// When its disk failed last.
    disk: Mutex<Option<Instant>>,
}

/// Damage of a database that was found. From then on its "not found" is not trusted.
#[derive(Clone, Debug)]
pub struct Damage {
    /// What the engine said, for administrators: it names places.
    pub report: String,
    /// Whether the disk does not give what was written, which may be there. Otherwise something else was given.
    pub of_disk: bool,
}

/// How much of a database was looked through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Looked {
    /// All that its engine looks at.
    Whole,
    /// As much as there was time for.
    Partly,
    /// Nothing: its server has programs for that.
    ByServer,
}

enum Backend {
    Sqlite(sqlite::Sqlite),
    Postgres(postgres::Postgres),
}

/// A state of a database; two are equal only when nothing was committed in between.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark(pub(crate) [u32; 12]);

/// A place in the log of changes; two are equal only when nothing was committed in between.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position(Option<Mark>, Option<i64>);

impl Backend {
    async fn read(&self, closure: ReadClosure) -> Result<Returned> {
        match self {
            Self::Sqlite(sqlite) => sqlite.read(closure).await,
            Self::Postgres(postgres) => postgres.read(closure, Kind::Short).await,
        }
    }

    async fn read_one(&self, closure: ReadClosure) -> Result<Returned> {
        match self {
            Self::Sqlite(sqlite) => sqlite.read(closure).await,
            Self::Postgres(postgres) => postgres.read(closure, Kind::Single).await,
        }
    }

    async fn read_long(&self, closure: ReadClosure) -> Result<Returned> {
        match self {
            Self::Sqlite(sqlite) => sqlite.read_long(closure).await,
            Self::Postgres(postgres) => postgres.read_long(closure).await,
        }
    }

    async fn write(&self, closure: WriteClosure, vital: bool) -> Result<Returned> {
        match self {
            Self::Sqlite(sqlite) => sqlite.write(closure, vital).await,
            Self::Postgres(postgres) => postgres.write(closure, vital).await,
        }
    }
}

/// Bytes of BLOBs in a PostgreSQL database up to which their table is written anew,
const REWRITTEN_AT_MOST: i64 = 256 << 20;
/// and bytes that this must free at least.
const REWRITTEN_AT_LEAST: i64 = 16 << 20;

impl Database {
    /// Opens a database that is there, and brings its schema up to date.
    ///
    /// # Errors
    /// Unavailable with code `database_missing` or `database_empty` when nothing is in its place, which is left as it is; Invalid when
    /// the schema is newer than this program or belongs to something else; Unavailable when the file cannot be written or
    /// the server does not answer; Corrupt when the file is not a database.
    pub async fn open(location: &Location, schema: Schema, options: &Options) -> Result<Self> {
        Self::open_by(location, Plan::new(schema, location.engine()), options).await
    }

    /// Opens a database like [`Database::open`], and makes it first when nothing is in its place.
    pub async fn make(location: &Location, schema: Schema, options: &Options) -> Result<Self> {
        let plan = Plan { makes: true, ..Plan::new(schema, location.engine()) };
        Self::open_by(location, plan, options).await
    }

    async fn open_by(location: &Location, plan: Plan, options: &Options) -> Result<Self> {
        let backend = match location {
            Location::Sqlite(path) => Backend::Sqlite(sqlite::Sqlite::open(path, plan, options).await?),
            Location::Postgres(address) => Backend::Postgres(postgres::Postgres::open(address, plan, options).await?),
        };
        Ok(Self(Arc::new(backend), Arc::default()))
    }

    /// Keeps in mind that the engine found damage, that the disk did not give a page, or that it failed otherwise.
    fn noted<T>(&self, outcome: Result<T>) -> Result<T> {
        if let Err(error) = &outcome
            && matches!(error.code(), DAMAGED | UNREADABLE)
        {
            self.1.damage.get_or_init(|| {
                let (report, of_disk) = (error.report(), error.code() == UNREADABLE);
                match of_disk {
                    true => tracing::error!(error = report, "the disk does not give all of a database"),
                    false => tracing::error!(error = report, "a database is damaged"),
                }
                Damage { report, of_disk }
            });
        }
        if outcome.as_ref().is_err_and(|error| self.is_of_the_disk(error)) {
            *self.1.disk.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
        }
        outcome
    }

    /// What the engine said when it first found the database damaged; none while it has not. It stays so until the database is opened anew.
    pub fn damage(&self) -> Option<&Damage> {
        self.1.damage.get()
    }

    /// Whether the disk of the database failed somebody within the last minute.
    pub fn is_disk_failing(&self) -> bool {
        let failed = *self.1.disk.lock().unwrap_or_else(PoisonError::into_inner);
        failed.is_some_and(|failed| failed.elapsed() < DISK_REMEMBERED)
    }

    /// With SQLite an outcome is unknown when the disk failed to make it durable.
    fn is_of_the_disk(&self, error: &Error) -> bool {
        matches!(error.code(), DISK_ERROR | UNREADABLE)
            || (error.code() == "outcome_unknown" && self.engine() == Engine::Sqlite)
    }

    /// Looks the database through as far as its engine does that by itself, at most for so long, and notes what is damaged. Others
    /// read and write meanwhile: a snapshot lasts for one table, and between two the disk is left to them. A look with a limit
    /// begins behind the table where the last look of this process stopped; a whole look resets that.
    ///
    /// # Errors
    /// Corrupt with code `database_corrupt`; Unavailable with code `database_unreadable` or `disk_error` when the disk does not
    /// give a page.
    pub async fn look_through(&self, at_most: Option<Duration>) -> Result<Looked> {
        match &*self.0 {
            Backend::Sqlite(sqlite) => self.noted(sqlite.look_through(at_most).await),
            Backend::Postgres(_) => Ok(Looked::ByServer),
        }
    }

    /// Returns whether the pages of an SQLite file have checksums that are compared when they are read; none for
    /// PostgreSQL, whose server decides that.
    pub async fn has_checksums(&self) -> Result<Option<bool>> {
        match &*self.0 {
            Backend::Sqlite(sqlite) => self.noted(sqlite.has_checksums().await).map(Some),
            Backend::Postgres(_) => Ok(None),
        }
    }

    /// Runs a short read on one consistent snapshot, which holds everything that was acknowledged before. A PostgreSQL
    /// server has [`Options::statement`] for each of its statements.
    ///
    /// With SQLite it runs on the calling thread: it must not take longer than a few milliseconds.
    pub async fn read<T, F>(&self, f: F) -> Result<T>
    where
        T: Send + 'static,
        F: FnOnce(&mut Reader<'_>) -> Result<T> + Send + 'static,
    {
        job::restore(self.noted(self.0.read(job::erase_read(f)).await)?)
    }

    /// Runs a read that consists of one statement, which costs PostgreSQL less than a transaction around it. A second statement
    /// is refused.
    pub async fn read_one<T, F>(&self, f: F) -> Result<T>
    where
        T: Send + 'static,
        F: FnOnce(&mut Reader<'_>) -> Result<T> + Send + 'static,
    {
        job::restore(self.noted(self.0.read_one(job::erase_read(f)).await)?)
    }

    /// Runs a long read on one consistent snapshot, never on the calling thread. At most half of the connections
    /// serve long reads, so that short ones go on.
    pub async fn read_long<T, F>(&self, f: F) -> Result<T>
    where
        T: Send + 'static,
        F: FnOnce(&mut Reader<'_>) -> Result<T> + Send + 'static,
    {
        job::restore(self.noted(self.0.read_long(job::erase_read(f)).await)?)
    }

    /// Runs a write transaction: durable when this returns `Ok`, without any effect when it returns an error, unknown
    /// when the error's code is `outcome_unknown`.
    ///
    /// The closure may run several times; only the last run has an effect. It must not touch the network or BLOBs.
    /// When the caller stops waiting, a transaction that began is still finished.
    pub async fn write<T, F>(&self, f: F) -> Result<T>
    where
        T: Send + 'static,
        F: FnMut(&mut Transaction<'_>) -> Result<T> + Send + 'static,
    {
        job::restore(self.noted(self.0.write(job::erase_write(f), false).await)?)
    }

    /// Runs a write transaction that a full disk does not stop: what frees room, and what people need to get at that. It
    /// is [`Database::write`] otherwise.
    ///
    /// SQLite keeps some megabytes back for these, which many small ones or a very large one can use up. A PostgreSQL server
    /// looks after its own disk.
    pub async fn write_vital<T, F>(&self, f: F) -> Result<T>
    where
        T: Send + 'static,
        F: FnMut(&mut Transaction<'_>) -> Result<T> + Send + 'static,
    {
        job::restore(self.noted(self.0.write(job::erase_write(f), true).await)?)
    }

    /// Refuses what will add content while the disk is so full that only vital transactions are taken. Asked before bytes
    /// are put elsewhere on that disk, it leaves the room to them.
    ///
    /// # Errors
    /// Exhausted with code `disk_full`.
    pub fn require_room(&self) -> Result<()> {
        match &*self.0 {
            Backend::Sqlite(sqlite) => sqlite.require_room(),
            Backend::Postgres(_) => Ok(()),
        }
    }

    /// The present state, at the cost of a few reads of memory: what was read after a mark was taken still holds while the
    /// mark is the same. It sees the commits of other processes too, each before it is acknowledged. None when that cannot
    /// be told without asking the engine, which is always so with PostgreSQL.
    pub fn mark(&self) -> Option<Mark> {
        match &*self.0 {
            Backend::Sqlite(sqlite) => sqlite.mark(),
            Backend::Postgres(_) => None,
        }
    }

    /// Which engine serves this database.
    pub fn engine(&self) -> Engine {
        match &*self.0 {
            Backend::Sqlite(_) => Engine::Sqlite,
            Backend::Postgres(_) => Engine::Postgres,
        }
    }

    /// Copies a SQLite database as of one moment into a new file, which is not flushed; reads and writes go on. It takes as much
    /// room as the database, and the log grows by what is written meanwhile.
    ///
    /// # Errors
    /// Invalid for the other engine, whose databases are dumped by [`crate::Dump`]; Unavailable with code [`COPY_FAILED`]
    /// when it is the copy that its disk does not take or give back.
    pub async fn snapshot_to(&self, to: &std::path::Path) -> Result<()> {
        match &*self.0 {
            Backend::Sqlite(sqlite) => sqlite.snapshot_to(to).await,
            Backend::Postgres(_) => Err(Error::invalid("a PostgreSQL database is dumped, not copied")),
        }
    }

    /// Makes the file of a SQLite database that is closed everywhere all of the database, so that it can be moved or copied alone.
    /// Blocks.
    ///
    /// # Errors
    /// Unavailable when somebody has it open.
    pub fn settle_file(path: &std::path::Path) -> Result<()> {
        sqlite::settle(path)
    }

    /// Compares all pages of a SQLite file that nobody has open with their checksums; one that has none passes. Blocks.
    ///
    /// # Errors
    /// Corrupt with code [`WRONG_CHECKSUM`] when a page is not what its checksum says; Unavailable when the file cannot be
    /// read.
    pub fn require_intact_pages(path: &std::path::Path) -> Result<()> {
        sqlite::require_intact_pages(path)
    }

    /// Writes the checksums of those pages of a SQLite file anew that are not what their checksums say, and returns how
    /// many those were. Nobody may have the file open. Blocks.
    ///
    /// # Errors
    /// Corrupt with code `database_corrupt` when SQLite finds the file not in order. It is left as it is then.
    pub fn rebuild_checksums(path: &std::path::Path) -> Result<u64> {
        sqlite::rebuild_checksums(path)
    }

    /// Bytes that the database takes on disk, without logs that the engine recycles.
    pub async fn size_bytes(&self) -> Result<u64> {
        let size = self.read(|reader| reader.find(dialect::SIZE_BYTES, &[], |row| row.get::<i64>(0))).await?;
        u64::try_from(size.unwrap_or_default())
            .map_err(|e| Error::corrupt("a database cannot have this size").with_source(e))
    }

    /// Writes the indexes of a content database anew, table by table. With SQLite whoever changes something waits while those of one table
    /// are written; PostgreSQL writes them beside the old ones, and nobody waits. While others write, they have the database to
    /// themselves for eight times as long after each table.
    pub async fn rebuild_indexes(&self) -> Result<()> {
        for statement in dialect::REINDEX {
            let start = Instant::now();
            match &*self.0 {
                Backend::Sqlite(_) => {
                    self.write_vital(move |transaction| transaction.execute(statement, &[])).await?;
                }
                Backend::Postgres(postgres) => postgres.maintain(statement.source(Engine::Postgres)).await?,
            }
            self.give_way(start.elapsed()).await?;
        }
        Ok(())
    }

    /// Leaves the database to those who write, if anybody does, for eight times as long as a step took.
    async fn give_way(&self, step: Duration) -> Result<()> {
        let before = self.position().await?;
        let look = step.min(LOOK);
        tokio::time::sleep(look).await;
        if self.position().await? != before {
            tokio::time::sleep((step * 8).saturating_sub(look)).await;
        }
        Ok(())
    }

    /// Where the log of changes ends, asked of the engine where [`mark`](Self::mark) cannot tell. It moves with each commit, and on
    /// PostgreSQL with those in other databases of the server too.
    pub async fn position(&self) -> Result<Position> {
        if let Some(mark) = self.mark() {
            return Ok(Position(Some(mark), None));
        }
        let end = self.read(|reader| reader.find(dialect::LOG_END, &[], |row| row.get::<i64>(0))).await?;
        Ok(Position(None, end))
    }

    /// Writes the tables of the database and their indexes anew, without gaps, and answers with the bytes that this gave back to the
    /// system. Whoever changes something meanwhile waits, and is refused after some seconds; on PostgreSQL readers wait too. It
    /// takes as much room again as the database.
    ///
    /// # Errors
    /// Unavailable with code `busy` when others never let it in; Exhausted when the disk is full; nothing is lost then.
    pub async fn compact(&self) -> Result<u64> {
        let before = self.size_bytes().await?;
        match &*self.0 {
            Backend::Sqlite(sqlite) => sqlite.compact().await?,
            Backend::Postgres(postgres) => postgres.maintain("VACUUM (FULL, ANALYZE)").await?,
        }
        Ok(before.saturating_sub(self.size_bytes().await?))
    }

    /// Bytes inside the database that hold nothing and could be given back, as far as the engine tells.
    pub async fn free_bytes(&self) -> Result<u64> {
        let free = self.read(|reader| reader.find(dialect::FREE_BYTES, &[], |row| row.get::<i64>(0))).await?;
        Ok(u64::try_from(free.unwrap_or_default()).unwrap_or_default())
    }

    /// Gives the space of deleted BLOBs back to the system, in steps between which other transactions run; answers with the
    /// bytes that were freed. Only a content database has such space. A SQLite file of a version before this could free none is
    /// left as it is.
    ///
    /// On PostgreSQL the table of BLOBs is written anew, and locked meanwhile; this is done only when little is left in it.
    pub async fn give_back(&self) -> Result<u64> {
        let before = self.size_bytes().await?;
        match self.engine() {
            Engine::Sqlite => {
                let free = |reader: &mut Reader<'_>| reader.find(dialect::FREE_PAGES, &[], |row| row.get::<i64>(0));
                let mut left = self.read(free).await?.unwrap_or_default();
                while left > 0 {
                    self.write_vital(|transaction| transaction.query(dialect::GIVE_BACK, &[], |_| Ok(()))).await?;
                    let now = self.read(free).await?.unwrap_or_default();
                    if now >= left {
                        break;
                    }
                    left = now;
                }
            }
            Engine::Postgres => {
                let sizes = |reader: &mut Reader<'_>| {
                    reader.find(dialect::STORED_BYTES, &[], |row| Ok((row.get::<i64>(0)?, row.get::<i64>(1)?)))
                };
                let (taken, live) = self.read_long(sizes).await?.unwrap_or_default();
                if live <= REWRITTEN_AT_MOST && taken > live.saturating_mul(2).saturating_add(REWRITTEN_AT_LEAST) {
                    self.write_vital(|transaction| transaction.execute(dialect::GIVE_BACK, &[])).await?;
                }
            }
        }
        Ok(before.saturating_sub(self.size_bytes().await?))
    }

    /// The right to do something alone, among all processes that use this database; none while another has it.
    ///
    /// # Errors
    /// Unavailable when the file beside the database cannot be locked, or the server does not answer.
    pub async fn alone(&self, purpose: &'static str) -> Result<Option<Alone>> {
        match &*self.0 {
            Backend::Sqlite(sqlite) => sqlite.alone(purpose),
            Backend::Postgres(postgres) => postgres.alone(purpose).await,
        }
    }

    /// Finishes what waits, then closes all connections. Whatever is asked later is refused as Unavailable.
    pub async fn close(&self) {
        match &*self.0 {
            Backend::Sqlite(sqlite) => sqlite.close().await,
            Backend::Postgres(postgres) => postgres.close().await,
        }
    }
}
