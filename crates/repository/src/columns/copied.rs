//! Columns, content types and shared views of a library or list that is copied with its settings.

use std::collections::HashMap;

use database::content::column::{self, ColumnRow};
use database::content::library;
use database::content::saved_view;
use database::Transaction;
use model::{ColumnKind, Error, Id, Result};

use super::carried::{Carried, Pair};
use super::options::{ColumnOptions, formula_columns};
use crate::content::saved_views::over_columns;
use crate::session::guard::Guard;

/// Copies the settings, columns, content types and shared views of a library or list to another one, which has none
/// yet. Lookup columns whose list is among `copies` find their entries in its copy.
///
/// # Errors
/// `Corrupt` for what is stored and cannot be read.
pub(crate) fn copy_definitions(
    transaction: &mut Transaction<'_>,
    guard: &Guard,
    from: Id,
    to: Id,
    copies: &HashMap<Id, Id>,
) -> Result<Carried> {
    let settings = library::find(transaction, from)?
        .ok_or_else(|| Error::corrupt(format!("the settings of the library or list {from} are missing")))?;
    let next = library::next_number(transaction, from)?;
    library::insert_many(transaction, &[(to, settings, next)])?;
    let mut content_types = Vec::new();
    for (id, name) in column::content_types(transaction, from)? {
        let new = guard.next_id();
        column::insert_content_type(transaction, new, to, &name, &model::fold(&name))?;
        content_types.push((id, new));
    }
    let old = column::list(transaction, from)?;
    let ids: HashMap<Id, Id> = old.iter().map(|column| (column.id, guard.next_id())).collect();
    let mut new = Vec::with_capacity(old.len());
    for column in &old {
        let of_type = |id: Id| content_types.iter().find(|(old, _)| *old == id).map(|(_, new)| *new);
        new.push(ColumnRow {
            id: of(&ids, column.id),
            library_id: to,
            content_type_id: column.content_type_id.and_then(of_type),
            kind: over_lists(&column.kind, copies)?,
            options: ColumnOptions::stored(column)?.over(&formula_columns(&old), &|id| of(&ids, id))?,
            slot: 0,
            ..column.clone()
        });
    }
    column::insert_many(transaction, &mut new)?;
    let mut views = saved_view::list(transaction, from, Id::NONE)?;
    for view in &mut views {
        (view.id, view.library_id) = (guard.next_id(), to);
        view.query = over_columns(&view.query, &old, &|id| of(&ids, id));
    }
    saved_view::insert_many(transaction, &views)?;
    let columns = old.into_iter().zip(new).map(|(from, to)| Pair { from, to }).collect();
    Ok(Carried::of_copy(columns, content_types))
}

/// Returns the copy of a column, or the column itself.
fn of(ids: &HashMap<Id, Id>, id: Id) -> Id {
    ids.get(&id).copied().unwrap_or(id)
}

/// Returns the kind of the copy of a column.
fn over_lists(kind: &ColumnKind, copies: &HashMap<Id, Id>) -> Result<ColumnKind> {
    match kind.single() {
        ColumnKind::Lookup(list) => {
            ColumnKind::Lookup(of(copies, *list)).taking_multiple(kind.takes_multiple())
        }
        _ => Ok(kind.clone()),
    }
}
