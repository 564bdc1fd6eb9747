//! What callers are told of items and versions.

use model::{Accent, Digest, Id, NodeKind, Rights, Timestamp, VersionNumber};

/// A user or group by identifier and name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Person {
    /// Identifier.
    pub id: Id,
    /// Name that people see.
    pub name: String,
}

/// Who holds a document, and since when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CheckOut {
    /// The holder.
    pub by: Id,
    /// Since when.
    pub at: Timestamp,
}

/// An item as the caller sees it.
#[derive(Clone, Debug)]
pub struct Item {
    /// Identifier; stays the same when the item is renamed or moved.
    pub id: Id,
    /// What it is.
    pub kind: NodeKind,
    /// Its name.
    pub name: String,
    /// Path in the farm.
    pub path: String,
    /// The site collection.
    pub collection_id: Id,
    /// The item that holds it; [`Id::NONE`] for a root site.
    pub parent_id: Id,
    /// The library that it is in; [`Id::NONE`] for a site.
    pub library_id: Id,
    /// When it was created; the epoch, by nobody, for who may not open it. So is its change.
    pub created_at: Timestamp,
    /// By whom.
    pub created_by: Id,
    /// When the visible version was last changed.
    pub modified_at: Timestamp,
    /// By whom.
    pub modified_by: Id,
    /// Bytes of the visible version, 0 for what is not a document.
    pub size: u64,
    /// Media type of the visible version, empty for what is not a document.
    pub media_type: String,
    /// Number of the visible version.
    pub version: VersionNumber,
    /// The visible version; none for what is not a document.
    pub version_id: Option<Id>,
    /// Whether the visible version is the holder's own working copy.
    pub working: bool,
    /// Who has it checked out.
    pub check_out: Option<CheckOut>,
    /// Who has it open for edit: the holder of the first lock that covers it. Looked up for single items and in listings
    /// of a place, not for what is found elsewhere.
    pub locked_by: Option<Id>,
    /// Its content type.
    pub content_type_id: Option<Id>,
    /// The colour of the site collection that it is in. Looked up for single items only.
    pub accent: Accent,
    /// What the caller may do with it.
    pub rights: Rights,
    /// Whether it has permissions of its own instead of inherited ones.
    pub own_permissions: bool,
}

impl Item {
    /// The strong entity tag of the visible content, without quotes; changes only with content.
    pub fn etag(&self) -> String {
        etag(self.version_id.unwrap_or(self.id))
    }
}

/// The strong entity tag of a version, without quotes.
pub(crate) fn etag(version: Id) -> String {
    format!("{:x}", version.get())
}

/// A version of a document.
#[derive(Clone, Debug)]
pub struct Version {
    /// Identifier.
    pub id: Id,
    /// Its number.
    pub number: VersionNumber,
    /// Bytes.
    pub size: u64,
    /// Media type.
    pub media_type: String,
    /// When it was stored.
    pub created_at: Timestamp,
    /// By whom.
    pub created_by: Id,
    /// What its author said about it.
    pub comment: String,
    /// Identity of its bytes.
    pub digest: Digest,
    /// Whether readers see this one.
    pub current: bool,
}
