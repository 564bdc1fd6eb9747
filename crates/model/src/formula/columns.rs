//! The columns that formulas can read, found by name or identifier.

use std::collections::HashMap;

use crate::{ColumnKind, Id, fold};

/// A column that formulas can read.
#[derive(Clone, Copy, Debug)]
pub struct FormulaColumn<'a> {
    /// Identifier.
    pub id: Id,
    /// Name.
    pub name: &'a str,
    /// Type of its values.
    pub kind: &'a ColumnKind,
}

/// The columns of a list.
pub struct Columns<'a> {
    columns: &'a [FormulaColumn<'a>],
    by_id: HashMap<Id, FormulaColumn<'a>>,
    /// The first column of each folded name.
    by_name: HashMap<String, FormulaColumn<'a>>,
}

impl<'a> Columns<'a> {
    /// Prepares the search.
    pub fn new(columns: &'a [FormulaColumn<'a>]) -> Self {
        let (mut by_id, mut by_name) = (HashMap::new(), HashMap::new());
        for column in columns {
            by_id.entry(column.id).or_insert(*column);
            by_name.entry(fold(column.name.trim())).or_insert(*column);
        }
        Self { columns, by_id, by_name }
    }

    /// Finds a column by what stands between brackets: a name in whatever case, or `#` and an identifier.
    pub fn find(&self, name: &str) -> Option<FormulaColumn<'a>> {
        match name.strip_prefix('#').and_then(|id| id.parse().ok()) {
            Some(id) => self.by_id.get(&id).copied(),
            None => self.by_name.get(&fold(name.trim())).copied(),
        }
    }

    /// Returns the name of a column, if [`Columns::find`] finds this column by it.
    pub fn name(&self, id: Id) -> Option<&'a str> {
        let name = self.by_id.get(&id)?.name;
        self.find(name).filter(|found| found.id == id).map(|_| name)
    }

    /// Returns the names of the first columns, and whether there are more.
    pub fn first(&self, most: usize) -> (impl Iterator<Item = &'a str>, bool) {
        (self.columns.iter().take(most).map(|column| column.name), self.columns.len() > most)
    }
}
