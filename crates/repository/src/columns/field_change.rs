//! A change of the fields of one item.

use std::borrow::Cow;

use database::content::column::ColumnRow;
use database::content::fields::Fields;
use model::{ColumnValue, Id};

/// A change of fields that fits the columns.
#[derive(Default)]
pub(crate) struct FieldChange<'a>(Vec<(&'a ColumnRow, Option<Cow<'a, ColumnValue>>)>);

impl<'a> FieldChange<'a> {
    /// A change that sets or empties these fields.
    pub(super) fn new(fields: Vec<(&'a ColumnRow, Option<Cow<'a, ColumnValue>>)>) -> Self {
        Self(fields)
    }

    /// Returns whether the change sets or empties the field of a column.
    pub(super) fn sets(&self, id: Id) -> bool {
        self.0.iter().any(|(column, _)| column.id == id)
    }

    /// Adds a field to the change.
    pub(super) fn set(&mut self, column: &'a ColumnRow, value: Option<ColumnValue>) {
        self.0.push((column, value.map(Cow::Owned)));
    }

    /// Returns the columns that the change names, with their new values.
    pub(super) fn fields(&self) -> Vec<(&'a ColumnRow, Option<&ColumnValue>)> {
        self.0.iter().map(|(column, value)| (*column, value.as_deref())).collect()
    }

    /// Returns the fields after the change.
    pub(crate) fn applied_to(&self, fields: &Fields) -> Fields {
        let mut fields = fields.clone();
        self.0.iter().for_each(|(column, value)| fields.set(column.slot, value.as_deref()));
        fields
    }
}
