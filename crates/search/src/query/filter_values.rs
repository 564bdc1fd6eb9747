//! What filters of a query compare: versions, people and places, where documents lie, and what is known of them now.

use std::collections::HashSet;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use model::{Id, Timestamp};

/// Versions that somebody has seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeenVersions {
    /// Versions that were changed before this time count as seen.
    pub through: Timestamp,
    /// Versions of later changes that were seen.
    pub versions: HashSet<Id>,
}

impl SeenVersions {
    /// Returns whether a version of a change at this time was seen.
    pub fn has(&self, version: Id, modified: Timestamp) -> bool {
        modified < self.through || self.versions.contains(&version)
    }
}

/// What a document is to the caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// Created by the caller.
    Mine,
    /// The version that the caller sees is a draft.
    Draft,
    /// Followed by the caller.
    Followed,
    /// Checked out by anyone.
    CheckedOut,
}

/// A name in a query, to be replaced by what it stands for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Reference {
    /// The kind of thing that it names.
    pub kind: ReferenceKind,
    /// The name as it was entered.
    pub name: String,
    /// Where it stands, in bytes of the query.
    pub range: Range<usize>,
}

/// A kind of thing that a query can name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ReferenceKind {
    /// The creator of documents, or the author that their contents state.
    Author,
    /// The creator of documents.
    Creator,
    /// The author of the last change.
    Editor,
    /// A site.
    Site,
    /// A library.
    Library,
    /// A site, library or folder.
    Container,
}

impl ReferenceKind {
    /// Returns whether it is a person.
    pub fn is_person(self) -> bool {
        matches!(self, Self::Author | Self::Creator | Self::Editor)
    }
}

/// Where a document lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    /// The document.
    pub node: Id,
    /// Its site collection.
    pub collection: Id,
    /// Its place, as it was indexed.
    pub place: Id,
    /// The library of its values, as it was indexed; [`Id::NONE`] if it has no values.
    pub library: Id,
}

/// Decides whether a document lies in a container or below it.
#[derive(Clone)]
pub struct Within(pub Arc<dyn Fn(Position) -> bool + Send + Sync>);

impl fmt::Debug for Within {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Within")
    }
}

impl PartialEq for Within {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Within {}

/// Knows documents that were checked out or in since they were indexed: returns whether one is checked out now; `None`
/// if that is not known.
#[derive(Clone)]
pub struct CheckOuts(pub Arc<dyn Fn(Id) -> Option<bool> + Send + Sync>);

impl fmt::Debug for CheckOuts {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("CheckOuts")
    }
}

impl PartialEq for CheckOuts {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for CheckOuts {}
