//! Drafts that were submitted for approval, and rejections.

use model::{Id, Result, Timestamp};

use crate::{Reader, Row, Transaction, params, statements};

statements! {
    FIND = "SELECT node_id, version_id, submitted_by, submitted_at, comment, rejected_by, rejected_at, reason
        FROM submission WHERE node_id = $1";
    WAITING = "SELECT s.submitted_at, s.node_id
        FROM submission s JOIN node n ON n.id = s.node_id AND n.version_id = s.version_id
        WHERE s.rejected_by IS NULL AND (s.submitted_at, s.node_id) > ($1, $2)
        ORDER BY s.submitted_at, s.node_id LIMIT $3";
    PUT = "INSERT INTO submission
        (node_id, version_id, submitted_by, submitted_at, comment, rejected_by, rejected_at, reason)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT (node_id) DO UPDATE SET version_id = excluded.version_id,
        submitted_by = excluded.submitted_by, submitted_at = excluded.submitted_at, comment = excluded.comment,
        rejected_by = excluded.rejected_by, rejected_at = excluded.rejected_at, reason = excluded.reason";
    DELETE = "DELETE FROM submission WHERE node_id = $1";
}

/// A draft that was submitted, and the rejection if there is one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SubmissionRow {
    /// The document.
    pub node_id: Id,
    /// The version that was submitted.
    pub version_id: Id,
    /// Identifier of the submitter.
    pub submitted_by: Id,
    /// Time of the submission.
    pub submitted_at: Timestamp,
    /// Comment of the submitter.
    pub comment: String,
    /// Identifier of the person who rejected it; `None` while it waits.
    pub rejected_by: Option<Id>,
    /// Time of the rejection.
    pub rejected_at: Option<Timestamp>,
    /// Reason of the rejection; empty while it waits.
    pub reason: String,
}

fn read(row: &Row<'_>) -> Result<SubmissionRow> {
    Ok(SubmissionRow {
        node_id: row.get(0)?,
        version_id: row.get(1)?,
        submitted_by: row.get(2)?,
        submitted_at: row.get(3)?,
        comment: row.get(4)?,
        rejected_by: row.get(5)?,
        rejected_at: row.get(6)?,
        reason: row.get(7)?,
    })
}

/// Returns the submission of a document.
pub fn find(reader: &mut Reader<'_>, node: Id) -> Result<Option<SubmissionRow>> {
    reader.find(FIND, &params![node], read)
}

/// Returns documents whose latest draft waits for a decision, with the times of submission, those that have waited
/// longest first. `after` is the last one before.
pub fn waiting(reader: &mut Reader<'_>, after: (Timestamp, Id), limit: usize) -> Result<Vec<(Timestamp, Id)>> {
    reader.query(WAITING, &params![after.0, after.1, limit as i64], |row| Ok((row.get(0)?, row.get(1)?)))
}

/// Stores the submission of a document, in place of an earlier one.
pub fn put(transaction: &mut Transaction<'_>, row: &SubmissionRow) -> Result<()> {
    let values = params![
        row.node_id,
        row.version_id,
        row.submitted_by,
        row.submitted_at,
        &row.comment,
        row.rejected_by,
        row.rejected_at,
        &row.reason
    ];
    transaction.execute(PUT, &values).map(drop)
}

/// Removes the submission of a document. Returns whether there was one.
pub fn delete(transaction: &mut Transaction<'_>, node: Id) -> Result<bool> {
    Ok(transaction.execute(DELETE, &params![node])? > 0)
}
