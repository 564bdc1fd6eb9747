//! The documents of libraries and lists by time of change, newest first.

use model::{Id, Result};

use super::node::{NodeRow, node_columns, read};
use super::search::Position;
use crate::{Reader, params, statements};

statements! {
    // The first condition is that of an index of few items, the containers.
    LIBRARIES = "WITH RECURSIVE site (id) AS (
            SELECT id FROM node WHERE id = $1
            UNION ALL SELECT n.id FROM site s CROSS JOIN node n
            WHERE n.parent_id = s.id AND n.kind NOT IN ('document', 'row') AND n.kind = 'site')
        SELECT n.id, n.scope_id FROM site s CROSS JOIN node n
        WHERE n.parent_id = s.id AND n.kind NOT IN ('document', 'row') AND n.kind IN ('library', 'list') LIMIT $2";
    NEWEST = concat!("SELECT ", node_columns!("node"), " FROM node WHERE kind = 'document' AND library_id = $1
        AND (modified_at < $2 OR (modified_at = $2 AND id < $3)) AND modified_at <= $2
        ORDER BY {indexed modified_at DESC, id DESC} LIMIT $4");
}

/// The libraries and lists of a site and of the sites below it with their scopes, at most `limit`, in no order.
pub fn libraries_below(reader: &mut Reader<'_>, site: Id, limit: usize) -> Result<Vec<(Id, Id)>> {
    reader.query(LIBRARIES, &params![site, limit as i64], |row| Ok((row.get(0)?, row.get(1)?)))
}

/// Documents of libraries or lists, each after a position, newest first, at most `limit` of each. Includes those that
/// were deleted with a folder and are in a recycle bin.
pub fn newest(reader: &mut Reader<'_>, libraries: &[(Id, Position)], limit: usize) -> Result<Vec<Vec<NodeRow>>> {
    let sets: Vec<_> =
        libraries.iter().map(|(library, (at, id))| params![*library, *at, *id, limit as i64].into()).collect();
    reader.query_each(NEWEST, &sets, read)
}
