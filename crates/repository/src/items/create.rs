//! Creation of folders.

use async_recursion::async_recursion as boxed;
use database::Transaction;
use database::content::node::{self, NodeRow};
use model::{Code, Error, Name, NodeKind, Result, Right, Timestamp};

use crate::items::item::Item;
use crate::items::tree::held_parent;
use crate::session::errors::name_conflict;
use crate::session::guard::{Checked, Guard};
use crate::session::locate::check_depth;
use crate::{Session, Target};

impl Session {
    /// Creates a folder in a library or folder.
    #[boxed]
    pub async fn create_folder(&self, parent: &Target, name: &Name) -> Result<Item> {
        let located = self.locate(parent).await?.to(Right::Add)?;
        let guard = self.guard([&located])?;
        if !located.node().kind.holds_documents() {
            return Err(
                Error::conflict("folders can only be created in libraries and folders").with_code(Code::WrongKind)
            );
        }
        check_depth(&located, 0, name)?;
        let (parent, name, path) = (located.node().id, name.clone(), located.path());
        let write = move |transaction: &mut Transaction<'_>, guard: &Guard, checked: &Checked| {
            if let Some(created) = guard.repetition.find(transaction)? {
                return guard.item(transaction, created);
            }
            let parent = held_parent(transaction, parent)?;
            guard.require_unlocked(transaction, checked, &parent)?;
            checked.child(transaction, parent.id, &name)?.require_free(&name)?;
            let now = Timestamp::now();
            let folder = NodeRow::new(guard.next_id(), &parent, NodeKind::Folder, &name, guard.caller(), now);
            node::insert(transaction, &folder)?;
            guard.record(transaction, folder.id, "folder.create", format!("{path}/{name}"))?;
            guard.repetition.store_result(transaction, folder.id)?;
            guard.item(transaction, folder.id)
        };
        guard.write(write).await.map_err(name_conflict)
    }
}
