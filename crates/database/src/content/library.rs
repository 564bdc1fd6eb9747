//! Settings of libraries and lists, and the numbers of rows.

use model::{Error, Id, LibrarySettings, Result};

use super::node::number;
use crate::statement::{Inserts, insert_rows};
use crate::{Reader, Row, Transaction, params, statements};

/// The columns of the settings of a new library.
macro_rules! insert {
    () => {
        "INSERT INTO library (node_id, versioning, major_limit, minor_limit, require_checkout, require_approval,
        attachments, next_number) VALUES "
    };
}

/// Number of libraries whose settings one statement inserts.
const GROUP: usize = 8;

statements! {
    FIND = "SELECT versioning, major_limit, minor_limit, require_checkout, require_approval, attachments FROM library
        WHERE node_id = $1";
    PUT = "INSERT INTO library (node_id, versioning, major_limit, minor_limit, require_checkout, require_approval,
        attachments)
        VALUES ($1, $2, $3, $4, $5, $6, $7)
        ON CONFLICT (node_id) DO UPDATE SET versioning = excluded.versioning, major_limit = excluded.major_limit,
        minor_limit = excluded.minor_limit, require_checkout = excluded.require_checkout,
        require_approval = excluded.require_approval, attachments = excluded.attachments";
    INSERT = insert_rows!(insert!(), 8, 1);
    INSERT_MANY = insert_rows!(insert!(), 8, GROUP);
    LOCK = "SELECT node_id FROM library WHERE node_id = $1 {for_update}";
    RECOMPUTE_AFTER = "SELECT recompute_after FROM library WHERE node_id = $1 AND recompute_after IS NOT NULL";
    SET_RECOMPUTE_AFTER = "UPDATE library SET recompute_after = $2 WHERE node_id = $1";
    TO_RECOMPUTE = "SELECT node_id FROM library WHERE recompute_after IS NOT NULL ORDER BY node_id LIMIT $1";
    NEXT_NUMBER = "SELECT next_number FROM library WHERE node_id = $1";
    TAKE_NUMBERS = "UPDATE library SET next_number = next_number + $2 WHERE node_id = $1 RETURNING next_number";
}

/// The settings of a library.
pub fn find(reader: &mut Reader<'_>, library: Id) -> Result<Option<LibrarySettings>> {
    reader.find(FIND, &params![library], |row| read_from(row, 0))
}

pub(super) fn read_from(row: &Row<'_>, at: usize) -> Result<LibrarySettings> {
    Ok(LibrarySettings {
        versioning: row.get(at)?,
        major_limit: number(row, at + 1)?,
        minor_limit: number(row, at + 2)?,
        require_checkout: row.get(at + 3)?,
        require_approval: row.get(at + 4)?,
        attachments: row.get(at + 5)?,
    })
}

/// Stores the settings of a library.
pub fn put(transaction: &mut Transaction<'_>, library: Id, settings: &LibrarySettings) -> Result<()> {
    let LibrarySettings { versioning, major_limit, minor_limit, require_checkout, require_approval, attachments } =
        settings;
    let values =
        params![library, *versioning, *major_limit, *minor_limit, *require_checkout, *require_approval, *attachments];
    transaction.execute(PUT, &values).map(drop)
}

/// Adds the settings of many new libraries and lists: identifier, settings, and the number of the next row.
pub fn insert_many(transaction: &mut Transaction<'_>, libraries: &[(Id, LibrarySettings, i64)]) -> Result<()> {
    let row = |(id, settings, next): &(Id, LibrarySettings, i64)| {
        let LibrarySettings { versioning, major_limit, minor_limit, require_checkout, require_approval, attachments } =
            settings;
        params![*id, *versioning, *major_limit, *minor_limit, *require_checkout, *require_approval, *attachments, *next]
            .into()
    };
    let rows: Vec<_> = libraries.iter().map(row).collect();
    transaction.insert_all(&Inserts { one: INSERT, many: INSERT_MANY, group: GROUP }, &rows)
}

/// Locks the row of a library or list until the transaction ends.
pub fn lock(transaction: &mut Transaction<'_>, library: Id) -> Result<()> {
    transaction.find(LOCK, &params![library], |_| Ok(())).map(drop)
}

/// Takes the next `count` numbers of a list for new rows, and returns the first. Locks the row of the list until the
/// transaction ends. No number is given twice.
pub fn take_numbers(transaction: &mut Transaction<'_>, list: Id, count: usize) -> Result<i64> {
    let next: Option<i64> = transaction.find(TAKE_NUMBERS, &params![list, count as i64], |row| row.get(0))?;
    next.map(|next| next - count as i64).ok_or_else(|| Error::corrupt("the settings of a list are missing"))
}

/// The number of the next row of a list; 1 for a library.
pub fn next_number(reader: &mut Reader<'_>, list: Id) -> Result<i64> {
    Ok(reader.find(NEXT_NUMBER, &params![list], |row| row.get(0))?.unwrap_or(1))
}

/// The item up to which calculated values are computed; `None` unless some may be out of date.
pub fn recompute_after(reader: &mut Reader<'_>, library: Id) -> Result<Option<Id>> {
    reader.find(RECOMPUTE_AFTER, &params![library], |row| row.get(0))
}

/// Notes up to which item calculated values are computed; `None` when all are.
pub fn set_recompute_after(transaction: &mut Transaction<'_>, library: Id, after: Option<Id>) -> Result<()> {
    transaction.execute(SET_RECOMPUTE_AFTER, &params![library, after]).map(drop)
}

/// Some of the libraries and lists whose calculated values may be out of date.
pub fn to_recompute(reader: &mut Reader<'_>, most: usize) -> Result<Vec<Id>> {
    reader.query(TO_RECOMPUTE, &params![most as i64], |row| row.get(0))
}
