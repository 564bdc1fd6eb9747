//! Owns the handle of an open database, which dispatches each call to the engine that serves it.
//!
//! This module must not know any table.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use async_recursion::async_recursion as boxed;
use model::{Code, Error, Result};

use crate::dialect;
use crate::migrate::{Plan, Schema};

use super::exclusive_right::ExclusiveRight;
use super::location::{Engine, Location};
use super::options::Options;
use super::queued::{self, ReadClosure, ReadDuration, Returned, WriteClosure};
use super::session::{Reader, Transaction};
use super::state::{CheckExtent, Damage, Mark, Position};
use super::{postgres, sqlite};

/// Time for which a disk failure is reported. The next read may be served from memory, so its success proves nothing.
const DISK_REMEMBERED: Duration = Duration::from_secs(60);

/// An open database. Clones share its connections; [`Database::close`] closes them.
#[derive(Clone)]
pub struct Database(pub(super) Arc<Backend>, Arc<Failures>);

/// Failures that the engine has met so far.
#[derive(Default)]
struct Failures {
    damage: OnceLock<Damage>,
    /// Time of the last disk failure.
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
            Self::Postgres(postgres) => postgres.read(closure, ReadDuration::Short).await,
        }
    }

    async fn read_one(&self, closure: ReadClosure) -> Result<Returned> {
        match self {
            Self::Sqlite(sqlite) => sqlite.read(closure).await,
            Self::Postgres(postgres) => postgres.read(closure, ReadDuration::Single).await,
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
    /// Opens an existing database and brings its schema up to date.
    ///
    /// # Errors
    /// `Unavailable` with code `database_missing` or `database_empty` if there is nothing at the location, which is
    /// left as it is; `Invalid` if the schema is newer than this program or belongs to something else; `Unavailable` if
    /// the file cannot be written or the server does not answer; `Corrupt` if the file is not a database.
    #[boxed]
    pub async fn open(location: &Location, schema: Schema, options: &Options) -> Result<Self> {
        Self::open_by(location, Plan::new(schema, location.engine()), options).await
    }

    /// Opens a database like [`Database::open`], and creates it first if there is nothing at the location.
    #[boxed]
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

    /// Remembers if the engine found damage, could not read a page from the disk, or met another disk failure.
    fn record_failure<T>(&self, outcome: Result<T>) -> Result<T> {
        if let Err(error) = &outcome
            && matches!(error.code(), Code::DatabaseCorrupt | Code::DatabaseUnreadable)
        {
            self.1.damage.get_or_init(|| {
                let (report, of_disk) = (error.report(), error.code() == Code::DatabaseUnreadable);
                match of_disk {
                    true => tracing::error!(error = report, "a database cannot be read completely from its disk"),
                    false => tracing::error!(error = report, "a database is damaged"),
                }
                Damage { report, of_disk }
            });
        }
        if outcome.as_ref().is_err_and(|error| self.is_disk_failure(error)) {
            *self.1.disk.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
        }
        outcome
    }

    /// The engine's first report of damage; `None` if there was none. The report stays until the database is opened
    /// again.
    pub fn damage(&self) -> Option<&Damage> {
        self.1.damage.get()
    }

    /// Returns whether an operation failed because of the disk within the last minute.
    pub fn is_disk_failing(&self) -> bool {
        let failed = *self.1.disk.lock().unwrap_or_else(PoisonError::into_inner);
        failed.is_some_and(|failed| failed.elapsed() < DISK_REMEMBERED)
    }

    /// With SQLite, an unknown outcome means that the disk failed to make a commit durable.
    fn is_disk_failure(&self, error: &Error) -> bool {
        matches!(error.code(), Code::DiskError | Code::DatabaseUnreadable)
            || (error.code() == Code::OutcomeUnknown && self.engine() == Engine::Sqlite)
    }

    /// Scans the database for damage, as far as its engine offers that, for at most the given time, and records what is
    /// damaged. Reads and writes go on meanwhile: each snapshot lasts for one table only, and the scan pauses between
    /// tables. A scan with a time limit begins after the table where the last scan of this process stopped; a full scan
    /// resets that.
    ///
    /// # Errors
    /// `Corrupt` with code `database_corrupt`; `Unavailable` with code `database_unreadable` or `disk_error` if a page
    /// cannot be read from the disk.
    #[boxed]
    pub async fn check_integrity(&self, at_most: Option<Duration>) -> Result<CheckExtent> {
        match &*self.0 {
            Backend::Sqlite(sqlite) => self.record_failure(sqlite.look_through(at_most).await),
            Backend::Postgres(_) => Ok(CheckExtent::ByServer),
        }
    }

    /// Returns whether the pages of a SQLite file have checksums that are verified on reading; `None` for PostgreSQL,
    /// whose server decides that.
    #[boxed]
    pub async fn has_checksums(&self) -> Result<Option<bool>> {
        match &*self.0 {
            Backend::Sqlite(sqlite) => self.record_failure(sqlite.has_checksums().await).map(Some),
            Backend::Postgres(_) => Ok(None),
        }
    }

    /// Runs a short read on one consistent snapshot, which includes every commit acknowledged before. On PostgreSQL
    /// each statement is limited to [`Options::statement`].
    ///
    /// With SQLite the read runs on the calling thread, so it must not take longer than a few milliseconds.
    pub async fn read<T, F>(&self, f: F) -> Result<T>
    where
        T: Send + 'static,
        F: FnOnce(&mut Reader<'_>) -> Result<T> + Send + 'static,
    {
        queued::restore(self.record_failure(self.0.read(queued::erase_read(f)).await)?)
    }

    /// Runs a read that consists of a single statement. On PostgreSQL this is cheaper, because no transaction surrounds
    /// the statement. A second statement is refused.
    pub async fn read_one<T, F>(&self, f: F) -> Result<T>
    where
        T: Send + 'static,
        F: FnOnce(&mut Reader<'_>) -> Result<T> + Send + 'static,
    {
        queued::restore(self.record_failure(self.0.read_one(queued::erase_read(f)).await)?)
    }

    /// Runs a long read on one consistent snapshot, never on the calling thread. At most half of the connections serve
    /// long reads, so that short ones can proceed.
    pub async fn read_long<T, F>(&self, f: F) -> Result<T>
    where
        T: Send + 'static,
        F: FnOnce(&mut Reader<'_>) -> Result<T> + Send + 'static,
    {
        queued::restore(self.record_failure(self.0.read_long(queued::erase_read(f)).await)?)
    }

    /// Runs a write transaction. It is durable if this returns `Ok`, and has no effect if this returns an error. Its
    /// outcome is unknown if the error's code is `outcome_unknown`.
    ///
    /// The closure may run several times; only the last run has an effect. It must not touch the network or BLOBs. If
    /// the caller stops waiting, a transaction that has begun is still finished.
    pub async fn write<T, F>(&self, f: F) -> Result<T>
    where
        T: Send + 'static,
        F: FnMut(&mut Transaction<'_>) -> Result<T> + Send + 'static,
    {
        queued::restore(self.record_failure(self.0.write(queued::erase_write(f), false).await)?)
    }

    /// Runs a write transaction that a full disk does not stop, for operations that free space and those that users
    /// need to reach them. Otherwise it equals [`Database::write`].
    ///
    /// For SQLite some megabytes are reserved for vital transactions; many small ones or a very large one can use them
    /// up. A PostgreSQL server manages its own disk.
    pub async fn write_vital<T, F>(&self, f: F) -> Result<T>
    where
        T: Send + 'static,
        F: FnMut(&mut Transaction<'_>) -> Result<T> + Send + 'static,
    {
        queued::restore(self.record_failure(self.0.write(queued::erase_write(f), true).await)?)
    }

    /// Refuses to add content while the disk is so full that only vital transactions are accepted. Called before bytes
    /// are stored elsewhere on that disk, it keeps the remaining space for vital transactions.
    ///
    /// # Errors
    /// `Exhausted` with code `disk_full`.
    pub fn require_room(&self) -> Result<()> {
        match &*self.0 {
            Backend::Sqlite(sqlite) => sqlite.require_room(),
            Backend::Postgres(_) => Ok(()),
        }
    }

    /// Returns the commit stamp of the present state, at the cost of a few memory reads. Data that was read after a
    /// stamp was taken is still valid while the stamp is unchanged. It covers the commits of other processes too, each
    /// before it is acknowledged. `None` if the state cannot be determined without a query, which is always so with
    /// PostgreSQL.
    pub fn mark(&self) -> Option<Mark> {
        match &*self.0 {
            Backend::Sqlite(sqlite) => sqlite.mark(),
            Backend::Postgres(_) => None,
        }
    }

    /// The engine that serves this database.
    pub fn engine(&self) -> Engine {
        match &*self.0 {
            Backend::Sqlite(_) => Engine::Sqlite,
            Backend::Postgres(_) => Engine::Postgres,
        }
    }

    /// Copies a snapshot of a SQLite database into a new file, which is not flushed. Reads and writes go on. The copy
    /// takes as much space as the database, and the WAL grows by everything written meanwhile.
    ///
    /// # Errors
    /// `Invalid` for PostgreSQL, whose databases are dumped by [`crate::Dump`]; `Unavailable` with code
    /// [`Code::CopyFailed`] if the copy's disk fails to store it or read it back.
    #[boxed]
    pub async fn snapshot_to(&self, to: &std::path::Path) -> Result<()> {
        match &*self.0 {
            Backend::Sqlite(sqlite) => sqlite.snapshot_to(to).await,
            Backend::Postgres(_) => Err(Error::invalid("a PostgreSQL database is dumped, not copied")),
        }
    }

    /// Makes the file of a closed SQLite database self-contained, without a WAL, so that it can be moved or copied
    /// alone. Blocks.
    ///
    /// # Errors
    /// `Unavailable` if any process has the database open.
    pub fn make_self_contained(path: &std::path::Path) -> Result<()> {
        sqlite::checkpoint_fully(path)
    }

    /// Verifies the checksums of all pages of a SQLite file that no process has open. A file without checksums passes.
    /// Blocks.
    ///
    /// # Errors
    /// `Corrupt` with code [`Code::PageChecksum`] if a page does not match its checksum; `Unavailable` if the file
    /// cannot be read.
    pub fn require_intact_pages(path: &std::path::Path) -> Result<()> {
        sqlite::require_intact_pages(path)
    }

    /// Rewrites the checksums of all pages of a SQLite file that do not match theirs, and returns the number of these
    /// pages. No process may have the file open. Blocks.
    ///
    /// # Errors
    /// `Corrupt` with code `database_corrupt` if SQLite finds the file damaged. The file is then left as it is.
    pub fn rebuild_checksums(path: &std::path::Path) -> Result<u64> {
        sqlite::rebuild_checksums(path)
    }

    /// Position of the end of the log of changes, queried from the engine if [`mark`](Self::mark) cannot determine it.
    /// It moves with each commit; on PostgreSQL also with commits in other databases of the server.
    #[boxed]
    pub async fn position(&self) -> Result<Position> {
        if let Some(mark) = self.mark() {
            return Ok(Position(Some(mark), None));
        }
        let end = self.read(|reader| reader.find(dialect::LOG_END, &[], |row| row.get::<i64>(0))).await?;
        Ok(Position(None, end))
    }

    /// Acquires the exclusive right to some work, among all processes that use this database. Returns `None` while
    /// another process holds it.
    ///
    /// # Errors
    /// `Unavailable` if the file beside the database cannot be locked, or the server does not answer.
    #[boxed]
    pub async fn try_exclusive(&self, purpose: &'static str) -> Result<Option<ExclusiveRight>> {
        match &*self.0 {
            Backend::Sqlite(sqlite) => sqlite.try_exclusive(purpose),
            Backend::Postgres(postgres) => postgres.try_exclusive(purpose).await,
        }
    }

    /// Finishes the queued work, then closes all connections. Later calls are refused as `Unavailable`.
    #[boxed]
    pub async fn close(&self) {
        match &*self.0 {
            Backend::Sqlite(sqlite) => sqlite.close().await,
            Backend::Postgres(postgres) => postgres.close().await,
        }
    }
}
