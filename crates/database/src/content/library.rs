//! Settings of libraries and lists, and the numbers of rows.

use model::{Error, Id, LibrarySettings, Result};

use super::node::number;
use crate::{Reader, Row, Transaction, params, statements};

statements! {
    FIND = "SELECT versioning, major_limit, minor_limit, require_checkout FROM library WHERE node_id = $1";
    PUT = "INSERT INTO library (node_id, versioning, major_limit, minor_limit, require_checkout) VALUES ($1, $2, $3,
        $4, $5)
        ON CONFLICT (node_id) DO UPDATE SET versioning = excluded.versioning, major_limit = excluded.major_limit,
        minor_limit = excluded.minor_limit, require_checkout = excluded.require_checkout";
    LOCK = "SELECT node_id FROM library WHERE node_id = $1 {for_update}";
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
    })
}

/// Stores the settings of a library.
pub fn put(transaction: &mut Transaction<'_>, library: Id, settings: &LibrarySettings) -> Result<()> {
    let values =
        params![library, settings.versioning, settings.major_limit, settings.minor_limit, settings.require_checkout];
    transaction.execute(PUT, &values).map(drop)
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
