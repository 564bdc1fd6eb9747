//! Decisions about the entries that a caller may find.

use std::collections::HashSet;

use model::Id;

use super::entry::Audience;
use super::local::Candidate;

/// Decides what the caller may find: one entry at a time for an index in a directory, and as sets for an index on a
/// search server. Both must say the same.
pub trait Admission {
    /// Returns whether the caller may find an entry.
    fn admit(&self, entry: &Candidate<'_>) -> bool;

    /// Returns the place of an admitted entry as it is now.
    fn place(&self, entry: &Candidate<'_>) -> Id {
        entry.place()
    }

    /// The caller, who created documents and holds working copies.
    fn caller(&self) -> Id;

    /// Returns what the caller may find of the entries in a place that did not change.
    fn access(&self, key: &PlaceKey) -> PlaceAccess;

    /// Returns the documents that changed since the index was committed, each with the entries that are still valid.
    /// All other entries of these documents are outdated.
    fn changed(&self) -> Vec<ChangedDocument> {
        Vec::new()
    }
}

/// Where an entry was indexed. All entries in a place are judged alike, except for drafts and working copies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PlaceKey {
    /// The site collection.
    pub collection: Id,
    /// The place.
    pub place: Id,
    /// The library of the values; [`Id::NONE`] if there are none.
    pub library: Id,
}

/// The entries in a place that a caller may find.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlaceAccess {
    /// Nothing.
    None,
    /// Entries for everyone who may view the documents, and drafts of documents that the caller created.
    View,
    /// Drafts too.
    ViewDrafts,
}

/// A document that changed since the index was committed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangedDocument {
    /// The document.
    pub node: Id,
    /// Its entries that are still valid.
    pub entries: Vec<ValidEntry>,
}

/// An entry of a changed document that is still valid, except for its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ValidEntry {
    /// The version.
    pub version: Id,
    /// Its audience.
    pub audience: Audience,
    /// Holder of a working copy; [`Id::NONE`] if there is none.
    pub holder: Id,
    /// Print of the name.
    pub name_print: u64,
    /// The site collection.
    pub collection: Id,
    /// The place now.
    pub place: Id,
    /// True if the caller may find it.
    pub is_admitted: bool,
    /// The libraries whose values may have been indexed, [`Id::NONE`] among them for no values.
    pub libraries: HashSet<Id>,
}
