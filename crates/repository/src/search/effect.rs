//! The meaning of events for the search index.

/// The documents and rows of lists whose entries an event changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum IndexEffect {
    /// None. Permissions and positions of containers are not in the index.
    Nothing,
    /// The item itself, if it is a document or a row.
    Item,
    /// The item itself, if it is a document; below a folder, documents with values in columns, if the library is
    /// another one now.
    Move,
    /// Documents and rows in the library or list with values in columns that are gone.
    Values,
    /// Documents and rows in the library or list whose values differ from the indexed ones.
    Computed,
    /// The item and all documents and rows below it.
    Below,
}

/// Returns the effect of an action of the audit log.
pub fn index_effect(action: &str) -> IndexEffect {
    match action {
        "document.check-in"
        | "document.check-out"
        | "document.create"
        | "document.discard"
        | "document.replace"
        | "item.columns"
        | "item.rename"
        | "permissions.break"
        | "permissions.inherit"
        | "recycle.empty"
        | "recycle.expire"
        | "recycle.purge"
        | "row.change"
        | "row.create"
        | "version.delete"
        | "version.publish"
        | "version.restore" => IndexEffect::Item,
        "item.move" => IndexEffect::Move,
        "column.delete" | "content-type.delete" => IndexEffect::Values,
        "column.compute" => IndexEffect::Computed,
        // Documents in recycle bins have no entries, because they may be deleted for good without further events.
        "item.copy" | "item.delete" | "item.restore" => IndexEffect::Below,
        "column.change"
        | "column.create"
        | "content-type.create"
        | "document.read"
        | "document.reject"
        | "document.submit"
        | "document.withdraw"
        | "folder.create"
        | "item.break-lock"
        | "item.lock"
        | "item.properties"
        | "item.unlock"
        | "library.create"
        | "library.settings"
        | "link.create"
        | "link.revoke"
        | "link.upload"
        | "link.use"
        | "list.create"
        | "permissions.grant"
        | "permissions.revoke"
        | "site-collection.create"
        | "site.audit-reads"
        | "site.create"
        | "site.links"
        | "site.home"
        | "site.logo"
        | "site.look"
        | "site.navigation"
        | "site.quota"
        | "template.apply"
        | "template.delete"
        | "template.rename"
        | "template.save"
        | "view.delete"
        | "view.save" => IndexEffect::Nothing,
        // An action of a newer version.
        _ => IndexEffect::Below,
    }
}

/// Returns whether an action may add documents or rows below an item, without events of their own.
pub(super) fn adds_below(action: &str) -> bool {
    matches!(action, "item.copy" | "item.restore")
}

/// Returns whether an action changes the values of an item in columns.
pub(super) fn changes_values(action: &str) -> bool {
    matches!(action, "item.columns" | "row.change")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::AUDIT_ACTIONS;

    #[test]
    fn every_action_has_an_effect() {
        let below = ["item.copy", "item.delete", "item.restore"];
        for action in AUDIT_ACTIONS {
            assert_eq!(index_effect(action) == IndexEffect::Below, below.contains(&action), "{action}");
        }
    }
}
