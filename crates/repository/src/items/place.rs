//! Renaming and moving: an item keeps its identifier, versions and own permissions; no byte is copied.

use database::Transaction;
use database::content::node::{self, NodeRow};
use database::content::{collection, lock, scope, tree};
use model::{Error, Id, Name, NodeKind, Result, Right, Timestamp, Versioning};

use crate::documents::library_of;
use crate::items::item::Item;
use crate::items::tree::{above, held_parent, lock_in, refuse_depth, refuse_held, subtree_rights};
use crate::session::guard::{Checked, Child, Guard};
use crate::session::locate::Located;
use crate::session::refusals::explain;
use crate::{Session, Target};

use super::aside::refuse_litter;

impl Session {
    /// Gives an item another name.
    pub async fn rename(&self, target: &Target, name: &Name) -> Result<Item> {
        self.rename_from(target, None, name).await
    }

    /// Gives an item another name, if its name is still the one that the caller saw.
    ///
    /// # Errors
    /// Those of [`Session::rename`]; conflict with code `overtaken` when it has neither that name nor the new one.
    pub async fn rename_from(&self, target: &Target, seen: Option<&str>, name: &Name) -> Result<Item> {
        let located = self.locate(target).await?;
        let right = match located.node().kind {
            NodeKind::Site => Right::ManageSite,
            NodeKind::Library => Right::ManageLibraries,
            NodeKind::Folder | NodeKind::Document => Right::Edit,
        };
        let guard = self.guard([(&located, right)])?;
        let Some(parent) = located.parent().map(|parent| parent.id) else {
            return Err(
                Error::conflict("the root site of a site collection has a title, not a name").with_code("wrong_kind")
            );
        };
        self.require_not_held(&located).await?;
        let (id, kind, name, path) = (located.node().id, located.node().kind, name.clone(), located.path());
        let seen = seen.map(ToOwned::to_owned);
        let write = move |transaction: &mut Transaction<'_>| {
            let checked = guard.check_for(transaction, kind)?;
            let row = lock_in(transaction, id, parent)?;
            if seen.as_ref().is_some_and(|seen| row.name != *seen && row.name != name.as_str()) {
                return Err(Error::conflict(format!("it was renamed to {} meanwhile", row.name)).with_code("overtaken"));
            }
            crate::session::refusals::require_free(&row, guard.caller(), None)?;
            refuse_litter(&row, &name)?;
            leave(transaction, &guard, &checked, &row)?;
            refuse_taken(transaction, &checked, parent, &name, id)?;
            node::place(transaction, id, parent, name.as_str(), &name.folded())?;
            if row.kind != NodeKind::Document {
                collection::change_tree(transaction, row.collection_id)?;
            } else {
                node::touch(transaction, id, Timestamp::now(), guard.caller())?;
            }
            guard.record(transaction, id, "item.rename", format!("{path} → {name}"))?;
            guard.item(transaction, id)
        };
        located.content.database.write(write).await.map_err(explain)
    }

    /// Moves a folder or document into another library or folder of the same site collection, under `name` if given.
    ///
    /// What inherits its permissions takes those of its new place; what has its own keeps them.
    pub async fn move_to(&self, target: &Target, to: &Target, name: Option<&Name>) -> Result<Item> {
        let located = self.locate(target).await?;
        let place = self.locate(to).await?;
        let name = match name {
            Some(name) => name.clone(),
            None => Name::new(located.node().name.clone())?,
        };
        if located.parent().is_some_and(|parent| parent.id == place.node().id) {
            return self.rename(target, &name).await;
        }
        check_places(&located, &place)?;
        let guard = self.guard([(&located, Right::Delete), (&place, Right::Add)])?;
        self.require_not_held(&located).await?;
        let old_parent = located.parent().map_or(Id::NONE, |parent| parent.id);
        let (id, to) = (located.node().id, place.node().id);
        let detail = format!("{} → {}/{name}", located.path(), place.path());
        let write = move |transaction: &mut Transaction<'_>| {
            let checked = guard.check_alone(transaction)?;
            let row = lock_in(transaction, id, old_parent)?;
            let parent = held_parent(transaction, to)?;
            let above = above(transaction, &parent)?;
            if above.contains(&id) {
                return Err(into_itself(&row.name));
            }
            subtree_rights(transaction, &checked.access, &row, Right::Delete)?;
            refuse_held(transaction, &checked, &row, guard.caller())?;
            refuse_depth(transaction, &above, id)?;
            refuse_taken(transaction, &checked, to, &name, id)?;
            refuse_litter(&row, &name)?;
            leave(transaction, &guard, &checked, &row)?;
            guard.require_unlocked(transaction, &checked, &parent)?;
            put_below(transaction, &checked, &row, &parent, &name)?;
            guard.record(transaction, id, "item.move", detail.as_str())?;
            guard.item(transaction, id)
        };
        let outcome = located.content.database.write(write).await.map_err(explain);
        self.name_holder(&located, outcome).await
    }
}

/// Refuses to take an item away from where it is while a lock is in the way, and ends the locks on it: they are for its place.
pub(super) fn leave(transaction: &mut Transaction<'_>, guard: &Guard, checked: &Checked, row: &NodeRow) -> Result<()> {
    if !checked.collection.has_locks {
        return Ok(());
    }
    guard.require_tree_unlocked(transaction, checked, row)?;
    let old = node::find(transaction, row.parent_id)?.ok_or_else(crate::session::refusals::no_item)?;
    guard.require_unlocked(transaction, checked, &old)?;
    lock::delete_below(transaction, row.id)
}

/// Puts an item with everything below it into another folder, unless that would publish what the caller may not publish.
pub(super) fn put_below(
    transaction: &mut Transaction<'_>,
    checked: &Checked,
    row: &NodeRow,
    to: &NodeRow,
    name: &Name,
) -> Result<()> {
    let owned = scope::of_node(transaction, row.id)?.is_some();
    let scope_after = if owned { row.scope_id } else { to.scope_id };
    if row.library_id != to.library_id || row.scope_id != scope_after {
        refuse_publishing(transaction, checked, row, to, scope_after)?;
    }
    node::place(transaction, row.id, to.id, name.as_str(), &name.folded())?;
    if !owned && row.scope_id != to.scope_id {
        tree::set_scope(transaction, row.id, row.scope_id, to.scope_id)?;
    }
    if row.library_id != to.library_id {
        tree::set_library(transaction, row.id, to.library_id)?;
    }
    if owned || row.kind != NodeKind::Document {
        collection::change_tree(transaction, row.collection_id)?;
    }
    Ok(())
}

/// Refuses to bring published documents before other readers where drafts are kept and the caller may not publish. A copy
/// arrives as a draft; an item that is moved keeps its versions, and those that are published are for all.
fn refuse_publishing(
    transaction: &mut Transaction<'_>,
    checked: &Checked,
    row: &NodeRow,
    to: &NodeRow,
    scope_after: Id,
) -> Result<()> {
    if library_of(transaction, to)?.versioning != Versioning::MajorMinor {
        return Ok(());
    }
    for scope in tree::published_scopes(transaction, row.id)? {
        let after = if scope == row.scope_id { scope_after } else { scope };
        let is_seen_as_before = row.library_id == to.library_id && after == scope;
        if !is_seen_as_before && !checked.access.rights(after).has(Right::Publish) {
            return Err(Error::forbidden(format!(
                "moving \"{}\" to \"{}\" would publish it there, for which you do not have the right \"publish\": copy it, \
                 and the copy is a draft",
                row.name, to.name
            ))
            .with_code("would_publish")
            .naming(&[row.name.as_str(), to.name.as_str()]));
        }
    }
    Ok(())
}

/// Refuses what cannot be moved or copied, and places that cannot take it.
pub(super) fn check_places(located: &Located, place: &Located) -> Result<()> {
    let (node, to) = (located.node(), place.node());
    if !matches!(node.kind, NodeKind::Folder | NodeKind::Document) {
        return Err(Error::conflict("only folders and documents can be moved and copied").with_code("wrong_kind"));
    }
    if !to.kind.holds_documents() {
        return Err(Error::conflict(format!("\"{}\" is a {}: choose a library or folder", to.name, to.kind.as_str()))
            .with_code("wrong_kind"));
    }
    if node.collection_id != to.collection_id {
        return Err(Error::conflict(
            "the two places are in different site collections: export from one and import into the other",
        )
        .with_code("other_collection"));
    }
    if place.chain.iter().any(|above| above.id == node.id) {
        return Err(into_itself(&node.name));
    }
    Ok(())
}

fn into_itself(name: &str) -> Error {
    Error::conflict(format!("\"{name}\" cannot be put into itself")).with_code("into_itself")
}

pub(super) fn refuse_taken(
    transaction: &mut Transaction<'_>,
    checked: &Checked,
    parent: Id,
    name: &Name,
    except: Id,
) -> Result<()> {
    match checked.child(transaction, parent, name)? {
        Child::Known(present) if present.id == except => Ok(()),
        found => found.require_free(name),
    }
}
