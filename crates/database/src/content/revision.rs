//! Earlier records of rows.

use model::{Id, Result, Timestamp};

use super::fields::Fields;
use crate::{Reader, Row, Transaction, params, statements};

statements! {
    INSERT = "INSERT INTO revision (id, node_id, fields, at, by_id) VALUES ($1, $2, $3, $4, $5)";
    LIST = "SELECT id, fields, at, by_id FROM revision WHERE node_id = $1 AND id < $2 ORDER BY id DESC LIMIT $3";
    TRIM = "DELETE FROM revision WHERE node_id = $1 AND id <= (
        SELECT id FROM revision WHERE node_id = $1 ORDER BY id DESC LIMIT 1 OFFSET $2)";
}

/// An earlier record of a row.
#[derive(Clone, Debug)]
pub struct Revision {
    /// Identifier.
    pub id: Id,
    /// The fields.
    pub fields: Fields,
    /// Time at which they were stored.
    pub at: Timestamp,
    /// The user who stored them.
    pub by: Id,
}

fn read(row: &Row<'_>) -> Result<Revision> {
    Ok(Revision { id: row.get(0)?, fields: Fields::parse(row.get(1)?)?, at: row.get(2)?, by: row.get(3)? })
}

/// Stores the record of a row that another one replaces.
pub fn insert(transaction: &mut Transaction<'_>, row: Id, revision: &Revision) -> Result<()> {
    let values = params![revision.id, row, revision.fields.stored(), revision.at, revision.by];
    transaction.execute_deferred(INSERT, &values)
}

/// Earlier records of a row, newest first, beginning before `before`.
pub fn list(reader: &mut Reader<'_>, row: Id, before: Id, limit: usize) -> Result<Vec<Revision>> {
    reader.query(LIST, &params![row, before, limit as i64], read)
}

/// Deletes all but the newest `keep` earlier records of a row.
pub fn trim(transaction: &mut Transaction<'_>, row: Id, keep: u32) -> Result<()> {
    transaction.execute_deferred(TRIM, &params![row, keep])
}
