//! The rows of lists: changes of many at once, and their revisions.

mod batch;
mod change;
mod changing;
mod revisions;
mod workbook;

pub use change::{RowChange, RowOutcome};
pub use changing::{MAX_CHANGES, require_few_changes};
pub use revisions::RowRevision;
