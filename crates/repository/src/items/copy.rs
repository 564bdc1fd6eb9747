//! Copying: creates new items that refer to the same bytes.

use std::ops::Range;

use async_recursion::async_recursion as boxed;
use database::content::node::NodeRow;
use database::content::{column, tree};
use database::{Reader, Transaction};
use model::{Code, Error, Id, Name, NodeKind, Result, Right};

use crate::columns::copy_definitions::count_columns;
use crate::documents::charge;
use crate::items::attachments::{Arrival, admit};
use crate::items::containers::{refuse_collection_address, refuse_collections_below};
use crate::items::copy_items::Copier;
use crate::items::item::Item;
use crate::items::moving::{check_places, check_way, libraries_in, require_site};
use crate::items::tree::{above, free_name, held_parent, refuse_depth};
use crate::session::errors::name_conflict;
use crate::session::guard::{Checked, Guard};
use crate::session::known::{Known, Permitted, Viewed};
use crate::session::locate::Located;
use crate::{Session, Target};

/// Limit on the items that one copy creates. They are made in one transaction.
pub(crate) const MAX_COPIED: usize = 50_000;

impl Session {
    /// Copies an item to another place in the same site collection, under `name` if given: a folder or document into a
    /// library or folder, a row into a list, a library or list into a site, and a site with all its sites, libraries
    /// and lists into a site. A taken name gets a number. The copy inherits the permissions of its destination, and
    /// omits items that the caller may not open.
    ///
    /// Documents are copied in the version that the caller sees. Where drafts are kept, the copy is a draft; it is
    /// published only in a library that is copied itself, and only if the caller may publish there. A library or list
    /// keeps its settings, columns and shared views, and a site its look. A row becomes a new row of the list, with its
    /// attachments and with the values for which the list has a column of the same name and kind.
    ///
    /// # Errors
    /// `Conflict` with code `wrong_kind`, also for a row with a name, `other_collection` or `into_itself`; `Exhausted`
    /// with code `copy_too_large` for more than 50,000 items. Of a row: those of a new row with these values, and
    /// `Conflict` with code `attachments_off`.
    #[boxed]
    pub async fn copy_to(&self, target: &Target, to: &Target, name: Option<&Name>) -> Result<Item> {
        let located = self.locate(target).await?.viewed()?;
        if located.node().kind == NodeKind::Row {
            return self.copy_row(&located, to, name).await;
        }
        let place = self.locate(to).await?;
        check_copy(&located, place.unchecked())?;
        let permits = require_copy(located.node().kind, &place)?;
        let name = match name {
            Some(name) => name.clone(),
            None => Name::new(located.node().name.clone())?,
        };
        let place = place.unchecked();
        if place.node().kind == NodeKind::Site {
            refuse_collection_address(place, &name)?;
        }
        let guard = self.guard([&*located].into_iter().chain(&permits))?;
        let detail = format!("{} → {}/{name}", located.path(), place.path());
        let (to, source) = (place.node().id, Located::clone(&located));
        let (id, kind, place_path) = (located.node().id, located.node().kind, place.path());
        // A transaction of its own: otherwise, new columns of other libraries would wait until the copy ends.
        let slots = self.take_slots(&located).await?;
        let write = move |transaction: &mut Transaction<'_>, guard: &Guard, checked: &Checked| {
            if let Some(created) = guard.repetition.find(transaction)? {
                return guard.item(transaction, created);
            }
            let mut source = source.clone();
            source.access = checked.access.clone();
            let parent = held_parent(transaction, to)?;
            guard.require_unlocked(transaction, checked, &parent)?;
            admit(transaction, guard, &parent, Arrival::New)?;
            let from = guard.lock_row(transaction, id)?.library_id;
            let rows = subtree_to_copy(transaction, id, MAX_COPIED)?;
            let above = above(transaction, &parent)?;
            refuse_depth(transaction, &above, id)?;
            let name = free_name(transaction, to, &name)?;
            if kind == NodeKind::Site {
                refuse_collections_below(guard.registry(), &place_path, &name)?;
            }
            let copier = Copier::new(transaction, guard, &source, from, &parent)?;
            let mut copier = copier.with_slots(slots.clone());
            let top = copier.copy(transaction, &rows, &name)?;
            let quota = checked.collection.quota_bytes;
            charge(transaction, guard, quota, checked.collection.id, copier.bytes, copier.documents)?;
            guard.record(transaction, top, "item.copy", detail.as_str())?;
            guard.repetition.store_result(transaction, top)?;
            guard.item(transaction, top)
        };
        // Blocks other changes, because versions and values are read after the items that they belong to.
        guard.exclusive_unless_leaf(kind).write(write).await.map_err(name_conflict)
    }

    /// Takes slots for the columns of the libraries and lists in an item, and refuses what is too large to be copied.
    async fn take_slots(&self, located: &Viewed) -> Result<Range<i64>> {
        let (id, kind) = (located.node().id, located.node().kind);
        let look = move |reader: &mut Reader<'_>| {
            refuse_large(reader, id, MAX_COPIED)?;
            let libraries = libraries_in(reader, id, kind)?;
            count_columns(reader, &libraries)
        };
        let count = located.content.database.read_long(look).await?;
        if count == 0 {
            return Ok(0..0);
        }
        let take = move |transaction: &mut Transaction<'_>| column::take_slots(transaction, count);
        let first = located.content.database.write(take).await?;
        Ok(first..first + count as i64)
    }
}

/// Returns an item and everything below it, parents first.
///
/// # Errors
/// `Exhausted` with code `copy_too_large` for more than `most` items.
pub(crate) fn subtree_to_copy(transaction: &mut Transaction<'_>, top: Id, most: usize) -> Result<Vec<NodeRow>> {
    refuse_large(transaction, top, most)?;
    tree::subtree(transaction, top)
}

fn refuse_large(reader: &mut Reader<'_>, top: Id, most: usize) -> Result<()> {
    match tree::has_more(reader, top, most)? {
        false => Ok(()),
        true => Err(Error::exhausted(format!(
            "at most {most} items can be copied at once, with everything in them: copy it in parts"
        ))
        .with_code(Code::CopyTooLarge)),
    }
}

/// Requires each right that a copy of this kind needs at its destination.
fn require_copy(kind: NodeKind, place: &Known) -> Result<Vec<Permitted>> {
    let rights: &[Right] = match kind {
        NodeKind::Site => &[Right::ManageSite, Right::ManageLibraries, Right::Add],
        NodeKind::Library | NodeKind::List => &[Right::ManageLibraries, Right::Add],
        NodeKind::Folder | NodeKind::Document | NodeKind::Row => &[Right::Add],
    };
    rights.iter().map(|right| place.clone().to(*right)).collect()
}

/// Refuses a destination that cannot take a copy.
fn check_copy(located: &Located, place: &Located) -> Result<()> {
    if !matches!(located.node().kind, NodeKind::Site | NodeKind::Library | NodeKind::List) {
        return check_places(located, place);
    }
    require_site(place)?;
    check_way(located, place)
}
