//! Identity of a content database: its farm, and its identifier in that farm.

use model::{Id, Result};

use crate::{Reader, Transaction, params, statements};

statements! {
    FIND = "SELECT farm_id, database_id FROM identity";
    PUT = "INSERT INTO identity (one, farm_id, database_id) VALUES (1, $1, $2)
        ON CONFLICT (one) DO UPDATE SET farm_id = excluded.farm_id, database_id = excluded.database_id";
}

/// A farm, and one of its content databases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The farm.
    pub farm: Id,
    /// The database's identifier in the farm's configuration.
    pub database: Id,
}

/// The identity of the database; `None` if no farm has adopted it yet.
pub fn find(reader: &mut Reader<'_>) -> Result<Option<Identity>> {
    reader.find(FIND, &[], |row| Ok(Identity { farm: row.get(0)?, database: row.get(1)? }))
}

/// Stores the identity.
pub fn put(transaction: &mut Transaction<'_>, identity: Identity) -> Result<()> {
    transaction.execute(PUT, &params![identity.farm, identity.database]).map(drop)
}
