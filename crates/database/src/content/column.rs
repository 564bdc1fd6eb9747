//! Columns and content types of libraries and lists.

use model::{ColumnKind, ColumnRole, Error, Id, Result};

use crate::statement::{Inserts, count_columns, insert_rows};
use crate::{Reader, Row, Transaction, Value, params, statements};

/// The columns that [`read`] expects, in its order.
macro_rules! column_columns {
    ($of:literal) => {
        $crate::statement::column_list!($of: id, library_id, content_type_id, name, folded, kind, choices, required,
            position, slot, role, options, multiple)
    };
}

/// The columns of a new definition, in the order of [`values`].
macro_rules! insert {
    () => {
        "INSERT INTO column_definition (id, library_id, content_type_id, name, folded, kind, choices, required, \
         position, slot, role, options, multiple) VALUES "
    };
}

/// Number of definitions that one statement inserts.
const GROUP: usize = 8;

/// Number of columns of a definition in a row.
const WIDTH: usize = count_columns(column_columns!("c"));

statements! {
    LIST = concat!("SELECT ", column_columns!("c"),
        " FROM column_definition c WHERE c.library_id = $1 ORDER BY c.position, c.id");
    HAVE_OPTIONS = "SELECT 1 FROM column_definition WHERE library_id = $1 AND options <> '' LIMIT 1";
    OF_SLOTS = concat!("SELECT ", column_columns!("c"),
        " FROM column_definition c WHERE c.slot {in $1} ORDER BY c.position, c.id");
    NAMED = concat!("SELECT ", column_columns!("c"), ", n.collection_id, n.scope_id
        FROM column_definition c JOIN node n ON n.id = c.library_id WHERE c.folded = $1 ORDER BY c.id");
    TAKE_SLOTS = "UPDATE slot_counter SET last = last + $1 RETURNING last";
    INSERT = insert_rows!(insert!(), 13, 1);
    INSERT_MANY = insert_rows!(insert!(), 13, GROUP);
    UPDATE = "UPDATE column_definition SET content_type_id = $2, name = $3, folded = $4, choices = $5, required = $6,
        position = $7, options = $8, multiple = $9 WHERE id = $1";
    DELETE = "DELETE FROM column_definition WHERE id = $1";
    TYPES = "SELECT id, name FROM content_type WHERE library_id = $1 ORDER BY folded";
    INSERT_TYPE = "INSERT INTO content_type (id, library_id, name, folded) VALUES ($1, $2, $3, $4)";
    DELETE_TYPE = "DELETE FROM content_type WHERE id = $1";
    CLEAR_TYPE = "UPDATE node SET content_type_id = NULL WHERE library_id = $1 AND content_type_id = $2";
}

/// Separator between two choices in their stored form.
const SEPARATOR: char = '\u{1f}';

/// A column of a library.
#[derive(Clone, Debug)]
pub struct ColumnRow {
    /// Identifier.
    pub id: Id,
    /// The library.
    pub library_id: Id,
    /// The content type that the column belongs to; `None` for all documents.
    pub content_type_id: Option<Id>,
    /// Name as the user entered it.
    pub name: String,
    /// Name folded for comparison.
    pub folded: String,
    /// Type of its values.
    pub kind: ColumnKind,
    /// Set when a row cannot be saved, or a document checked in, without a value.
    pub required: bool,
    /// Order in forms and tables.
    pub position: i64,
    /// Number by which records and index entries name the column; 0 for a column that is not stored yet.
    pub slot: i64,
    /// What the program uses its values for.
    pub role: Option<ColumnRole>,
    /// Formula, default value and check, as a JSON object; empty for a column without any. This module does not read
    /// them.
    pub options: String,
}

impl ColumnRow {
    /// Returns whether items of a content type have the column.
    pub fn is_for(&self, content_type: Option<Id>) -> bool {
        self.content_type_id.is_none() || self.content_type_id == content_type
    }
}

fn read(row: &Row<'_>) -> Result<ColumnRow> {
    let choices: String = row.get(6)?;
    let choices = choices.split(SEPARATOR).filter(|choice| !choice.is_empty()).map(str::to_owned).collect();
    Ok(ColumnRow {
        id: row.get(0)?,
        library_id: row.get(1)?,
        content_type_id: row.get(2)?,
        name: row.get(3)?,
        folded: row.get(4)?,
        kind: ColumnKind::parse(row.get::<String>(5)?.as_str(), choices)?.taking_multiple(row.get(12)?)?,
        required: row.get(7)?,
        position: row.get(8)?,
        slot: row.get(9)?,
        role: row.get(10)?,
        options: row.get(11)?,
    })
}

fn choices(kind: &ColumnKind) -> String {
    kind.choices().join("\u{1f}")
}

/// The columns of a library in order.
pub fn list(reader: &mut Reader<'_>, library: Id) -> Result<Vec<ColumnRow>> {
    reader.query(LIST, &params![library], read)
}

/// Returns whether any column of a library has options.
pub fn have_options(reader: &mut Reader<'_>, library: Id) -> Result<bool> {
    Ok(reader.find(HAVE_OPTIONS, &params![library], |_| Ok(()))?.is_some())
}

/// The columns with these slots, of any library, in order.
pub fn of_slots(reader: &mut Reader<'_>, slots: &[i64]) -> Result<Vec<ColumnRow>> {
    reader.query(OF_SLOTS, &params![slots], read)
}

/// A column, with the site collection and the scope of its library.
#[derive(Clone, Debug)]
pub struct PlacedColumn {
    /// The column.
    pub column: ColumnRow,
    /// The site collection.
    pub collection_id: Id,
    /// The scope in force for the library.
    pub scope_id: Id,
}

/// The columns of all libraries with a folded name, those of deleted libraries included.
pub fn named(reader: &mut Reader<'_>, folded: &str) -> Result<Vec<PlacedColumn>> {
    reader.query(NAMED, &params![folded], |row| {
        Ok(PlacedColumn { column: read(row)?, collection_id: row.get(WIDTH)?, scope_id: row.get(WIDTH + 1)? })
    })
}

/// Adds a column and returns its new slot. A name that is taken in the library is a conflict.
pub fn insert(transaction: &mut Transaction<'_>, column: &ColumnRow) -> Result<i64> {
    let slot = take_slots(transaction, 1)?;
    transaction.execute(INSERT, &values(column, slot))?;
    Ok(slot)
}

/// Adds many columns and sets their new slots. A name that is taken in a library is a conflict.
pub fn insert_many(transaction: &mut Transaction<'_>, columns: &mut [ColumnRow]) -> Result<()> {
    if columns.is_empty() {
        return Ok(());
    }
    let first = take_slots(transaction, columns.len())?;
    columns.iter_mut().zip(first..).for_each(|(column, slot)| column.slot = slot);
    insert_with_slots(transaction, columns)
}

/// Adds many columns with slots of [`take_slots`]. A name that is taken in a library is a conflict.
pub fn insert_with_slots(transaction: &mut Transaction<'_>, columns: &[ColumnRow]) -> Result<()> {
    let rows: Vec<_> = columns.iter().map(|column| values(column, column.slot).into()).collect();
    transaction.insert_all(&Inserts { one: INSERT, many: INSERT_MANY, group: GROUP }, &rows)
}

/// Takes slots that no column has had, and returns the first of them. All columns of a database wait for each other
/// here until the transaction ends.
pub fn take_slots(transaction: &mut Transaction<'_>, count: usize) -> Result<i64> {
    let last: Option<i64> = transaction.find(TAKE_SLOTS, &params![count as i64], |row| row.get(0))?;
    let last = last.ok_or_else(|| Error::corrupt("the counter of slots is missing"))?;
    Ok(last - count as i64 + 1)
}

fn values(column: &ColumnRow, slot: i64) -> [Value<'_>; 13] {
    params![
        column.id,
        column.library_id,
        column.content_type_id,
        &column.name,
        &column.folded,
        column.kind.as_str(),
        choices(&column.kind),
        column.required,
        column.position,
        slot,
        column.role,
        &column.options,
        column.kind.takes_multiple()
    ]
}

/// Updates everything about a column except its kind. Whether it takes several values can change.
pub fn update(transaction: &mut Transaction<'_>, column: &ColumnRow) -> Result<()> {
    let values = params![
        column.id,
        column.content_type_id,
        &column.name,
        &column.folded,
        choices(&column.kind),
        column.required,
        column.position,
        &column.options,
        column.kind.takes_multiple()
    ];
    transaction.execute(UPDATE, &values).map(drop)
}

/// Removes a column. Its index entries are removed by [`super::record::remove_slot`].
pub fn delete(transaction: &mut Transaction<'_>, id: Id) -> Result<()> {
    transaction.execute(DELETE, &params![id]).map(drop)
}

/// The content types of a library: identifier and name.
pub fn content_types(reader: &mut Reader<'_>, library: Id) -> Result<Vec<(Id, String)>> {
    reader.query(TYPES, &params![library], |row| Ok((row.get(0)?, row.get(1)?)))
}

/// Adds a content type. A name that is taken in the library is a conflict.
pub fn insert_content_type(
    transaction: &mut Transaction<'_>,
    id: Id,
    library: Id,
    name: &str,
    folded: &str,
) -> Result<()> {
    transaction.execute(INSERT_TYPE, &params![id, library, name, folded]).map(drop)
}

/// Removes a content type and its own columns. Documents of that type have no content type afterwards.
pub fn delete_content_type(transaction: &mut Transaction<'_>, library: Id, id: Id) -> Result<()> {
    transaction.execute(CLEAR_TYPE, &params![library, id])?;
    transaction.execute(DELETE_TYPE, &params![id]).map(drop)
}
