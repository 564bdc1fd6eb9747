//! Statements over templates that people saved.
//!
//! This module does not read templates.

use model::{Id, Result, Timestamp};

use crate::{Reader, Row, Transaction, params, statements};

statements! {
    LIST_TEMPLATES = "SELECT id, collection_id, name, kind, summary, changed_at, changed_by FROM template \
        WHERE collection_id = 0 OR collection_id = $1 ORDER BY name, collection_id LIMIT $2";
    FIND_TEMPLATE = "SELECT id, collection_id, name, kind, summary, changed_at, changed_by, text FROM template \
        WHERE collection_id = $1 AND name = $2";
    COUNT_TEMPLATES = "SELECT COUNT(*) FROM template WHERE collection_id = $1";
    INSERT_TEMPLATE = "INSERT INTO template (id, collection_id, name, kind, summary, changed_at, changed_by, text) \
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8)";
    UPDATE_TEMPLATE = "UPDATE template SET name = $2, summary = $3, changed_at = $4, changed_by = $5, text = $6 \
        WHERE id = $1";
    DELETE_TEMPLATE = "DELETE FROM template WHERE collection_id = $1 AND name = $2";
}

/// A saved template without its text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TemplateRow {
    /// Identifier.
    pub id: Id,
    /// The site collection for which it is; [`Id::NONE`] for all of them.
    pub collection_id: Id,
    /// Name, unique in the site collection.
    pub name: String,
    /// `site` or `list`.
    pub kind: String,
    /// Title and description, as a JSON object.
    pub summary: String,
    /// Time at which it was saved.
    pub changed_at: Timestamp,
    /// User who saved it.
    pub changed_by: Id,
}

fn template(row: &Row) -> Result<TemplateRow> {
    Ok(TemplateRow {
        id: row.get(0)?,
        collection_id: row.get(1)?,
        name: row.get(2)?,
        kind: row.get(3)?,
        summary: row.get(4)?,
        changed_at: row.get(5)?,
        changed_by: row.get(6)?,
    })
}

/// Up to `limit` templates of a site collection and of all of them, in the order of their names.
pub fn list(reader: &mut Reader, collection: Id, limit: usize) -> Result<Vec<TemplateRow>> {
    reader.query(LIST_TEMPLATES, &params![collection, limit as i64], template)
}

/// The template with a name, with its text. Not one of all site collections, unless `collection` is [`Id::NONE`].
pub fn find(reader: &mut Reader, collection: Id, name: &str) -> Result<Option<(TemplateRow, String)>> {
    reader.find(FIND_TEMPLATE, &params![collection, name], |row| Ok((template(row)?, row.get(7)?)))
}

/// Number of templates of a site collection.
pub fn count(reader: &mut Reader, collection: Id) -> Result<i64> {
    Ok(reader.find(COUNT_TEMPLATES, &params![collection], |row| row.get(0))?.unwrap_or(0))
}

/// Adds a template. A name that is taken in the site collection is a conflict.
pub fn insert(tx: &mut Transaction, row: &TemplateRow, text: &str) -> Result<()> {
    let TemplateRow { id, collection_id, name, kind, summary, changed_at, changed_by } = row;
    let values = params![*id, *collection_id, name, kind, summary, *changed_at, *changed_by, text];
    tx.execute(INSERT_TEMPLATE, &values).map(drop)
}

/// Replaces everything about a template but its kind. A name that is taken in the site collection is a conflict.
pub fn update(tx: &mut Transaction, row: &TemplateRow, text: &str) -> Result<()> {
    let TemplateRow { id, name, summary, changed_at, changed_by, .. } = row;
    tx.execute(UPDATE_TEMPLATE, &params![*id, name, summary, *changed_at, *changed_by, text]).map(drop)
}

/// Removes a template. Returns how many were removed, 0 or 1.
pub fn remove(tx: &mut Transaction, collection: Id, name: &str) -> Result<u64> {
    tx.execute(DELETE_TEMPLATE, &params![collection, name])
}
