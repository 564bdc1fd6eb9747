//! Events: the audit log of a content database, which is also the outbox for the consumers that follow it.

use std::collections::HashMap;

use model::{Id, Result, Timestamp};

use crate::statement::{Inserts, insert_rows};
use crate::{Reader, Row, Transaction, Value, params, statements};

/// The columns that [`read`] expects, in its order.
macro_rules! columns {
    () => {
        "sequence, at, actor_id, collection_id, node_id, action, detail"
    };
}

/// The columns of a new event, in the order of [`values`].
macro_rules! insert {
    () => {
        "INSERT INTO event (at, actor_id, collection_id, node_id, action, detail, library_id) VALUES "
    };
}

/// Number of events that one statement inserts.
const GROUP: usize = 16;

statements! {
    INSERT = concat!(insert!(), "($1, $2, $3, $4, $5, $6, COALESCE((SELECT library_id FROM node WHERE id = $4), 0))");
    INSERT_ONE = insert_rows!(insert!(), 7, 1);
    INSERT_MANY = insert_rows!(insert!(), 7, GROUP);
    OF_NODE = concat!("SELECT ", columns!(), " FROM event
        WHERE node_id = $1 AND sequence < $2 AND (action <> 'document.read' OR actor_id = $3 OR $3 = 0)
        ORDER BY sequence DESC LIMIT $4");
    OF_COLLECTION = concat!("SELECT ", columns!(), " FROM event
        WHERE collection_id = $1 AND sequence < $2 AND sequence >= $3 AND (actor_id = $4 OR $4 = 0)
        AND (action = $5 OR $5 = '') ORDER BY sequence DESC LIMIT $6");
    NEWEST = concat!("SELECT ", columns!(), " FROM event
        WHERE sequence < $1 AND action NOT IN ('document.read', 'row.create', 'row.change', 'column.compute')
        ORDER BY sequence DESC LIMIT $2");
    OF_LIBRARY = concat!("SELECT ", columns!(), " FROM event
        WHERE library_id = $1 AND library_id > 0 AND action NOT IN ('document.read', 'column.compute')
        AND sequence < $2 ORDER BY {indexed sequence DESC} LIMIT $3");
    BELOW = concat!("SELECT ", columns!(), ", library_id FROM event
        WHERE collection_id = $1 AND action NOT IN ('document.read', 'column.compute')
        AND sequence < $2 AND sequence >= $3 ORDER BY {indexed sequence DESC} LIMIT $4");
    END_OF_RUN = "SELECT sequence FROM event
        WHERE library_id = $1 AND library_id > 0 AND action NOT IN ('document.read', 'column.compute')
        AND sequence < $2 AND sequence >= $3 AND NOT (actor_id = $4 AND action IN ('row.create', 'row.change'))
        ORDER BY {indexed sequence DESC} LIMIT 1";
    LIBRARIES = "SELECT id, library_id FROM node WHERE id {in $1}";
    LAST = "SELECT MAX(sequence) FROM event";
}

/// An event of the audit log: an actor, an action and the item that it concerned.
#[derive(Clone, Debug)]
pub struct EventRow {
    /// Position among the events of this content database.
    pub sequence: i64,
    /// Time at which it happened.
    pub at: Timestamp,
    /// Acting user.
    pub actor_id: Id,
    /// The site collection.
    pub collection_id: Id,
    /// The item.
    pub node_id: Id,
    /// The action, such as `document.upload`.
    pub action: String,
    /// The item's path and other details, in words.
    pub detail: String,
}

fn read(row: &Row<'_>) -> Result<EventRow> {
    Ok(EventRow {
        sequence: row.get(0)?,
        at: row.get(1)?,
        actor_id: row.get(2)?,
        collection_id: row.get(3)?,
        node_id: row.get(4)?,
        action: row.get(5)?,
        detail: row.get(6)?,
    })
}

/// Adds an event. The database assigns its `sequence`, and notes the library or list of its item.
pub fn insert(transaction: &mut Transaction<'_>, event: &EventRow) -> Result<()> {
    transaction.execute_deferred(INSERT, &values(event))
}

/// Adds many events, in their order. `library` is the library or list of all their items, if it is known.
pub fn insert_many(transaction: &mut Transaction<'_>, events: &[EventRow], library: Option<Id>) -> Result<()> {
    let libraries: HashMap<Id, Id> = match library {
        Some(_) => HashMap::new(),
        None => {
            let items: Vec<Id> = events.iter().map(|event| event.node_id).collect();
            let found =
                transaction.query(LIBRARIES, &params![items.as_slice()], |row| Ok((row.get(0)?, row.get(1)?)))?;
            found.into_iter().collect()
        }
    };
    let mut rows = Vec::with_capacity(events.len());
    for event in events {
        let known = library.or_else(|| libraries.get(&event.node_id).copied());
        let mut row = Vec::from(values(event));
        row.push(Value::from(known.unwrap_or(Id::NONE)));
        rows.push(row);
    }
    transaction.insert_all(&Inserts { one: INSERT_ONE, many: INSERT_MANY, group: GROUP }, &rows)
}

fn values(event: &EventRow) -> [Value<'_>; 6] {
    params![event.at, event.actor_id, event.collection_id, event.node_id, event.action.as_str(), &event.detail]
}

/// Events of an item older than `before`, newest first. Read events are limited to those by `reads_of`, if given.
pub fn of_node(
    reader: &mut Reader<'_>,
    node: Id,
    before: Option<i64>,
    reads_of: Option<Id>,
    limit: usize,
) -> Result<Vec<EventRow>> {
    let (before, reads_of) = (before.unwrap_or(i64::MAX), reads_of.unwrap_or(Id::NONE));
    reader.query(OF_NODE, &params![node, before, reads_of, limit as i64], read)
}

/// Events of a site collection whose sequence is in `range`, newest first, limited to `actor` and `action` where these
/// are given.
pub fn of_collection(
    reader: &mut Reader<'_>,
    id: Id,
    range: std::ops::Range<i64>,
    actor: Option<Id>,
    action: Option<&str>,
    limit: usize,
) -> Result<Vec<EventRow>> {
    let (actor, action) = (actor.unwrap_or(Id::NONE), action.unwrap_or_default());
    reader.query(OF_COLLECTION, &params![id, range.end, range.start, actor, action, limit as i64], read)
}

/// Events of the content database except reads and changes of rows, older than `before`, newest first.
pub fn newest(reader: &mut Reader<'_>, before: i64, limit: usize) -> Result<Vec<EventRow>> {
    reader.query(NEWEST, &params![before, limit as i64], read)
}

/// Events of the items of libraries or lists except reads, newest first, at most `limit` of each, all of them older
/// than the number beside it. Those from before the migration that added libraries to events are missing.
pub fn of_libraries(reader: &mut Reader<'_>, libraries: &[(Id, i64)], limit: usize) -> Result<Vec<Vec<EventRow>>> {
    let sets: Vec<_> =
        libraries.iter().map(|(library, before)| params![*library, *before, limit as i64].into()).collect();
    reader.query_each(OF_LIBRARY, &sets, read)
}

/// Events of a site collection except reads whose sequence is in `range`, newest first, each with the library or list
/// where it happened; [`Id::NONE`] for one from before events knew it.
pub fn of_all_libraries(
    reader: &mut Reader<'_>,
    collection: Id,
    range: std::ops::Range<i64>,
    limit: usize,
) -> Result<Vec<(Id, EventRow)>> {
    let values = params![collection, range.end, range.start, limit as i64];
    reader.query(BELOW, &values, |row| Ok((row.get(7)?, read(row)?)))
}

/// The sequence of the last event in `range` that is none of a row of this list changed by this actor; `None` if there
/// is none.
pub fn before_run(reader: &mut Reader<'_>, list: Id, range: std::ops::Range<i64>, actor: Id) -> Result<Option<i64>> {
    reader.find(END_OF_RUN, &params![list, range.end, range.start, actor], |row| row.get(0))
}

/// The sequence of the newest event of the content database; 0 when there is none.
pub fn last(reader: &mut Reader<'_>) -> Result<i64> {
    Ok(reader.find(LAST, &params![], |row| row.get::<Option<i64>>(0))?.flatten().unwrap_or(0))
}
