//! Owns the conversion of values to and from PostgreSQL.

use std::error::Error as StdError;
use std::fmt;

use bytes::BytesMut;
use model::{Error, Result};
use tokio_postgres::types::{FromSql, IsNull, ToSql, Type, to_sql_checked};

use crate::Value;
use crate::value::Column;

type Failure = Box<dyn StdError + Sync + Send>;

/// A parameter, encoded as the type that the server expects in its position.
pub(super) struct Bound<'v>(pub(super) &'v Value<'v>);

/// The driver logs parameters in this form, and user data does not belong in a log.
impl fmt::Debug for Bound<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.kind())
    }
}

impl ToSql for Bound<'_> {
    fn to_sql(&self, kind: &Type, out: &mut BytesMut) -> std::result::Result<IsNull, Failure> {
        match (self.0, kind) {
            (Value::Null, _) => Ok(IsNull::Yes),
            (Value::Integer(v), &Type::INT8) => v.to_sql(kind, out),
            (Value::Integer(v), &Type::INT4) => i32::try_from(*v)?.to_sql(kind, out),
            (Value::Integer(v), &Type::INT2) => i16::try_from(*v)?.to_sql(kind, out),
            (Value::Real(v), &Type::FLOAT8) => v.to_sql(kind, out),
            (Value::Bool(v), &Type::BOOL) => v.to_sql(kind, out),
            (Value::Text(v), &Type::TEXT | &Type::VARCHAR | &Type::NAME | &Type::BPCHAR) => v.to_sql(kind, out),
            (Value::Bytes(v), &Type::BYTEA) => v.as_ref().to_sql(kind, out),
            (Value::Integers(v), &Type::INT8_ARRAY) => v.as_ref().to_sql(kind, out),
            (value, kind) => Err(format!("{} does not fit a parameter of type {kind}", value.kind()).into()),
        }
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    to_sql_checked!();
}

struct Raw<'r>(Column<'r>);

impl<'r> FromSql<'r> for Raw<'r> {
    fn from_sql(kind: &Type, raw: &'r [u8]) -> std::result::Result<Self, Failure> {
        Ok(Self(match *kind {
            Type::INT8 => Column::Integer(i64::from_sql(kind, raw)?),
            Type::INT4 => Column::Integer(i64::from(i32::from_sql(kind, raw)?)),
            Type::INT2 => Column::Integer(i64::from(i16::from_sql(kind, raw)?)),
            Type::FLOAT8 => Column::Real(f64::from_sql(kind, raw)?),
            Type::FLOAT4 => Column::Real(f64::from(f32::from_sql(kind, raw)?)),
            Type::BOOL => Column::Bool(bool::from_sql(kind, raw)?),
            Type::TEXT | Type::VARCHAR | Type::NAME | Type::BPCHAR => Column::Text(<&str>::from_sql(kind, raw)?),
            Type::BYTEA => Column::Bytes(raw),
            _ => return Err(format!("columns of type {kind} cannot be read; cast the column in the statement").into()),
        }))
    }

    fn from_sql_null(_: &Type) -> std::result::Result<Self, Failure> {
        Ok(Self(Column::Null))
    }

    fn accepts(_: &Type) -> bool {
        true
    }
}

/// Reads a column.
pub(crate) fn column(row: &tokio_postgres::Row, index: usize) -> Result<Column<'_>> {
    row.try_get::<_, Raw<'_>>(index)
        .map(|raw| raw.0)
        .map_err(|e| Error::corrupt(format!("column {index} of a result cannot be read")).with_source(e))
}
