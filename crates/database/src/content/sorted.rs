//! Pages of an item's documents in any order, with an optional filter. Keyset paging only: each walk follows one index
//! and begins after the last row of the page before it.

use model::{Id, Result, Timestamp};

use super::node::{NodeRow, node_columns, read};
use crate::{Reader, Sql, Value, params, statements};

/// Number of name parts that a filter can compare.
pub const MAX_PARTS: usize = 3;

// `$1` is the parent, `$2` and `$3` are the position after which the page begins, `$4` is the number of rows.
macro_rules! walk {
    ($from:literal, $place:literal, $order:literal) => {
        concat!(
            "SELECT ",
            node_columns!("n"),
            " FROM ",
            $from,
            " AND ",
            $place,
            " AND n.kind = 'document' AND (n.modified_by = $5 OR $5 = 0) AND ($6 = '' OR n.media_type = $6)
            AND n.modified_at >= $7 AND n.modified_at < $8 AND ($9 = '' OR {position n.folded, $9} > 0)
            AND ($10 = '' OR {position n.folded, $10} > 0) AND ($11 = '' OR {position n.folded, $11} > 0) ORDER BY ",
            $order,
            " LIMIT $4"
        )
    };
}

// A walk along the values of a column (`$12`).
macro_rules! walk_values {
    ($place:literal, $order:literal) => {
        walk!(
            "column_value v CROSS JOIN node n WHERE n.id = v.node_id AND v.parent_id = $1 AND v.column_id = $12",
            $place,
            $order
        )
    };
}

statements! {
    // The most frequent view: all documents by name, without any filter.
    PLAIN = concat!("SELECT ", node_columns!("n"),
        " FROM node n WHERE n.parent_id = $1 AND n.folded > $2 AND n.kind = 'document' ORDER BY n.folded LIMIT $3");
    NAME_UP = walk!("node n WHERE n.parent_id = $1", "n.folded > $2 AND CAST($3 AS BIGINT) = 0", "n.folded");
    NAME_DOWN = walk!("node n WHERE n.parent_id = $1", "($2 = '' OR n.folded < $2) AND CAST($3 AS BIGINT) = 0",
        "n.folded DESC");
    TIME_UP = walk!("node n WHERE n.parent_id = $1",
        "(n.modified_at > $2 OR (n.modified_at = $2 AND n.id > $3)) AND n.modified_at >= $2", "n.modified_at, n.id");
    TIME_DOWN = walk!("node n WHERE n.parent_id = $1",
        "(n.modified_at < $2 OR (n.modified_at = $2 AND n.id < $3)) AND n.modified_at <= $2",
        "n.modified_at DESC, n.id DESC");
    SIZE_UP = walk!("node n WHERE n.parent_id = $1",
        "(n.size > $2 OR (n.size = $2 AND n.id > $3)) AND n.size >= $2", "n.size, n.id");
    SIZE_DOWN = walk!("node n WHERE n.parent_id = $1",
        "(n.size < $2 OR (n.size = $2 AND n.id < $3)) AND n.size <= $2", "n.size DESC, n.id DESC");
    PERSON_UP = walk!("node n WHERE n.parent_id = $1", "n.modified_by = $2 AND n.folded > $3", "n.folded");
    PERSON_DOWN = walk!("node n WHERE n.parent_id = $1", "n.modified_by = $2 AND ($3 = '' OR n.folded < $3)",
        "n.folded DESC");
    TYPE_UP = walk!("node n WHERE n.parent_id = $1", "n.media_type = $2 AND n.folded > $3", "n.folded");
    TYPE_DOWN = walk!("node n WHERE n.parent_id = $1", "n.media_type = $2 AND ($3 = '' OR n.folded < $3)",
        "n.folded DESC");
    TEXT_UP = walk_values!("(v.folded > $2 OR (v.folded = $2 AND v.node_id > $3)) AND v.folded >= $2",
        "v.folded, v.node_id");
    TEXT_DOWN = walk_values!(
        "($2 = '' OR v.folded < $2 OR (v.folded = $2 AND v.node_id < $3)) AND v.folded IS NOT NULL",
        "v.folded DESC, v.node_id DESC");
    NUMBER_UP = walk_values!("(v.number > $2 OR (v.number = $2 AND v.node_id > $3)) AND v.number >= $2",
        "v.number, v.node_id");
    NUMBER_DOWN = walk_values!(
        "(v.number < $2 OR (v.number = $2 AND v.node_id < $3)) AND v.number <= $2", "v.number DESC, v.node_id DESC");
    INTEGER_UP = walk_values!("(v.integer > $2 OR (v.integer = $2 AND v.node_id > $3)) AND v.integer >= $2",
        "v.integer, v.node_id");
    INTEGER_DOWN = walk_values!(
        "(v.integer < $2 OR (v.integer = $2 AND v.node_id < $3)) AND v.integer <= $2", "v.integer DESC, v.node_id
        DESC");
    NAMED = walk_values!("v.integer = $2 AND v.node_id > $3", "v.node_id");
    ABSENT = walk!("node n WHERE n.parent_id = $1
        AND NOT EXISTS (SELECT 1 FROM column_value v WHERE v.node_id = n.id AND v.column_id = $12)",
        "n.folded > $2 AND CAST($3 AS BIGINT) = 0", "n.folded");
    PEOPLE = "SELECT modified_by FROM node WHERE parent_id = $1 AND kind = 'document' AND modified_by > $2
        ORDER BY modified_by LIMIT 1";
    TYPES = "SELECT media_type FROM node WHERE parent_id = $1 AND kind = 'document' AND media_type > $2
        ORDER BY media_type LIMIT 1";
    NAMED_PEOPLE = "SELECT integer FROM column_value WHERE parent_id = $1 AND column_id = $2 AND integer > $3
        ORDER BY integer LIMIT 1";
}

/// A filter on documents. Default values do not exclude anything.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowFilter {
    /// The user who last changed it.
    pub person: Id,
    /// Media type.
    pub media_type: String,
    /// Only documents changed at this time or later.
    pub since: Timestamp,
    /// Only documents changed before this time.
    pub until: Timestamp,
    /// Folded parts that the name must contain.
    pub parts: [String; MAX_PARTS],
}

impl Default for RowFilter {
    fn default() -> Self {
        Self {
            person: Id::NONE,
            media_type: String::new(),
            since: Timestamp::from_micros(i64::MIN),
            until: Timestamp::from_micros(i64::MAX),
            parts: Default::default(),
        }
    }
}

/// A sort order of documents, and the position after which a page begins. An empty name or text means the beginning, in
/// both directions.
#[derive(Clone, Debug)]
pub enum SortOrder<'a> {
    /// By folded name.
    Name(&'a str),
    /// By time of change, then identifier.
    Time(Timestamp, Id),
    /// By size, then identifier.
    Size(i64, Id),
    /// Documents last changed by this user, by folded name.
    Person(Id, &'a str),
    /// Documents of this media type, by folded name.
    Type(&'a str, &'a str),
    /// By the folded text in this column, then identifier.
    Text(Id, &'a str, Id),
    /// By the number in this column, then identifier.
    Number(Id, f64, Id),
    /// By the date or Boolean in this column, then identifier.
    Integer(Id, i64, Id),
    /// Documents that name this person in this column, by identifier, always ascending.
    Named(Id, Id, Id),
    /// Documents without a value in this column, by folded name, always ascending.
    Absent(Id, &'a str),
}

/// Documents below `parent` that pass the filter, at most `limit`.
pub fn documents(
    reader: &mut Reader<'_>,
    parent: Id,
    walk: &SortOrder<'_>,
    down: bool,
    sieve: &RowFilter,
    limit: usize,
) -> Result<Vec<NodeRow>> {
    if let (SortOrder::Name(after), false) = (walk, down)
        && *sieve == RowFilter::default()
    {
        return reader.query(PLAIN, &params![parent, *after, limit as i64], read);
    }
    let (statement, place, column) = statement_of(walk, down);
    let [first, second] = place;
    let [a, b, c] = &sieve.parts;
    let tail = params![
        limit as i64,
        sieve.person,
        sieve.media_type.as_str(),
        sieve.since,
        sieve.until,
        a.as_str(),
        b.as_str(),
        c.as_str()
    ];
    let mut values = vec![Value::from(parent), first, second];
    values.extend(tail);
    values.extend(column.map(Value::from));
    reader.query(statement, &values, read)
}

/// Returns the statement of a walk, its start position, and the column that it needs.
fn statement_of<'a>(walk: &SortOrder<'a>, down: bool) -> (Sql, [Value<'a>; 2], Option<Id>) {
    let choose = |up: Sql, other: Sql| if down { other } else { up };
    match walk {
        SortOrder::Name(after) => (choose(NAME_UP, NAME_DOWN), params![*after, 0_i64], None),
        SortOrder::Time(at, id) => (choose(TIME_UP, TIME_DOWN), params![*at, *id], None),
        SortOrder::Size(size, id) => (choose(SIZE_UP, SIZE_DOWN), params![*size, *id], None),
        SortOrder::Person(person, after) => (choose(PERSON_UP, PERSON_DOWN), params![*person, *after], None),
        SortOrder::Type(kind, after) => (choose(TYPE_UP, TYPE_DOWN), params![*kind, *after], None),
        SortOrder::Text(column, text, id) => (choose(TEXT_UP, TEXT_DOWN), params![*text, *id], Some(*column)),
        SortOrder::Number(column, number, id) => (choose(NUMBER_UP, NUMBER_DOWN), params![*number, *id], Some(*column)),
        SortOrder::Integer(column, integer, id) => {
            (choose(INTEGER_UP, INTEGER_DOWN), params![*integer, *id], Some(*column))
        }
        SortOrder::Named(column, person, after) => (NAMED, params![*person, *after], Some(*column)),
        SortOrder::Absent(column, after) => (ABSENT, params![*after, 0_i64], Some(*column)),
    }
}

/// The distinct users who last changed a document below `parent`, at most `most`.
pub fn people(reader: &mut Reader<'_>, parent: Id, most: usize) -> Result<Vec<Id>> {
    let mut found: Vec<Id> = Vec::new();
    while found.len() < most {
        let last = found.last().copied().unwrap_or(Id::new(-1));
        let Some(next) = reader.find(PEOPLE, &params![parent, last], |row| row.get(0))? else { break };
        found.push(next);
    }
    Ok(found)
}

/// The distinct persons that documents below `parent` name in a column, at most `most`.
pub fn named(reader: &mut Reader<'_>, parent: Id, column: Id, most: usize) -> Result<Vec<Id>> {
    let mut found: Vec<Id> = Vec::new();
    while found.len() < most {
        let last = found.last().copied().unwrap_or(Id::new(-1));
        let Some(next) = reader.find(NAMED_PEOPLE, &params![parent, column, last], |row| row.get(0))? else { break };
        found.push(next);
    }
    Ok(found)
}

/// The distinct media types of documents below `parent`, at most `most`, without the empty one.
pub fn types(reader: &mut Reader<'_>, parent: Id, most: usize) -> Result<Vec<String>> {
    let mut found: Vec<String> = Vec::new();
    while found.len() < most {
        let last = found.last().map_or("", String::as_str);
        let Some(next) = reader.find(TYPES, &params![parent, last], |row| row.get(0))? else { break };
        found.push(next);
    }
    Ok(found)
}
