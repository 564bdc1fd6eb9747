//! Errors of refused requests: missing items, taken names, checked-out documents.

use database::content::node::NodeRow;
use model::{Code, Error, Id, Name, NodeKind, NodePath, Result};

pub(crate) fn no_item() -> Error {
    Error::not_found("there is no such item, or you may not see it")
}

pub(crate) fn nothing_at(path: &NodePath) -> Error {
    Error::not_found(format!("there is nothing at \"{path}\", or you may not see it"))
}

pub(crate) fn held_by(document: &str, holder: &str) -> Error {
    Error::locked(format!("\"{document}\" is checked out by {holder}: ask for a check-in, or wait"))
        .with_code(Code::CheckedOut)
        .naming(&[document, holder])
}

/// Variant of `held_by` for an unknown holder.
pub(crate) fn held_by_another(document: &str) -> Error {
    Error::locked(format!("\"{document}\" is checked out by another user: ask for a check-in, or wait"))
        .with_code(Code::CheckedOut)
}

/// Error for a change without a check-out in a library that demands one.
pub(crate) fn checkout_required(document: &str) -> Error {
    Error::conflict(format!("\"{document}\" must be checked out before it is changed"))
        .with_code(Code::CheckoutRequired)
}

/// Returns the error for a checked-out document in a folder that the caller may not know of.
pub(crate) fn checked_out_within(folder: &str) -> Error {
    Error::locked(format!("something in \"{folder}\" is checked out by another user: wait until it is checked in"))
        .with_code(Code::CheckedOut)
}

/// Refuses a change to a document that another user has checked out. `holder` is that user's name where it is known.
pub(crate) fn require_free(node: &NodeRow, caller: Id, holder: Option<&str>) -> Result<()> {
    if node.holder_id.is_none_or(|id| id == caller) {
        return Ok(());
    }
    Err(match holder {
        Some(name) => held_by(&node.name, name),
        None => held_by_another(&node.name),
    })
}

pub(crate) fn taken(name: &str, kind: NodeKind) -> Error {
    Error::conflict(format!("there is already a {} named \"{name}\" here: choose another name", kind.as_str()))
        .with_code(Code::NameTaken)
        .naming(&[name])
}

/// Returns the error for a name taken by an item that the caller may not know of.
pub(crate) fn name_taken_hidden(name: &Name) -> Error {
    Error::conflict(format!("the name \"{name}\" cannot be used here: choose another name"))
        .with_code(Code::NameTaken)
        .naming(&[name.as_str()])
}

pub(crate) fn same_place() -> Error {
    Error::forbidden("the item is already at that location").with_code(Code::SameItem)
}

pub(crate) fn no_folder() -> Error {
    Error::not_found("the folder was removed in the meantime")
}

/// Turns a unique violation into the error for a name taken by a concurrent request.
pub(crate) fn name_conflict(error: Error) -> Error {
    if error.code() == Code::UniqueViolation {
        return Error::conflict("another request took this name at the same moment: check the folder, then try again")
            .with_code(Code::NameTaken)
            .with_source(error);
    }
    error
}
