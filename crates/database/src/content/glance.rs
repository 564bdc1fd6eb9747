//! Look-up of a name in a folder, with everything needed to open or replace the item, in one statement.

use model::{Id, LibrarySettings, Result};

use super::collection::{self, CollectionRow};
use super::library;
use super::node::{self, NodeRow};
use super::version::{self, VersionRow};
use crate::{Reader, Row, params, statements};

statements! {
    LOOK = "SELECT c.id, c.path, c.tree_version, c.quota_bytes, c.audit_reads,
        EXISTS (SELECT 1 FROM item_lock l WHERE l.collection_id = c.id),
        n.id, n.collection_id, n.parent_id, n.library_id, n.scope_id, n.kind, n.name, n.folded, n.created_at, n.created_by,
        n.modified_at, n.modified_by, n.content_type_id, n.size, n.media_type, n.version_id, n.published_id, n.major,
        n.minor, n.holder_id, n.held_at, n.working_id,
        v.id, v.node_id, v.blob_id, v.major, v.minor, v.working, v.size, v.media_type, v.created_at, v.created_by,
        v.modified_at, v.comment, b.digest, b.store_id, b.locator
        FROM collection c LEFT JOIN node n ON n.parent_id = $2 AND n.folded = $3
        LEFT JOIN version v ON v.id = n.version_id LEFT JOIN blob b ON b.id = v.blob_id WHERE c.id = $1";
    SHELF = "SELECT c.id, c.path, c.tree_version, c.quota_bytes, c.audit_reads,
        EXISTS (SELECT 1 FROM item_lock k WHERE k.collection_id = c.id),
        p.id, p.collection_id, p.parent_id, p.library_id, p.scope_id, p.kind, p.name, p.folded, p.created_at, p.created_by,
        p.modified_at, p.modified_by, p.content_type_id, p.size, p.media_type, p.version_id, p.published_id, p.major,
        p.minor, p.holder_id, p.held_at, p.working_id,
        n.id, n.collection_id, n.parent_id, n.library_id, n.scope_id, n.kind, n.name, n.folded, n.created_at, n.created_by,
        n.modified_at, n.modified_by, n.content_type_id, n.size, n.media_type, n.version_id, n.published_id, n.major,
        n.minor, n.holder_id, n.held_at, n.working_id,
        l.node_id, l.versioning, l.major_limit, l.minor_limit, l.require_checkout
        FROM collection c LEFT JOIN node p ON p.id = $2 LEFT JOIN library l ON l.node_id = p.library_id
        LEFT JOIN node n ON n.parent_id = p.id AND n.folded = $3 WHERE c.id = $1";
}

/// First columns of the item and of its version.
const ITEM: usize = 6;
const VERSION: usize = ITEM + 22;
/// First columns of the parent, the child and the library settings in a [`CreationContext`].
const PARENT: usize = 6;
const CHILD: usize = PARENT + 22;
const LIBRARY: usize = CHILD + 22;

/// The result of a look-up.
#[derive(Clone, Debug)]
pub struct NameLookup {
    /// The site collection.
    pub collection: CollectionRow,
    /// The item with the name.
    pub item: Option<NodeRow>,
    /// The latest version, if the item is a document that has one.
    pub version: Option<VersionRow>,
}

fn read(row: &Row<'_>) -> Result<NameLookup> {
    let is_there = |at: usize| row.get::<Option<Id>>(at).map(|id| id.is_some());
    let item = if is_there(ITEM)? { Some(node::read_from(row, ITEM)?) } else { None };
    let version = if is_there(VERSION)? { Some(version::read_from(row, VERSION)?) } else { None };
    Ok(NameLookup { collection: collection::read(row)?, item, version })
}

/// Looks up a folded name in `parent`. Returns `None` if the site collection does not exist.
pub fn lookup(reader: &mut Reader<'_>, collection: Id, parent: Id, folded: &str) -> Result<Option<NameLookup>> {
    reader.find(LOOK, &params![collection, parent, folded], read)
}

/// The context in which a new document is created.
#[derive(Clone, Debug)]
pub struct CreationContext {
    /// The site collection.
    pub collection: CollectionRow,
    /// The folder or library.
    pub parent: Option<NodeRow>,
    /// The settings of the library that contains the parent.
    pub settings: Option<LibrarySettings>,
    /// The result of looking up the name in it.
    pub child: Option<NodeRow>,
}

/// Reads the context for creating a document under a folded name in `parent`. Returns `None` if the site collection
/// does not exist.
pub fn creation_context(
    reader: &mut Reader<'_>,
    collection: Id,
    parent: Id,
    folded: &str,
) -> Result<Option<CreationContext>> {
    reader.find(SHELF, &params![collection, parent, folded], |row| {
        let is_there = |at: usize| row.get::<Option<Id>>(at).map(|id| id.is_some());
        let node = |at: usize| Ok(if is_there(at)? { Some(node::read_from(row, at)?) } else { None });
        let settings = if is_there(LIBRARY)? { Some(library::read_from(row, LIBRARY + 1)?) } else { None };
        Ok(CreationContext { collection: collection::read(row)?, parent: node(PARENT)?, settings, child: node(CHILD)? })
    })
}
