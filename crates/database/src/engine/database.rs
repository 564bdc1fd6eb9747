//! Owns the handle of an open database, which leads each question to the engine that serves it.
//!
//! This module must not know any table.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use model::{Code, Error, Result};

use crate::dialect;
use crate::migrate::{Plan, Schema};

use super::alone::Alone;
use super::job::{self, Kind, ReadClosure, Returned, WriteClosure};
use super::location::{Engine, Location};
use super::options::Options;
use super::session::{Reader, Transaction};
use super::state::{Damage, Looked, Mark, Position};
use super::{postgres, sqlite};

/// How long a failure of the disk is told: the next question may be answered from memory, and proves nothing.
const DISK_REMEMBERED: Duration = Duration::from_secs(60);

/// An open database. Clones share its connections; [`Database::close`] ends them.
#[derive(Clone)]
pub struct Database(pub(super) Arc<Backend>, Arc<Troubles>);

/// What the engine met so far.
#[derive(Default)]
struct Troubles {
    damage: OnceLock<Damage>,
    /// When its disk failed last.
    disk: Mutex<Option<Instant>>,
}

/// The engine that serves a database.
pub(super) enum Backend {
    Sqlite(sqlite::Sqlite),
    Postgres(postgres::Postgres),
}

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

impl Database {
    /// Opens a database that is there, and brings its schema up to date.
    ///
    /// # Errors
    /// Unavailable with code `database_missing` or `database_empty` when nothing is in its place, which is left as it
    /// is; Invalid when the schema is newer than this program or belongs to something else; Unavailable when the file
    /// cannot be written or the server does not answer; Corrupt when the file is not a database.
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
            && matches!(error.code(), Code::DatabaseCorrupt | Code::DatabaseUnreadable)
        {
            self.1.damage.get_or_init(|| {
                let (report, of_disk) = (error.report(), error.code() == Code::DatabaseUnreadable);
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

    /// What the engine said when it first found the database damaged; none while it has not. It stays so until the
    /// database is opened anew.
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
        matches!(error.code(), Code::DiskError | Code::DatabaseUnreadable)
            || (error.code() == Code::OutcomeUnknown && self.engine() == Engine::Sqlite)
    }

    /// Looks the database through as far as its engine does that by itself, at most for so long, and notes what is
    /// damaged. Others read and write meanwhile: a snapshot lasts for one table, and between two the disk is left to
    /// them. A look with a limit begins behind the table where the last look of this process stopped; a whole look
    /// resets that.
    ///
    /// # Errors
    /// Corrupt with code `database_corrupt`; Unavailable with code `database_unreadable` or `disk_error` when the disk
    /// does not give a page.
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

    /// Runs a read that consists of one statement, which costs PostgreSQL less than a transaction around it. A second
    /// statement is refused.
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

    /// Runs a write transaction that a full disk does not stop: what frees room, and what people need to get at that.
    /// It is [`Database::write`] otherwise.
    ///
    /// SQLite keeps some megabytes back for these, which many small ones or a very large one can use up. A PostgreSQL
    /// server looks after its own disk.
    pub async fn write_vital<T, F>(&self, f: F) -> Result<T>
    where
        T: Send + 'static,
        F: FnMut(&mut Transaction<'_>) -> Result<T> + Send + 'static,
    {
        job::restore(self.noted(self.0.write(job::erase_write(f), true).await)?)
    }

    /// Refuses what will add content while the disk is so full that only vital transactions are taken. Asked before
    /// bytes are put elsewhere on that disk, it leaves the room to them.
    ///
    /// # Errors
    /// Exhausted with code `disk_full`.
    pub fn require_room(&self) -> Result<()> {
        match &*self.0 {
            Backend::Sqlite(sqlite) => sqlite.require_room(),
            Backend::Postgres(_) => Ok(()),
        }
    }

    /// The present state, at the cost of a few reads of memory: what was read after a mark was taken still holds while
    /// the mark is the same. It sees the commits of other processes too, each before it is acknowledged. None when that
    /// cannot be told without asking the engine, which is always so with PostgreSQL.
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

    /// Copies a SQLite database as of one moment into a new file, which is not flushed; reads and writes go on. It
    /// takes as much room as the database, and the log grows by what is written meanwhile.
    ///
    /// # Errors
    /// Invalid for the other engine, whose databases are dumped by [`crate::Dump`]; Unavailable with code
    /// [`Code::CopyFailed`] when it is the copy that its disk does not take or give back.
    pub async fn snapshot_to(&self, to: &std::path::Path) -> Result<()> {
        match &*self.0 {
            Backend::Sqlite(sqlite) => sqlite.snapshot_to(to).await,
            Backend::Postgres(_) => Err(Error::invalid("a PostgreSQL database is dumped, not copied")),
        }
    }

    /// Makes the file of a SQLite database that is closed everywhere all of the database, so that it can be moved or
    /// copied alone. Blocks.
    ///
    /// # Errors
    /// Unavailable when somebody has it open.
    pub fn settle_file(path: &std::path::Path) -> Result<()> {
        sqlite::settle(path)
    }

    /// Compares all pages of a SQLite file that nobody has open with their checksums; one that has none passes. Blocks.
    ///
    /// # Errors
    /// Corrupt with code [`Code::PageChecksum`] when a page is not what its checksum says; Unavailable when the file
    /// cannot be read.
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

    /// Where the log of changes ends, asked of the engine where [`mark`](Self::mark) cannot tell. It moves with each
    /// commit, and on PostgreSQL with those in other databases of the server too.
    pub async fn position(&self) -> Result<Position> {
        if let Some(mark) = self.mark() {
            return Ok(Position(Some(mark), None));
        }
        let end = self.read(|reader| reader.find(dialect::LOG_END, &[], |row| row.get::<i64>(0))).await?;
        Ok(Position(None, end))
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
