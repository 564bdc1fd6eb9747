//! Statements over whole subtrees, by recursive queries.

use model::{Id, Result};

use super::node::{NodeRow, node_columns, read};
use super::record;
use crate::{Reader, Transaction, params, statements};

statements! {
    SUBTREE = concat!("WITH RECURSIVE below (id, depth) AS (
            SELECT id, 0 FROM node WHERE id = $1
            UNION ALL SELECT n.id, b.depth + 1 FROM node n JOIN below b ON n.parent_id = b.id)
        SELECT ", node_columns!("n"), "
        FROM below b JOIN node n ON n.id = b.id ORDER BY b.depth, n.id");
    LIBRARIES = concat!("WITH RECURSIVE below (id) AS (
            SELECT id FROM node WHERE id = $1
            UNION ALL SELECT n.id FROM node n JOIN below b ON n.parent_id = b.id
            WHERE n.kind IN ('site', 'library', 'list'))
        SELECT ", node_columns!("n"), "
        FROM below b JOIN node n ON n.id = b.id WHERE n.kind <> 'site' ORDER BY n.id");
    SET_SCOPE = "WITH RECURSIVE below (id) AS (
            SELECT id FROM node WHERE id = $1
            UNION ALL SELECT n.id FROM node n JOIN below b ON n.parent_id = b.id WHERE n.scope_id = $2)
        UPDATE node SET scope_id = $3 WHERE id IN (SELECT id FROM below) AND scope_id = $2";
    SET_LIBRARY = "WITH RECURSIVE below (id) AS (
            SELECT id FROM node WHERE id = $1
            UNION ALL SELECT n.id FROM node n JOIN below b ON n.parent_id = b.id)
        UPDATE node SET library_id = $2, content_type_id = NULL WHERE id IN (SELECT id FROM below)";
    SCOPES = "WITH RECURSIVE below (id, scope_id) AS (
            SELECT id, scope_id FROM node WHERE id = $1
            UNION ALL SELECT n.id, n.scope_id FROM node n JOIN below b ON n.parent_id = b.id)
        SELECT DISTINCT scope_id FROM below";
    PUBLISHED_SCOPES = "WITH RECURSIVE below (id, scope_id, published_id) AS (
            SELECT id, scope_id, published_id FROM node WHERE id = $1
            UNION ALL SELECT n.id, n.scope_id, n.published_id FROM node n JOIN below b ON n.parent_id = b.id)
        SELECT DISTINCT scope_id FROM below WHERE published_id IS NOT NULL";
    TOTALS = "WITH RECURSIVE below (id) AS (
            SELECT id FROM node WHERE id = $1
            UNION ALL SELECT n.id FROM node n JOIN below b ON n.parent_id = b.id)
        SELECT CAST(COALESCE(SUM(v.size), 0) AS BIGINT), COUNT(DISTINCT v.node_id) FROM version v JOIN below b ON
        v.node_id = b.id";
    CONTENTS = "WITH RECURSIVE below (id) AS (
            SELECT id FROM node WHERE id = $1
            UNION ALL SELECT n.id FROM node n JOIN below b ON n.parent_id = b.id)
        SELECT COUNT(*), CAST(COALESCE(SUM(n.size), 0) AS BIGINT) FROM below b JOIN node n ON n.id = b.id WHERE
        n.kind = 'document'";
    COUNT = "WITH RECURSIVE below (id) AS (
            SELECT id FROM node WHERE id = $1
            UNION ALL SELECT n.id FROM node n JOIN below b ON n.parent_id = b.id)
        SELECT COUNT(*) FROM (SELECT id FROM below LIMIT $2) AS found";
    HELD = "WITH RECURSIVE below (id, holder_id) AS (
            SELECT id, holder_id FROM node WHERE id = $1
            UNION ALL SELECT n.id, n.holder_id FROM node n JOIN below b ON n.parent_id = b.id)
        SELECT id, holder_id FROM below WHERE holder_id IS NOT NULL AND holder_id <> $2 LIMIT 1";
    HEIGHT = "WITH RECURSIVE below (id, depth) AS (
            SELECT id, 0 FROM node WHERE id = $1
            UNION ALL SELECT n.id, b.depth + 1 FROM node n JOIN below b ON n.parent_id = b.id)
        SELECT CAST(COALESCE(MAX(depth), 0) AS BIGINT) FROM below";
    DELETE_PROPERTIES = "WITH RECURSIVE below (id) AS (
            SELECT id FROM node WHERE id = $1
            UNION ALL SELECT n.id FROM node n JOIN below b ON n.parent_id = b.id)
        DELETE FROM dead_property WHERE node_id IN (SELECT id FROM below)";
    DELETE_LOCKS = "WITH RECURSIVE below (id) AS (
            SELECT id FROM node WHERE id = $1
            UNION ALL SELECT n.id FROM node n JOIN below b ON n.parent_id = b.id)
        DELETE FROM item_lock WHERE node_id IN (SELECT id FROM below)";
    DELETE_DISPLACED = "WITH RECURSIVE below (id) AS (
            SELECT id FROM node WHERE id = $1
            UNION ALL SELECT n.id FROM node n JOIN below b ON n.parent_id = b.id)
        DELETE FROM displaced WHERE node_id IN (SELECT id FROM below)";
    DELETE_VERSIONS = "WITH RECURSIVE below (id) AS (
            SELECT id FROM node WHERE id = $1
            UNION ALL SELECT n.id FROM node n JOIN below b ON n.parent_id = b.id)
        DELETE FROM version WHERE node_id IN (SELECT id FROM below)";
    DELETE_REVISIONS = "WITH RECURSIVE below (id) AS (
            SELECT id FROM node WHERE id = $1
            UNION ALL SELECT n.id FROM node n JOIN below b ON n.parent_id = b.id)
        DELETE FROM revision WHERE node_id IN (SELECT id FROM below)";
    DELETE_SCOPES = "WITH RECURSIVE below (id) AS (
            SELECT id FROM node WHERE id = $1
            UNION ALL SELECT n.id FROM node n JOIN below b ON n.parent_id = b.id)
        DELETE FROM scope WHERE node_id IN (SELECT id FROM below)";
    CONTAINERS = "WITH RECURSIVE below (id) AS (
            SELECT id FROM node WHERE id = $1
            UNION ALL SELECT n.id FROM node n JOIN below b ON n.parent_id = b.id
            WHERE n.kind NOT IN ('document', 'row'))
        SELECT id FROM below";
    CHILDREN = "SELECT id FROM node WHERE parent_id = $1 LIMIT $2";
    CONTAINER = "SELECT id FROM node WHERE parent_id = $1 AND kind NOT IN ('document', 'row') LIMIT 1";
    VERSIONS = "SELECT id, size FROM version WHERE node_id {in $1} LIMIT $2";
    DELETE_SOME_VERSIONS = "DELETE FROM version WHERE id {in $1}";
    DELETE_REVISIONS_OF = "DELETE FROM revision WHERE node_id {in $1}";
    DELETE_PROPERTIES_OF = "DELETE FROM dead_property WHERE node_id {in $1}";
    DELETE_LOCKS_OF = "DELETE FROM item_lock WHERE node_id {in $1}";
    DELETE_DISPLACED_OF = "DELETE FROM displaced WHERE node_id {in $1}";
    DELETE_SCOPES_OF = "DELETE FROM scope WHERE node_id {in $1}";
    DELETE_ITEMS = "DELETE FROM node WHERE id {in $1}";
    DELETE_NODES = "WITH RECURSIVE below (id) AS (
            SELECT id FROM node WHERE id = $1
            UNION ALL SELECT n.id FROM node n JOIN below b ON n.parent_id = b.id)
        DELETE FROM node WHERE id IN (SELECT id FROM below)";
}

/// An item and everything below it, parents before children.
pub fn subtree(reader: &mut Reader<'_>, id: Id) -> Result<Vec<NodeRow>> {
    reader.query(SUBTREE, &params![id], read)
}

/// An item and the sites, libraries, lists and folders below it.
pub fn containers(reader: &mut Reader<'_>, id: Id) -> Result<Vec<Id>> {
    reader.query(CONTAINERS, &params![id], |row| row.get(0))
}

/// The libraries and lists below a site, also in the sites in it.
pub fn libraries(reader: &mut Reader<'_>, site: Id) -> Result<Vec<NodeRow>> {
    reader.query(LIBRARIES, &params![site], read)
}

/// Returns whether a subtree has more than `most` items, including its top. Looks at no more than it needs to know.
pub fn has_more(reader: &mut Reader<'_>, id: Id, most: usize) -> Result<bool> {
    let counted: i64 = reader.find(COUNT, &params![id, most as i64 + 1], |row| row.get(0))?.unwrap_or(0);
    Ok(counted > most as i64)
}

/// Number of levels below an item, documents included.
pub fn height(reader: &mut Reader<'_>, id: Id) -> Result<usize> {
    let height: i64 = reader.find(HEIGHT, &params![id], |row| row.get(0))?.unwrap_or(0);
    Ok(usize::try_from(height).unwrap_or(usize::MAX))
}

/// Assigns the scope `to` to an item and to everything below it that inherits the scope `from`.
pub fn set_scope(transaction: &mut Transaction<'_>, id: Id, from: Id, to: Id) -> Result<u64> {
    transaction.execute(SET_SCOPE, &params![id, from, to])
}

/// Makes a subtree part of another library. Content types belong to a library, so they are cleared.
pub fn set_library(transaction: &mut Transaction<'_>, id: Id, library: Id) -> Result<u64> {
    transaction.execute(SET_LIBRARY, &params![id, library])
}

/// The distinct permission scopes of the items in a subtree.
pub fn scopes(reader: &mut Reader<'_>, id: Id) -> Result<Vec<Id>> {
    reader.query(SCOPES, &params![id], |row| row.get(0))
}

/// The distinct scopes of the documents in a subtree that have a published version.
pub fn published_scopes(reader: &mut Reader<'_>, id: Id) -> Result<Vec<Id>> {
    reader.query(PUBLISHED_SCOPES, &params![id], |row| row.get(0))
}

/// Bytes of all versions in a subtree, and the number of documents with at least one version.
pub fn totals(reader: &mut Reader<'_>, id: Id) -> Result<(i64, i64)> {
    Ok(reader.find(TOTALS, &params![id], |row| Ok((row.get(0)?, row.get(1)?)))?.unwrap_or((0, 0)))
}

/// Number of documents in the subtree, and bytes of their latest versions.
pub fn contents(reader: &mut Reader<'_>, id: Id) -> Result<(i64, i64)> {
    Ok(reader.find(CONTENTS, &params![id], |row| Ok((row.get(0)?, row.get(1)?)))?.unwrap_or((0, 0)))
}

/// A document in the subtree that a user other than `caller` has checked out, and that user.
pub fn held_by_another(reader: &mut Reader<'_>, id: Id, caller: Id) -> Result<Option<(Id, Id)>> {
    reader.find(HELD, &params![id, caller], |row| Ok((row.get(0)?, row.get(1)?)))
}

/// Up to `limit` children of an item.
pub fn children(reader: &mut Reader<'_>, parent: Id, limit: usize) -> Result<Vec<Id>> {
    reader.query(CHILDREN, &params![parent, limit as i64], |row| row.get(0))
}

/// Some site, library or folder directly in an item; `None` if there is none.
pub fn first_container(reader: &mut Reader<'_>, parent: Id) -> Result<Option<Id>> {
    reader.find(CONTAINER, &params![parent], |row| row.get(0))
}

/// Up to `limit` versions of these items, with their sizes.
pub fn versions(reader: &mut Reader<'_>, items: &[Id], limit: usize) -> Result<Vec<(Id, i64)>> {
    reader.query(VERSIONS, &params![items, limit as i64], |row| Ok((row.get(0)?, row.get(1)?)))
}

/// Deletes versions permanently.
pub fn delete_versions(transaction: &mut Transaction<'_>, versions: &[Id]) -> Result<()> {
    transaction.execute(DELETE_SOME_VERSIONS, &params![versions]).map(drop)
}

/// Deletes items that have no children and no versions, with all dependent rows.
pub fn delete_items(transaction: &mut Transaction<'_>, items: &[Id]) -> Result<()> {
    record::delete(transaction, items)?;
    for statement in [
        DELETE_REVISIONS_OF,
        DELETE_PROPERTIES_OF,
        DELETE_LOCKS_OF,
        DELETE_DISPLACED_OF,
        DELETE_SCOPES_OF,
        DELETE_ITEMS,
    ] {
        transaction.execute(statement, &params![items])?;
    }
    Ok(())
}

/// Deletes all rows of a subtree permanently: records, revisions, properties, locks, records of displaced documents,
/// versions, scopes, items. BLOBs stay until they are garbage-collected.
pub fn delete(transaction: &mut Transaction<'_>, id: Id) -> Result<()> {
    record::delete_below(transaction, id)?;
    for statement in [
        DELETE_REVISIONS,
        DELETE_PROPERTIES,
        DELETE_LOCKS,
        DELETE_DISPLACED,
        DELETE_VERSIONS,
        DELETE_SCOPES,
        DELETE_NODES,
    ] {
        transaction.execute(statement, &params![id])?;
    }
    Ok(())
}
