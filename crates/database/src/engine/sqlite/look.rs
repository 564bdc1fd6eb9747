//! Owns the integrity check of a whole SQLite file during normal operation. The check proceeds table by table, so that
//! no snapshot lasts longer than one table, with pauses and an optional time limit.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use model::{Error, Result};
use rusqlite::ffi;

use super::classify::{classify, damaged, unreadable};
use super::connection::{Connection, Role};
use crate::engine::state::CheckExtent;

/// Number of SQLite's virtual-machine steps between two checks whether to continue.
const STEPS: i32 = 20_000;
/// Limit on the pause after each table. The pause lasts as long as the table took, to leave the disk to other work.
const MAX_PAUSE: Duration = Duration::from_secs(10);
/// Interval between two checks for the end during a pause.
const ASK_EVERY: Duration = Duration::from_millis(50);

/// Checks a file, beginning with the table `first` if that exists, until the time `until` or until `stop` is set. Also
/// returns the table to begin with next time. Blocks.
pub(super) fn look_through(
    path: &Arc<PathBuf>,
    patience: Duration,
    first: Option<&str>,
    until: Option<Instant>,
    stop: &Arc<AtomicBool>,
) -> Result<(CheckExtent, Option<String>)> {
    let stop = Arc::clone(stop);
    let is_over = move || stop.load(Ordering::Relaxed) || until.is_some_and(|until| Instant::now() >= until);
    let asked = is_over.clone();
    let connection =
        Connection::open_with(path, Role::Reader, patience, |raw| raw.progress_handler(STEPS, Some(asked)))?;
    let mut tables = match tables(&connection) {
        Err(error) if is_interrupted(&error) => return Ok((CheckExtent::Partly, first.map(str::to_owned))),
        tables => tables.map_err(|error| classify(error, path))?,
    };
    let begin = tables.iter().position(|table| Some(table.as_str()) == first).unwrap_or(0);
    tables.rotate_left(begin);
    for (at, table) in tables.iter().enumerate() {
        // A table that exceeds the time limit is skipped next time, so that it does not keep the tables after it from
        // ever being checked.
        let partly = || Ok((CheckExtent::Partly, tables.get(at + 1).cloned()));
        let begun = Instant::now();
        let question = format!("PRAGMA quick_check(\"{table}\")");
        match connection.raw().query_row(&question, [], |row| row.get::<_, String>(0)) {
            Ok(said) if said == "ok" => {}
            Ok(said) => return Err(judged(path, table, &said)),
            Err(error) if is_interrupted(&error) => return partly(),
            Err(error) => return Err(classify(error, path)),
        }
        let (paused, pause) = (Instant::now(), begun.elapsed().min(MAX_PAUSE));
        while paused.elapsed() < pause && !is_over() {
            // sleep: leaves the disk to other work
            std::thread::sleep(ASK_EVERY.min(pause));
        }
        if is_over() && at + 1 < tables.len() {
            return partly();
        }
    }
    Ok((CheckExtent::Whole, None))
}

/// Names of all tables, `sqlite_schema` first.
fn tables(connection: &Connection) -> rusqlite::Result<Vec<String>> {
    let mut listed = connection
        .raw()
        .prepare("SELECT name FROM sqlite_schema WHERE type = 'table' AND rootpage > 0 ORDER BY name")?;
    let names = listed.query_map([], |row| row.get(0))?;
    std::iter::once(Ok("sqlite_schema".to_owned())).chain(names).collect()
}

fn is_interrupted(error: &rusqlite::Error) -> bool {
    matches!(error, rusqlite::Error::SqliteFailure(failure, _) if failure.extended_code & 0xff == ffi::SQLITE_INTERRUPT)
}

/// Converts a finding of SQLite into an error. If the disk failed to return a page, the finding contains the number of
/// that error.
fn judged(path: &Arc<PathBuf>, table: &str, said: &str) -> Error {
    let number = said.rsplit_once("error code=").and_then(|(_, number)| number.trim().parse::<i32>().ok());
    let is_disk = number.is_some_and(|code| code & 0xff == ffi::SQLITE_IOERR && code != ffi::SQLITE_IOERR_DATA);
    let error = if is_disk { unreadable(path) } else { damaged(path) };
    error.with_source(format!("{}, table {table}: {said}", path.display()))
}
