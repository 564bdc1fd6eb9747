//! Creating folders, and finding names that are free.

use database::Transaction;
use database::content::node::{self, NodeRow};
use model::{Error, Id, Name, NodeKind, Result, Right, Timestamp};

use crate::content::view::Item;
use crate::documents::{explain, held_parent};
use crate::session::locate::check_depth;
use crate::{Session, Target};

impl Session {
    /// Creates a folder in a library or folder.
    pub async fn create_folder(&self, parent: &Target, name: &Name) -> Result<Item> {
        let located = self.locate(parent).await?;
        let guard = self.guard([(&located, Right::Add)])?;
        if !located.node().kind.holds_documents() {
            return Err(Error::conflict("folders are made in libraries and folders").with_code("wrong_kind"));
        }
        check_depth(&located, 0, name)?;
        let (parent, name, path) = (located.node().id, name.clone(), located.path());
        let write = move |transaction: &mut Transaction<'_>| {
            let checked = guard.check(transaction)?;
            if let Some(created) = guard.repetition.find(transaction)? {
                return guard.item(transaction, created);
            }
            let parent = held_parent(transaction, parent)?;
            guard.require_unlocked(transaction, &checked, &parent)?;
            checked.child(transaction, parent.id, &name)?.require_free(&name)?;
            let now = Timestamp::now();
            let folder = NodeRow::new(guard.next_id(), &parent, NodeKind::Folder, &name, guard.caller(), now);
            node::insert(transaction, &folder)?;
            guard.record(transaction, folder.id, "folder.create", format!("{path}/{name}"))?;
            guard.repetition.keep(transaction, folder.id)?;
            guard.item(transaction, folder.id)
        };
        located.content.database.write(write).await.map_err(explain)
    }
}

/// `name`, or `name (2)` and so on before its extension: the first that is free in `parent`.
#[expect(clippy::disallowed_methods, reason = "it tells that a name is taken, and nothing of what has it")]
pub(crate) fn free_name(transaction: &mut Transaction<'_>, parent: Id, name: &Name) -> Result<Name> {
    if node::find_child(transaction, parent, &name.folded())?.is_none() {
        return Ok(name.clone());
    }
    let text = name.as_str();
    let (stem, extension) = match text.rfind('.') {
        Some(dot) if dot > 0 => text.split_at(dot),
        _ => (text, ""),
    };
    for number in 2..1_000 {
        let suffix = format!(" ({number}){extension}");
        let room = model::MAX_NAME_CHARS.saturating_sub(suffix.chars().count());
        let stem: String = stem.chars().take(room).collect();
        let candidate = Name::new(format!("{}{suffix}", stem.trim_end()))?;
        if node::find_child(transaction, parent, &candidate.folded())?.is_none() {
            return Ok(candidate);
        }
    }
    Err(Error::conflict(format!("there are too many items named like \"{name}\" here")).with_code("name_taken"))
}
