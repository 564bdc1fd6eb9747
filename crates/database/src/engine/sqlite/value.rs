//! Owns the conversion of values to and from SQLite.

use model::{Code, Error, Result};
use rusqlite::types::{ToSqlOutput, ValueRef};

use crate::Value;
use crate::value::Column;

/// A parameter to be bound to a statement.
pub(super) struct Bound<'v>(pub(super) &'v Value<'v>);

impl rusqlite::ToSql for Bound<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(match self.0 {
            Value::Null => ToSqlOutput::Borrowed(ValueRef::Null),
            Value::Integer(v) => ToSqlOutput::Borrowed(ValueRef::Integer(*v)),
            Value::Real(v) => ToSqlOutput::Borrowed(ValueRef::Real(*v)),
            Value::Bool(v) => ToSqlOutput::Borrowed(ValueRef::Integer(i64::from(*v))),
            Value::Text(v) => ToSqlOutput::Borrowed(ValueRef::Text(v.as_bytes())),
            Value::Bytes(v) => ToSqlOutput::Borrowed(ValueRef::Blob(v)),
            Value::Integers(v) => ToSqlOutput::Owned(rusqlite::types::Value::Text(as_json(v))),
        })
    }
}

fn as_json(integers: &[i64]) -> String {
    let mut text = String::with_capacity(integers.len() * 20 + 2);
    text.push('[');
    for (i, integer) in integers.iter().enumerate() {
        if i > 0 {
            text.push(',');
        }
        text.push_str(&integer.to_string());
    }
    text.push(']');
    text
}

/// Reads a column.
pub(crate) fn column<'r>(row: &'r rusqlite::Row<'_>, index: usize) -> Result<Column<'r>> {
    let value = row.get_ref(index).map_err(|e| {
        Error::corrupt(format!("a result has no column {index}")).with_code(Code::NoSuchColumn).with_source(e)
    })?;
    Ok(match value {
        ValueRef::Null => Column::Null,
        ValueRef::Integer(v) => Column::Integer(v),
        ValueRef::Real(v) => Column::Real(v),
        ValueRef::Text(v) => {
            Column::Text(std::str::from_utf8(v).map_err(|e| Error::corrupt("stored text is not UTF-8").with_source(e))?)
        }
        ValueRef::Blob(v) => Column::Bytes(v),
    })
}
