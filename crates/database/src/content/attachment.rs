//! Attachments: the documents whose parent is a row of a list.

use model::{Id, Result};

use crate::{Reader, params, statements};

statements! {
    COUNTS = "SELECT parent_id, scope_id, COUNT(*), COUNT(published_id) FROM (SELECT parent_id, scope_id, published_id
        FROM node WHERE parent_id {in $1} AND kind = 'document' LIMIT $2) AS counted GROUP BY parent_id, scope_id";
    ROWS_WITH = "SELECT p.id, p.parent_id, p.scope_id FROM node p WHERE p.id {in $1} AND p.kind = 'row'
        AND EXISTS (SELECT 1 FROM node n WHERE n.parent_id = p.id)";
    ROWS = "SELECT id FROM node WHERE id {in $1} AND kind = 'row'";
    COUNT = "SELECT COUNT(*) FROM (SELECT id FROM node WHERE parent_id = $1 LIMIT $2) AS counted";
    OF_ROWS = "SELECT id FROM node WHERE parent_id {in $1} AND kind = 'document' LIMIT $2";
}

/// Attachments of one row in one scope.
#[derive(Clone, Copy, Debug)]
pub struct AttachmentCount {
    /// The row.
    pub row: Id,
    /// The scope.
    pub scope: Id,
    /// Their number.
    pub all: i64,
    /// The number of those that have a published version.
    pub published: i64,
}

/// Limit on the attachments that are counted at once.
const MAX_COUNTED: i64 = 10_000;

/// The numbers of attachments of these rows, by row and scope. Rows without attachments are missing. At most 10,000
/// attachments are counted in all; of more, any are left out.
pub fn counts(reader: &mut Reader<'_>, rows: &[Id]) -> Result<Vec<AttachmentCount>> {
    reader.query(COUNTS, &params![rows, MAX_COUNTED], |row| {
        Ok(AttachmentCount { row: row.get(0)?, scope: row.get(1)?, all: row.get(2)?, published: row.get(3)? })
    })
}

/// Number of attachments of a row, counted up to `most`.
pub fn count(reader: &mut Reader<'_>, row: Id, most: usize) -> Result<usize> {
    let count: Option<i64> = reader.find(COUNT, &params![row, most as i64], |row| row.get(0))?;
    Ok(usize::try_from(count.unwrap_or(0)).unwrap_or(most))
}

/// A row with attachments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowWithAttachments {
    /// The row.
    pub id: Id,
    /// Its list.
    pub list: Id,
    /// Its scope.
    pub scope: Id,
}

/// Those of these items that are rows with attachments.
pub fn rows_with(reader: &mut Reader<'_>, items: &[Id]) -> Result<Vec<RowWithAttachments>> {
    reader.query(ROWS_WITH, &params![items], |row| {
        Ok(RowWithAttachments { id: row.get(0)?, list: row.get(1)?, scope: row.get(2)? })
    })
}

/// Up to `limit` attachments of any of these items that are rows.
pub fn of_rows(reader: &mut Reader<'_>, items: &[Id], limit: usize) -> Result<Vec<Id>> {
    // Two statements: the children of a container are not looked at.
    let rows: Vec<Id> = reader.query(ROWS, &params![items], |row| row.get(0))?;
    match rows.is_empty() {
        true => Ok(Vec::new()),
        false => reader.query(OF_ROWS, &params![rows.as_slice(), limit as i64], |row| row.get(0)),
    }
}
