//! Pages of a folder's documents, or of a list's rows, in any order, with an optional filter. Keyset paging only: each
//! walk follows one index, whose order is marked as such, and begins after the last row of the page before it.

use model::{Error, Id, Result, SORTED_CHARS, SortValue, Timestamp};

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
            " AND n.kind IN ('document', 'row') AND (n.modified_by = $5 OR $5 = 0) AND ($6 = '' OR n.media_type = $6)
            AND n.modified_at >= $7 AND n.modified_at < $8 AND ($9 = '' OR {position n.folded, $9} > 0)
            AND ($10 = '' OR {position n.folded, $10} > 0) AND ($11 = '' OR {position n.folded, $11} > 0)
            ORDER BY {indexed ",
            $order,
            "} LIMIT $4"
        )
    };
}

// A walk along the values of a column, whose slot is `$12`. `$13` is the identifier in the position. The sum keeps
// PostgreSQL from going through all items below the parent for each value: it expects few of them.
macro_rules! walk_values {
    ($place:literal, $order:literal) => {
        walk!(
            "field_index f CROSS JOIN node n
                WHERE n.id = f.node_id AND n.parent_id + 0 = $1 AND f.parent_id = $1 AND f.slot = $12",
            $place,
            $order
        )
    };
}

statements! {
    // The most frequent view: all documents by name, without any filter.
    PLAIN = concat!("SELECT ", node_columns!("n"),
        " FROM node n WHERE n.parent_id = $1 AND n.folded > $2 AND n.kind IN ('document', 'row')
        ORDER BY {indexed n.folded} LIMIT $3");
    // The usual order of a list: its rows as they were added.
    ID_UP = walk!("node n WHERE n.parent_id = $1 AND n.kind = 'row'", "n.id > $2 AND CAST($3 AS BIGINT) = 0", "n.id");
    ID_DOWN = walk!("node n WHERE n.parent_id = $1 AND n.kind = 'row'", "n.id < $2 AND CAST($3 AS BIGINT) = 0",
        "n.id DESC");
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
    FIELD_UP = walk_values!("(f.number, f.text, f.node_id) > ($2, $3, $13)", "f.number, f.text, f.node_id");
    FIELD_DOWN = walk_values!("(f.number, f.text, f.node_id) < ($2, $3, $13)",
        "f.number DESC, f.text DESC, f.node_id DESC");
    NAMED = walk_values!("f.number = 0 AND f.text = $2 AND f.node_id > $3", "f.node_id");
    ABSENT = walk!("node n LEFT JOIN record r ON r.node_id = n.id WHERE n.parent_id = $1
        AND ({json r.fields} -> CAST($12 AS TEXT)) IS NULL", "n.folded > $2 AND CAST($3 AS BIGINT) = 0", "n.folded");
    MATCHING = "SELECT node_id FROM field_index WHERE parent_id = $1 AND slot = $2
        AND (number, text) >= ($3, $4) AND (number, text) <= ($5, $6) LIMIT $7";
    CONTAINING = "SELECT node_id FROM field_index WHERE parent_id = $1 AND slot = $2 AND number = 0
        AND ({position text, $3} > 0 OR octet_length(text) >= $4) LIMIT $5";
    PEOPLE = "SELECT modified_by FROM node WHERE parent_id = $1 AND kind IN ('document', 'row') AND modified_by > $2
        ORDER BY {indexed modified_by} LIMIT 1";
    TYPES = "SELECT media_type FROM node WHERE parent_id = $1 AND kind = 'document' AND media_type > $2
        ORDER BY {indexed media_type} LIMIT 1";
    NAMED_PEOPLE = "SELECT text FROM field_index WHERE parent_id = $1 AND slot = $2 AND number = 0 AND text > $3
        ORDER BY {indexed text} LIMIT 1";
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

/// A sort order of documents or rows, and the position after which a page begins. An empty name or text means the
/// beginning, in both directions.
#[derive(Clone, Debug)]
pub enum SortOrder<'a> {
    /// Rows by identifier.
    Id(Id),
    /// By folded name.
    Name(&'a str),
    /// By time of change, then identifier.
    Time(Timestamp, Id),
    /// By size, then identifier.
    Size(i64, Id),
    /// Last changed by this user, by folded name.
    Person(Id, &'a str),
    /// Documents of this media type, by folded name.
    Type(&'a str, &'a str),
    /// By the position in the column with this slot, then identifier.
    Field(i64, &'a SortValue, Id),
    /// Items that name this person in the column with this slot, by identifier, always ascending.
    Named(i64, Id, Id),
    /// Documents without a value in the column with this slot, by folded name, always ascending.
    Absent(i64, &'a str),
}

/// Documents or rows below `parent` that pass the filter, at most `limit`.
pub fn leaves(
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
    let (statement, [first, second], others) = statement_of(walk, down);
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
    values.extend(others);
    reader.query(statement, &values, read)
}

/// Returns the statement of a walk, its start position, and the parameters after those of the filter.
fn statement_of<'a>(walk: &SortOrder<'a>, down: bool) -> (Sql, [Value<'a>; 2], Vec<Value<'a>>) {
    let choose = |up: Sql, other: Sql| if down { other } else { up };
    let none = Vec::new();
    match walk {
        SortOrder::Id(after) => (choose(ID_UP, ID_DOWN), params![*after, 0_i64], none),
        SortOrder::Name(after) => (choose(NAME_UP, NAME_DOWN), params![*after, 0_i64], none),
        SortOrder::Time(at, id) => (choose(TIME_UP, TIME_DOWN), params![*at, *id], none),
        SortOrder::Size(size, id) => (choose(SIZE_UP, SIZE_DOWN), params![*size, *id], none),
        SortOrder::Person(person, after) => (choose(PERSON_UP, PERSON_DOWN), params![*person, *after], none),
        SortOrder::Type(kind, after) => (choose(TYPE_UP, TYPE_DOWN), params![*kind, *after], none),
        SortOrder::Field(slot, value, id) => {
            (choose(FIELD_UP, FIELD_DOWN), params![value.number, value.text.as_str()], params![*slot, *id].into())
        }
        SortOrder::Named(slot, person, after) => (NAMED, params![person.to_string(), *after], params![*slot].into()),
        SortOrder::Absent(slot, after) => (ABSENT, params![*after, 0_i64], params![slot.to_string()].into()),
    }
}

/// Items below `parent` whose position in the column with this slot is in a closed range, at most `limit`, in no order.
pub fn matching(
    reader: &mut Reader<'_>,
    parent: Id,
    slot: i64,
    from: &SortValue,
    to: &SortValue,
    limit: usize,
) -> Result<Vec<Id>> {
    let (first, last) = (from.text.as_str(), to.text.as_str());
    let values = params![parent, slot, from.number, first, to.number, last, limit as i64];
    reader.query(MATCHING, &values, |row| row.get(0))
}

/// Items below `parent` whose text in the column with this slot may contain `part`, at most `limit`, in no order.
/// `part` is folded and has no control characters. Also returns all items whose entry has the beginning of a longer
/// text.
pub fn containing(reader: &mut Reader<'_>, parent: Id, slot: i64, part: &str, limit: usize) -> Result<Vec<Id>> {
    let values = params![parent, slot, part, SORTED_CHARS as i64, limit as i64];
    reader.query(CONTAINING, &values, |row| row.get(0))
}

/// The distinct users who last changed a document or row below `parent`, at most `most`.
pub fn people(reader: &mut Reader<'_>, parent: Id, most: usize) -> Result<Vec<Id>> {
    let mut found: Vec<Id> = Vec::new();
    while found.len() < most {
        let last = found.last().copied().unwrap_or(Id::new(-1));
        let Some(next) = reader.find(PEOPLE, &params![parent, last], |row| row.get(0))? else { break };
        found.push(next);
    }
    Ok(found)
}

/// The distinct persons that items below `parent` name in the column with this slot, at most `most`.
pub fn named(reader: &mut Reader<'_>, parent: Id, slot: i64, most: usize) -> Result<Vec<Id>> {
    let mut found: Vec<String> = Vec::new();
    while found.len() < most {
        let last = found.last().map_or("", String::as_str);
        let next = reader.find(NAMED_PEOPLE, &params![parent, slot, last], |row| row.get::<String>(0))?;
        let Some(next) = next else { break };
        found.push(next);
    }
    let person = |text: &String| text.parse().map_err(|_| Error::corrupt("a stored person has no identifier"));
    found.iter().map(person).collect()
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
