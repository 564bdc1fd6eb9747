//! Kinds of item.

use crate::words::words;

words! {
    /// The kind of an item.
    NodeKind: "the kind of an item";
    /// A site; the root of a site collection is one.
    Site = "site",
    /// A list of documents, directly in a site.
    Library = "library",
    /// A folder in a library.
    Folder = "folder",
    /// A document in a library, with versions.
    Document = "document",
}

impl NodeKind {
    /// Returns whether it can contain documents and folders.
    pub const fn holds_documents(self) -> bool {
        matches!(self, Self::Library | Self::Folder)
    }

    /// Returns whether an item of kind `child` may be directly inside an item of this kind.
    pub const fn may_hold(self, child: NodeKind) -> bool {
        match child {
            Self::Site | Self::Library => matches!(self, Self::Site),
            Self::Folder | Self::Document => self.holds_documents(),
        }
    }
}
