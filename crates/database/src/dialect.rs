//! Owns every permitted difference between the SQL of the two engines: both texts side by side, each with its reason.
//!
//! A statement is written once. It may contain the tokens below, in braces, which are replaced when the statement is
//! first prepared on a connection. Where that is not enough, [`Sql::each`], which only this module can call, holds two
//! whole texts.

use std::borrow::Cow;

use model::{Error, Result};

use crate::Engine;

/// The text of one statement with the placeholders `$1` to `$n`, known at compile time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Sql {
    sqlite: &'static str,
    postgres: &'static str,
}

/// A token that expands to a different text for each engine. `%` is replaced by the text that follows the word inside
/// the braces.
struct Token {
    word: &'static str,
    sqlite: &'static str,
    postgres: &'static str,
}

const TOKENS: &[Token] = &[
    // SQLite has one writer at a time. It has neither row locks nor a syntax for them.
    Token { word: "for_update", sqlite: "", postgres: "FOR UPDATE" },
    // SQLite cannot bind arrays, so the set is passed as JSON text. Used as `column {in $1}` with `Value::Integers`.
    Token { word: "in", sqlite: "IN (SELECT value FROM json_each(%))", postgres: "= ANY(%::bigint[])" },
    // Position of one text in another, counted from 1; 0 if it does not occur. LIKE would fold case by SQLite's own
    // rules.
    Token { word: "position", sqlite: "instr(%)", postgres: "strpos(%)" },
    // An order that an index has, and in which its rows are to be read: see [`Sql::reads_along_index`].
    Token { word: "indexed", sqlite: "%", postgres: "%" },
    // JSON is stored as text. SQLite's operators take it as it is, PostgreSQL's need it converted.
    Token { word: "json", sqlite: "%", postgres: "(%)::jsonb" },
];

/// Bytes that the database takes on disk.
pub(crate) const SIZE_BYTES: Sql = Sql::each(
    "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size",
    "SELECT pg_database_size(current_database())",
);

/// A number that changes whenever a change has been committed.
pub(crate) const LOG_END: Sql = Sql::each(
    "SELECT data_version FROM pragma_data_version",
    "SELECT (pg_current_wal_insert_lsn() - '0/0'::pg_lsn)::bigint",
);

/// Number of unused pages in the file. PostgreSQL keeps the space of deleted rows inside its tables.
pub(crate) const FREE_PAGES: Sql = Sql::each("SELECT freelist_count FROM pragma_freelist_count", "SELECT 0::bigint");
/// Number of unused bytes: those of empty pages, or those of dead rows, estimated by their share in each table.
pub(crate) const FREE_BYTES: Sql = Sql::each(
    "SELECT freelist_count * page_size FROM pragma_freelist_count, pragma_page_size",
    "SELECT COALESCE(SUM(pg_total_relation_size(relid) * n_dead_tup / GREATEST(n_live_tup + n_dead_tup, 1)), 0)::bigint
        FROM pg_stat_user_tables",
);
/// Returns space freed by deleted BLOBs to the operating system: some pages of the file, or the whole table, which is
/// rewritten.
pub(crate) const GIVE_BACK: Sql =
    Sql::each("PRAGMA incremental_vacuum(2000)", "CLUSTER stored_chunk USING stored_chunk_pkey");
/// Bytes of the table of BLOBs, and the maximum bytes that its rows can take.
pub(crate) const STORED_BYTES: Sql = Sql::each(
    "SELECT 0, 0",
    "SELECT pg_total_relation_size('stored_chunk'), (SELECT COALESCE(SUM(size), 0)::bigint FROM stored_blob)",
);
/// Name under which another connection to the server can open this transaction's snapshot. SQLite has no other
/// connections that could use one.
pub(crate) const EXPORT_SNAPSHOT: Sql = Sql::each("SELECT ''", "SELECT pg_export_snapshot()");

/// Requirements for copying the whole server: the user's replication right (0 or 1), the limit on concurrent
/// replication connections, the number of table spaces, the server version as a number, the user, the WAL level, and
/// the limit on replication slots.
pub(crate) const BASE_BACKUP: Sql = Sql::each(
    "SELECT 0, 0, 0, 0, '', '', 0",
    "SELECT (SELECT rolreplication OR rolsuper FROM pg_roles WHERE rolname = current_user)::int::bigint,
        current_setting('max_wal_senders')::bigint, (SELECT COUNT(*) FROM pg_tablespace),
        current_setting('server_version_num')::bigint, current_user::text, current_setting('wal_level'),
        current_setting('max_replication_slots')::bigint",
);
/// Creates a temporary replication slot, so that the server keeps its WAL from here on, as long as this connection
/// lives.
pub(crate) const KEEP_LOG: Sql = Sql::each(
    "SELECT ''",
    "SELECT slot_name::text FROM pg_create_physical_replication_slot('strongroom_' || pg_backend_pid(), true, true)",
);
/// Drops the slot of [`KEEP_LOG`].
pub(crate) const RELEASE_LOG: Sql = Sql::each(
    "SELECT ''",
    "SELECT pg_drop_replication_slot(slot_name)::text FROM pg_replication_slots WHERE slot_name = 'strongroom_' || \
    pg_backend_pid()",
);

macro_rules! reindex {
    ($($table:literal),+) => { [$(Sql::each(concat!("REINDEX ", $table), concat!("REINDEX TABLE CONCURRENTLY \
        ", $table))),+] };
}

/// Rebuilds the indexes of a content database's tables. PostgreSQL requires the word TABLE and can rebuild
/// concurrently; SQLite supports neither.
pub(crate) const REINDEX: [Sql; 28] = reindex!(
    "blob",
    "blob_fault",
    "column_definition",
    "dead_property",
    "deleted_copy",
    "event",
    "field_index",
    "followed",
    "idempotency",
    "item_lock",
    "job_progress",
    "library",
    "measured",
    "measurement",
    "node",
    "reclaim",
    "record",
    "recycled",
    "revision",
    "saved_view",
    "scope_grant",
    "share_link",
    "site",
    "site_logo",
    "stored_blob",
    "stored_chunk",
    "submission",
    "version"
);

/// Takes a lock in shared mode, which excludes transactions that hold it exclusively. SQLite has one writer at a time
/// and needs no such lock.
pub(crate) const LOCK_SHARED: Sql = Sql::new("SELECT 1 FROM pg_advisory_xact_lock_shared($1)");
/// Takes a lock exclusively: waits for all other holders, and keeps others out until the end of the transaction.
pub(crate) const LOCK_EXCLUSIVE: Sql = Sql::new("SELECT 1 FROM pg_advisory_xact_lock($1)");

impl Sql {
    /// A statement that both engines understand once its tokens are replaced.
    pub const fn new(text: &'static str) -> Self {
        Self { sqlite: text, postgres: text }
    }

    /// A statement that needs a different text for each engine.
    const fn each(sqlite: &'static str, postgres: &'static str) -> Self {
        Self { sqlite, postgres }
    }

    /// The text written for the engine, before tokens are replaced. It is the key of statement caches.
    pub(crate) const fn source(self, engine: Engine) -> &'static str {
        match engine {
            Engine::Sqlite => self.sqlite,
            Engine::Postgres => self.postgres,
        }
    }

    /// Returns whether the statement names an order with `{indexed ...}`. SQLite uses the index by itself. PostgreSQL
    /// plans prepared statements without their parameters and expects a folder or list to be small, so it would read
    /// and sort all of it for one page: while it plans such a statement, sorts are made expensive. Other statements
    /// must not be planned so: where no index has their order, they would go through a whole table.
    pub(crate) fn reads_along_index(self) -> bool {
        self.postgres.contains("{indexed ")
    }

    /// The text that the engine prepares.
    pub(crate) fn render(self, engine: Engine) -> Result<Cow<'static, str>> {
        let text = self.expand_tokens(engine)?;
        Ok(match engine {
            Engine::Postgres => text,
            // In SQLite `$1` is a name, numbered by its first occurrence, whereas `?1` is the number itself.
            Engine::Sqlite => Cow::Owned(text.replace('$', "?")),
        })
    }

    fn expand_tokens(self, engine: Engine) -> Result<Cow<'static, str>> {
        let source = self.source(engine);
        if !source.contains('{') {
            return Ok(Cow::Borrowed(source));
        }
        let mut text = String::with_capacity(source.len() + 32);
        let mut rest = source;
        while let Some((before, tail)) = rest.split_once('{') {
            let (inside, after) = tail.split_once('}').ok_or_else(|| unknown_token(source))?;
            let (word, argument) = inside.split_once(' ').unwrap_or((inside, ""));
            let mark = TOKENS.iter().find(|mark| mark.word == word).ok_or_else(|| unknown_token(source))?;
            text.push_str(before);
            let replacement = match engine {
                Engine::Sqlite => mark.sqlite,
                Engine::Postgres => mark.postgres,
            };
            text.push_str(&replacement.replace('%', argument));
            rest = after;
        }
        text.push_str(rest);
        Ok(Cow::Owned(text))
    }
}

fn unknown_token(source: &str) -> Error {
    Error::invalid(format!("the statement contains a placeholder that dialect.rs does not know: {source}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_become_what_each_engine_says() {
        let sql = Sql::new("SELECT id FROM node WHERE scope {in $2} AND id = $1 {for_update}");
        assert_eq!(
            sql.render(Engine::Sqlite).unwrap(),
            "SELECT id FROM node WHERE scope IN (SELECT value FROM json_each(?2)) AND id = ?1 "
        );
        assert_eq!(
            sql.render(Engine::Postgres).unwrap(),
            "SELECT id FROM node WHERE scope = ANY($2::bigint[]) AND id = $1 FOR UPDATE"
        );
    }

    #[test]
    fn unknown_and_open_marks_are_refused() {
        assert!(Sql::new("SELECT {nothing}").render(Engine::Sqlite).is_err());
        assert!(Sql::new("SELECT {for_update").render(Engine::Postgres).is_err());
    }

    #[test]
    fn the_differences_stay_few() {
        assert!(TOKENS.len() < 15);
    }
}
