//! The farm's map of site collections: for each address, the content database that holds it.

use model::{Accent, Id, Result, Timestamp};

use crate::{Reader, Row, Transaction, params, statements};

statements! {
    LIST = "SELECT id, folded, path, title, database_id, created_at, accent FROM site_collection ORDER BY folded";
    INSERT = "INSERT INTO site_collection (id, folded, path, title, database_id, created_at) VALUES ($1, $2, $3, $4,
        $5, $6)";
    SET_LOOK = "UPDATE site_collection SET title = $2, accent = $3 WHERE id = $1";
    DELETE = "DELETE FROM site_collection WHERE id = $1";
}

/// A site collection's entry in the farm's map.
#[derive(Clone, Debug)]
pub struct SiteCollectionRow {
    /// Identifier; the root site has the same one.
    pub id: Id,
    /// Folded address; empty for the root site collection.
    pub folded: String,
    /// Address as the user entered it.
    pub path: String,
    /// Title.
    pub title: String,
    /// The content database that holds it.
    pub database_id: Id,
    /// Creation time.
    pub created_at: Timestamp,
    /// Accent colour of the collection's pages.
    pub accent: Accent,
}

fn read(row: &Row<'_>) -> Result<SiteCollectionRow> {
    Ok(SiteCollectionRow {
        id: row.get(0)?,
        folded: row.get(1)?,
        path: row.get(2)?,
        title: row.get(3)?,
        database_id: row.get(4)?,
        created_at: row.get(5)?,
        accent: Accent::parse(row.get(6)?)?,
    })
}

/// All site collections by address.
pub fn list(reader: &mut Reader<'_>) -> Result<Vec<SiteCollectionRow>> {
    reader.query(LIST, &[], read)
}

/// Adds a site collection with the default colour to the map. An address that is taken is a conflict.
pub fn insert(transaction: &mut Transaction<'_>, row: &SiteCollectionRow) -> Result<()> {
    let values = params![row.id, &row.folded, &row.path, &row.title, row.database_id, row.created_at];
    transaction.execute(INSERT, &values).map(drop)
}

/// Changes the title and the colour.
pub fn set_look(transaction: &mut Transaction<'_>, id: Id, title: &str, accent: Accent) -> Result<u64> {
    transaction.execute(SET_LOOK, &params![id, title, accent.as_str()])
}

/// Removes a site collection from the map.
pub fn delete(transaction: &mut Transaction<'_>, id: Id) -> Result<u64> {
    transaction.execute(DELETE, &params![id])
}
