//! Representation of items and versions for callers.

use model::{Accent, Code, Digest, Error, Id, NodeKind, Result, Rights, Timestamp, VersionNumber};

/// A user or group by identifier and name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Person {
    /// Identifier.
    pub id: Id,
    /// Display name.
    pub name: String,
}

/// A check-out: its holder and start time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CheckOut {
    /// The holder.
    pub by: Id,
    /// Start time.
    pub at: Timestamp,
}

/// An item as the caller sees it.
#[derive(Clone, Debug)]
pub struct Item {
    /// Identifier; stays the same when the item is renamed or moved.
    pub id: Id,
    /// Its kind.
    pub kind: NodeKind,
    /// Name. That of a row is its number.
    pub name: String,
    /// Title of a row; `None` for other items, and for a caller who may not open the row.
    pub title: Option<String>,
    /// Path in the farm.
    pub path: String,
    /// The site collection.
    pub collection_id: Id,
    /// The parent item; [`Id::NONE`] for a root site.
    pub parent_id: Id,
    /// The library that contains it; [`Id::NONE`] for a site.
    pub library_id: Id,
    /// Creation time. For a caller who may not open the item, this and the time of the last change are the epoch, and
    /// both users are [`Id::NONE`].
    pub created_at: Timestamp,
    /// User who created it.
    pub created_by: Id,
    /// Time of the visible version's last change.
    pub modified_at: Timestamp,
    /// User who changed it.
    pub modified_by: Id,
    /// Bytes of the visible version; 0 if it is not a document.
    pub size: u64,
    /// Media type of the visible version; empty if it is not a document.
    pub media_type: String,
    /// Number of the visible version.
    pub version: VersionNumber,
    /// The visible version of a document, or the revision of a row; `None` for other items.
    pub version_id: Option<Id>,
    /// True if the visible version is the holder's own working copy.
    pub working: bool,
    /// User who has it checked out, if any.
    pub check_out: Option<CheckOut>,
    /// The user who has it open for editing: the holder of the first lock that covers it. Set for single items and in
    /// listings of a container, not for search results.
    pub locked_by: Option<Id>,
    /// Number of the attachments of a row that the caller may see; `None` for other items, for a caller who may not
    /// open the row, and in search results.
    pub attachments: Option<u64>,
    /// Its content type.
    pub content_type_id: Option<Id>,
    /// The colour of its site collection. Set for single items only.
    pub accent: Accent,
    /// The caller's rights on it.
    pub rights: Rights,
    /// True if it has its own permissions instead of inherited ones.
    pub own_permissions: bool,
}

impl Item {
    /// Returns the title of a row, or the name of any other item.
    pub fn shown_name(&self) -> &str {
        self.title.as_deref().filter(|title| !title.is_empty()).unwrap_or(&self.name)
    }

    /// Returns the strong entity tag of the visible content, without quotes. It changes only with the content.
    pub fn etag(&self) -> String {
        etag(self.version_id.unwrap_or(self.id))
    }
}

/// Returns the strong entity tag of a version of a document, or of a revision of a row, without quotes.
pub fn etag(version: Id) -> String {
    format!("{:x}", version.get())
}

/// Returns the version or revision with an entity tag.
///
/// # Errors
/// `Invalid` for a text that is no entity tag.
pub fn version_of_etag(tag: &str) -> Result<Id> {
    u64::from_str_radix(tag, 16).map(|bits| Id::new(bits.cast_signed())).map_err(|_| {
        Error::invalid("an etag consists of hexadecimal digits: copy it from the field `etag` of the item")
            .with_code(Code::InvalidJson)
    })
}

/// A version of a document.
#[derive(Clone, Debug)]
pub struct Version {
    /// Identifier.
    pub id: Id,
    /// Its number.
    pub number: VersionNumber,
    /// Size in bytes.
    pub size: u64,
    /// Media type.
    pub media_type: String,
    /// Time at which it was stored.
    pub created_at: Timestamp,
    /// User who created it.
    pub created_by: Id,
    /// Comment by its author.
    pub comment: String,
    /// Digest of its bytes.
    pub digest: Digest,
    /// True if this is the version that readers see.
    pub current: bool,
}
