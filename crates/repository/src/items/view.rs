//! The caller's view of items and versions.

use database::Reader;
use database::content::node::NodeRow;
use database::content::version::{self, VersionRow};
use model::{Accent, Error, Id, NodeKind, Result, Right, Timestamp, unsigned};

use crate::items::attachments::set_attachments;
use crate::items::item::{CheckOut, Item, Version};
use crate::locks::covering;
use crate::session::locate::Located;

impl Located {
    /// Returns the item as the caller sees it.
    pub(crate) fn item(&self, reader: &mut Reader<'_>) -> Result<Item> {
        let inherited = self.parent().map(|parent| parent.scope_id);
        let mut item = self.view(reader, self.node(), self.path(), inherited)?;
        item.accent = self.registry.collection(self.collection.id)?.accent;
        if item.rights.has(Right::View) {
            item.locked_by = covering(reader, self)?.first().map(|lock| lock.owner_id);
        }
        set_attachments(reader, &self.access, std::slice::from_mut(&mut item))?;
        Ok(item)
    }

    /// Returns a child of the item as the caller sees it.
    pub(crate) fn child(&self, reader: &mut Reader<'_>, node: &NodeRow, path: &str) -> Result<Item> {
        let path = if path.is_empty() { node.name.clone() } else { format!("{path}/{}", node.name) };
        self.view(reader, node, path, Some(self.node().scope_id))
    }

    /// Returns the item for a caller who sees the latest version.
    pub(crate) fn latest(&self) -> Item {
        self.plain(self.node(), self.path(), self.parent().map(|parent| parent.scope_id))
    }

    fn view(&self, reader: &mut Reader<'_>, node: &NodeRow, path: String, inherited: Option<Id>) -> Result<Item> {
        let mut item = self.plain(node, path, inherited);
        // A caller who sees a version other than the latest also sees that version's size, author and time.
        if node.kind == NodeKind::Document && item.version_id != node.version_id {
            let id = item.version_id.ok_or_else(crate::session::errors::no_item)?;
            let version = version::find(reader, id)?
                .ok_or_else(|| Error::corrupt(format!("a version of \"{}\" is missing", node.name)))?;
            item.size = unsigned(version.size);
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
        // An item shown only because it leads to another one reveals its name and nothing more.
        let opens = rights.has(Right::View);
        let told = |at: Timestamp, by: Id| if opens { (at, by) } else { (Timestamp::from_micros(0), Id::NONE) };
        let (created, modified) = (told(node.created_at, node.created_by), told(node.modified_at, node.modified_by));
        Item {
            id: node.id,
            kind: node.kind,
            name: node.name.clone(),
            title: node.title.clone().filter(|_| opens),
            path,
            collection_id: node.collection_id,
            parent_id: node.parent_id,
            library_id: node.library_id,
            created_at: created.0,
            created_by: created.1,
            modified_at: modified.0,
            modified_by: modified.1,
            size: unsigned(node.size),
            media_type: node.media_type.clone(),
            version: node.number,
            version_id: visible,
            working: false,
            check_out: node.holder_id.zip(node.held_at).map(|(by, at)| CheckOut { by, at }),
            locked_by: None,
            attachments: None,
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
            size: unsigned(row.size),
            media_type: row.media_type.clone(),
            created_at: row.created_at,
            created_by: row.created_by,
            comment: row.comment.clone(),
            digest: row.digest,
            current: self.node().published_id == Some(row.id),
        }
    }
}
