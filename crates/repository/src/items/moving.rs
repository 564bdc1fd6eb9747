//! Steps shared by renaming, moving, deleting and copying: leaving a container, entering another, and checking that an
//! item may go there.

use database::content::node::{self, NodeRow};
use database::content::{collection, library, lock, placing, scope, tree};
use database::{Reader, Transaction};
use model::{Code, Error, Id, Name, NodeKind, Result, Right, Versioning};

use crate::columns::carried;
use crate::documents::library_of;
use crate::items::tree::subtree_rights;
use crate::session::guard::{Checked, Child, Guard};
use crate::session::locate::Located;

/// Prepares an item for leaving its container. Refuses while a lock is in the way, and ends the locks on the item,
/// because they apply to its current location.
pub(crate) fn leave(transaction: &mut Transaction<'_>, guard: &Guard, checked: &Checked, row: &NodeRow) -> Result<()> {
    if !checked.collection.has_locks {
        return Ok(());
    }
    guard.require_tree_unlocked(transaction, checked, row)?;
    let old = node::find(transaction, row.parent_id)?.ok_or_else(crate::session::errors::no_item)?;
    guard.require_unlocked(transaction, checked, &old)?;
    lock::delete_below(transaction, row.id)
}

/// Refuses to move an item away unless the caller has the rights on all that is in it: in another site other people may
/// see and change it, and what approval is needed for.
pub(super) fn require_leave(
    transaction: &mut Transaction<'_>,
    checked: &Checked,
    row: &NodeRow,
    right: Right,
) -> Result<()> {
    let rights: &[Right] = match row.kind {
        NodeKind::Site => &[right, Right::ManageLibraries, Right::Delete],
        NodeKind::Library | NodeKind::List => &[right, Right::Delete],
        NodeKind::Folder | NodeKind::Document | NodeKind::Row => &[right],
    };
    subtree_rights(transaction, &checked.access, row, rights)?;
    for library in libraries_in(transaction, row.id, row.kind)? {
        let is_by_approval = library::find(transaction, library.id)?.is_some_and(|settings| settings.require_approval);
        if is_by_approval && !checked.access.rights(library.scope_id).has(Right::Override) {
            return Err(Error::lacking(Right::Override, &library.name));
        }
    }
    Ok(())
}

/// Moves an item with everything below it into another folder, unless that would publish documents that the caller may
/// not publish.
pub(crate) fn put_below(
    transaction: &mut Transaction<'_>,
    checked: &Checked,
    row: &NodeRow,
    to: &NodeRow,
    name: &Name,
) -> Result<()> {
    let owned = scope::of_node(transaction, row.id)?.is_some();
    let scope_after = if owned { row.scope_id } else { to.scope_id };
    // A library or list takes its contents and its settings with it.
    let library_after = if row.kind.defines_columns() { row.library_id } else { to.library_id };
    if row.kind == NodeKind::Site {
        for library in libraries_in(transaction, row.id, row.kind)? {
            let after = if library.scope_id == row.scope_id { scope_after } else { library.scope_id };
            if library.scope_id != after {
                refuse_publishing(transaction, checked, &library, to, after)?;
            }
        }
    } else if row.library_id != library_after || row.scope_id != scope_after {
        refuse_publishing(transaction, checked, row, to, scope_after)?;
    }
    placing::place(transaction, row.id, to.id, name.as_str(), &name.folded())?;
    if !owned && row.scope_id != to.scope_id {
        tree::set_scope(transaction, row.id, row.scope_id, to.scope_id)?;
    }
    if row.library_id != library_after {
        carried::change_library(transaction, row, to)?;
    }
    if owned || row.kind.is_container() {
        collection::change_tree(transaction, row.collection_id)?;
    }
    Ok(())
}

/// Returns the libraries and lists in an item: the item itself if it is one, and all of those below a site.
pub(super) fn libraries_in(reader: &mut Reader<'_>, id: Id, kind: NodeKind) -> Result<Vec<NodeRow>> {
    match kind {
        NodeKind::Library | NodeKind::List => Ok(node::find(reader, id)?.into_iter().collect()),
        NodeKind::Site => tree::libraries(reader, id),
        NodeKind::Folder | NodeKind::Document | NodeKind::Row => Ok(Vec::new()),
    }
}

/// Refuses a move that would show published documents to other readers, where the destination keeps drafts and the
/// caller may not publish there. A copy arrives as a draft, but a moved item keeps its versions, including the
/// published ones. A library keeps drafts by its own settings, wherever it is.
fn refuse_publishing(
    transaction: &mut Transaction<'_>,
    checked: &Checked,
    row: &NodeRow,
    to: &NodeRow,
    scope_after: Id,
) -> Result<()> {
    let is_library = row.kind.defines_columns();
    let settings = library_of(transaction, if is_library { row } else { to })?;
    if settings.versioning != Versioning::MajorMinor {
        return Ok(());
    }
    for scope in tree::published_scopes(transaction, row.id)? {
        let after = if scope == row.scope_id { scope_after } else { scope };
        let is_seen_as_before = (is_library || row.library_id == to.library_id) && after == scope;
        let rights = checked.access.rights(after);
        if !is_seen_as_before && !settings.may_publish(rights) {
            if is_library {
                let lacking = if rights.has(Right::Publish) { Right::Override } else { Right::Publish };
                return Err(Error::lacking(lacking, &to.name));
            }
            return Err(Error::forbidden(format!(
                "moving \"{}\" to \"{}\" would publish it there, which you may not: copy it instead, the copy will be \
                 a draft",
                row.name, to.name
            ))
            .with_code(Code::WouldPublish)
            .naming(&[row.name.as_str(), to.name.as_str()]));
        }
    }
    Ok(())
}

/// Refuses items that cannot be moved or copied, and destinations that cannot take them.
pub(super) fn check_places(located: &Located, place: &Located) -> Result<()> {
    let (node, to) = (located.node(), place.node());
    if !matches!(node.kind, NodeKind::Folder | NodeKind::Document) {
        return Err(
            Error::conflict("only folders and documents can be moved and copied like this").with_code(Code::WrongKind)
        );
    }
    if !to.kind.may_hold(node.kind) {
        let text = match to.kind {
            NodeKind::Row => "a row has documents only, and no folders".to_owned(),
            _ => format!("\"{}\" is a {}: choose a library or folder", to.name, to.kind.as_str()),
        };
        return Err(Error::conflict(text).with_code(Code::WrongKind));
    }
    check_way(located, place)
}

/// Refuses a move of an item that cannot be moved, or to a place that cannot take it. Sites, libraries and lists can be
/// moved to other sites.
pub(super) fn check_move(located: &Located, place: &Located) -> Result<()> {
    let node = located.node();
    if !node.kind.defines_columns() && node.kind != NodeKind::Site {
        return check_places(located, place);
    }
    require_site(place)?;
    if located.parent().is_none() {
        return Err(Error::conflict(format!(
            "\"{}\" is the root site of a site collection, which stays where it is: move the sites in it",
            node.name
        ))
        .with_code(Code::WrongKind));
    }
    check_way(located, place)
}

/// Refuses a destination that is not a site.
pub(super) fn require_site(place: &Located) -> Result<()> {
    let to = place.node();
    match to.kind {
        NodeKind::Site => Ok(()),
        kind => Err(Error::conflict(format!("\"{}\" is a {}: choose a site", to.name, kind.as_str()))
            .with_code(Code::WrongKind)),
    }
}

/// Refuses a way to another site collection, or into the item itself.
pub(crate) fn check_way(located: &Located, place: &Located) -> Result<()> {
    let (node, to) = (located.node(), place.node());
    if node.collection_id != to.collection_id {
        return Err(Error::conflict(
            "source and destination are in different site collections: export from one and import into the other",
        )
        .with_code(Code::OtherCollection));
    }
    if place.chain.iter().any(|above| above.id == node.id) {
        return Err(into_itself(&node.name));
    }
    Ok(())
}

pub(super) fn into_itself(name: &str) -> Error {
    Error::conflict(format!("\"{name}\" cannot be moved or copied into itself")).with_code(Code::IntoItself)
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
