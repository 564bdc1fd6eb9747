//! Pages of an item's children. Keyset paging only: a page begins behind the last row of the page before it.

use model::{Id, Result, Timestamp};

use super::node::{NodeRow, read};
use crate::{Reader, Transaction, params, statements};

statements! {
    CONTAINERS = "SELECT id, collection_id, parent_id, library_id, scope_id, kind, name, folded, created_at, created_by,
        modified_at, modified_by, content_type_id, size, media_type, version_id, published_id, major, minor, holder_id,
        held_at, working_id FROM node WHERE parent_id = $1 AND kind <> 'document' AND folded > $2
        ORDER BY folded LIMIT $3";
    CONTAINERS_DOWN = "SELECT id, collection_id, parent_id, library_id, scope_id, kind, name, folded, created_at, created_by,
        modified_at, modified_by, content_type_id, size, media_type, version_id, published_id, major, minor, holder_id,
        held_at, working_id FROM node WHERE parent_id = $1 AND kind <> 'document' AND ($2 = '' OR folded < $2)
        ORDER BY folded DESC LIMIT $3";
    DOCUMENTS = "SELECT id, collection_id, parent_id, library_id, scope_id, kind, name, folded, created_at, created_by,
        modified_at, modified_by, content_type_id, size, media_type, version_id, published_id, major, minor, holder_id,
        held_at, working_id FROM node WHERE parent_id = $1 AND kind = 'document' AND folded > $2
        ORDER BY folded LIMIT $3";
    DOCUMENTS_DOWN = "SELECT id, collection_id, parent_id, library_id, scope_id, kind, name, folded, created_at, created_by,
        modified_at, modified_by, content_type_id, size, media_type, version_id, published_id, major, minor, holder_id,
        held_at, working_id FROM node WHERE parent_id = $1 AND kind = 'document' AND ($2 = '' OR folded < $2)
        ORDER BY folded DESC LIMIT $3";
    OLDEST = "SELECT id, collection_id, parent_id, library_id, scope_id, kind, name, folded, created_at, created_by,
        modified_at, modified_by, content_type_id, size, media_type, version_id, published_id, major, minor, holder_id,
        held_at, working_id FROM node WHERE parent_id = $1 AND kind = 'document'
        AND (modified_at > $2 OR (modified_at = $2 AND id > $3)) AND modified_at >= $2
        ORDER BY modified_at, id LIMIT $4";
    NEWEST = "SELECT id, collection_id, parent_id, library_id, scope_id, kind, name, folded, created_at, created_by,
        modified_at, modified_by, content_type_id, size, media_type, version_id, published_id, major, minor, holder_id,
        held_at, working_id FROM node WHERE parent_id = $1 AND kind = 'document'
        AND (modified_at < $2 OR (modified_at = $2 AND id < $3)) AND modified_at <= $2
        ORDER BY modified_at DESC, id DESC LIMIT $4";
    SMALLEST = "SELECT id, collection_id, parent_id, library_id, scope_id, kind, name, folded, created_at, created_by,
        modified_at, modified_by, content_type_id, size, media_type, version_id, published_id, major, minor, holder_id,
        held_at, working_id FROM node WHERE parent_id = $1 AND kind = 'document'
        AND (size > $2 OR (size = $2 AND id > $3)) AND size >= $2
        ORDER BY size, id LIMIT $4";
    LARGEST = "SELECT id, collection_id, parent_id, library_id, scope_id, kind, name, folded, created_at, created_by,
        modified_at, modified_by, content_type_id, size, media_type, version_id, published_id, major, minor, holder_id,
        held_at, working_id FROM node WHERE parent_id = $1 AND kind = 'document'
        AND (size < $2 OR (size = $2 AND id < $3)) AND size <= $2
        ORDER BY size DESC, id DESC LIMIT $4";
    ANY_CHILD = "SELECT id FROM node WHERE parent_id = $1 LIMIT 1";
}

/// Folders, libraries or sites below `parent` whose folded name comes after `after` (before it when `down`).
pub fn containers(reader: &mut Reader<'_>, parent: Id, after: &str, down: bool, limit: usize) -> Result<Vec<NodeRow>> {
    let statement = if down { CONTAINERS_DOWN } else { CONTAINERS };
    reader.query(statement, &params![parent, after, limit as i64], read)
}

/// Documents below `parent` whose folded name comes after `after` (before it when `down`).
pub fn documents(reader: &mut Reader<'_>, parent: Id, after: &str, down: bool, limit: usize) -> Result<Vec<NodeRow>> {
    let statement = if down { DOCUMENTS_DOWN } else { DOCUMENTS };
    reader.query(statement, &params![parent, after, limit as i64], read)
}

/// Documents below `parent` by time of change, behind the given place; newest first when `down`.
pub fn by_time(
    reader: &mut Reader<'_>,
    parent: Id,
    after: Option<(Timestamp, Id)>,
    down: bool,
    limit: usize,
) -> Result<Vec<NodeRow>> {
    let (statement, start) = if down {
        (NEWEST, (Timestamp::from_micros(i64::MAX), Id::new(i64::MAX)))
    } else {
        (OLDEST, (Timestamp::from_micros(i64::MIN), Id::NONE))
    };
    let (at, id) = after.unwrap_or(start);
    reader.query(statement, &params![parent, at, id, limit as i64], read)
}

/// Documents below `parent` by size, behind the given place; largest first when `down`.
pub fn by_size(
    reader: &mut Reader<'_>,
    parent: Id,
    after: Option<(i64, Id)>,
    down: bool,
    limit: usize,
) -> Result<Vec<NodeRow>> {
    let (statement, start) =
        if down { (LARGEST, (i64::MAX, Id::new(i64::MAX))) } else { (SMALLEST, (i64::MIN, Id::NONE)) };
    let (size, id) = after.unwrap_or(start);
    reader.query(statement, &params![parent, size, id, limit as i64], read)
}

/// Whether an item has any child.
pub fn is_empty(transaction: &mut Transaction<'_>, parent: Id) -> Result<bool> {
    Ok(transaction.find(ANY_CHILD, &params![parent], |_| Ok(()))?.is_none())
}
