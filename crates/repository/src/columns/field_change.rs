//! A change of the fields of one item.

use std::borrow::Cow;

use database::content::column::ColumnRow;
use database::content::fields::Fields;
use model::{ColumnValue, Id};

/// A change of fields that fits the columns.
#[derive(Default)]
pub(crate) struct FieldChange<'a> {
    fields: Vec<(&'a ColumnRow, Option<Cow<'a, ColumnValue>>)>,
    /// The content type that the item has after the change.
    content_type: Option<Id>,
}

/// Kind of change whose fields are completed.
#[derive(Clone, Copy)]
pub(crate) enum Completing<'f> {
    /// A new row that somebody enters: default values, calculated ones, and all checks.
    NewRow,
    /// A new document, or a row of a template: as a new row, but without checks, which judge what people enter.
    Unchecked,
    /// A change of these fields: calculated values, and the checks that read a changed field.
    Edit(&'f Fields),
    /// A change of an item with these fields to another content type: as an edit, with the default values and checks
    /// of the columns that the item has from now on.
    Retype(&'f Fields),
}

impl<'a> FieldChange<'a> {
    /// A change that sets or empties these fields.
    pub(super) fn new(fields: Vec<(&'a ColumnRow, Option<Cow<'a, ColumnValue>>)>) -> Self {
        Self { fields, content_type: None }
    }

    /// Returns the change for an item that has a content type after it.
    pub(super) fn of_type(self, content_type: Option<Id>) -> Self {
        Self { content_type, ..self }
    }

    /// Returns whether the item has a column: one of all items, or of its content type.
    pub(super) fn concerns(&self, column: &ColumnRow) -> bool {
        column.is_for(self.content_type)
    }

    /// Returns whether the change sets or empties the field of a column.
    pub(super) fn sets(&self, id: Id) -> bool {
        self.fields.iter().any(|(column, _)| column.id == id)
    }

    /// Adds a field to the change.
    pub(super) fn set(&mut self, column: &'a ColumnRow, value: Option<ColumnValue>) {
        self.fields.push((column, value.map(Cow::Owned)));
    }

    /// Returns the columns that the change names, with their new values.
    pub(super) fn fields(&self) -> Vec<(&'a ColumnRow, Option<&ColumnValue>)> {
        self.fields.iter().map(|(column, value)| (*column, value.as_deref())).collect()
    }

    /// Returns the fields after the change.
    pub(crate) fn applied_to(&self, fields: &Fields) -> Fields {
        let mut fields = fields.clone();
        self.fields.iter().for_each(|(column, value)| fields.set(column.slot, value.as_deref()));
        fields
    }
}
