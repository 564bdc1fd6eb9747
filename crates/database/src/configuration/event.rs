//! Statements over the farm's own audit log: what was done to accounts, groups, roles and the farm itself.
//!
//! Rows are added and read, never changed. Must never be given a secret.

use model::{Id, Result, Timestamp};

use crate::{Reader, Row, Transaction, params, statements};

statements! {
    INSERT_EVENT = "INSERT INTO event (at, actor_id, action, subject, detail) VALUES ($1, $2, $3, $4, $5)";
    LIST_EVENTS = "SELECT sequence, at, actor_id, action, subject, detail FROM event WHERE sequence < $1 \
        ORDER BY sequence DESC LIMIT $2";
}

/// One entry of the audit log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// Its place in the log; rises, with gaps.
    pub sequence: i64,
    /// When it happened.
    pub at: Timestamp,
    /// Who did it; [`Id::NONE`] for somebody who was not signed in.
    pub actor: Id,
    /// What was done, as a stable word such as `account.create`.
    pub action: String,
    /// To what: the kind and the identifier, such as `account 4711`.
    pub subject: String,
    /// Particulars for a person to read, or empty.
    pub detail: String,
}

/// Adds an entry.
pub fn record(tx: &mut Transaction, at: Timestamp, actor: Id, action: &str, subject: &str, detail: &str) -> Result<()> {
    tx.execute(INSERT_EVENT, &params![at, actor, action, subject, detail])?;
    Ok(())
}

/// Up to `limit` entries before the place `before`, newest first.
pub fn list(reader: &mut Reader, before: i64, limit: usize) -> Result<Vec<Event>> {
    reader.query(LIST_EVENTS, &params![before, limit as i64], event)
}

fn event(row: &Row) -> Result<Event> {
    Ok(Event {
        sequence: row.get(0)?,
        at: row.get(1)?,
        actor: row.get(2)?,
        action: row.get(3)?,
        subject: row.get(4)?,
        detail: row.get(5)?,
    })
}
