//! Attachments: the documents whose parent is a row of a list.

use model::{Id, Result};

use crate::{Reader, params, statements};

statements! {
    COUNTS = "SELECT parent_id, scope_id, COUNT(*), COUNT(published_id) FROM node
        WHERE parent_id {in $1} AND kind = 'document' GROUP BY parent_id, scope_id";
    COUNT = "SELECT COUNT(*) FROM (SELECT id FROM node WHERE parent_id = $1 LIMIT $2) AS counted";
    OF_ROWS = "SELECT n.id FROM node n JOIN node p ON p.id = n.parent_id
        WHERE n.parent_id {in $1} AND p.kind = 'row' LIMIT $2";
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

/// The numbers of attachments of these rows, by row and scope. Rows without attachments are missing.
pub fn counts(reader: &mut Reader<'_>, rows: &[Id]) -> Result<Vec<AttachmentCount>> {
    reader.query(COUNTS, &params![rows], |row| {
        Ok(AttachmentCount { row: row.get(0)?, scope: row.get(1)?, all: row.get(2)?, published: row.get(3)? })
    })
}

/// Number of attachments of a row, counted up to `most`.
pub fn count(reader: &mut Reader<'_>, row: Id, most: usize) -> Result<usize> {
    let count: Option<i64> = reader.find(COUNT, &params![row, most as i64], |row| row.get(0))?;
    Ok(usize::try_from(count.unwrap_or(0)).unwrap_or(most))
}

/// Up to `limit` attachments of any of these items that are rows.
pub fn of_rows(reader: &mut Reader<'_>, items: &[Id], limit: usize) -> Result<Vec<Id>> {
    reader.query(OF_ROWS, &params![items, limit as i64], |row| row.get(0))
}
