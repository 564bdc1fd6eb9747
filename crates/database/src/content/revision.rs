//! Earlier records of rows.

use model::{Id, Result, Timestamp};

use super::fields::Fields;
use super::node::number;
use crate::{Reader, Row, Transaction, params, statements};

statements! {
    INSERT = "INSERT INTO revision (id, node_id, number, fields, at, by_id) VALUES ($1, $2, $3, $4, $5, $6)";
    LIST = "SELECT id, number, fields, at, by_id FROM revision WHERE node_id = $1 AND number < $2
        ORDER BY number DESC LIMIT $3";
    SET_FIELDS = "UPDATE revision SET fields = $2 WHERE id = $1";
    TRIM = "DELETE FROM revision WHERE node_id = $1 AND number <= (
        SELECT number FROM revision WHERE node_id = $1 ORDER BY number DESC LIMIT 1 OFFSET $2)";
    NEWEST_ID = "SELECT MAX(id) FROM revision";
}

/// An earlier record of a row.
#[derive(Clone, Debug)]
pub struct Revision {
    /// Identifier.
    pub id: Id,
    /// Number among the revisions of its row, from 1.
    pub number: u32,
    /// The fields.
    pub fields: Fields,
    /// Time at which they were stored.
    pub at: Timestamp,
    /// The user who stored them.
    pub by: Id,
}

fn read(row: &Row<'_>) -> Result<Revision> {
    Ok(Revision {
        id: row.get(0)?,
        number: number(row, 1)?,
        fields: Fields::parse(row.get(2)?)?,
        at: row.get(3)?,
        by: row.get(4)?,
    })
}

/// Stores the record of a row that another one replaces.
pub fn insert(transaction: &mut Transaction<'_>, row: Id, revision: &Revision) -> Result<()> {
    let values = params![revision.id, row, revision.number, revision.fields.stored(), revision.at, revision.by];
    transaction.execute_deferred(INSERT, &values)
}

/// Earlier records of a row, newest first, beginning before the number `before`.
pub fn list(reader: &mut Reader<'_>, row: Id, before: u32, limit: usize) -> Result<Vec<Revision>> {
    reader.query(LIST, &params![row, before, limit as i64], read)
}

/// Replaces the fields of an earlier record.
pub fn set_fields(transaction: &mut Transaction<'_>, id: Id, fields: &Fields) -> Result<()> {
    transaction.execute_deferred(SET_FIELDS, &params![id, fields.stored()])
}

/// Deletes all but the newest `keep` earlier records of a row.
pub fn trim(transaction: &mut Transaction<'_>, row: Id, keep: u32) -> Result<()> {
    transaction.execute_deferred(TRIM, &params![row, keep])
}

/// The newest identifier of an earlier record; `None` if there is none.
pub fn newest_id(reader: &mut Reader<'_>) -> Result<Option<Id>> {
    Ok(reader.find(NEWEST_ID, &[], |row| row.get(0))?.flatten())
}
