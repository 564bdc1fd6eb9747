//! Queries on the tree within a transaction: the ancestors of an item, free names, and check-outs below an item.

use database::content::node::{self, NodeRow};
use database::content::tree;
use database::{Reader, Transaction};
use model::{Code, Error, Id, MAX_DEPTH, Name, NodeKind, Result, Right};

use crate::session::access::Access;
use crate::session::errors::{checked_out_within, held_by_another, no_folder};
use crate::session::guard::Checked;

/// Returns the container that will hold a new item. After [`Guard::check`] the container is stable: no other
/// transaction moves or deletes a container until this transaction ends.
pub(crate) fn held_parent(transaction: &mut Transaction<'_>, id: Id) -> Result<NodeRow> {
    node::find(transaction, id)?.ok_or_else(no_folder)
}

/// Returns the identifiers of an item and its ancestors, as of this transaction.
pub(crate) fn above(transaction: &mut Transaction<'_>, item: &NodeRow) -> Result<Vec<Id>> {
    let (mut way, mut next) = (vec![item.id], item.parent_id);
    while !next.is_none() {
        let node = node::find(transaction, next)?.ok_or_else(crate::session::errors::no_item)?;
        way.push(node.id);
        next = node.parent_id;
        if way.len() > MAX_DEPTH + 1 {
            return Err(Error::corrupt(format!("the item {} is its own ancestor", item.id)));
        }
    }
    Ok(way)
}

/// Refuses to put a subtree where its lowest items would be too deep.
pub(crate) fn refuse_depth(transaction: &mut Transaction<'_>, above: &[Id], top: Id) -> Result<()> {
    if above.len() + tree::height(transaction, top)? < MAX_DEPTH {
        return Ok(());
    }
    Err(Error::invalid(format!("the path would be deeper than {MAX_DEPTH} levels")).with_code(Code::PathTooDeep))
}

/// Locks and returns the item. Refuses if it was moved or deleted since it was found.
pub(crate) fn lock_in(transaction: &mut Transaction<'_>, id: Id, parent: Id) -> Result<NodeRow> {
    let row = node::lock(transaction, id)?.ok_or_else(crate::session::errors::no_item)?;
    if row.parent_id == parent { Ok(row) } else { Err(moved_meanwhile(&row.name)) }
}

/// Returns the refusal of a change to an item that is somewhere else by now.
pub(crate) fn moved_meanwhile(name: &str) -> Error {
    Error::conflict(format!("\"{name}\" was moved or deleted in the meantime: find it again, then repeat"))
        .with_code(Code::MovedMeanwhile)
}

/// Refuses when another user has checked out a document in the subtree. The error names the document only if the caller
/// may know of it.
pub(crate) fn refuse_held(
    transaction: &mut Transaction<'_>,
    checked: &Checked,
    top: &NodeRow,
    caller: Id,
) -> Result<()> {
    let Some((id, _)) = tree::held_by_another(transaction, top.id, caller)? else { return Ok(()) };
    match node::find(transaction, id)? {
        Some(held) if checked.knows(&held) => Err(held_by_another(&held.name)),
        _ => Err(checked_out_within(&top.name)),
    }
}

/// Refuses unless the caller has all of these rights on everything in the subtree, including items that the caller may
/// not see.
pub(crate) fn subtree_rights(reader: &mut Reader<'_>, access: &Access, top: &NodeRow, rights: &[Right]) -> Result<()> {
    if top.kind == NodeKind::Document {
        return Ok(());
    }
    for scope in tree::scopes(reader, top.id)? {
        if let Some(right) = rights.iter().find(|right| !access.rights(scope).has(**right)) {
            return Err(Error::lacking_inside(*right, &top.name));
        }
    }
    Ok(())
}

/// Returns the first name that is free in `parent`: `name`, or `name (2)` and so on, with the number before the
/// extension.
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
    Err(Error::conflict(format!("there are too many items named like \"{name}\" here")).with_code(Code::NameTaken))
}
