//! Copying and moving to an exact name, replacing the item that has it: the semantics of file managers.
//!
//! A document that replaces another becomes its next version, so that the history stays with the name.

use async_recursion::async_recursion as boxed;
use database::Transaction;
use database::content::node::{self, NodeRow};
use database::content::version::{self, VersionRow};
use database::content::{displaced, lock, property};
use model::{Code, Error, Id, Name, NodeKind, Result, Right, Timestamp};

use crate::documents::{Succession, charge, library_of, record_replaced, succeed};
use crate::items::attachments::{Arrival, admit};
use crate::items::transfer_plan::{OverwriteTarget, Transfer, TransferPlan, Transferred};
use crate::items::tree::{above, held_parent, lock_in, refuse_depth, refuse_held, subtree_rights};
use crate::session::errors::{name_conflict, same_place};
use crate::session::guard::{Checked, Child, Guard};
use crate::session::locate::Located;
use crate::session::target::join;
use crate::{Session, Target};

use super::copy::{MAX_COPIED, subtree_to_copy};
use super::copy_items::Copier;
use super::moving::{check_places, leave, put_below};
use super::remove::{erase, recycle};
use super::save_sequence::{loses_nothing, refuse_litter};

impl Session {
    /// Copies a folder or document to exactly this name in a library or folder of the same site collection, in one
    /// transaction.
    ///
    /// # Errors
    /// `Conflict` with code `precondition_failed` when an item has the name and may not be overwritten; `Forbidden`
    /// with code `same_item` when the source itself has it.
    #[boxed]
    pub async fn copy_onto(&self, target: &Target, to: &Target, name: &Name, how: Transfer) -> Result<Transferred> {
        let (source, place) = (self.locate(target).await?, self.locate(to).await?);
        let source = source.viewed()?;
        check_places(&source, place.unchecked())?;
        let place = place.to(Right::Add)?;
        let guard = self.guard([&*source, &place])?;
        self.require_place_unlocked(&place).await?;
        let way = TransferPlan::new(guard, Located::clone(&source), &place, name, how);
        let guard = way.guard.clone().exclusive();
        guard.write(move |transaction, _, checked| way.clone().copy(transaction, checked)).await.map_err(name_conflict)
    }

    /// Moves a folder or document to exactly this name in a library or folder of the same site collection, in one
    /// transaction.
    ///
    /// # Errors
    /// Errors of [`Session::copy_onto`].
    #[boxed]
    pub async fn move_onto(&self, target: &Target, to: &Target, name: &Name, how: Transfer) -> Result<Transferred> {
        let (source, place) = (self.locate(target).await?, self.locate(to).await?);
        check_places(source.unchecked(), place.unchecked())?;
        let stays = source.unchecked().parent().is_some_and(|parent| parent.id == place.id());
        let right = if stays { Right::Edit } else { Right::Delete };
        let source = source.to(right)?;
        // A move within the same folder adds nothing, so it needs no right to add.
        let added = if stays { None } else { Some(place.clone().to(Right::Add)?) };
        let guard = self.guard([&source].into_iter().chain(&added))?;
        let place = place.unchecked();
        self.require_not_held(&source).await?;
        self.require_place_unlocked(place).await?;
        let way = TransferPlan::new(guard, Located::clone(&source), place, name, how);
        let guard = way.guard.clone().exclusive();
        let outcome = guard.write(move |transaction, _, checked| way.clone().shift(transaction, checked, right)).await;
        self.name_holder(&source, outcome.map_err(name_conflict)).await
    }
}

impl TransferPlan {
    fn new(guard: Guard, source: Located, place: &Located, name: &Name, how: Transfer) -> Self {
        Self { guard, source, to: place.node().id, to_path: place.path(), name: name.clone(), how }
    }

    fn copy(mut self, transaction: &mut Transaction<'_>, checked: &Checked) -> Result<Transferred> {
        self.source.access = checked.access.clone();
        let parent = held_parent(transaction, self.to)?;
        self.guard.require_unlocked(transaction, checked, &parent)?;
        let source = self.guard.lock_row(transaction, self.source.node().id)?;
        self.how.preconditions.check(self.source.visible_version(&source))?;
        let present = self.present(transaction, checked, &source)?;
        let replaced = present.is_some();
        if let Some(present) = present {
            if present.kind == NodeKind::Document && source.kind == NodeKind::Document {
                let visible = self.visible(transaction, &source)?;
                self.overwrite(transaction, checked, present.id, &visible, OverwriteTarget::Document)?;
                property::replace(transaction, source.id, present.id)?;
                return self.done(transaction, "item.copy", present.id, true);
            }
            self.clear(transaction, checked, &present)?;
        }
        admit(transaction, &self.guard, &parent, Arrival::New)?;
        let above = above(transaction, &parent)?;
        refuse_depth(transaction, &above, source.id)?;
        let mut copier = Copier::new(transaction, &self.guard, &self.source, source.library_id, &parent)?;
        let rows = if self.how.shallow { vec![source] } else { subtree_to_copy(transaction, source.id, MAX_COPIED)? };
        let top = copier.copy(transaction, &rows, &self.name)?;
        let quota = checked.collection.quota_bytes;
        charge(transaction, &self.guard, quota, checked.collection.id, copier.bytes, copier.documents)?;
        self.done(transaction, "item.copy", top, replaced)
    }

    fn shift(self, transaction: &mut Transaction<'_>, checked: &Checked, right: Right) -> Result<Transferred> {
        let old_parent = self.source.parent().map_or(Id::NONE, |parent| parent.id);
        let row = lock_in(transaction, self.source.node().id, old_parent)?;
        self.how.preconditions.check(self.source.visible_version(&row))?;
        let parent = held_parent(transaction, self.to)?;
        let above = above(transaction, &parent)?;
        if above.contains(&row.id) {
            return Err(Error::conflict(format!("\"{}\" cannot be moved or copied into itself", row.name))
                .with_code(Code::IntoItself));
        }
        if right == Right::Delete {
            subtree_rights(transaction, &checked.access, &row, &[right])?;
        }
        refuse_held(transaction, checked, &row, self.guard.caller())?;
        refuse_depth(transaction, &above, row.id)?;
        self.guard.require_unlocked(transaction, checked, &parent)?;
        let same_name = row.parent_id == parent.id && row.folded == self.name.folded();
        if same_name && row.name == self.name.as_str() {
            return Err(same_place());
        }
        refuse_litter(&row, &self.name)?;
        let present = if same_name { None } else { self.present(transaction, checked, &row)? };
        let replaced = present.is_some();
        let aside = self.puts_aside(transaction, &row)?;
        if let Some(present) = present {
            if present.kind == NodeKind::Document && row.kind == NodeKind::Document && !aside {
                return self.absorb(transaction, checked, &row, &present);
            }
            self.clear(transaction, checked, &present)?;
        } else if let Some(original) = self.find_set_aside(transaction, &row)? {
            if row.parent_id != parent.id {
                admit(transaction, &self.guard, &parent, Arrival::Back)?;
            }
            return self.restore_set_aside(transaction, checked, &row, &original);
        }
        if row.parent_id != parent.id {
            admit(transaction, &self.guard, &parent, Arrival::New)?;
        }
        if aside {
            self.set_aside(transaction, checked, &row)?;
        } else {
            leave(transaction, &self.guard, checked, &row)?;
            displaced::remove(transaction, row.id)?;
        }
        put_below(transaction, checked, &row, &parent, &self.name)?;
        self.done(transaction, "item.move", row.id, replaced)
    }

    /// Returns the item that has the name already. Refuses when it may not be overwritten.
    fn present(
        &self,
        transaction: &mut Transaction<'_>,
        checked: &Checked,
        source: &NodeRow,
    ) -> Result<Option<NodeRow>> {
        let present = match checked.child(transaction, self.to, &self.name)? {
            Child::Free => return Ok(None),
            Child::Known(present) => present,
            hidden @ Child::Hidden => return hidden.require_free(&self.name).map(|()| None),
        };
        if present.id == source.id {
            return Err(same_place());
        }
        if !self.how.overwrite {
            return Err(Error::conflict(format!(
                "\"{}\" already exists, and the request does not allow it to be overwritten",
                present.name
            ))
            .with_code(Code::PreconditionFailed));
        }
        if above(transaction, source)?.contains(&present.id) {
            return Err(Error::conflict(format!(
                "\"{}\" is in \"{}\" and cannot replace it",
                source.name, present.name
            ))
            .with_code(Code::IntoItself));
        }
        Ok(Some(present))
    }

    /// Makes room by moving the item that has the name to the recycle bin. An item whose removal loses nothing is
    /// erased.
    fn clear(&self, transaction: &mut Transaction<'_>, checked: &Checked, present: &NodeRow) -> Result<()> {
        let row = node::lock(transaction, present.id)?.ok_or_else(crate::session::errors::no_item)?;
        if !checked.access.rights(row.scope_id).has(Right::Delete) {
            return Err(Error::lacking(Right::Delete, &row.name));
        }
        subtree_rights(transaction, &checked.access, &row, &[Right::Delete])?;
        refuse_held(transaction, checked, &row, self.guard.caller())?;
        self.guard.require_tree_unlocked(transaction, checked, &row)?;
        lock::delete_below(transaction, row.id)?;
        let path = join(&self.to_path, &row.name);
        if loses_nothing(transaction, &self.guard, &row)? {
            erase(transaction, &self.guard, &row)?;
        } else {
            recycle(transaction, &self.guard, &row, &path)?;
        }
        self.guard.record(transaction, row.id, "item.delete", path)
    }

    pub(super) fn visible(&self, transaction: &mut Transaction<'_>, row: &NodeRow) -> Result<VersionRow> {
        let id = self.source.visible_version(row).ok_or_else(crate::session::errors::no_item)?;
        version::find(transaction, id)?
            .ok_or_else(|| Error::corrupt(format!("a version of \"{}\" is missing", row.name)))
    }

    /// Makes `content`, a version of another document, the next version of the document `id`.
    pub(super) fn overwrite(
        &self,
        transaction: &mut Transaction<'_>,
        checked: &Checked,
        id: Id,
        content: &VersionRow,
        onto: OverwriteTarget,
    ) -> Result<()> {
        let guard = &self.guard;
        let mut row = node::lock(transaction, id)?.ok_or_else(crate::session::errors::no_item)?;
        if !checked.access.rights(row.scope_id).has(Right::Edit) {
            return Err(Error::lacking(Right::Edit, &row.name));
        }
        guard.require_free(transaction, checked, &row)?;
        let settings = library_of(transaction, &row)?;
        let how = Succession {
            settings: &settings,
            skips_checkout: onto == OverwriteTarget::Leftover,
            publish: false,
            one_save: true,
            replaces_current: onto == OverwriteTarget::Leftover,
        };
        let now = Timestamp::now();
        let (stored, freed) =
            succeed(transaction, guard, checked, &how, &mut row, |transaction, row, number, working| {
                let stored = VersionRow {
                    id: guard.next_id(),
                    node_id: row.id,
                    number,
                    working,
                    created_at: now,
                    created_by: guard.caller(),
                    comment: String::new(),
                    ..content.clone()
                };
                version::insert(transaction, &stored)?;
                if !working {
                    row.size = stored.size;
                    row.media_type.clone_from(&stored.media_type);
                    row.version_id = Some(stored.id);
                    row.number = number;
                    row.published_id = if number.is_major() { Some(stored.id) } else { row.published_id };
                    row.modified_at = stored.modified_at;
                    row.modified_by = guard.caller();
                }
                Ok(stored)
            })?;
        let collection = &checked.collection;
        charge(transaction, guard, collection.quota_bytes, collection.id, stored.size - freed, 0)?;
        record_replaced(transaction, guard, &how, &join(&self.to_path, &row.name), &stored)
    }

    /// Makes a document that is moved over another its next version. A document made just for this save is then erased;
    /// any other goes to the recycle bin.
    fn absorb(
        &self,
        transaction: &mut Transaction<'_>,
        checked: &Checked,
        row: &NodeRow,
        onto: &NodeRow,
    ) -> Result<Transferred> {
        leave(transaction, &self.guard, checked, row)?;
        let visible = self.visible(transaction, row)?;
        self.overwrite(transaction, checked, onto.id, &visible, OverwriteTarget::Document)?;
        let fresh = self.is_fresh(transaction, row)?;
        // A file made for this save merges into the other document completely. Removing anything else is a deletion and
        // needs the right.
        if !fresh && !checked.access.rights(row.scope_id).has(Right::Delete) {
            return Err(Error::lacking(Right::Delete, &row.name));
        }
        // A program that saves over a document knows nothing of the properties that other clients store with it, so an
        // empty set does not replace them.
        if !fresh || property::totals(transaction, row.id)?.0 > 0 {
            property::replace(transaction, row.id, onto.id)?;
        }
        if fresh || loses_nothing(transaction, &self.guard, row)? {
            erase(transaction, &self.guard, row)?;
        } else {
            recycle(transaction, &self.guard, row, &self.source.path())?;
        }
        self.done(transaction, "item.move", onto.id, true)
    }

    pub(super) fn done(
        &self,
        transaction: &mut Transaction<'_>,
        action: &str,
        id: Id,
        replaced: bool,
    ) -> Result<Transferred> {
        let detail = format!("{} to {}", self.source.path(), join(&self.to_path, self.name.as_str()));
        self.guard.record(transaction, id, action, detail)?;
        Ok(Transferred { item: self.guard.item(transaction, id)?, replaced })
    }
}
