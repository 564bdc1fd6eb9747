//! Settings of libraries.

use model::{Id, LibrarySettings, Result};

use super::node::number;
use crate::{Reader, Row, Transaction, params, statements};

statements! {
    FIND = "SELECT versioning, major_limit, minor_limit, require_checkout FROM library WHERE node_id = $1";
    PUT = "INSERT INTO library (node_id, versioning, major_limit, minor_limit, require_checkout) VALUES ($1, $2, $3,
        $4, $5)
        ON CONFLICT (node_id) DO UPDATE SET versioning = excluded.versioning, major_limit = excluded.major_limit,
        minor_limit = excluded.minor_limit, require_checkout = excluded.require_checkout";
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
