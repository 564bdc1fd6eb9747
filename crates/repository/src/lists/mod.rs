//! The rows of lists: changes of many at once, moves to other lists, and revisions.

mod batch;
mod change;
mod changing;
mod moving;
mod revisions;
mod workbook;

pub use change::{RowChange, RowOutcome};
pub use changing::{MAX_CHANGES, require_few_changes};
pub use revisions::RowRevision;
