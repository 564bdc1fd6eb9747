//! Settings of libraries.

use model::{Id, LibrarySettings, Result, Versioning};

use super::node::number;
use crate::{Reader, Transaction, params, statements};

statements! {
    FIND = "SELECT versioning, major_limit, minor_limit, require_checkout FROM library WHERE node_id = $1";
    PUT = "INSERT INTO library (node_id, versioning, major_limit, minor_limit, require_checkout) VALUES ($1, $2, $3, $4, $5)
        ON CONFLICT (node_id) DO UPDATE SET versioning = excluded.versioning, major_limit = excluded.major_limit,
        minor_limit = excluded.minor_limit, require_checkout = excluded.require_checkout";
}

/// The settings of a library.
pub fn find(reader: &mut Reader<'_>, library: Id) -> Result<Option<LibrarySettings>> {
    reader.find(FIND, &params![library], |row| {
        Ok(LibrarySettings {
            versioning: Versioning::parse(row.get::<String>(0)?.as_str())?,
            major_limit: number(row, 1)?,
            minor_limit: number(row, 2)?,
            require_checkout: row.get(3)?,
        })
    })
}

/// Stores the settings of a library.
pub fn put(transaction: &mut Transaction<'_>, library: Id, settings: &LibrarySettings) -> Result<()> {
    let values = params![
        library,
        settings.versioning.as_str(),
        settings.major_limit,
        settings.minor_limit,
        settings.require_checkout
    ];
    transaction.execute(PUT, &values).map(drop)
}
