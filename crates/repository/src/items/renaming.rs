//! Renaming and moving: an item keeps its identifier, versions and own permissions; no bytes are copied.

use async_recursion::async_recursion as boxed;
use database::Transaction;
use database::content::{collection, node, placing};
use model::{Code, Error, Id, Name, NodeKind, Result, Right, Timestamp};

use crate::items::attachments::{Arrival, admit};
use crate::items::containers::{refuse_collection_address, refuse_collections_below};
use crate::items::item::Item;
use crate::items::moving::{check_move, into_itself, leave, put_below, refuse_taken, require_leave};
use crate::items::tree::{above, held_parent, lock_in, refuse_depth, refuse_held};
use crate::session::errors::name_conflict;
use crate::session::guard::{Checked, Guard};
use crate::{Session, Target};

use super::save_sequence::refuse_litter;

impl Session {
    /// Renames an item.
    #[boxed]
    pub async fn rename(&self, target: &Target, name: &Name) -> Result<Item> {
        self.rename_from(target, None, name).await
    }

    /// Renames an item if its name is still the one that the caller saw.
    ///
    /// # Errors
    /// Errors of [`Session::rename`]; `Conflict` with code `overtaken` when the item has neither that name nor the new
    /// one.
    #[boxed]
    pub async fn rename_from(&self, target: &Target, seen: Option<&str>, name: &Name) -> Result<Item> {
        let known = self.locate(target).await?;
        let right = known.kind().right_to_change(Right::Edit);
        let located = known.to(right)?;
        if located.node().kind == NodeKind::Row {
            return Err(Error::conflict("the number of a row cannot be changed: change its title instead")
                .with_code(Code::WrongKind));
        }
        let guard = self.guard([&located])?;
        let Some(parent) = located.parent().map(|parent| parent.id) else {
            return Err(Error::conflict("the root site of a site collection has a title, not a name")
                .with_code(Code::WrongKind));
        };
        self.require_not_held(&located).await?;
        let (id, kind, name, path) = (located.node().id, located.node().kind, name.clone(), located.path());
        let seen = seen.map(ToOwned::to_owned);
        let write = move |transaction: &mut Transaction<'_>, guard: &Guard, checked: &Checked| {
            let row = lock_in(transaction, id, parent)?;
            if seen.as_ref().is_some_and(|seen| row.name != *seen && row.name != name.as_str()) {
                return Err(Error::conflict(format!("it was renamed to {} in the meantime", row.name))
                    .with_code(Code::Overtaken));
            }
            crate::session::errors::require_free(&row, guard.caller(), None)?;
            refuse_litter(&row, &name)?;
            leave(transaction, guard, checked, &row)?;
            refuse_taken(transaction, checked, parent, &name, id)?;
            placing::place(transaction, id, parent, name.as_str(), &name.folded())?;
            if row.kind.is_container() {
                collection::change_tree(transaction, row.collection_id)?;
            } else {
                node::touch(transaction, id, Timestamp::now(), guard.caller())?;
            }
            guard.record(transaction, id, "item.rename", format!("{path} → {name}"))?;
            guard.item(transaction, id)
        };
        guard.exclusive_unless_leaf(kind).write(write).await.map_err(name_conflict)
    }

    /// Moves an item to another place in the same site collection, under `name` if given: a folder or document into a
    /// library or folder, a row into a list, and a site, library or list into a site. Libraries and lists need the
    /// right to manage them on both sites, to delete everything in them, and to override if they publish by approval;
    /// sites need the right to manage sites as well.
    ///
    /// Items with inherited permissions inherit those of the destination; items with their own permissions keep them.
    ///
    /// A row gets the next number of the list, and is checked there as a new one. Its attachments and versions go
    /// along.
    ///
    /// # Errors
    /// `Conflict` with code `wrong_kind`, also for a row with a name, `other_collection` or `into_itself`. Of a row:
    /// `Forbidden` with code `same_item` if it is in the list already, those of a new row with these values, and
    /// `Conflict` with code `missing_columns` if the list has no place for a value, or `attachments_off`.
    #[boxed]
    pub async fn move_to(&self, target: &Target, to: &Target, name: Option<&Name>) -> Result<Item> {
        let (known, place) = (self.locate(target).await?, self.locate(to).await?);
        let (source, to) = (known.unchecked(), place.unchecked());
        if known.kind() == NodeKind::Row {
            return self.move_row(known, place, name).await;
        }
        let name = match name {
            Some(name) => name.clone(),
            None => Name::new(source.node().name.clone())?,
        };
        if source.parent().is_some_and(|parent| parent.id == place.id()) {
            return self.rename(target, &name).await;
        }
        check_move(source, to)?;
        let right = known.kind().right_to_change(Right::Delete);
        let is_site = known.kind() == NodeKind::Site;
        let may_manage_libraries = is_site.then(|| place.clone().to(Right::ManageLibraries)).transpose()?;
        let located = known.to(right)?;
        let place = place.to(if right == Right::Delete { Right::Add } else { right })?;
        if place.node().kind == NodeKind::Site {
            refuse_collection_address(&place, &name)?;
        }
        if is_site {
            refuse_collections_below(&place.registry, &place.path(), &name)?;
        }
        let guard = self.guard([&located, &place].into_iter().chain(&may_manage_libraries))?;
        self.require_not_held(&located).await?;
        let old_parent = located.parent().map_or(Id::NONE, |parent| parent.id);
        let (id, to) = (located.node().id, place.node().id);
        let detail = format!("{} → {}/{name}", located.path(), place.path());
        let write = move |transaction: &mut Transaction<'_>, guard: &Guard, checked: &Checked| {
            let row = lock_in(transaction, id, old_parent)?;
            let parent = held_parent(transaction, to)?;
            let above = above(transaction, &parent)?;
            if above.contains(&id) {
                return Err(into_itself(&row.name));
            }
            require_leave(transaction, checked, &row, right)?;
            refuse_held(transaction, checked, &row, guard.caller())?;
            refuse_depth(transaction, &above, id)?;
            refuse_taken(transaction, checked, to, &name, id)?;
            refuse_litter(&row, &name)?;
            leave(transaction, guard, checked, &row)?;
            guard.require_unlocked(transaction, checked, &parent)?;
            admit(transaction, guard, &parent, Arrival::New)?;
            put_below(transaction, checked, &row, &parent, &name)?;
            guard.record(transaction, id, "item.move", detail.as_str())?;
            guard.item(transaction, id)
        };
        let outcome = guard.exclusive().write(write).await.map_err(name_conflict);
        self.name_holder(&located, outcome).await
    }
}
