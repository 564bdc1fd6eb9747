//! Look-up of a name in a folder, with everything needed to open or replace the item, in one statement.

use model::{Id, LibrarySettings, Result};

use super::collection::{self, CollectionRow, collection_columns};
use super::library;
use super::node::{self, NodeRow, node_columns};
use super::version::{self, VersionRow, version_columns};
use crate::{Reader, Row, params, statements};

statements! {
    LOOK_UP = concat!("SELECT ", collection_columns!("c"), ",
        ", node_columns!("n"), ",
        ", version_columns!(), "
        FROM collection c LEFT JOIN node n ON n.parent_id = $2 AND n.folded = $3
        LEFT JOIN version v ON v.id = n.version_id LEFT JOIN blob b ON b.id = v.blob_id WHERE c.id = $1");
    CREATION_CONTEXT = concat!("SELECT ", collection_columns!("c"), ",
        ", node_columns!("p"), ",
        ", node_columns!("n"), ",
        l.node_id, l.versioning, l.major_limit, l.minor_limit, l.require_checkout, l.require_approval, l.attachments
        FROM collection c LEFT JOIN node p ON p.id = $2 LEFT JOIN library l ON l.node_id = p.library_id
        LEFT JOIN node n ON n.parent_id = p.id AND n.folded = $3 WHERE c.id = $1");
}

/// First columns of the item and of its version.
const ITEM: usize = collection::WIDTH;
const VERSION: usize = ITEM + node::WIDTH;
/// First columns of the parent, the child and the library settings in a [`CreationContext`].
const PARENT: usize = collection::WIDTH;
const CHILD: usize = PARENT + node::WIDTH;
const LIBRARY: usize = CHILD + node::WIDTH;

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
    reader.find(LOOK_UP, &params![collection, parent, folded], read)
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
    reader.find(CREATION_CONTEXT, &params![collection, parent, folded], |row| {
        let is_there = |at: usize| row.get::<Option<Id>>(at).map(|id| id.is_some());
        let node = |at: usize| Ok(if is_there(at)? { Some(node::read_from(row, at)?) } else { None });
        let settings = if is_there(LIBRARY)? { Some(library::read_from(row, LIBRARY + 1)?) } else { None };
        Ok(CreationContext { collection: collection::read(row)?, parent: node(PARENT)?, settings, child: node(CHILD)? })
    })
}
