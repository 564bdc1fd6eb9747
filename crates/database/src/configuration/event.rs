//! Statements over the farm's own audit log: changes to accounts, groups, roles and the farm itself.
//!
//! Rows are added and read, never changed. They must never contain a secret.

use model::{Id, Result, Timestamp};

use crate::{Reader, Row, Transaction, params, statements};

statements! {
    INSERT_EVENT = "INSERT INTO event (at, actor_id, action, subject, detail) VALUES ($1, $2, $3, $4, $5)";
    LIST_EVENTS = "SELECT sequence, at, actor_id, action, subject, detail FROM event
        WHERE sequence < $1 AND sequence >= $2 AND (actor_id = $3 OR $3 = 0) AND (action = $4 OR $4 = '')
        AND (subject = $5 OR $5 = '') AND at >= $6 AND at < $7 ORDER BY sequence DESC LIMIT $8";
    LAST_EVENT = "SELECT MAX(sequence) FROM event";
    TIME_OF_EVENT = "SELECT sequence, at FROM event WHERE sequence >= $1 ORDER BY sequence LIMIT 1";
}

/// One entry of the audit log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// Position in the log. Positions rise, with gaps.
    pub sequence: i64,
    /// Time of the event.
    pub at: Timestamp,
    /// The user who acted; [`Id::NONE`] if not signed in.
    pub actor: Id,
    /// The action, as a stable word such as `account.create`.
    pub action: String,
    /// The object of the action, as kind and identifier, such as `account 4711`.
    pub subject: String,
    /// Details for people to read, or empty.
    pub detail: String,
}

/// Adds an entry.
pub fn record(tx: &mut Transaction, at: Timestamp, actor: Id, action: &str, subject: &str, detail: &str) -> Result<()> {
    tx.execute(INSERT_EVENT, &params![at, actor, action, subject, detail])?;
    Ok(())
}

/// A filter on the entries of the log.
#[derive(Clone, Debug)]
pub struct EventFilter {
    /// Only actions of this account; [`Id::NONE`] for all.
    pub actor: Id,
    /// Only this action; empty for all.
    pub action: String,
    /// Only actions on this subject, spelt as it is recorded; empty for all.
    pub subject: String,
    /// Only events from this time on.
    pub from: Option<Timestamp>,
    /// Only events before this time.
    pub until: Option<Timestamp>,
}

/// Up to `limit` entries whose position is in `range`, newest first.
pub fn list(
    reader: &mut Reader,
    wanted: &EventFilter,
    range: &std::ops::Range<i64>,
    limit: usize,
) -> Result<Vec<Event>> {
    let EventFilter { actor, action, subject, from, until } = wanted;
    let (from, until) = (from.map_or(i64::MIN, Timestamp::micros), until.map_or(i64::MAX, Timestamp::micros));
    let values = params![range.end, range.start, *actor, action, subject, from, until, limit as i64];
    reader.query(LIST_EVENTS, &values, event)
}

/// Position of the newest entry; 0 if the log is empty.
pub fn last(reader: &mut Reader) -> Result<i64> {
    Ok(reader.find(LAST_EVENT, &params![], |row| row.get::<Option<i64>>(0))?.flatten().unwrap_or(0))
}

/// Returns the position of the first entry that is not older than `at`, by binary search. Exact only as far as
/// positions and times rise together.
pub fn place_of(reader: &mut Reader, at: Timestamp) -> Result<i64> {
    let (mut low, mut high) = (1, last(reader)?.saturating_add(1));
    while low < high {
        let middle = low + (high - low) / 2;
        let found: Option<(i64, Timestamp)> =
            reader.find(TIME_OF_EVENT, &params![middle], |row| Ok((row.get(0)?, row.get(1)?)))?;
        match found {
            Some((place, time)) if time < at => low = place + 1,
            _ => high = middle,
        }
    }
    Ok(low)
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
