//! Items: sites, libraries, folders, documents, lists and their rows, one database row each.

use std::borrow::Cow;

use model::{Error, Id, NodeKind, Result, Timestamp, VersionNumber, fold};

use crate::statement::{Inserts, count_columns, insert_rows};
use crate::{Reader, Row, Transaction, Value, params, statements};

/// The columns that [`read_from`] expects, in its order. `$of` is the table or its alias.
macro_rules! node_columns {
    ($of:literal) => {
        $crate::statement::column_list!($of: id, collection_id, parent_id, library_id, scope_id, kind, name, folded,
            created_at, created_by, modified_at, modified_by, content_type_id, size, media_type, version_id,
            published_id, major, minor, holder_id, held_at, working_id, title)
    };
}

pub(super) use node_columns;

/// Number of columns of an item in a row.
pub(super) const WIDTH: usize = count_columns(node_columns!("node"));

/// The columns of a new item, in the order of [`values`].
macro_rules! insert {
    () => {
        "INSERT INTO node (id, collection_id, parent_id, library_id, scope_id, kind, name, folded, created_at, \
         created_by, modified_at, modified_by, content_type_id, size, media_type, version_id, published_id, major, \
         minor, title) VALUES "
    };
}

/// Number of items that one statement inserts.
const GROUP: usize = 8;

statements! {
    FIND = concat!("SELECT ", node_columns!("node"), " FROM node WHERE id = $1");
    FIND_CHILD = concat!("SELECT ", node_columns!("node"), " FROM node WHERE parent_id = $1 AND folded = $2");
    LOCK = concat!("SELECT ", node_columns!("node"), " FROM node WHERE id = $1 {for_update}");
    HELD_BY = concat!("SELECT ", node_columns!("node"),
        " FROM node WHERE holder_id = $1 AND id > $2 ORDER BY id LIMIT $3");
    INSERT = insert_rows!(insert!(), 20, 1);
    INSERT_MANY = insert_rows!(insert!(), 20, GROUP);
    UPDATE_CONTENT = "UPDATE node SET size = $2, media_type = $3, version_id = $4, published_id = $5, major = $6,
        minor = $7, modified_at = $8, modified_by = $9 WHERE id = $1";
    FIND_MANY = concat!("SELECT ", node_columns!("node"), " FROM node WHERE id {in $1} ORDER BY id");
    LOCK_MANY = concat!("SELECT ", node_columns!("node"), " FROM node WHERE id {in $1} ORDER BY id {for_update}");
    ROWS = concat!("SELECT ", node_columns!("node"),
        " FROM node WHERE parent_id = $1 AND kind = 'row' ORDER BY id LIMIT $2");
    COUNT_ROWS = "SELECT COUNT(*) FROM (SELECT id FROM node WHERE parent_id = $1 AND kind = 'row' LIMIT $2) AS counted";
    UPDATE_ROW = "UPDATE node SET title = $2, version_id = $3, published_id = $4, major = $5, modified_at = $6,
        modified_by = $7 WHERE id = $1";
    NEWEST_ID = "SELECT MAX(id) FROM node";
    NEWEST_REVISION = "SELECT MAX(version_id) FROM node WHERE kind = 'row'";
    TOUCH = "UPDATE node SET modified_at = $2, modified_by = $3 WHERE id = $1";
    SET_CONTENT_TYPE = "UPDATE node SET content_type_id = $2 WHERE id = $1";
    CHECK_OUT = "UPDATE node SET holder_id = $2, held_at = $3 WHERE id = $1";
    SET_WORKING = "UPDATE node SET working_id = $2 WHERE id = $1";
    RELEASE = "UPDATE node SET holder_id = NULL, held_at = NULL, working_id = NULL WHERE id = $1";
    DELETE = "DELETE FROM node WHERE id = $1";
}

/// A stored item.
#[derive(Clone, Debug)]
pub struct NodeRow {
    /// Identifier.
    pub id: Id,
    /// The site collection that it belongs to.
    pub collection_id: Id,
    /// The parent item. [`Id::NONE`] for a root site; the recycle bin's entry for a deleted item.
    pub parent_id: Id,
    /// The library or list that contains the item. It refers to itself; [`Id::NONE`] for a site.
    pub library_id: Id,
    /// The permission scope that it inherits or owns.
    pub scope_id: Id,
    /// Its kind.
    pub kind: NodeKind,
    /// Name as the user entered it.
    pub name: String,
    /// Name folded for comparison.
    pub folded: String,
    /// Creation time.
    pub created_at: Timestamp,
    /// The creator.
    pub created_by: Id,
    /// Time of the last change to the content or columns.
    pub modified_at: Timestamp,
    /// The user who made that change.
    pub modified_by: Id,
    /// Its content type, if it has one.
    pub content_type_id: Option<Id>,
    /// Bytes of the latest version.
    pub size: i64,
    /// Media type of the latest version.
    pub media_type: String,
    /// The latest version of a document, or the latest revision of a row; `None` for other items, and for a document
    /// that was never checked in.
    pub version_id: Option<Id>,
    /// The latest published version.
    pub published_id: Option<Id>,
    /// Number of the latest version.
    pub number: VersionNumber,
    /// User who has it checked out, if any.
    pub holder_id: Option<Id>,
    /// Start time.
    pub held_at: Option<Timestamp>,
    /// The working copy, visible only to the holder of the check-out.
    pub working_id: Option<Id>,
    /// The name that is displayed; `None` for an item that is displayed by its name.
    pub title: Option<String>,
}

impl NodeRow {
    /// Creates an item without content.
    pub fn new(id: Id, parent: &NodeRow, kind: NodeKind, name: &model::Name, by: Id, now: Timestamp) -> Self {
        Self {
            id,
            collection_id: parent.collection_id,
            parent_id: parent.id,
            library_id: if kind.defines_columns() { id } else { parent.library_id },
            scope_id: parent.scope_id,
            kind,
            name: name.as_str().to_owned(),
            folded: name.folded(),
            created_at: now,
            created_by: by,
            modified_at: now,
            modified_by: by,
            content_type_id: None,
            size: 0,
            media_type: String::new(),
            version_id: None,
            published_id: None,
            number: VersionNumber::new(0, 0),
            holder_id: None,
            held_at: None,
            working_id: None,
            title: None,
        }
    }

    /// Returns the title of a row that has one, or the name of any other item.
    pub fn shown_name(&self) -> &str {
        self.title.as_deref().filter(|title| !title.is_empty()).unwrap_or(&self.name)
    }

    /// Returns what [`NodeRow::shown_name`] returns, folded for comparison.
    pub fn shown_folded(&self) -> Cow<'_, str> {
        match &self.title {
            Some(title) if !title.is_empty() => Cow::Owned(fold(title)),
            _ => Cow::Borrowed(&self.folded),
        }
    }
}

/// Reads an item from the first columns of a row.
pub(crate) fn read(row: &Row<'_>) -> Result<NodeRow> {
    read_from(row, 0)
}

/// Reads an item from the columns of `node_columns!`, the first of which is `at`.
pub(crate) fn read_from(row: &Row<'_>, at: usize) -> Result<NodeRow> {
    Ok(NodeRow {
        id: row.get(at)?,
        collection_id: row.get(at + 1)?,
        parent_id: row.get(at + 2)?,
        library_id: row.get(at + 3)?,
        scope_id: row.get(at + 4)?,
        kind: row.get(at + 5)?,
        name: row.get(at + 6)?,
        folded: row.get(at + 7)?,
        created_at: row.get(at + 8)?,
        created_by: row.get(at + 9)?,
        modified_at: row.get(at + 10)?,
        modified_by: row.get(at + 11)?,
        content_type_id: row.get(at + 12)?,
        size: row.get(at + 13)?,
        media_type: row.get(at + 14)?,
        version_id: row.get(at + 15)?,
        published_id: row.get(at + 16)?,
        number: VersionNumber::new(number(row, at + 17)?, number(row, at + 18)?),
        holder_id: row.get(at + 19)?,
        held_at: row.get(at + 20)?,
        working_id: row.get(at + 21)?,
        title: row.get(at + 22)?,
    })
}

pub(crate) fn number(row: &Row<'_>, index: usize) -> Result<u32> {
    let value: i64 = row.get(index)?;
    u32::try_from(value).map_err(|_| Error::corrupt(format!("a stored version number is out of range: {value}")))
}

/// The item with this identifier, wherever it is, including the recycle bin.
pub fn find(reader: &mut Reader<'_>, id: Id) -> Result<Option<NodeRow>> {
    reader.find(FIND, &params![id], read)
}

/// The child of `parent` with this folded name.
pub fn find_child(reader: &mut Reader<'_>, parent: Id, folded: &str) -> Result<Option<NodeRow>> {
    reader.find(FIND_CHILD, &params![parent, folded], read)
}

/// Reads the item with this identifier and locks its row until the transaction ends.
pub fn lock(transaction: &mut Transaction<'_>, id: Id) -> Result<Option<NodeRow>> {
    transaction.find(LOCK, &params![id], read)
}

/// The items with these identifiers, in order of identifier.
pub fn find_many(reader: &mut Reader<'_>, ids: &[Id]) -> Result<Vec<NodeRow>> {
    reader.query(FIND_MANY, &params![ids], read)
}

/// Reads the items with these identifiers and locks their rows until the transaction ends, in order of identifier.
pub fn lock_many(transaction: &mut Transaction<'_>, ids: &[Id]) -> Result<Vec<NodeRow>> {
    transaction.query(LOCK_MANY, &params![ids], read)
}

/// The first rows of a list, in the order in which they were added.
pub fn rows(reader: &mut Reader<'_>, list: Id, limit: usize) -> Result<Vec<NodeRow>> {
    reader.query(ROWS, &params![list, limit as i64], read)
}

/// Number of rows of a list, counted up to `most`.
pub fn count_rows(reader: &mut Reader<'_>, list: Id, most: usize) -> Result<usize> {
    let count: Option<i64> = reader.find(COUNT_ROWS, &params![list, most as i64], |row| row.get(0))?;
    Ok(usize::try_from(count.unwrap_or(0)).unwrap_or(most))
}

/// Documents that `holder` has checked out, in order of identifier, starting after `after`.
pub fn held_by(reader: &mut Reader<'_>, holder: Id, after: Id, limit: usize) -> Result<Vec<NodeRow>> {
    reader.query(HELD_BY, &params![holder, after, limit as i64], read)
}

/// Adds an item. A name that is taken in its parent is a conflict with code `unique_violation`.
pub fn insert(transaction: &mut Transaction<'_>, node: &NodeRow) -> Result<()> {
    transaction.execute_deferred(INSERT, &values(node))
}

/// Adds many items.
pub fn insert_many(transaction: &mut Transaction<'_>, nodes: &[NodeRow]) -> Result<()> {
    let rows: Vec<_> = nodes.iter().map(|node| values(node).into()).collect();
    transaction.insert_all(&Inserts { one: INSERT, many: INSERT_MANY, group: GROUP }, &rows)
}

fn values(node: &NodeRow) -> [Value<'_>; 20] {
    params![
        node.id,
        node.collection_id,
        node.parent_id,
        node.library_id,
        node.scope_id,
        node.kind,
        &node.name,
        &node.folded,
        node.created_at,
        node.created_by,
        node.modified_at,
        node.modified_by,
        node.content_type_id,
        node.size,
        &node.media_type,
        node.version_id,
        node.published_id,
        node.number.major,
        node.number.minor,
        &node.title
    ]
}

/// Stores the fields that describe a document's latest and published version.
pub fn update_content(transaction: &mut Transaction<'_>, node: &NodeRow) -> Result<()> {
    let values = params![
        node.id,
        node.size,
        &node.media_type,
        node.version_id,
        node.published_id,
        node.number.major,
        node.number.minor,
        node.modified_at,
        node.modified_by
    ];
    transaction.execute(UPDATE_CONTENT, &values).map(drop)
}

/// Stores the title and revisions of a row of a list, and who changed it.
pub fn update_row(transaction: &mut Transaction<'_>, node: &NodeRow) -> Result<()> {
    let values = params![
        node.id,
        &node.title,
        node.version_id,
        node.published_id,
        node.number.major,
        node.modified_at,
        node.modified_by
    ];
    transaction.execute_deferred(UPDATE_ROW, &values)
}

/// The newest identifier of an item, or of the present revision of a row; `None` if there is none.
pub fn newest_id(reader: &mut Reader<'_>) -> Result<Option<Id>> {
    let item: Option<Id> = reader.find(NEWEST_ID, &[], |row| row.get(0))?.flatten();
    let revision: Option<Id> = reader.find(NEWEST_REVISION, &[], |row| row.get(0))?.flatten();
    Ok(item.max(revision))
}

/// Records who changed an item, and when.
pub fn touch(transaction: &mut Transaction<'_>, id: Id, at: Timestamp, by: Id) -> Result<()> {
    transaction.execute(TOUCH, &params![id, at, by]).map(drop)
}

/// Sets or clears an item's content type.
pub fn set_content_type(transaction: &mut Transaction<'_>, id: Id, content_type: Option<Id>) -> Result<()> {
    transaction.execute(SET_CONTENT_TYPE, &params![id, content_type]).map(drop)
}

/// Records the holder of a check-out.
pub fn check_out(transaction: &mut Transaction<'_>, id: Id, holder: Id, at: Timestamp) -> Result<()> {
    transaction.execute(CHECK_OUT, &params![id, holder, at]).map(drop)
}

/// Records the holder's working copy.
pub fn set_working(transaction: &mut Transaction<'_>, id: Id, version: Option<Id>) -> Result<()> {
    transaction.execute(SET_WORKING, &params![id, version]).map(drop)
}

/// Ends a check-out.
pub fn release(transaction: &mut Transaction<'_>, id: Id) -> Result<()> {
    transaction.execute(RELEASE, &params![id]).map(drop)
}

/// Deletes an item's row permanently.
pub fn delete(transaction: &mut Transaction<'_>, id: Id) -> Result<()> {
    transaction.execute(DELETE, &params![id]).map(drop)
}
