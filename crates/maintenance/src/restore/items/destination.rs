//! Libraries and lists that receive content, and what their columns, lists and rows are called: restored ones get new
//! identifiers, under which others name them from then on.

use std::collections::{HashMap, HashSet};

use database::content::node::NodeRow;
use model::{ColumnKind, ColumnValue, Id, NodePath};
use repository::ColumnChange;

/// Maps columns and content types of a library in the set to those of the destination library. The kind of a column is
/// that in the set, for several values if it takes several here.
#[derive(Default)]
pub(super) struct Columns {
    pub columns: HashMap<Id, (Id, ColumnKind)>,
    pub types: HashMap<Id, Id>,
}

/// A library or list that is there again, and the columns that it still lacks.
pub(super) struct Place {
    pub path: NodePath,
    /// The library or list in the set.
    pub row: NodeRow,
    pub columns: Columns,
    /// Columns that read others, or take the entries of a list, which may come later; with their identifiers in the
    /// set.
    pub later: Vec<(Id, ColumnChange)>,
    /// Lookup columns that are there already, with their kinds.
    pub lookups: Vec<(Id, ColumnKind)>,
    /// Columns that are there already, and are completed last.
    pub checked: Vec<(Id, ColumnChange)>,
}

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
            ColumnKind::Multiple(kind) => ColumnKind::Multiple(Box::new(self.kind(kind))),
            other => other.clone(),
        }
    }

    /// Returns whether a value names a row that may come back later.
    pub fn is_early(&self, kind: &ColumnKind, value: &ColumnValue) -> bool {
        let ColumnKind::Lookup(list) = kind.single() else { return false };
        let is_missing =
            |value: &ColumnValue| matches!(value, ColumnValue::Lookup(row) if !self.rows.contains_key(row));
        self.lists.contains_key(list) && value.each().iter().any(is_missing)
    }

    /// Returns a value from the set as it comes back in a column of kind `kind`, which has the list in the set; `None`
    /// if it does not. Of several values, some may.
    pub fn value(&self, kind: &ColumnKind, value: &ColumnValue) -> Option<ColumnValue> {
        let one = kind.single();
        let back = value.each().iter().filter_map(|value| match value {
            ColumnValue::Lookup(row) => self.row(one, *row).map(ColumnValue::Lookup),
            value => comes_back(one, value).then(|| value.clone()),
        });
        ColumnValue::joined(kind, back.collect())
    }

    /// Returns the row that a value of a column of kind `kind` in the set names from now on; `None` if it is not there
    /// again.
    fn row(&self, kind: &ColumnKind, row: Id) -> Option<Id> {
        let ColumnKind::Lookup(list) = kind else { return None };
        match (self.rows.get(&row), self.lists.get(list)) {
            (Some(new), _) => Some(*new),
            // The list has a new identifier, so its former rows are those of another list.
            (None, Some(new)) if new != list => None,
            (None, _) => Some(row),
        }
    }
}

/// Returns whether a value from the set fits a column of the same kind here. A choice that is no longer offered does,
/// and so does a text that was accepted before; a link that a browser must not open does not.
fn comes_back(kind: &ColumnKind, value: &ColumnValue) -> bool {
    !matches!(kind, ColumnKind::Link) || kind.check(value).is_ok()
}

/// Returns the lists whose rows the columns of a place name.
fn named_lists(place: &Place) -> impl Iterator<Item = Id> + '_ {
    place.columns.columns.values().filter_map(|(_, kind)| match kind.single() {
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
