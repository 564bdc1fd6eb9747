//! Parameters, state and result of one copy or move.

use model::{Id, Name};

use crate::documents::Preconditions;
use crate::items::item::Item;
use crate::session::guard::Guard;
use crate::session::locate::Located;

/// Options of a copy or move.
#[derive(Clone, Debug, Default)]
pub struct Transfer {
    /// Replaces an item that has the name already.
    pub overwrite: bool,
    /// Preconditions on the document that is copied or moved.
    pub preconditions: Preconditions,
    /// Copies a folder without its contents.
    pub shallow: bool,
}

/// Result of a copy or move.
#[derive(Clone, Debug)]
pub struct Transferred {
    /// The item at its destination.
    pub item: Item,
    /// True if an existing item was replaced.
    pub replaced: bool,
}

/// Target that a version of another document is written to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OverwriteTarget {
    /// A document, as its next version.
    Document,
    /// The leftover file of a save, replacing its current version.
    Leftover,
}

/// Data of one copy or move transaction. Cloned for each attempt.
#[derive(Clone)]
pub(super) struct TransferPlan {
    pub(super) guard: Guard,
    pub(super) source: Located,
    pub(super) to: Id,
    pub(super) to_path: String,
    pub(super) name: Name,
    pub(super) how: Transfer,
}
