//! Columns, content types and shared views of a library or list that is copied with its settings.

use std::collections::HashMap;
use std::ops::Range;

use database::content::column::{self, ColumnRow};
use database::content::node::NodeRow;
use database::content::{library, saved_view};
use database::{Reader, Transaction};
use model::{Code, ColumnKind, Error, Id, Result};

use super::carried::{Carried, Pair};
use super::options::{ColumnOptions, formula_columns};
use crate::session::guard::Guard;
use crate::templates::view_query;

/// Copies the settings, columns, content types and shared views of a library or list to another one, which has none
/// yet. Lookup columns whose list is among `copies` find their entries in its copy. The columns get the first of
/// `slots`.
///
/// # Errors
/// `Corrupt` for what is stored and cannot be read; `Conflict` with code `overtaken` if there are more columns than
/// slots.
pub(crate) fn copy_definitions(
    transaction: &mut Transaction<'_>,
    guard: &Guard,
    from: Id,
    to: Id,
    copies: &HashMap<Id, Id>,
    slots: &mut Range<i64>,
) -> Result<Carried> {
    let settings = library::find(transaction, from)?
        .ok_or_else(|| Error::corrupt(format!("the settings of the library or list {from} are missing")))?;
    let next = library::next_number(transaction, from)?;
    library::insert_many(transaction, &[(to, settings, next)])?;
    if library::recompute_after(transaction, from)?.is_some() {
        library::set_recompute_after(transaction, to, Some(Id::NONE))?;
    }
    let mut content_types = Vec::new();
    for (id, name) in column::content_types(transaction, from)? {
        let new = guard.next_id();
        column::insert_content_type(transaction, new, to, &name, &model::fold(&name))?;
        content_types.push((id, new));
    }
    let old = column::list(transaction, from)?;
    let ids: HashMap<Id, Id> = old.iter().map(|column| (column.id, guard.next_id())).collect();
    let known = formula_columns(&old);
    let mut new = Vec::with_capacity(old.len());
    for column in &old {
        let of_type = |id: Id| content_types.iter().find(|(old, _)| *old == id).map(|(_, new)| *new);
        new.push(ColumnRow {
            id: copy_or_same(&ids, column.id),
            library_id: to,
            content_type_id: column.content_type_id.and_then(of_type),
            kind: kind_for_copy(&column.kind, copies)?,
            options: ColumnOptions::stored(column)?.for_copy(&known, &|id| copy_or_same(&ids, id))?,
            slot: slots.next().ok_or_else(more_columns)?,
            ..column.clone()
        });
    }
    column::insert_with_slots(transaction, &new)?;
    let mut views = saved_view::list(transaction, from, Id::NONE)?;
    for view in &mut views {
        (view.id, view.library_id) = (guard.next_id(), to);
        view.query = view_query::for_copy(&view.query, &known, &|id| copy_or_same(&ids, id));
    }
    saved_view::insert_many(transaction, &views)?;
    let columns = old.into_iter().zip(new).map(|(from, to)| Pair { from, to }).collect();
    Ok(Carried::to_copy(columns, content_types))
}

/// Returns the number of columns of libraries and lists.
pub(crate) fn count_columns(reader: &mut Reader<'_>, libraries: &[NodeRow]) -> Result<usize> {
    libraries.iter().map(|library| Ok(column::list(reader, library.id)?.len())).sum()
}

fn more_columns() -> Error {
    Error::conflict("somebody has just added columns to what is copied: try again").with_code(Code::Overtaken)
}

/// Returns the copy of a column, or the column itself.
fn copy_or_same(ids: &HashMap<Id, Id>, id: Id) -> Id {
    ids.get(&id).copied().unwrap_or(id)
}

/// Returns the kind of the copy of a column.
fn kind_for_copy(kind: &ColumnKind, copies: &HashMap<Id, Id>) -> Result<ColumnKind> {
    match kind.single() {
        ColumnKind::Lookup(list) => {
            ColumnKind::Lookup(copy_or_same(copies, *list)).taking_multiple(kind.takes_multiple())
        }
        _ => Ok(kind.clone()),
    }
}
