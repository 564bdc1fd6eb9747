//! Lookup columns: lists and rows that are restored get new identifiers, under which others name them from then on.

use std::collections::{HashMap, HashSet};

use model::{ColumnKind, ColumnValue, Id};

use super::context::Walk;
use super::places::{Columns, Place, comes_back};

/// New identifiers of lists and rows.
#[derive(Default)]
pub(super) struct Lookups {
    /// Lists of this restore, by their identifiers in the set.
    lists: HashMap<Id, Id>,
    /// Rows that were added to lists whose rows are named somewhere, by their identifiers in the set.
    rows: HashMap<Id, Id>,
    /// Lists whose rows are named somewhere, by their identifiers in the set.
    named: HashSet<Id>,
}

impl Lookups {
    /// Records that a list of the set is there again, or still there.
    pub fn list_is_back(&mut self, old: Id, new: Id) {
        self.lists.insert(old, new);
    }

    /// Records whose rows the columns of these places name.
    pub fn name_lists(&mut self, places: &[Place]) {
        self.named = places.iter().flat_map(named_lists).collect();
    }

    /// Records that a row of a list in the set is there again.
    pub fn row_is_back(&mut self, list: Id, old: Id, new: Id) {
        if self.named.contains(&list) {
            self.rows.insert(old, new);
        }
    }

    /// Returns the kind of a restored column. A list outside this restore keeps its identifier.
    pub fn kind(&self, kind: &ColumnKind) -> ColumnKind {
        match kind {
            ColumnKind::Lookup(list) => ColumnKind::Lookup(self.lists.get(list).copied().unwrap_or(*list)),
            other => other.clone(),
        }
    }

    /// Returns the new identifier of a row that is there again.
    pub fn restored_row(&self, row: Id) -> Option<Id> {
        self.rows.get(&row).copied()
    }

    /// Returns the row that a value names, if it may come back later.
    pub fn missing(&self, kind: &ColumnKind, value: &ColumnValue) -> Option<Id> {
        match (kind, value) {
            (ColumnKind::Lookup(list), ColumnValue::Lookup(row)) => {
                (self.lists.contains_key(list) && !self.rows.contains_key(row)).then_some(*row)
            }
            _ => None,
        }
    }

    /// Returns the row that a value of a column of kind `kind` in the set names from now on; `None` if it is not there
    /// again.
    pub fn row(&self, kind: &ColumnKind, row: Id) -> Option<Id> {
        let ColumnKind::Lookup(list) = kind else { return None };
        match (self.rows.get(&row), self.lists.get(list)) {
            (Some(new), _) => Some(*new),
            // The list has a new identifier, so its former rows are those of another list.
            (None, Some(new)) if new != list => None,
            (None, _) => Some(row),
        }
    }
}

impl Walk<'_> {
    /// Returns a value of the set as it comes back, with its column; `None` if it does not.
    pub(super) fn value(&self, columns: &Columns, column: Id, value: &ColumnValue) -> Option<(Id, ColumnValue)> {
        let (new, kind) = columns.columns.get(&column)?;
        match value {
            ColumnValue::Lookup(row) => Some((*new, ColumnValue::Lookup(self.lookups.row(kind, *row)?))),
            _ => comes_back(kind, value).then(|| (*new, value.clone())),
        }
    }
}

/// Returns the lists whose rows the columns of a place name.
fn named_lists(place: &Place) -> impl Iterator<Item = Id> + '_ {
    place.columns.columns.values().filter_map(|(_, kind)| match kind {
        ColumnKind::Lookup(list) => Some(*list),
        _ => None,
    })
}

/// Orders lists so that each comes after those whose rows it names, as far as they do not name each other.
pub(super) fn in_order(lists: Vec<Place>) -> Vec<Place> {
    let mut waiting: HashSet<Id> = lists.iter().map(|place| place.row.id).collect();
    let (mut rest, mut ordered) = (lists, Vec::new());
    while !rest.is_empty() {
        let is_next = |place: &Place| named_lists(place).all(|list| list == place.row.id || !waiting.contains(&list));
        let next = rest.remove(rest.iter().position(is_next).unwrap_or(0));
        waiting.remove(&next.row.id);
        ordered.push(next);
    }
    ordered
}
