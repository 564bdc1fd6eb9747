//! Changes to the rows of a list, and their outcomes.

use model::{ColumnValue, Error, Id};

/// One change to the rows of a list.
#[derive(Clone, Debug)]
pub enum RowChange {
    /// Adds a row.
    Add {
        /// Columns with their values. Columns that are not named are empty.
        set: Vec<(Id, Option<ColumnValue>)>,
    },
    /// Changes fields of a row.
    Edit {
        /// The row.
        row: Id,
        /// The revision that the change is based on.
        revision: Option<Id>,
        /// Columns of `set` with the values they must hold now, unless `revision` is the present one. Without
        /// `revision` and without these, the change is made in any case.
        was: Vec<(Id, Option<ColumnValue>)>,
        /// Columns with their new values; `None` empties a field.
        set: Vec<(Id, Option<ColumnValue>)>,
    },
    /// Moves a row to the caller's recycle bin.
    Delete {
        /// The row.
        row: Id,
        /// The revision that must be the present one.
        revision: Option<Id>,
    },
}

impl RowChange {
    /// Returns the row that is edited or deleted.
    pub(super) fn row(&self) -> Option<Id> {
        match self {
            Self::Add { .. } => None,
            Self::Edit { row, .. } | Self::Delete { row, .. } => Some(*row),
        }
    }

    /// Returns whether a row is deleted.
    pub(super) fn deletes(&self) -> bool {
        matches!(self, Self::Delete { .. })
    }

    pub(super) fn values(&self) -> impl Iterator<Item = Option<&ColumnValue>> {
        let set = match self {
            Self::Add { set } | Self::Edit { set, .. } => set.as_slice(),
            Self::Delete { .. } => &[],
        };
        set.iter().map(|(_, value)| value.as_ref())
    }
}

/// The result of one change.
#[derive(Debug, Default)]
pub struct RowOutcome {
    /// The row; `None` for one that was not added.
    pub row: Option<Id>,
    /// The revision after the change, or the present one if the change was refused.
    pub revision: Option<Id>,
    /// The reason why the change was refused.
    pub error: Option<Error>,
    /// After a conflict: the present values of the columns that the change was to set.
    pub present: Vec<(Id, Option<ColumnValue>)>,
}
