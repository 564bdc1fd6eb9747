//! Values that items bring along from another library or list. Each goes to the column with the same name and kind, and
//! a content type becomes the one with the same name. Of documents and folders that move, what has no place stays in
//! the record, hidden, and shows again when the item returns. A row moves only if all of its values have a place, and
//! copies leave out what has none.

use std::collections::HashMap;

use database::content::column::{self, ColumnRow};
use database::content::fields::Fields;
use database::content::node::{self, NodeRow};
use database::content::{record, tree};
use database::{Reader, Transaction};
use model::{ColumnKind, ColumnValue, Id, NodeKind, Result, fold};

use super::options::ColumnOptions;

/// Number of records that are read at once.
const GROUP: usize = 100;

/// Pairs of columns and of content types of two libraries that correspond to each other. None by default.
#[derive(Default)]
pub(crate) struct Carried {
    columns: Vec<Pair>,
    content_types: Vec<(Id, Id)>,
    /// Set if the destination is a copy, which takes all values as they are.
    is_copy: bool,
}

/// A column and the one to which its values go.
pub(super) struct Pair {
    pub(super) from: ColumnRow,
    pub(super) to: ColumnRow,
}

impl Pair {
    /// Returns whether the columns look up entries of different lists, of which one is the copy of the other.
    fn names_copied_entries(&self) -> bool {
        self.from.kind.single() != self.to.kind.single() && matches!(self.to.kind.single(), ColumnKind::Lookup(_))
    }
}

impl Carried {
    /// Reads what corresponds in a library and in that of a new parent. Attachments of rows have no values, so nothing
    /// corresponds below a row.
    ///
    /// # Errors
    /// `Corrupt` for options of a column that cannot be read.
    pub(crate) fn between(reader: &mut Reader<'_>, from: Id, parent: &NodeRow) -> Result<Self> {
        if parent.kind == NodeKind::Row {
            return Ok(Self::default());
        }
        let to = parent.library_id;
        let (old, mut new) = (column::list(reader, from)?, column::list(reader, to)?);
        let mut columns = Vec::new();
        for from in old {
            let corresponds =
                |to: &ColumnRow| to.folded == from.folded && is_alike(from.kind.single(), to.kind.single());
            let Some(at) = new.iter().position(corresponds) else { continue };
            let to = new.swap_remove(at);
            if ColumnOptions::stored(&to)?.formula.is_empty() {
                columns.push(Pair { from, to });
            }
        }
        let (old, new) = (column::content_types(reader, from)?, column::content_types(reader, to)?);
        let same = |name: &str| new.iter().find(|(_, other)| fold(other) == fold(name)).map(|(id, _)| *id);
        let content_types = old.iter().filter_map(|(id, name)| Some((*id, same(name)?))).collect();
        Ok(Self { columns, content_types, is_copy: false })
    }

    /// Returns the columns and content types of a library or list beside those of its copy.
    pub(super) fn to_copy(columns: Vec<Pair>, content_types: Vec<(Id, Id)>) -> Self {
        Self { columns, content_types, is_copy: true }
    }

    /// Returns whether copies of values name other entries than the values themselves.
    pub(crate) fn names_copied_entries(&self) -> bool {
        self.columns.iter().any(Pair::names_copied_entries)
    }

    fn is_empty(&self) -> bool {
        self.columns.is_empty() && self.content_types.is_empty()
    }

    /// Returns the content type of the destination that corresponds to one of the source.
    pub(crate) fn content_type(&self, from: Option<Id>) -> Option<Id> {
        let found = self.content_types.iter().find(|(old, _)| Some(*old) == from);
        found.map(|(_, new)| *new)
    }

    /// Returns the fields that a copy of an item gets. Of a lookup in a list that is copied with it, `copies` has the
    /// copies of the entries; an entry without one is left out.
    pub(crate) fn copied(&self, fields: &Fields, copies: &HashMap<Id, Id>) -> Result<Fields> {
        let mut copied = Fields::default();
        for (pair, value) in self.values(fields)? {
            let value = match pair.names_copied_entries() {
                true => copied_entries(pair, value, copies),
                false => Some(value),
            };
            copied.set(pair.to.slot, value.as_ref());
        }
        Ok(copied)
    }

    /// Returns what an item sets in the columns of the destination: the values that it brings along, and nothing where
    /// its field is empty, so that no default value fills it. A required field without a value gets its default.
    pub(crate) fn values_by_column(&self, fields: &Fields) -> Result<Vec<(Id, Option<ColumnValue>)>> {
        let values = self.values(fields)?;
        let is_empty = |pair: &&Pair| !pair.to.required && !fields.has(pair.from.slot);
        let empty: Vec<_> = self.columns.iter().filter(is_empty).map(|pair| (pair.to.id, None)).collect();
        Ok(values.into_iter().map(|(pair, value)| (pair.to.id, Some(value))).chain(empty).collect())
    }

    /// Returns the names of the columns whose values have no place in the destination. Calculated values are left out:
    /// the destination has its own.
    pub(crate) fn columns_without_place(
        &self,
        reader: &mut Reader<'_>,
        from: Id,
        fields: &Fields,
    ) -> Result<Vec<String>> {
        let carried = self.values(fields)?;
        let mut left = Vec::new();
        for column in column::list(reader, from)? {
            let is_carried = carried.iter().any(|(pair, _)| pair.from.id == column.id);
            if fields.has(column.slot) && !is_carried && ColumnOptions::stored(&column)?.formula.is_empty() {
                left.push(column.name);
            }
        }
        Ok(left)
    }

    /// Returns fields of an item that moves, with its values in the columns of the destination. What has no place there
    /// stays.
    pub(crate) fn fields_after_move(&self, fields: &Fields) -> Result<Fields> {
        let (mut moved, values) = (fields.clone(), self.values(fields)?);
        changes(&values).for_each(|(column, value)| moved.set(column.slot, value));
        Ok(moved)
    }

    /// Moves the values of items that are part of the destination already, and gives them their content types. The
    /// content types of the rows are those that they had before.
    fn apply(&self, transaction: &mut Transaction<'_>, items: &[NodeRow]) -> Result<()> {
        for item in items {
            if let Some(content_type) = self.content_type(item.content_type_id) {
                node::set_content_type(transaction, item.id, Some(content_type))?;
            }
        }
        if self.columns.is_empty() {
            return Ok(());
        }
        for items in items.chunks(GROUP) {
            let ids: Vec<Id> = items.iter().map(|item| item.id).collect();
            for (id, before) in record::find_many(transaction, &ids)? {
                let Some(item) = items.iter().find(|item| item.id == id) else { continue };
                let values = self.values(&before)?;
                let changes: Vec<_> = changes(&values).collect();
                if !changes.is_empty() {
                    record::change(transaction, item, &before, &changes)?;
                }
            }
        }
        Ok(())
    }

    /// Returns the values that the destination takes. A column of a content type that the item does not have takes its
    /// value, too, and shows it once the item has that type.
    fn values(&self, fields: &Fields) -> Result<Vec<(&Pair, ColumnValue)>> {
        let mut values = Vec::new();
        for pair in &self.columns {
            // A field that its column cannot have counts as empty, as it does elsewhere.
            if let Ok(Some(value)) = fields.get(pair.from.slot, &pair.from.kind)
                && let Some(value) = ColumnValue::joined(&pair.to.kind, value.into_each())
                && (self.is_copy || pair.to.kind.check(&value).is_ok())
            {
                values.push((pair, value));
            }
        }
        Ok(values)
    }
}

/// Returns what a move changes in the fields of an item: values leave their columns and go to others.
fn changes<'a>(
    values: &'a [(&'a Pair, ColumnValue)],
) -> impl Iterator<Item = (&'a ColumnRow, Option<&'a ColumnValue>)> {
    let gone = values.iter().map(|(pair, _)| (&pair.from, None));
    gone.chain(values.iter().map(|(pair, value)| (&pair.to, Some(value))))
}

/// Returns a value of a lookup column with the copies of its entries.
fn copied_entries(pair: &Pair, value: ColumnValue, copies: &HashMap<Id, Id>) -> Option<ColumnValue> {
    let entry = |value| match value {
        ColumnValue::Lookup(entry) => copies.get(&entry).copied().map(ColumnValue::Lookup),
        other => Some(other),
    };
    ColumnValue::joined(&pair.to.kind, value.into_each().into_iter().filter_map(entry).collect())
}

/// Returns whether columns have values of the same kind, apart from their choices.
fn is_alike(from: &ColumnKind, to: &ColumnKind) -> bool {
    match (from, to) {
        (ColumnKind::Lookup(from), ColumnKind::Lookup(to)) => from == to,
        _ => from.as_str() == to.as_str(),
    }
}

/// Makes a folder or document, with everything below it, part of the library of its new parent, below which it is
/// already. `item` is the row as it was.
pub(crate) fn change_library(transaction: &mut Transaction<'_>, item: &NodeRow, parent: &NodeRow) -> Result<()> {
    let carried = Carried::between(transaction, item.library_id, parent)?;
    let items = if carried.is_empty() { Vec::new() } else { tree::subtree(transaction, item.id)? };
    tree::set_library(transaction, item.id, parent.library_id)?;
    carried.apply(transaction, &items)?;
    super::recompute::arrived(transaction, item.id)
}
