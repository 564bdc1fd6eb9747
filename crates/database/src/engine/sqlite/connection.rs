//! Owns one SQLite connection: its settings, its statement cache, and how values travel.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Once};
use std::time::Duration;

use model::{Error, Result};
use rusqlite::config::DbConfig;
use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{CachedStatement, OpenFlags};

use super::classify::classify;
use crate::engine::row::{Inner, Row};
use crate::engine::session::{Scan, Visit};
use crate::value::Column;
use crate::{Engine, Sql, Value};

/// Page cache of each connection in KiB. All connections together stay under 30 MB, whatever the size of the file.
const CACHE_KIB: i64 = 2048;
/// More than all statements of the product.
const STATEMENTS: usize = 512;
/// The log is cut back to this size when it has grown larger during a long read.
const LOG_BYTES: i64 = 64 << 20;

/// What a connection is for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// Changes the schema or the rows.
    Writer,
    /// Refuses changes.
    Reader,
}

/// One connection with its prepared statements.
pub(crate) struct Connection {
    raw: rusqlite::Connection,
    path: Arc<PathBuf>,
    // Only the few texts that contain marks; all others are prepared as they were written.
    rendered: HashMap<&'static str, String>,
}

impl Connection {
    pub(super) fn open(path: &Arc<PathBuf>, role: Role, patience: Duration) -> Result<Self> {
        let mut flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        if role == Role::Writer {
            flags |= OpenFlags::SQLITE_OPEN_CREATE;
        }
        without_statistics();
        let open = || -> rusqlite::Result<rusqlite::Connection> {
            let raw = rusqlite::Connection::open_with_flags(path.as_path(), flags)?;
            raw.busy_timeout(patience)?;
            raw.set_prepared_statement_cache_capacity(STATEMENTS);
            configure(&raw, role)?;
            Ok(raw)
        };
        let raw = open().map_err(|e| classify(e, path))?;
        let mode: String =
            raw.pragma_query_value(None, "journal_mode", |row| row.get(0)).map_err(|e| classify(e, path))?;
        if mode != "wal" {
            return Err(Error::invalid(format!(
                "the file system of {} cannot hold a database that several connections use; choose a local one",
                path.display()
            ))
            .with_code("no_shared_memory"));
        }
        Ok(Self { raw, path: Arc::clone(path), rendered: HashMap::new() })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn raw(&self) -> &rusqlite::Connection {
        &self.raw
    }

    pub(super) fn raw_mut(&mut self) -> &mut rusqlite::Connection {
        &mut self.raw
    }

    /// Runs one of the engine's own statements, such as BEGIN.
    pub(super) fn control(&self, text: &'static str) -> rusqlite::Result<()> {
        self.raw.prepare_cached(text)?.raw_execute().map(drop)
    }

    pub(crate) fn prepare(&mut self, sql: Sql) -> Result<()> {
        self.statement(sql).map(drop)
    }

    pub(crate) fn execute(&mut self, sql: Sql, params: &[Value<'_>]) -> Result<u64> {
        let path = Arc::clone(&self.path);
        let mut statement = self.bound(sql, params)?;
        let changed = statement.raw_execute().map_err(|e| classify(e, &path))?;
        Ok(changed as u64)
    }

    pub(crate) fn scan(&mut self, sql: Sql, params: &[Value<'_>], visit: &mut Visit<'_>) -> Result<()> {
        let path = Arc::clone(&self.path);
        let mut statement = self.bound(sql, params)?;
        let mut rows = statement.raw_query();
        while let Some(row) = rows.next().map_err(|e| classify(e, &path))? {
            if let Scan::Stop = visit(&Row(Inner::Sqlite(row))) {
                break;
            }
        }
        Ok(())
    }

    fn statement(&mut self, sql: Sql) -> Result<CachedStatement<'_>> {
        let source = sql.source(Engine::Sqlite);
        let text = if source.contains('{') {
            if !self.rendered.contains_key(source) {
                self.rendered.insert(source, sql.render(Engine::Sqlite)?.into_owned());
            }
            self.rendered.get(source).map_or(source, String::as_str)
        } else {
            source
        };
        self.raw.prepare_cached(text).map_err(|e| classify(e, &self.path))
    }

    fn bound(&mut self, sql: Sql, params: &[Value<'_>]) -> Result<CachedStatement<'_>> {
        let path = Arc::clone(&self.path);
        let mut statement = self.statement(sql)?;
        let mut highest = 0;
        // SQLite numbers `$2` by where it first stands, not by its digits, so each is bound by its name.
        for index in 1..=statement.parameter_count() {
            let number = statement.parameter_name(index).and_then(|name| name.strip_prefix('$')?.parse::<usize>().ok());
            let value = number.and_then(|n| params.get(n.checked_sub(1)?)).ok_or_else(|| wrong_count(params.len()))?;
            highest = highest.max(number.unwrap_or_default());
            statement.raw_bind_parameter(index, Bound(value)).map_err(|e| classify(e, &path))?;
        }
        if highest != params.len() {
            return Err(wrong_count(params.len()));
        }
        Ok(statement)
    }
}

/// The same for both engines.
pub(in crate::engine) fn wrong_count(given: usize) -> Error {
    Error::invalid(format!("a statement was given {given} parameters, which is not what its text asks for"))
        .with_code("parameter_count")
}

/// Counting its memory costs SQLite a lock around each allocation, which all connections share.
fn without_statistics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // SAFETY: the call takes no pointer, and nobody has opened a connection yet, which would be refused, not undefined.
        let answer = unsafe { rusqlite::ffi::sqlite3_config(rusqlite::ffi::SQLITE_CONFIG_MEMSTATUS, 0) };
        if answer != rusqlite::ffi::SQLITE_OK {
            tracing::debug!(answer, "SQLite goes on counting its memory");
        }
    });
}

fn configure(raw: &rusqlite::Connection, role: Role) -> rusqlite::Result<()> {
    // Without this, a statement whose plan could depend on its parameters is prepared again at each run.
    raw.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    if role == Role::Writer {
        raw.pragma_update(None, "journal_mode", "wal")?;
    }
    // With FULL each commit is on stable storage before it is acknowledged.
    raw.pragma_update(None, "synchronous", "full")?;
    raw.pragma_update(None, "foreign_keys", true)?;
    raw.pragma_update(None, "cache_size", -CACHE_KIB)?;
    raw.pragma_update(None, "temp_store", "memory")?;
    raw.pragma_update(None, "journal_size_limit", LOG_BYTES)?;
    // Reads through a mapping would turn an I/O error into the end of the process.
    raw.pragma_update(None, "mmap_size", 0)?;
    // A thread of its own copies the log back, so that no transaction waits for it.
    raw.pragma_update(None, "wal_autocheckpoint", 0)?;
    raw.pragma_update(None, "trusted_schema", false)?;
    raw.pragma_update(None, "query_only", role == Role::Reader)
}

struct Bound<'v>(&'v Value<'v>);

impl rusqlite::ToSql for Bound<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(match self.0 {
            Value::Null => ToSqlOutput::Borrowed(ValueRef::Null),
            Value::Integer(v) => ToSqlOutput::Borrowed(ValueRef::Integer(*v)),
            Value::Real(v) => ToSqlOutput::Borrowed(ValueRef::Real(*v)),
            Value::Bool(v) => ToSqlOutput::Borrowed(ValueRef::Integer(i64::from(*v))),
            Value::Text(v) => ToSqlOutput::Borrowed(ValueRef::Text(v.as_bytes())),
            Value::Bytes(v) => ToSqlOutput::Borrowed(ValueRef::Blob(v)),
            Value::Integers(v) => ToSqlOutput::Owned(rusqlite::types::Value::Text(as_json(v))),
        })
    }
}

fn as_json(integers: &[i64]) -> String {
    let mut text = String::with_capacity(integers.len() * 20 + 2);
    text.push('[');
    for (i, integer) in integers.iter().enumerate() {
        if i > 0 {
            text.push(',');
        }
        text.push_str(&integer.to_string());
    }
    text.push(']');
    text
}

/// Reads a column.
pub(crate) fn column<'r>(row: &'r rusqlite::Row<'_>, index: usize) -> Result<Column<'r>> {
    let value = row.get_ref(index).map_err(|e| {
        Error::corrupt(format!("a result has no column {index}")).with_code("no_such_column").with_source(e)
    })?;
    Ok(match value {
        ValueRef::Null => Column::Null,
        ValueRef::Integer(v) => Column::Integer(v),
        ValueRef::Real(v) => Column::Real(v),
        ValueRef::Text(v) => {
            Column::Text(std::str::from_utf8(v).map_err(|e| Error::corrupt("stored text is not UTF-8").with_source(e))?)
        }
        ValueRef::Blob(v) => Column::Bytes(v),
    })
}
