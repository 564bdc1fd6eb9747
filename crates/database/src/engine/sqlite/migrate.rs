//! Owns the migration of a SQLite file's schema.

use model::{Result, Timestamp};
use rusqlite::params;

use super::classify::classify;
use super::connection::Connection;
use super::turn::WriteTurn;
use crate::migrate::{self, Applied, Migration, Plan, Taken};

const HISTORY_TABLES: &str = "SELECT count(*) FROM sqlite_schema WHERE name = 'schema_history'";

/// Applies all missing steps, each in a transaction of its own. If none is missing, nothing is written, so that opening
/// a database does not wait for writers.
pub(super) fn migrate(connection: &mut Connection, turn: &WriteTurn, plan: &Plan) -> Result<()> {
    if count(connection, HISTORY_TABLES)? > 0
        && plan.next(&history(connection)?, &connection.path().display().to_string())?.is_none()
    {
        return Ok(());
    }
    let mut fresh = false;
    while let Some(taken) = step(connection, turn, plan)? {
        fresh |= taken.first;
        migrate::tell(&connection.path().display().to_string(), taken.step, fresh);
    }
    Ok(())
}

/// Applies the next step, if there is one.
fn step(connection: &mut Connection, turn: &WriteTurn, plan: &Plan) -> Result<Option<Taken>> {
    // The lock is taken before the history is read, so that another process cannot apply the same step.
    turn.begin(connection).map_err(|e| classify(e, connection.path()))?;
    let raw = connection.raw();
    let path = connection.path();
    let taken = (|| {
        if count(connection, HISTORY_TABLES)? == 0 {
            if count(connection, "SELECT count(*) FROM sqlite_schema")? > 0 {
                return Err(migrate::foreign(&path.display().to_string()));
            }
            if !plan.makes {
                return Err(migrate::empty(&path.display().to_string()));
            }
            raw.execute_batch(migrate::CREATE_HISTORY).map_err(|e| classify(e, path))?;
        }
        let applied = history(connection)?;
        let next = plan.next(&applied, &path.display().to_string())?;
        if let Some(step) = next {
            take(connection, plan, step)?;
        }
        raw.execute_batch("COMMIT").map_err(|e| classify(e, path))?;
        Ok(next.map(|step| Taken { step, first: applied.is_empty() }))
    })();
    if taken.is_err() && !raw.is_autocommit() {
        // The first error is the one to report. Closing the connection rolls back as well.
        let _ = raw.execute_batch("ROLLBACK");
    }
    taken
}

fn history(connection: &Connection) -> Result<Vec<Applied>> {
    let read = || -> rusqlite::Result<Vec<Applied>> {
        let mut statement = connection.raw().prepare(migrate::LIST_HISTORY)?;
        let rows = statement.query_map([], |row| Ok(Applied { version: row.get(0)?, schema: row.get(1)? }))?;
        rows.collect()
    };
    read().map_err(|e| classify(e, connection.path()))
}

fn count(connection: &Connection, sql: &str) -> Result<i64> {
    connection.raw().query_row(sql, [], |row| row.get(0)).map_err(|e| classify(e, connection.path()))
}

fn take(connection: &Connection, plan: &Plan, step: &Migration) -> Result<()> {
    let raw = connection.raw();
    let path = connection.path();
    raw.execute_batch(step.sql)
        .and_then(|()| {
            let now = Timestamp::now().micros();
            raw.execute(migrate::INSERT_HISTORY, params![step.version, step.name, plan.schema.as_str(), now])
        })
        .map_err(|e| migrate::failed(&path.display().to_string(), step, classify(e, path)))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::Arc;
    use std::time::Duration;

    use super::*;
    use crate::Schema;
    use crate::engine::sqlite::connection::Role;

    const FIRST: Migration = Migration { version: 1, name: "a", sql: "CREATE TABLE a (x BIGINT)" };
    const BROKEN: Migration =
        Migration { version: 2, name: "b", sql: "CREATE TABLE b (x BIGINT); CREATE TABLE a (x BIGINT)" };
    const MENDED: Migration = Migration { version: 2, name: "b", sql: "CREATE TABLE b (x BIGINT)" };

    fn turn(path: &Path) -> WriteTurn {
        WriteTurn::open(path, Duration::from_secs(10))
    }

    #[test]
    fn a_database_that_is_up_to_date_is_opened_beside_one_that_writes() {
        let directory = tempfile::tempdir().unwrap();
        let path = Arc::new(directory.path().join("x.db"));
        let open = || Connection::open(&path, Role::Maker, Duration::ZERO).unwrap();
        let migrate = || {
            let turn = WriteTurn::open(&path, Duration::ZERO);
            migrate(&mut open(), &turn, &Plan { schema: Schema::Content, known: &[FIRST], makes: true })
        };
        migrate().unwrap();
        let mut writer = open();
        writer.control("BEGIN IMMEDIATE").unwrap();
        migrate().unwrap();
    }

    #[test]
    fn an_upgrade_that_failed_goes_on_where_it_stopped() {
        let directory = tempfile::tempdir().unwrap();
        let path = Arc::new(directory.path().join("x.db"));
        let open = || Connection::open(&path, Role::Maker, Duration::from_secs(5)).unwrap();
        let migrate = |known| migrate(&mut open(), &turn(&path), &Plan { schema: Schema::Content, known, makes: true });

        let error = migrate(&[FIRST, BROKEN]).unwrap_err();
        assert!(error.message().contains("version 2 (b)"), "{error}");
        let tables = |connection: &Connection| -> i64 {
            let sql = "SELECT count(*) FROM sqlite_schema WHERE name IN ('a', 'b')";
            connection.raw().query_row(sql, [], |row| row.get(0)).unwrap()
        };
        assert_eq!(tables(&open()), 1);
        migrate(&[FIRST, MENDED]).unwrap();
        assert_eq!(tables(&open()), 2);
        migrate(&[FIRST, MENDED]).unwrap();
        assert_eq!(migrate(&[FIRST]).unwrap_err().code(), "schema_newer");
    }

    #[test]
    fn several_processes_may_upgrade_at_once() {
        let directory = tempfile::tempdir().unwrap();
        let path = Arc::new(directory.path().join("x.db"));
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    let mut connection = Connection::open(&path, Role::Maker, Duration::from_secs(10)).unwrap();
                    migrate(
                        &mut connection,
                        &turn(&path),
                        &Plan { schema: Schema::Content, known: &[FIRST, MENDED], makes: true },
                    )
                    .unwrap();
                });
            }
        });
    }

    #[test]
    fn a_database_of_another_program_is_left_alone() {
        let directory = tempfile::tempdir().unwrap();
        let path = Arc::new(directory.path().join("x.db"));
        rusqlite::Connection::open(path.as_path()).unwrap().execute_batch("CREATE TABLE theirs (x)").unwrap();
        let mut connection = Connection::open(&path, Role::Maker, Duration::from_secs(5)).unwrap();
        let error =
            migrate(&mut connection, &turn(&path), &Plan { schema: Schema::Content, known: &[FIRST], makes: true })
                .unwrap_err();
        assert_eq!(error.code(), "schema_foreign");
    }
}
