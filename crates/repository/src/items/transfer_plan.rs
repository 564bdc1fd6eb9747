//! What is moved or copied over what, and what comes of it.

use model::{Id, Name};

use crate::documents::Preconditions;
use crate::items::item::Item;
use crate::session::guard::Guard;
use crate::session::locate::Located;

/// How to copy or move.
#[derive(Clone, Debug, Default)]
pub struct Transfer {
    /// Whether what has the name already gives way.
    pub overwrite: bool,
    /// What must hold for the document that is copied or moved.
    pub preconditions: Preconditions,
    /// Of a folder that is copied, only itself.
    pub shallow: bool,
}

/// What came of it.
#[derive(Clone, Debug)]
pub struct Transferred {
    /// The item at its new place.
    pub item: Item,
    /// Whether there was something in the way that gave way.
    pub replaced: bool,
}

/// What a version of another document is written to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Onto {
    /// A document, as its next version.
    Document,
    /// The file that a save leaves, in the place of the version that it has.
    Leftover,
}

/// What a transaction needs for one copy or move; cloned for each attempt.
#[derive(Clone)]
pub(super) struct Way {
    pub(super) guard: Guard,
    pub(super) source: Located,
    pub(super) to: Id,
    pub(super) to_path: String,
    pub(super) name: Name,
    pub(super) how: Transfer,
}
