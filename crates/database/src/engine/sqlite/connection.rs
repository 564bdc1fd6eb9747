//! Owns one SQLite connection: its settings and its statement cache.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::ffi::c_int;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Once};
use std::time::{Duration, Instant};

use model::{Code, Error, Result};
use rusqlite::config::DbConfig;
use rusqlite::{OpenFlags, Statement, ffi};
use self_cell::self_cell;

use crate::engine::errors::wrong_count;
use crate::engine::row::{Inner, Row, Scan, Visit};
use crate::{Engine, Sql, Value};

use super::checksum;
use super::classify::{classify, is_busy, read_only};
use super::value::Bound;

/// Page cache of each connection in KiB. All connections together stay under 30 MB, whatever the size of the file.
const CACHE_KIB: i64 = 2048;
/// Size to which the WAL is truncated after it has grown larger during a long read.
const LOG_BYTES: i64 = 64 << 20;
/// Bytes of the frame header before each page in the WAL; SQLite's file format, section 4.1.
const FRAME_HEADER: u64 = 24;

/// Interval at which the switch of a new file to a WAL is repeated.
const POLL_INTERVAL: Duration = Duration::from_millis(1);

/// The purpose of a connection.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// A writer that also creates the file if it does not exist.
    Maker,
    /// Changes the schema or the rows.
    Writer,
    /// Refuses changes.
    Reader,
}

/// Prepared statements, keyed by the address of their text in the program. Their number is bounded by that of the
/// texts, so none is ever evicted.
type Statements<'c> = HashMap<(usize, usize), Statement<'c>>;

self_cell!(
    struct Prepared {
        owner: rusqlite::Connection,
        #[not_covariant]
        dependent: Statements,
    }
);

/// One connection with its prepared statements.
pub(crate) struct Connection {
    prepared: Prepared,
    path: Arc<PathBuf>,
    page_bytes: u32,
}

// SAFETY: SQLite is compiled so that a connection with its statements may move from one thread to another. They move
// together, because a reference to a statement never outlives a borrow of the connection.
unsafe impl Send for Connection {}

impl Connection {
    pub(super) fn open(path: &Arc<PathBuf>, role: Role, patience: Duration) -> Result<Self> {
        Self::open_with(path, role, patience, |_| Ok(()))
    }

    /// Opens a connection and lets `prepare` configure it before its first statement.
    pub(super) fn open_with(
        path: &Arc<PathBuf>,
        role: Role,
        patience: Duration,
        prepare: impl FnOnce(&mut rusqlite::Connection) -> rusqlite::Result<()>,
    ) -> Result<Self> {
        let mut flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        if role == Role::Maker {
            flags |= OpenFlags::SQLITE_OPEN_CREATE;
        }
        let open = || -> rusqlite::Result<rusqlite::Connection> {
            let mut raw = open_checked(path, flags)?;
            raw.busy_timeout(patience)?;
            configure(&raw, role, patience)?;
            prepare(&mut raw)?;
            Ok(raw)
        };
        let raw = open().map_err(|e| classify(e, path))?;
        let mode: String =
            raw.pragma_query_value(None, "journal_mode", |row| row.get(0)).map_err(|e| classify(e, path))?;
        if mode != "wal" {
            return Err(Error::invalid(format!(
                "the file system of {} does not support a database with several connections; choose a local file \
                 system",
                path.display()
            ))
            .with_code(Code::NoSharedMemory));
        }
        // SQLite falls back to reading a file that it may not write, and tells so only at the first change.
        if role != Role::Reader && raw.is_readonly("main").map_err(|e| classify(e, path))? {
            return Err(read_only(path));
        }
        let page_bytes = raw.pragma_query_value(None, "page_size", |row| row.get(0)).map_err(|e| classify(e, path))?;
        Ok(Self { prepared: Prepared::new(raw, |_| HashMap::new()), path: Arc::clone(path), page_bytes })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn raw(&self) -> &rusqlite::Connection {
        self.prepared.borrow_owner()
    }

    /// Runs one of the engine's own statements, such as BEGIN.
    pub(super) fn control(&mut self, text: &'static str) -> rusqlite::Result<()> {
        self.prepared.with_dependent_mut(|raw, statements| {
            let statement = match statements.entry((text.as_ptr().addr(), text.len())) {
                Entry::Occupied(known) => known.into_mut(),
                Entry::Vacant(new) => new.insert(raw.prepare(text)?),
            };
            statement.raw_execute().map(drop)
        })
    }

    /// Size of the database in bytes, including growth by the running transaction.
    pub(super) fn bytes(&self) -> rusqlite::Result<u64> {
        let pages = self.raw().prepare_cached("PRAGMA page_count")?.query_row([], |row| row.get::<_, u32>(0))?;
        Ok(u64::from(pages) * u64::from(self.page_bytes))
    }

    /// Bytes by which one page makes the WAL grow.
    pub(super) fn frame_bytes(&self) -> u64 {
        u64::from(self.page_bytes) + FRAME_HEADER
    }

    /// Hits and misses of the page cache since the last call.
    pub(super) fn cache_use(&self) -> (u64, u64) {
        (self.status(ffi::SQLITE_DBSTATUS_CACHE_HIT), self.status(ffi::SQLITE_DBSTATUS_CACHE_MISS))
    }

    /// Reads one of SQLite's counters of this connection and resets it.
    fn status(&self, what: c_int) -> u64 {
        let (mut value, mut highest) = (0, 0);
        // SAFETY: the handle belongs to the borrowed connection, and both numbers outlive the call.
        let answer = unsafe { ffi::sqlite3_db_status(self.raw().handle(), what, &raw mut value, &raw mut highest, 1) };
        if answer == ffi::SQLITE_OK { u64::try_from(value).unwrap_or(0) } else { 0 }
    }

    pub(crate) fn prepare(&mut self, sql: Sql) -> Result<()> {
        self.with_statement(sql, |_| Ok(()))
    }

    pub(crate) fn execute(&mut self, sql: Sql, params: &[Value<'_>]) -> Result<u64> {
        let path = Arc::clone(&self.path);
        self.with_statement(sql, |statement| {
            bind(statement, params, &path)?;
            let changed = statement.raw_execute().map_err(|e| classify(e, &path))?;
            statement.clear_bindings();
            Ok(changed as u64)
        })
    }

    pub(crate) fn scan(&mut self, sql: Sql, params: &[Value<'_>], visit: &mut Visit<'_>) -> Result<()> {
        let path = Arc::clone(&self.path);
        self.with_statement(sql, |statement| {
            bind(statement, params, &path)?;
            let mut rows = statement.raw_query();
            while let Some(row) = rows.next().map_err(|e| classify(e, &path))? {
                if let Scan::Stop = visit(&Row(Inner::Sqlite(row))) {
                    break;
                }
            }
            drop(rows);
            statement.clear_bindings();
            Ok(())
        })
    }

    fn with_statement<T>(&mut self, sql: Sql, run: impl FnOnce(&mut Statement<'_>) -> Result<T>) -> Result<T> {
        let (path, source) = (&self.path, sql.source(Engine::Sqlite));
        self.prepared.with_dependent_mut(|raw, statements| {
            let statement = match statements.entry((source.as_ptr().addr(), source.len())) {
                Entry::Occupied(known) => known.into_mut(),
                Entry::Vacant(new) => {
                    let text = sql.render(Engine::Sqlite)?;
                    new.insert(raw.prepare(&text).map_err(|e| classify(e, path))?)
                }
            };
            run(statement)
        })
    }
}

/// Opens a file with verification of page checksums.
pub(super) fn open_checked(path: &Path, flags: OpenFlags) -> rusqlite::Result<rusqlite::Connection> {
    without_statistics();
    match checksum::register() {
        true => rusqlite::Connection::open_with_flags_and_vfs(path, flags, checksum::NAME),
        false => rusqlite::Connection::open_with_flags(path, flags),
    }
}

/// Opens a file without verification of page checksums.
pub(super) fn open_unchecked(path: &Path, flags: OpenFlags) -> rusqlite::Result<rusqlite::Connection> {
    without_statistics();
    rusqlite::Connection::open_with_flags(path, flags)
}

fn bind(statement: &mut Statement<'_>, params: &[Value<'_>], path: &Path) -> Result<()> {
    if statement.parameter_count() != params.len() {
        return Err(wrong_count(params.len()));
    }
    for (index, value) in params.iter().enumerate() {
        statement.raw_bind_parameter(index + 1, Bound(value)).map_err(|e| classify(e, path))?;
    }
    Ok(())
}

/// Turns memory statistics off. They cost SQLite a lock around each allocation, which all connections share.
fn without_statistics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // SAFETY: the call takes no pointer, and no connection has been opened yet. If one had, the call would be
        // refused, not undefined.
        let answer = unsafe { ffi::sqlite3_config(ffi::SQLITE_CONFIG_MEMSTATUS, 0) };
        if answer != ffi::SQLITE_OK {
            tracing::debug!(answer, "SQLite's memory statistics could not be turned off");
        }
    });
}

fn configure(raw: &rusqlite::Connection, role: Role, patience: Duration) -> rusqlite::Result<()> {
    // Without this, a statement whose plan could depend on its parameters is prepared again at each run.
    raw.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    if role != Role::Reader {
        // Allows pages of deleted BLOBs to be freed step by step. The setting takes effect only in a new file, and on
        // an old one it would cause a write.
        if raw.pragma_query_value(None, "page_count", |row| row.get::<_, i64>(0))? == 0 {
            // This comes first, because the next line may write the header.
            checksum::enable_for_new_file(raw);
            raw.pragma_update(None, "auto_vacuum", "incremental")?;
        }
        switch_to_wal(raw, patience)?;
    }
    // With FULL each commit is on stable storage before it is acknowledged.
    raw.pragma_update(None, "synchronous", "full")?;
    raw.pragma_update(None, "foreign_keys", true)?;
    raw.pragma_update(None, "cache_size", -CACHE_KIB)?;
    raw.pragma_update(None, "temp_store", "memory")?;
    raw.pragma_update(None, "journal_size_limit", LOG_BYTES)?;
    // Reads through a memory mapping would turn an I/O error into a crash of the process.
    raw.pragma_update(None, "mmap_size", 0)?;
    // A separate thread checkpoints the WAL, so that no transaction waits for it.
    raw.pragma_update(None, "wal_autocheckpoint", 0)?;
    raw.pragma_update(None, "trusted_schema", false)?;
    raw.pragma_update(None, "query_only", role == Role::Reader)
}

/// Switches the file to a WAL. While several processes switch a new file, SQLite refuses all but one of them without
/// calling the busy handler, because each holds a lock that the others wait for. The refused ones repeat the switch
/// for up to `patience`.
fn switch_to_wal(raw: &rusqlite::Connection, patience: Duration) -> rusqlite::Result<()> {
    let asked = Instant::now();
    loop {
        match raw.pragma_update(None, "journal_mode", "wal") {
            Err(error) if is_busy(&error) && asked.elapsed() < patience => std::thread::sleep(POLL_INTERVAL),
            switched => return switched,
        }
    }
}
