//! Which database of which farm a content database is.

use model::{Id, Result};

use crate::{Reader, Transaction, params, statements};

statements! {
    FIND = "SELECT farm_id, database_id FROM identity";
    PUT = "INSERT INTO identity (one, farm_id, database_id) VALUES (1, $1, $2)
        ON CONFLICT (one) DO UPDATE SET farm_id = excluded.farm_id, database_id = excluded.database_id";
}

/// Which database of which farm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The farm.
    pub farm: Id,
    /// The database, as the farm's configuration knows it.
    pub database: Id,
}

/// The identity of the database; none for one that no farm has adopted yet.
pub fn find(reader: &mut Reader<'_>) -> Result<Option<Identity>> {
    reader.find(FIND, &[], |row| Ok(Identity { farm: row.get(0)?, database: row.get(1)? }))
}

/// Writes the identity down.
pub fn put(transaction: &mut Transaction<'_>, identity: Identity) -> Result<()> {
    transaction.execute(PUT, &params![identity.farm, identity.database]).map(drop)
}
