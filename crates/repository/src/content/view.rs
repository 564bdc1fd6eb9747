//! What callers see of items and versions.

use database::Reader;
use database::content::node::NodeRow;
use database::content::version::{self, VersionRow};
use model::{Accent, Digest, Error, Id, NodeKind, Result, Right, Rights, Timestamp, VersionNumber};

use crate::locks::covering;
use crate::session::locate::Located;

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

pub(crate) fn size(bytes: i64) -> u64 {
    u64::try_from(bytes).unwrap_or(0)
}

impl Located {
    /// The item as the caller sees it.
    pub(crate) fn item(&self, reader: &mut Reader<'_>) -> Result<Item> {
        let inherited = self.parent().map(|parent| parent.scope_id);
        let mut item = self.view(reader, self.node(), self.path(), inherited)?;
        item.accent = self.map.collection(self.collection.id)?.accent;
        if item.rights.has(Right::View) {
            item.locked_by = covering(reader, self)?.first().map(|lock| lock.owner_id);
        }
        Ok(item)
    }

    /// A child of the item as the caller sees it.
    pub(crate) fn child(&self, reader: &mut Reader<'_>, node: &NodeRow, path: &str) -> Result<Item> {
        let path = if path.is_empty() { node.name.clone() } else { format!("{path}/{}", node.name) };
        self.view(reader, node, path, Some(self.node().scope_id))
    }

    /// The item as a caller sees it who sees the latest version.
    pub(crate) fn latest(&self) -> Item {
        self.plain(self.node(), self.path(), self.parent().map(|parent| parent.scope_id))
    }

    fn view(&self, reader: &mut Reader<'_>, node: &NodeRow, path: String, inherited: Option<Id>) -> Result<Item> {
        let mut item = self.plain(node, path, inherited);
        // Who sees another version than the latest also sees that version's size, author and time.
        if node.kind == NodeKind::Document && item.version_id != node.version_id {
            let id = item.version_id.ok_or_else(crate::session::locate::no_item)?;
            let version = version::find(reader, id)?
                .ok_or_else(|| Error::corrupt(format!("a version of \"{}\" is missing", node.name)))?;
            item.size = size(version.size);
            item.media_type = version.media_type;
            item.version = version.number;
            item.working = version.working;
            item.modified_at = version.modified_at;
            item.modified_by = version.created_by;
        }
        if !item.rights.has(Right::View) {
            item.size = 0;
        }
        Ok(item)
    }

    fn plain(&self, node: &NodeRow, path: String, inherited: Option<Id>) -> Item {
        let visible = self.visible_version(node);
        let rights = self.access.rights(node.scope_id);
        // Of an item on the way to another one, only the name is told.
        let opens = rights.has(Right::View);
        let told = |at: Timestamp, by: Id| if opens { (at, by) } else { (Timestamp::from_micros(0), Id::NONE) };
        let (created, modified) = (told(node.created_at, node.created_by), told(node.modified_at, node.modified_by));
        Item {
            id: node.id,
            kind: node.kind,
            name: node.name.clone(),
            path,
            collection_id: node.collection_id,
            parent_id: node.parent_id,
            library_id: node.library_id,
            created_at: created.0,
            created_by: created.1,
            modified_at: modified.0,
            modified_by: modified.1,
            size: size(node.size),
            media_type: node.media_type.clone(),
            version: node.number,
            version_id: visible,
            working: false,
            check_out: node.holder_id.zip(node.held_at).map(|(by, at)| CheckOut { by, at }),
            locked_by: None,
            content_type_id: node.content_type_id,
            accent: Accent::default(),
            rights,
            own_permissions: opens && inherited.is_none_or(|scope| scope != node.scope_id),
        }
    }

    pub(crate) fn version(&self, row: &VersionRow) -> Version {
        Version {
            id: row.id,
            number: row.number,
            size: size(row.size),
            media_type: row.media_type.clone(),
            created_at: row.created_at,
            created_by: row.created_by,
            comment: row.comment.clone(),
            digest: row.digest,
            current: self.node().published_id == Some(row.id),
        }
    }
}
