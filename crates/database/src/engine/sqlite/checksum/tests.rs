//! Tests of the damage that the layer detects, and of adding checksums to files without them.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rusqlite::types::Value;

use super::*;
use crate::Schema;
use crate::engine::Engine;
use crate::engine::sqlite::classify::classify;
use crate::engine::sqlite::commits::{self, Commits};
use crate::engine::sqlite::connection::{Connection, Role};
use crate::engine::sqlite::migrate::migrate;
use crate::engine::sqlite::snapshot::{
    add_checksums, checkpoint_fully, compact, copy, rebuild_checksums, require_intact_pages,
};
use crate::engine::sqlite::turn::WriteTurn;
use crate::migrate::Plan;

const TIMEOUT: Duration = Duration::from_secs(10);
const PAGE: usize = 4096;

fn open(path: &Arc<PathBuf>, role: Role) -> Connection {
    Connection::open(path, role, TIMEOUT).unwrap()
}

fn tables(raw: &rusqlite::Connection) -> rusqlite::Result<Vec<String>> {
    let mut listed = raw.prepare("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")?;
    listed.query_map([], |row| row.get(0))?.collect()
}

/// Everything that a table holds, or the error on reading it.
fn content(raw: &rusqlite::Connection, table: &str) -> rusqlite::Result<Vec<Vec<Value>>> {
    let mut all = raw.prepare(&format!("SELECT * FROM {table} NOT INDEXED"))?;
    let columns = all.column_count();
    all.query_map([], |row| (0..columns).map(|at| row.get(at)).collect())?.collect()
}

/// Creates a database of the schema with rows of many pages in each table, in a single file without a WAL.
fn filled(path: &Arc<PathBuf>, schema: Schema) {
    let mut connection = open(path, Role::Maker);
    let plan = Plan { makes: true, ..Plan::new(schema, Engine::Sqlite) };
    migrate(&mut connection, &WriteTurn::open(path, TIMEOUT), &plan).unwrap();
    let raw = connection.raw();
    raw.execute_batch("PRAGMA foreign_keys = off; PRAGMA ignore_check_constraints = on; BEGIN").unwrap();
    for table in tables(raw).unwrap().iter().filter(|name| !name.starts_with("sqlite_")) {
        let mut info = raw.prepare(&format!("SELECT name, type FROM pragma_table_info('{table}')")).unwrap();
        let columns = info.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
        let columns: Vec<(String, String)> = columns.map(Result::unwrap).collect();
        for number in 1..25i64 {
            let values = columns.iter().map(|(_, kind)| match kind.as_str() {
                "TEXT" => Value::Text(format!("{table} {number} {}", "word ".repeat(number as usize * 3))),
                "BLOB" => Value::Blob([number as u8; 3].repeat(number as usize * 60)),
                _ => Value::Integer(number),
            });
            let values: Vec<Value> = values.collect();
            let marks = vec!["?"; values.len()].join(", ");
            raw.execute(&format!("INSERT OR IGNORE INTO {table} VALUES ({marks})"), rusqlite::params_from_iter(values))
                .unwrap();
        }
    }
    raw.execute_batch("COMMIT").unwrap();
    drop(connection);
    checkpoint_fully(path).unwrap();
}

fn compare(path: &Arc<PathBuf>, expected: &[(String, Vec<Vec<Value>>)], what: &str) -> usize {
    let Ok(connection) = Connection::open(path, Role::Reader, TIMEOUT) else { return 1 };
    let mut refused = 0;
    for (table, rows) in expected {
        match content(connection.raw(), table) {
            Ok(found) => assert!(found == *rows, "{what}: wrong rows of {table} were read as good ones"),
            Err(_) => refused += 1,
        }
    }
    refused
}

fn remove_log(path: &Path) {
    for end in ["-wal", "-shm"] {
        let mut name = path.as_os_str().to_owned();
        name.push(end);
        let _ = std::fs::remove_file(name);
    }
}

#[test]
fn damaged_pages_of_any_table_are_never_read_as_good_ones() {
    for schema in [Schema::Content, Schema::Configuration] {
        let directory = tempfile::tempdir().unwrap();
        let path = Arc::new(directory.path().join("x.db"));
        filled(&path, schema);
        let connection = open(&path, Role::Reader);
        assert!(has(connection.raw()));
        let expected: Vec<_> = tables(connection.raw())
            .unwrap()
            .into_iter()
            .map(|table| (table.clone(), content(connection.raw(), &table).unwrap()))
            .collect();
        assert!(expected.iter().filter(|(name, _)| !name.starts_with("sqlite_")).all(|(_, rows)| !rows.is_empty()));
        drop(connection);
        let whole = std::fs::read(path.as_path()).unwrap();
        let pages = whole.len() / PAGE;
        assert!(pages > 40);
        assert!(whole.chunks(PAGE).all(is_intact));
        let (mut refused, mut damaged_ones) = (0, 0);
        // Some pages from each part of the file, and its last ones.
        for page in (0..pages).step_by(pages / 25).chain(pages - 2..pages) {
            damaged_ones += 3;
            let place = page * PAGE;
            let mut flipped = whole.clone();
            flipped[place + page * 37 % PAGE] ^= 1 << (page % 8);
            let mut zeroed = whole.clone();
            zeroed[place..place + PAGE].fill(0);
            for (damaged, what) in
                [(&flipped[..], "flipped"), (&zeroed[..], "zeroed"), (&whole[..place + PAGE / 2], "cut")]
            {
                remove_log(&path);
                std::fs::write(path.as_path(), damaged).unwrap();
                refused += compare(&path, &expected, &format!("page {page} of {pages} {what}")).min(1);
            }
        }
        assert!(refused * 2 > damaged_ones, "{refused} of {damaged_ones} were noticed");
    }
}

#[test]
fn a_file_without_checksums_is_given_them_and_keeps_its_rows() {
    let directory = tempfile::tempdir().unwrap();
    let path = Arc::new(directory.path().join("x.db"));
    let old = rusqlite::Connection::open(path.as_path()).unwrap();
    old.execute_batch("PRAGMA auto_vacuum = incremental; PRAGMA journal_mode = wal; CREATE TABLE a (b TEXT)").unwrap();
    for number in 0..500 {
        old.execute("INSERT INTO a VALUES (?1)", [format!("{number} {}", "word ".repeat(100))]).unwrap();
    }
    drop(old);
    let before = content(&rusqlite::Connection::open(path.as_path()).unwrap(), "a").unwrap();
    let mut connection = open(&path, Role::Writer);
    let beside = open(&path, Role::Reader);
    assert_eq!(content(beside.raw(), "a").unwrap().len(), 500);
    assert!(!has(connection.raw()));
    add_checksums(&mut connection, &WriteTurn::open(&path, TIMEOUT), TIMEOUT);
    assert!(has(connection.raw()));
    assert!(content(beside.raw(), "a").unwrap() == before, "who had it open reads on");
    drop((connection, beside));
    checkpoint_fully(&path).unwrap();
    assert!(std::fs::read(path.as_path()).unwrap().chunks(PAGE).all(is_intact));
    let connection = open(&path, Role::Writer);
    assert!(has(connection.raw()));
    assert!(content(connection.raw(), "a").unwrap() == before);
}

/// The content of a file as its owner sees it after opening: all rows, or the code of the error that refused it.
fn opened(path: &Arc<PathBuf>) -> Result<Vec<Vec<Value>>, String> {
    let refused = |error: rusqlite::Error| classify(error, path).code().to_string();
    let mut connection = Connection::open(path, Role::Writer, TIMEOUT).map_err(|error| error.code().to_string())?;
    add_checksums(&mut connection, &WriteTurn::open(path, TIMEOUT), TIMEOUT);
    content(connection.raw(), "a").map_err(refused)
}

#[test]
fn no_bit_of_the_header_turns_checksums_off() {
    let directory = tempfile::tempdir().unwrap();
    let path = Arc::new(directory.path().join("x.db"));
    let connection = open(&path, Role::Maker);
    connection.raw().execute_batch("CREATE TABLE a (b TEXT)").unwrap();
    for number in 0..100 {
        connection.raw().execute("INSERT INTO a VALUES (?1)", [format!("{number} {}", "word ".repeat(60))]).unwrap();
    }
    let commits = Commits::open(&path);
    commits.note_checksums(connection.raw());
    drop(connection);
    checkpoint_fully(&path).unwrap();
    let whole = std::fs::read(path.as_path()).unwrap();
    let good = opened(&path).unwrap();
    assert_eq!(good.len(), 100);
    for noted in [true, false] {
        if !noted {
            commits::forget(&path).unwrap();
        }
        for bit in 0..HEADER * 8 {
            let mut flipped = whole.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            // The last page is damaged too. If checksums were turned off, it would be readable, or be given a new
            // checksum.
            let end = flipped.len() - PAGE / 2;
            flipped[end] ^= 1;
            remove_log(&path);
            std::fs::write(path.as_path(), &flipped).unwrap();
            assert_eq!(opened(&path).unwrap_err(), "database_corrupt", "bit {bit}, noted: {noted}");
            assert!(std::fs::read(path.as_path()).unwrap() == flipped, "bit {bit} noted {noted}: the file was changed");
        }
    }
}

#[test]
fn a_damaged_file_without_checksums_is_not_given_any() {
    let directory = tempfile::tempdir().unwrap();
    let path = Arc::new(directory.path().join("x.db"));
    let old = rusqlite::Connection::open(path.as_path()).unwrap();
    old.execute_batch("PRAGMA journal_mode = wal; CREATE TABLE a (b TEXT)").unwrap();
    for number in 0..500 {
        old.execute("INSERT INTO a VALUES (?1)", [format!("{number} {}", "word ".repeat(100))]).unwrap();
    }
    drop(old);
    let mut bytes = std::fs::read(path.as_path()).unwrap();
    let pages = bytes.len() / PAGE;
    // Changes the number of cells of a leaf page.
    bytes[(pages - 3) * PAGE + 4] ^= 1;
    std::fs::write(path.as_path(), &bytes).unwrap();
    let mut connection = open(&path, Role::Writer);
    add_checksums(&mut connection, &WriteTurn::open(&path, TIMEOUT), TIMEOUT);
    assert!(!has(connection.raw()));
    drop(connection);
    assert_eq!(compact(&path, TIMEOUT).unwrap_err().code(), "database_corrupt");
    assert!(std::fs::read(path.as_path()).unwrap() == bytes);
}

#[test]
fn the_sum_is_that_of_sqlites_own_layer() {
    let mut page = [0; 504];
    page.iter_mut().zip(1u8..=255).for_each(|(byte, value)| *byte = value);
    // Computed from the description of `cksumvfs`: s1 += word + s2, s2 += word + s1.
    let (mut first, mut second) = (0u64, 0u64);
    for pair in page.chunks(8) {
        let words: Vec<u64> =
            pair.chunks(4).map(|four| four.iter().rev().fold(0, |n, b| n << 8 | u64::from(*b))).collect();
        first = (first + words[0] + second) % (1 << 32);
        second = (second + words[1] + first) % (1 << 32);
    }
    assert_eq!(u64::from_le_bytes(sum_of(&page)), second << 32 | first);
    assert_ne!(sum_of(&page), sum_of(&page[8..]));
    assert!(!is_intact(&[0; 512]), "a page that lost everything");
}

#[test]
fn a_copy_beyond_the_cache_has_right_checksums_while_the_log_is_newer_than_the_file() {
    let directory = tempfile::tempdir().unwrap();
    let path = Arc::new(directory.path().join("x.sqlite"));
    let writer = open(&path, Role::Maker);
    let raw = writer.raw();
    raw.execute_batch("CREATE TABLE wide (id INTEGER PRIMARY KEY, text TEXT) STRICT; BEGIN").unwrap();
    // Five times SQLite's default cache.
    for id in 0..3_000 {
        raw.execute("INSERT INTO wide VALUES (?1, ?2)", (id, "first ".repeat(600))).unwrap();
    }
    raw.execute_batch("COMMIT; PRAGMA wal_checkpoint(TRUNCATE); PRAGMA wal_autocheckpoint = 0").unwrap();
    raw.execute("UPDATE wide SET text = replace(text, 'first', 'later')", []).unwrap();
    let to = directory.path().join("copy.sqlite");
    copy(&path, &to, TIMEOUT).unwrap();
    assert_eq!(
        file::wrong_pages(&to).unwrap(),
        file::WrongPages { has_checksums: true, ..file::WrongPages::default() }
    );
    let copied = open(&Arc::new(to), Role::Reader);
    let later = "SELECT count(*) FROM wide WHERE text LIKE 'later%'";
    assert_eq!(copied.raw().query_row(later, [], |row| row.get::<_, i64>(0)).unwrap(), 3_000);
}

#[test]
fn a_wrong_page_of_a_file_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let path = Arc::new(directory.path().join("x.sqlite"));
    filled(&path, Schema::Content);
    assert_eq!(
        file::wrong_pages(&path).unwrap(),
        file::WrongPages { has_checksums: true, ..file::WrongPages::default() }
    );
    let whole = std::fs::read(&*path).unwrap();
    let first = |page: usize| Some(page as u64 + 1);
    let last = whole.len() / PAGE - 1;
    // Header bytes for the format, the page size and the checksums, and the bytes after it.
    for place in [0, 15, 16, 17, RESERVED_AT, 24, HEADER - 1, HEADER, 200, PAGE / 2, PAGE - SUM, PAGE - 1] {
        for page in [0, 1, last / 2, last] {
            let mut bytes = whole.clone();
            bytes[page * PAGE + place] ^= 1;
            std::fs::write(&*path, &bytes).unwrap();
            let found = file::wrong_pages(&path).unwrap().first;
            assert_eq!(found, first(page), "byte {place} of page {page}");
        }
    }
    let mut bytes = whole.clone();
    bytes[RESERVED_AT..RESERVED_AT + 10].fill(0);
    std::fs::write(&*path, &bytes).unwrap();
    let found = file::wrong_pages(&path).unwrap().first;
    assert_eq!(found, first(0), "more of the header is lost than the number");
    for page in [0, 1, last] {
        let mut bytes = whole.clone();
        bytes[page * PAGE + 200] ^= 1;
        std::fs::write(&*path, &bytes).unwrap();
        let wrong = file::WrongPages { count: 1, first: first(page), is_cut: false, has_checksums: true };
        assert_eq!(file::wrong_pages(&path).unwrap(), wrong);
        // Pieces of any length give the same result.
        for length in [1, 99, 100, 4095, 5000] {
            let mut sums = file::PageSums::new();
            bytes.chunks(length).for_each(|piece| sums.update(piece));
            assert_eq!(sums.finish(), wrong, "{length} at once");
        }
    }
    std::fs::write(&*path, &whole[..whole.len() - 1]).unwrap();
    let cut = file::WrongPages { count: 1, first: first(last), is_cut: true, has_checksums: true };
    assert_eq!(file::wrong_pages(&path).unwrap(), cut);
    std::fs::write(&*path, b"").unwrap();
    assert_eq!(file::wrong_pages(&path).unwrap(), file::WrongPages { first: first(0), has_checksums: false, ..cut });
    let without = directory.path().join("without.sqlite");
    let raw = rusqlite::Connection::open(&without).unwrap();
    raw.execute_batch("CREATE TABLE a (b TEXT); INSERT INTO a VALUES (zeroblob(20000))").unwrap();
    drop(raw);
    assert_eq!(file::wrong_pages(&without).unwrap(), file::WrongPages::default());
}

#[test]
fn checksums_are_written_anew_only_where_the_file_is_whole_without_them() {
    let directory = tempfile::tempdir().unwrap();
    let path = Arc::new(directory.path().join("x.sqlite"));
    let connection = open(&path, Role::Maker);
    connection.raw().execute_batch("CREATE TABLE a (b TEXT)").unwrap();
    for number in 0..100 {
        connection.raw().execute("INSERT INTO a VALUES (?1)", [format!("{number} {}", "word ".repeat(60))]).unwrap();
    }
    drop(connection);
    checkpoint_fully(&path).unwrap();
    let whole = std::fs::read(&*path).unwrap();
    let pages = whole.len() / PAGE;
    let mut stale = whole.clone();
    for page in [0, 3, pages - 1] {
        stale[(page + 1) * PAGE - 1] ^= 0x55;
    }
    std::fs::write(&*path, &stale).unwrap();
    assert_eq!(require_intact_pages(&path).unwrap_err().code(), "page_checksum");
    assert_eq!(rebuild_checksums(&path).unwrap(), 3);
    assert!(std::fs::read(&*path).unwrap() == whole);
    assert_eq!(rebuild_checksums(&path).unwrap(), 0);
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 1, "nothing is left beside it");

    // A changed cell count of a page, which may also go unnoticed without a checksum; and a truncated file.
    let leaf = (1..pages).find(|page| whole[page * PAGE] == 13 && whole[page * PAGE + 4] > 2).unwrap();
    let mut damaged = whole.clone();
    damaged[leaf * PAGE + 4] ^= 1;
    for bytes in [&damaged[..], &whole[..whole.len() - 1]] {
        std::fs::write(&*path, bytes).unwrap();
        assert_eq!(rebuild_checksums(&path).unwrap_err().code(), "database_corrupt");
        assert!(std::fs::read(&*path).unwrap() == bytes, "it is left as it was");
    }
}
