//! Copying: creates new items that refer to the same bytes.

use async_recursion::async_recursion as boxed;
use database::Transaction;
use database::content::node::NodeRow;
use database::content::tree;
use model::{Code, Error, Id, Name, NodeKind, Result, Right};

use crate::documents::charge;
use crate::items::attachments::{Arrival, admit};
use crate::items::containers::refuse_collection_address;
use crate::items::copier::Copier;
use crate::items::item::Item;
use crate::items::moving::{check_places, check_way, require_site};
use crate::items::tree::{above, free_name, held_parent, refuse_depth};
use crate::session::errors::name_conflict;
use crate::session::guard::{Checked, Guard};
use crate::session::known::{Known, Permitted};
use crate::session::locate::Located;
use crate::{Session, Target};

/// Limit on the items that one copy creates. They are made in one transaction.
const MAX_COPIED: i64 = 50_000;

impl Session {
    /// Copies an item to another place in the same site collection, under `name` if given: a folder or document into a
    /// library or folder, a row into a list, a library or list into a site, and a site with all its sites, libraries
    /// and lists into a site. A taken name gets a number. The copy inherits the permissions of its destination, and
    /// omits items that the caller may not open.
    ///
    /// Documents are copied in the version that the caller sees. Where drafts are kept, the copy is a draft; it is
    /// published only in a library that is copied itself, and only if the caller may publish there. A library or list
    /// keeps its settings, columns and shared views, and a site its look. A row is copied as a new row of the other
    /// list, see [`Session::copy_row`].
    ///
    /// # Errors
    /// `Conflict` with code `wrong_kind`, `other_collection` or `into_itself`; `Exhausted` with code `too_many` for
    /// more than 50,000 items.
    #[boxed]
    pub async fn copy_to(&self, target: &Target, to: &Target, name: Option<&Name>) -> Result<Item> {
        let located = self.locate(target).await?.viewed()?;
        if located.node().kind == NodeKind::Row {
            return self.copy_row(&located, to, name).await;
        }
        let place = self.locate(to).await?;
        check_copy(&located, place.unchecked())?;
        let place = permitted(located.node().kind, &place)?;
        let name = match name {
            Some(name) => name.clone(),
            None => Name::new(located.node().name.clone())?,
        };
        if place[0].node().kind == NodeKind::Site {
            refuse_collection_address(&place[0], &name)?;
        }
        let guard = self.guard([&*located].into_iter().chain(&place))?;
        let detail = format!("{} → {}/{name}", located.path(), place[0].path());
        let (to, source) = (place[0].node().id, Located::clone(&located));
        let write = move |transaction: &mut Transaction<'_>, guard: &Guard, checked: &Checked| {
            if let Some(created) = guard.repetition.find(transaction)? {
                return guard.item(transaction, created);
            }
            let mut source = source.clone();
            source.access = checked.access.clone();
            let parent = held_parent(transaction, to)?;
            guard.require_unlocked(transaction, checked, &parent)?;
            admit(transaction, guard, &parent, Arrival::New)?;
            let id = source.node().id;
            let above = above(transaction, &parent)?;
            refuse_depth(transaction, &above, id)?;
            let name = free_name(transaction, to, &name)?;
            let mut copier = Copier::new(transaction, guard, &source, &parent)?;
            let rows = subtree_to_copy(transaction, id)?;
            let top = copier.copy(transaction, &rows, &name)?;
            let quota = checked.collection.quota_bytes;
            charge(transaction, guard, quota, checked.collection.id, copier.bytes, copier.documents)?;
            guard.record(transaction, top, "item.copy", detail.as_str())?;
            guard.repetition.store_result(transaction, top)?;
            guard.item(transaction, top)
        };
        guard.write(write).await.map_err(name_conflict)
    }
}

/// Returns an item and everything below it, parents first.
///
/// # Errors
/// `Exhausted` with code `too_many` for more items than one transaction can copy.
pub(crate) fn subtree_to_copy(transaction: &mut Transaction<'_>, top: Id) -> Result<Vec<NodeRow>> {
    if tree::count(transaction, top)? > MAX_COPIED {
        return Err(Error::exhausted(format!(
            "at most {MAX_COPIED} items can be copied at once, with everything below them: copy parts of it"
        ))
        .with_code(Code::TooMany));
    }
    tree::subtree(transaction, top)
}

/// Returns the destination with each right that a copy of this kind needs there.
fn permitted(kind: NodeKind, place: &Known) -> Result<Vec<Permitted>> {
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
