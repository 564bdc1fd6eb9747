//! Owns the reading of rows, with the same interface for both engines.

use std::borrow::Cow;

use model::{Error, Result};

use super::{postgres, sqlite};
use crate::value::{Column, FromColumn};

/// One row of a result, valid only during the call of the closure that receives it.
pub struct Row<'r>(pub(crate) Inner<'r>);

pub(crate) enum Inner<'r> {
    Sqlite(&'r rusqlite::Row<'r>),
    Postgres(&'r tokio_postgres::Row),
}

impl Row<'_> {
    /// The column at `index`, counted from 0.
    ///
    /// # Errors
    /// `Corrupt` if the column holds another type or an unknown word, or does not exist.
    pub fn get<'s, T: FromColumn<'s>>(&'s self, index: usize) -> Result<T> {
        let column = self.column(index)?;
        T::from_column(column).ok_or_else(|| {
            let held = match column {
                Column::Text(word) if T::IS_WORD => Cow::Owned(format!("the unknown word {word:?}")),
                other => Cow::Borrowed(other.kind()),
            };
            Error::corrupt(format!(
                "column {index} ({}) of a stored row holds {held} instead of {}",
                self.name(index),
                T::EXPECTED
            ))
        })
    }

    /// The value of the column at `index`, whatever its type.
    pub fn column(&self, index: usize) -> Result<Column<'_>> {
        match self.0 {
            Inner::Sqlite(row) => sqlite::column(row, index),
            Inner::Postgres(row) => postgres::column(row, index),
        }
    }

    fn name(&self, index: usize) -> String {
        match self.0 {
            Inner::Sqlite(row) => row.as_ref().column_name(index).unwrap_or_default().to_owned(),
            Inner::Postgres(row) => row.columns().get(index).map(|c| c.name().to_owned()).unwrap_or_default(),
        }
    }
}

/// Tells a scan to continue or to stop.
pub(crate) enum Scan {
    Next,
    Stop,
}

/// The callback that a scan invokes for each row.
pub(crate) type Visit<'v> = dyn FnMut(&Row<'_>) -> Scan + 'v;
