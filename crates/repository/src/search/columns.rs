//! Columns of libraries that a query may name: those of libraries that the caller knows.

use std::collections::HashMap;

use database::Reader;
use database::content::{column, feed, node};
use model::{ColumnKind, Id, Result};
use search::query::{KnownColumns, SearchQuery};

use crate::items::caller_view::CallerView;
use crate::{Session, UnavailableDatabases};

/// Limit on the libraries in each content database whose column of one name is known.
const MAX_LIBRARIES: usize = 200;

/// A column that a query may name.
#[derive(Clone, Debug)]
pub(super) struct NamedColumn {
    /// Its name, folded.
    pub(super) name: String,
    pub(super) id: Id,
    pub(super) kind: ColumnKind,
}

/// The columns that a query may name.
#[derive(Clone, Default)]
pub(super) struct NamedColumns {
    by_database: HashMap<Id, Vec<NamedColumn>>,
    /// Content databases that do not answer.
    pub(super) missing: UnavailableDatabases,
}

impl NamedColumns {
    /// Returns the columns in a content database.
    pub(super) fn of(&self, database: Id) -> &[NamedColumn] {
        self.by_database.get(&database).map(Vec::as_slice).unwrap_or_default()
    }

    /// Returns the names and kinds of all columns.
    pub(super) fn known(&self) -> KnownColumns {
        let mut known = KnownColumns::default();
        self.by_database.values().flatten().for_each(|column| known.add(&column.name, &column.kind));
        known
    }

    /// Returns the kinds of the columns with a name.
    pub(super) fn kinds<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a ColumnKind> {
        self.by_database.values().flatten().filter(move |column| column.name == name).map(|column| &column.kind)
    }
}

impl Session {
    /// Returns the columns that a text may name as fields, in libraries that the caller knows.
    pub(super) async fn columns_in(&self, text: &str) -> Result<NamedColumns> {
        let (names, mut found) = (SearchQuery::possible_columns(text), NamedColumns::default());
        if names.is_empty() {
            return Ok(found);
        }
        let registry = self.registry().await?;
        found.missing = self.missing(registry.away());
        for content in &registry.databases {
            let mut caller_view = CallerView::of(self, &registry, content);
            let names = names.clone();
            let look = move |reader: &mut Reader<'_>| columns_named(reader, &mut caller_view, &names);
            match content.database.read_long(look).await {
                Ok(columns) => drop(found.by_database.insert(content.row.id, columns)),
                Err(error) => found.missing.add(content.name_if_database_error(error)?),
            }
        }
        Ok(found)
    }
}

fn columns_named(reader: &mut Reader<'_>, caller_view: &mut CallerView, names: &[String]) -> Result<Vec<NamedColumn>> {
    let (mut found, mut trees) = (Vec::new(), None);
    for name in names {
        let rows = column::named(reader, name)?;
        if rows.is_empty() {
            continue;
        }
        let trees = match &mut trees {
            Some(trees) => trees,
            none => none.insert(feed::trees(reader)?.into_iter().collect::<HashMap<Id, i64>>()),
        };
        let mut known = 0;
        for row in rows {
            let Some(version) = trees.get(&row.collection_id) else { continue };
            let (library, scope) = (row.column.library_id, row.scope_id);
            if known < MAX_LIBRARIES
                && caller_view.may_know(reader, (row.collection_id, *version), library, scope)?
                && is_within_reach(reader, caller_view, library)?
            {
                known += 1;
                found.push(NamedColumn { name: name.clone(), id: row.column.id, kind: row.column.kind });
            }
        }
    }
    Ok(found)
}

/// Returns whether a library, or a part of it, exists for the caller's credential.
fn is_within_reach(reader: &mut Reader<'_>, caller_view: &CallerView, library: Id) -> Result<bool> {
    if caller_view.locate(reader, library)?.is_some() {
        return Ok(true);
    }
    for root in &caller_view.finder.principal.limits.roots {
        let is_in = node::find(reader, *root)?.is_some_and(|row| row.library_id == library);
        if is_in && caller_view.locate(reader, *root)?.is_some() {
            return Ok(true);
        }
    }
    Ok(false)
}
