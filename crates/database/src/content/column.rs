//! Columns and content types of libraries, and the values of items.

use model::{ColumnKind, ColumnValue, Error, Id, Result, Timestamp, fold};

use crate::{Reader, Row, Transaction, params, statements};

statements! {
    LIST = "SELECT id, library_id, content_type_id, name, folded, kind, choices, required, position FROM
        column_definition
        WHERE library_id = $1 ORDER BY position, id";
    NAMED = "SELECT c.id, c.library_id, c.content_type_id, c.name, c.folded, c.kind, c.choices, c.required, c.position,
        n.collection_id, n.scope_id FROM column_definition c JOIN node n ON n.id = c.library_id WHERE c.folded = $1
        ORDER BY c.id";
    INSERT = "INSERT INTO column_definition (id, library_id, content_type_id, name, folded, kind, choices, required,
        position)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)";
    UPDATE = "UPDATE column_definition SET content_type_id = $2, name = $3, folded = $4, choices = $5, required = $6,
        position = $7 WHERE id = $1";
    DELETE = "DELETE FROM column_definition WHERE id = $1";
    VALUES_OF = "SELECT v.column_id, c.kind, v.text, v.number, v.integer FROM column_value v
        JOIN column_definition c ON c.id = v.column_id WHERE v.node_id = $1 ORDER BY c.position, c.id";
    VALUES_OF_MANY = "SELECT v.column_id, c.kind, v.text, v.number, v.integer, v.node_id FROM column_value v
        JOIN column_definition c ON c.id = v.column_id WHERE v.node_id {in $1} AND c.library_id = $2
        ORDER BY c.position, c.id";
    PUT_VALUE = "INSERT INTO column_value (node_id, column_id, text, number, integer, folded, parent_id)
        SELECT id, $2, $3, $4, $5, $6, parent_id FROM node WHERE id = $1
        ON CONFLICT (node_id, column_id) DO UPDATE SET text = excluded.text, number = excluded.number,
        integer = excluded.integer, folded = excluded.folded, parent_id = excluded.parent_id";
    CLEAR_VALUE = "DELETE FROM column_value WHERE node_id = $1 AND column_id = $2";
    COPY_VALUES = "INSERT INTO column_value (node_id, column_id, text, number, integer, folded, parent_id)
        SELECT n.id, v.column_id, v.text, v.number, v.integer, v.folded, n.parent_id
        FROM column_value v, node n WHERE v.node_id = $1 AND n.id = $2";
    TYPES = "SELECT id, name FROM content_type WHERE library_id = $1 ORDER BY folded";
    INSERT_TYPE = "INSERT INTO content_type (id, library_id, name, folded) VALUES ($1, $2, $3, $4)";
    DELETE_TYPE = "DELETE FROM content_type WHERE id = $1";
    CLEAR_TYPE = "UPDATE node SET content_type_id = NULL WHERE library_id = $1 AND content_type_id = $2";
}

/// Number of characters of a text that take part in sorting.
const COMPARED: usize = 100;
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
    /// Set when a document cannot be checked in without a value.
    pub required: bool,
    /// Order in forms and tables.
    pub position: i64,
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
        kind: ColumnKind::parse(row.get::<String>(5)?.as_str(), choices)?,
        required: row.get(7)?,
        position: row.get(8)?,
    })
}

fn choices(kind: &ColumnKind) -> String {
    match kind {
        ColumnKind::Choice(choices) => choices.join("\u{1f}"),
        _ => String::new(),
    }
}

/// The columns of a library in order.
pub fn list(reader: &mut Reader<'_>, library: Id) -> Result<Vec<ColumnRow>> {
    reader.query(LIST, &params![library], read)
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
        Ok(PlacedColumn { column: read(row)?, collection_id: row.get(9)?, scope_id: row.get(10)? })
    })
}

/// Adds a column. A name that is taken in the library is a conflict.
pub fn insert(transaction: &mut Transaction<'_>, column: &ColumnRow) -> Result<()> {
    let values = params![
        column.id,
        column.library_id,
        column.content_type_id,
        &column.name,
        &column.folded,
        column.kind.as_str(),
        choices(&column.kind),
        column.required,
        column.position
    ];
    transaction.execute(INSERT, &values).map(drop)
}

/// Updates everything about a column except its kind.
pub fn update(transaction: &mut Transaction<'_>, column: &ColumnRow) -> Result<()> {
    let values = params![
        column.id,
        column.content_type_id,
        &column.name,
        &column.folded,
        choices(&column.kind),
        column.required,
        column.position
    ];
    transaction.execute(UPDATE, &values).map(drop)
}

/// Removes a column with all its values.
pub fn delete(transaction: &mut Transaction<'_>, id: Id) -> Result<()> {
    transaction.execute(DELETE, &params![id]).map(drop)
}

/// The values of an item: column and value.
pub fn values(reader: &mut Reader<'_>, node: Id) -> Result<Vec<(Id, ColumnValue)>> {
    reader.query(VALUES_OF, &params![node], read_value)
}

/// The values of many items in the columns of one library: item, column and value.
pub fn values_of_many(reader: &mut Reader<'_>, nodes: &[Id], library: Id) -> Result<Vec<(Id, Id, ColumnValue)>> {
    reader.query(VALUES_OF_MANY, &params![nodes, library], |row| {
        let (column, value) = read_value(row)?;
        Ok((row.get(5)?, column, value))
    })
}

fn read_value(row: &Row<'_>) -> Result<(Id, ColumnValue)> {
    let kind: String = row.get(1)?;
    let value = match kind.as_str() {
        "number" => row.get::<Option<f64>>(3)?.map(ColumnValue::Number),
        "date" => row.get::<Option<Timestamp>>(4)?.map(ColumnValue::Date),
        "person" => row.get::<Option<Id>>(4)?.map(ColumnValue::Person),
        "yes-no" => row.get::<Option<i64>>(4)?.map(|value| ColumnValue::YesNo(value != 0)),
        _ => row.get::<Option<String>>(2)?.map(ColumnValue::Text),
    };
    let value = value.ok_or_else(|| Error::corrupt(format!("a stored {kind} value is empty")))?;
    Ok((row.get(0)?, value))
}

/// Returns the part of a folded text that takes part in sorting.
pub fn compared(folded: &str) -> String {
    folded.chars().filter(|c| !c.is_control()).take(COMPARED).collect()
}

/// Sets the value of one column of one item.
pub fn put_value(transaction: &mut Transaction<'_>, node: Id, column: Id, value: &ColumnValue) -> Result<()> {
    let (mut text, mut number, mut integer) = (None, None, None);
    match value {
        ColumnValue::Text(value) => text = Some(value.as_str()),
        ColumnValue::Number(value) => number = Some(*value),
        ColumnValue::Date(value) => integer = Some(value.micros()),
        ColumnValue::Person(value) => integer = Some(value.get()),
        ColumnValue::YesNo(value) => integer = Some(i64::from(*value)),
    }
    let folded = text.map(|text| compared(&fold(text)));
    transaction.execute(PUT_VALUE, &params![node, column, text, number, integer, &folded]).map(drop)
}

/// Removes the value of one column of one item.
pub fn clear_value(transaction: &mut Transaction<'_>, node: Id, column: Id) -> Result<()> {
    transaction.execute(CLEAR_VALUE, &params![node, column]).map(drop)
}

/// Copies the values of an item to another item of the same library.
pub fn copy_values(transaction: &mut Transaction<'_>, from: Id, to: Id) -> Result<()> {
    transaction.execute(COPY_VALUES, &params![from, to]).map(drop)
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
