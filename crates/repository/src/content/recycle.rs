//! The recycle bin, in two stages: first the personal bin, then the site bin.

use async_recursion::async_recursion as boxed;
use database::content::recycle::{self, RecycledRow};
use database::content::{collection, node, placing, scope, tree};
use database::{Reader, Transaction};
use model::{Code, Error, Id, MAX_PAGE, Name, NodeKind, RecycleStage, Result, Right, Timestamp, unsigned};

use crate::Session;
use crate::content::permanent_delete;
use crate::items::attachments::{Arrival, admit};
use crate::items::item::Item;
use crate::items::page::Page;
use crate::items::tree::{above, free_name, held_parent, refuse_depth};
use crate::session::errors::name_conflict;
use crate::session::guard::{Checked, Guard};
use crate::session::root::Root;

/// A stage of the recycle bin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bin {
    /// Items that the caller deleted.
    Mine,
    /// All items deleted in the site collection; needs the right to manage the site.
    Site,
}

/// One deletion in a recycle bin.
#[derive(Clone, Debug)]
pub struct RecycledItem {
    /// Identifier of the entry.
    pub id: Id,
    /// The deleted item.
    pub node_id: Id,
    /// Its kind.
    pub kind: NodeKind,
    /// Name of the deleted item, or the title of a deleted row.
    pub name: String,
    /// Former location.
    pub path: String,
    /// Total bytes of all its versions.
    pub size: u64,
    /// Number of documents.
    pub documents: u64,
    /// Time of the deletion.
    pub deleted_at: Timestamp,
    /// User who deleted it.
    pub deleted_by: Id,
    /// Set when the entry is in the site bin because the user removed it from their personal bin.
    pub second_stage: bool,
}

impl From<RecycledRow> for RecycledItem {
    fn from(row: RecycledRow) -> Self {
        Self {
            id: row.id,
            node_id: row.node_id,
            kind: row.kind,
            name: row.name,
            path: row.path,
            size: unsigned(row.size),
            documents: unsigned(row.documents),
            deleted_at: row.deleted_at,
            deleted_by: row.deleted_by,
            second_stage: row.stage == RecycleStage::Site,
        }
    }
}

impl Session {
    /// Returns a page of a recycle bin, newest first.
    ///
    /// # Errors
    /// `NotFound` for a site collection that the caller may not know of; `Forbidden` when the caller may not see the
    /// bin of the site.
    #[boxed]
    pub async fn recycled(
        &self,
        collection: Id,
        bin: Bin,
        before: Option<Id>,
        limit: usize,
    ) -> Result<Page<RecycledItem, Id>> {
        let limit = limit.clamp(1, MAX_PAGE);
        let caller = self.principal.id;
        let (_, mut rows) = self
            .inspect_root(collection, move |reader, root| match bin {
                Bin::Mine => recycle::of_person(reader, root.id(), caller, before, limit + 1),
                Bin::Site => root.managed()?.recycled(reader, before, limit + 1),
            })
            .await?;
        let next = (rows.len() > limit).then(|| rows[limit - 1].id);
        rows.truncate(limit);
        Ok(Page { items: rows.into_iter().map(Into::into).collect(), next })
    }

    /// Restores a deleted item to its former location, under a free name when its own name has been taken.
    ///
    /// # Errors
    /// `Conflict` with code `parent_missing` when the folder that held it no longer exists.
    #[boxed]
    pub async fn restore(&self, collection: Id, entry: Id) -> Result<Item> {
        let (_, row) = self.entry(collection, entry).await?;
        let parent = self.locate(&row.parent_id.into()).await.map_err(|error| match error.kind() {
            model::ErrorKind::NotFound => Error::conflict(format!(
                "the former location of \"{}\" ({}) no longer exists: restore or create it first",
                row.name, row.path
            ))
            .with_code(Code::ParentMissing),
            _ => error,
        })?;
        let right = row.kind.right_to_change(Right::Add);
        let parent = parent.to(right)?;
        let guard = self.guard([&parent])?;
        let to = parent.node().id;
        let write = move |transaction: &mut Transaction<'_>, guard: &Guard, checked: &Checked| {
            let (row, _) = find_authorised(transaction, guard, checked, entry)?;
            let parent = held_parent(transaction, to)?;
            guard.require_unlocked(transaction, checked, &parent)?;
            admit(transaction, guard, &parent, Arrival::Back)?;
            let above = above(transaction, &parent)?;
            refuse_depth(transaction, &above, row.node_id)?;
            let item = node::lock(transaction, row.node_id)?.ok_or_else(no_entry)?;
            let name = free_name(transaction, to, &Name::new(item.name.clone())?)?;
            placing::place(transaction, item.id, to, name.as_str(), &name.folded())?;
            if scope::of_node(transaction, item.id)?.is_none() && item.scope_id != parent.scope_id {
                tree::set_scope(transaction, item.id, item.scope_id, parent.scope_id)?;
            }
            recycle::delete(transaction, entry)?;
            collection::change_tree(transaction, checked.collection.id)?;
            guard.record(transaction, item.id, "item.restore", row.path)?;
            guard.item(transaction, item.id)
        };
        guard.exclusive().write(write).await.map_err(name_conflict)
    }

    /// Removes an entry. From the site bin the item is deleted permanently. From the caller's personal bin, it moves to
    /// the site bin. An entry that a site manager removes from among other users' deletions is deleted permanently in
    /// either case.
    ///
    /// # Errors
    /// `NotFound` when there is no such entry, or it is neither the caller's own nor in a site that the caller manages.
    #[boxed]
    pub async fn purge(&self, collection: Id, entry: Id, bin: Bin) -> Result<()> {
        let (root, _) = self.entry(collection, entry).await?;
        let guard = self.guard_unchecked(&root);
        let write = move |transaction: &mut Transaction<'_>, guard: &Guard, checked: &Checked| {
            let (row, manages) = find_authorised(transaction, guard, checked, entry)?;
            let is_final =
                row.stage == RecycleStage::Site || manages && (bin == Bin::Site || row.deleted_by != guard.caller());
            if !is_final {
                recycle::to_site(transaction, entry)?;
                guard.record(transaction, row.node_id, "recycle.empty", row.path)?;
                return Ok(None);
            }
            // The lock serialises this with a concurrent restore: the restore either comes first or fails.
            let item = node::lock(transaction, row.node_id)?;
            let item = item.filter(|item| item.parent_id == row.id).ok_or_else(no_entry)?;
            permanent_delete::detach(transaction, &item)?;
            recycle::delete(transaction, entry)?;
            guard.record(transaction, item.id, "recycle.purge", row.path)?;
            Ok(Some(item.id))
        };
        match guard.exclusive().allow_reserved_space().write(write).await? {
            Some(item) => permanent_delete::delete_detached(self, &root.content, item).await,
            None => Ok(()),
        }
    }

    /// Removes every entry of a bin, as [`Session::purge`] does, and returns the number of entries.
    #[boxed]
    pub async fn empty_bin(&self, collection: Id, bin: Bin) -> Result<u64> {
        let mut count = 0;
        loop {
            let page = self.recycled(collection, bin, None, MAX_PAGE).await?;
            if page.items.is_empty() {
                return Ok(count);
            }
            for item in page.items {
                self.purge(collection, item.id, bin).await?;
                count += 1;
            }
        }
    }

    /// Returns the entry, if the caller may handle it, and the root site of its collection.
    async fn entry(&self, collection: Id, entry: Id) -> Result<(Root, RecycledRow)> {
        let caller = self.principal.id;
        self.inspect_root(collection, move |reader, root| {
            find(reader, root.id(), entry, caller, root.rights().has(Right::ManageSite))
        })
        .await
    }
}

/// Returns the entry, if the caller may handle it according to the state inside the transaction, and whether the caller
/// manages the site collection.
fn find_authorised(
    transaction: &mut Transaction<'_>,
    guard: &Guard,
    checked: &Checked,
    entry: Id,
) -> Result<(RecycledRow, bool)> {
    let root = node::find(transaction, guard.collection())?.ok_or_else(no_entry)?;
    let manages = checked.access.rights(root.scope_id).has(Right::ManageSite);
    Ok((find(transaction, root.id, entry, guard.caller(), manages)?, manages))
}

fn find(reader: &mut Reader<'_>, collection: Id, entry: Id, caller: Id, manages: bool) -> Result<RecycledRow> {
    let row = recycle::find(reader, entry)?.filter(|row| row.collection_id == collection).ok_or_else(no_entry)?;
    let own = row.deleted_by == caller && row.stage == RecycleStage::Person;
    if own || manages { Ok(row) } else { Err(no_entry()) }
}

fn no_entry() -> Error {
    Error::not_found("there is no such entry in the recycle bin")
}
