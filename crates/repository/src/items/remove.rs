//! Deleting: moves an item with all its contents into the recycle bin of the user who deleted it.

use async_recursion::async_recursion as boxed;
use database::content::node::NodeRow;
use database::content::recycle::{self, RecycledRow};
use database::content::{attachment, collection, placing, scope, tree};
use database::{Reader, Transaction};
use model::{Code, Error, Id, NodeKind, RecycleStage, Result, Right, Timestamp};

use crate::documents::{Preconditions, charge};
use crate::items::tree::{lock_in, refuse_held, subtree_rights};
use crate::session::guard::{Checked, Guard};
use crate::{Session, Target};

use super::moving::leave;
use super::save_sequence::loses_nothing;

impl Session {
    /// Moves an item to the caller's recycle bin. Returns the identifier of the entry, by which it can be restored.
    ///
    /// # Errors
    /// `NotFound`; `Forbidden` when a right is missing on the item or on anything below it; `Conflict` for the root
    /// site of a site collection; `Locked` when another user has checked out or locked the item or a document in it.
    #[boxed]
    pub async fn delete(&self, target: &Target) -> Result<Id> {
        self.delete_if(target, Preconditions::default()).await
    }

    /// Deletes as [`Session::delete`] does, if the current version meets the preconditions.
    ///
    /// # Errors
    /// Those of [`Session::delete`]; `Conflict` when a precondition fails.
    #[boxed]
    pub async fn delete_if(&self, target: &Target, preconditions: Preconditions) -> Result<Id> {
        Ok(self.remove(target, preconditions, false).await?.unwrap_or(Id::NONE))
    }

    /// Deletes as [`Session::delete_if`] does, on behalf of a file manager: files that programs keep for themselves
    /// beside documents, and files left over from saving one, are removed permanently.
    ///
    /// # Errors
    /// Those of [`Session::delete_if`].
    #[boxed]
    pub async fn delete_file(&self, target: &Target, preconditions: Preconditions) -> Result<()> {
        self.remove(target, preconditions, true).await.map(drop)
    }

    /// Deletes an item. All three methods above call it.
    async fn remove(&self, target: &Target, preconditions: Preconditions, by_file_manager: bool) -> Result<Option<Id>> {
        let known = self.locate(target).await?;
        let right = known.kind().right_to_change(Right::Delete);
        let located = known.to(right)?;
        let guard = self.guard([&located])?;
        let Some(parent) = located.parent().map(|parent| parent.id) else {
            return Err(Error::conflict(
                "the root site is removed with its site collection: ask an administrator of the farm to remove that",
            )
            .with_code(Code::WrongKind));
        };
        self.require_not_held(&located).await?;
        let (id, kind) = (located.node().id, located.node().kind);
        let (path, found) = (located.path(), located.clone());
        let has_contents = move |reader: &mut Reader<'_>| may_have_contents(reader, kind, id);
        let mut exclusive = located.content.database.read(has_contents).await?;
        let write = move |transaction: &mut Transaction<'_>, guard: &Guard, checked: &Checked| {
            let row = lock_in(transaction, id, parent)?;
            if !guard.is_exclusive() && may_have_contents(transaction, kind, id)? {
                return Ok(None);
            }
            preconditions.check(located.visible_version(&row))?;
            subtree_rights(transaction, &checked.access, &row, &[right])?;
            refuse_held(transaction, checked, &row, guard.caller())?;
            leave(transaction, guard, checked, &row)?;
            if by_file_manager && loses_nothing(transaction, guard, &row)? {
                erase(transaction, guard, &row)?;
                guard.record(transaction, id, "item.delete", path.as_str())?;
                return Ok(Some(None));
            }
            let entry = recycle(transaction, guard, &row, &path)?;
            guard.record(transaction, id, "item.delete", path.as_str())?;
            Ok(Some(Some(entry)))
        };
        loop {
            let guard = guard.clone().exclusive_when(exclusive).allow_reserved_space();
            let outcome = guard.write(write.clone()).await;
            match self.name_holder(&found, outcome).await? {
                Some(entry) => return Ok(entry),
                // Something was attached meanwhile.
                None => exclusive = true,
            }
        }
    }
}

/// Returns whether something can be in an item: in a container, and in a row with attachments. Rows are many, and are
/// deleted beside other changes if they have none.
fn may_have_contents(reader: &mut Reader<'_>, kind: NodeKind, id: Id) -> Result<bool> {
    Ok(kind.is_container() || kind == NodeKind::Row && attachment::count(reader, id, 1)? > 0)
}

/// Moves a row with everything below it into the caller's recycle bin and returns the identifier of the entry.
pub(crate) fn recycle(transaction: &mut Transaction<'_>, guard: &Guard, row: &NodeRow, path: &str) -> Result<Id> {
    let (size, documents) = tree::totals(transaction, row.id)?;
    let entry = RecycledRow {
        id: guard.next_id(),
        collection_id: row.collection_id,
        node_id: row.id,
        parent_id: row.parent_id,
        library_id: row.library_id,
        scope_id: row.scope_id,
        kind: row.kind,
        name: row.title.clone().filter(|title| !title.is_empty()).unwrap_or_else(|| row.name.clone()),
        path: path.to_owned(),
        stage: RecycleStage::Person,
        size,
        documents,
        deleted_at: Timestamp::now(),
        deleted_by: guard.caller(),
    };
    recycle::insert(transaction, &entry)?;
    placing::place(transaction, row.id, entry.id, &row.name, &row.folded)?;
    if changes_tree(transaction, row)? {
        collection::change_tree(transaction, row.collection_id)?;
    }
    Ok(entry.id)
}

/// Returns whether other transactions must learn that an item is gone: they may have found something in it, or rights
/// by its permissions.
fn changes_tree(transaction: &mut Transaction<'_>, row: &NodeRow) -> Result<bool> {
    Ok(may_have_contents(transaction, row.kind, row.id)? || scope::of_node(transaction, row.id)?.is_some())
}

/// Removes an item and its contents permanently.
pub(super) fn erase(transaction: &mut Transaction<'_>, guard: &Guard, row: &NodeRow) -> Result<()> {
    let (bytes, documents) = tree::totals(transaction, row.id)?;
    if changes_tree(transaction, row)? {
        collection::change_tree(transaction, row.collection_id)?;
    }
    tree::delete(transaction, row.id)?;
    charge(transaction, guard, None, row.collection_id, -bytes, -documents)
}
