//! Kinds of item.

use crate::Right;
use crate::words::words;

words! {
    /// The kind of an item.
    NodeKind: "the kind of an item";
    /// A site; the root of a site collection is one.
    Site = "site",
    /// A collection of documents, directly in a site.
    Library = "library",
    /// A folder in a library.
    Folder = "folder",
    /// A document in a library, with versions.
    Document = "document",
    /// A collection of rows with typed columns, directly in a site.
    List = "list",
    /// A row of a list.
    Row = "row",
}

impl NodeKind {
    /// Returns whether it can contain documents and folders.
    pub const fn holds_documents(self) -> bool {
        matches!(self, Self::Library | Self::Folder)
    }

    /// Returns whether it has columns that its contents have values in: a library or a list.
    pub const fn defines_columns(self) -> bool {
        matches!(self, Self::Library | Self::List)
    }

    /// Returns whether an item of this kind can have values in the columns of its library or list.
    pub const fn has_values(self) -> bool {
        matches!(self, Self::Folder | Self::Document | Self::Row)
    }

    /// Returns whether it is a container: a site, or an item that can be listed. Containers are few. Their paths are
    /// cached, and their changes raise the tree version.
    pub const fn is_container(self) -> bool {
        !self.is_leaf()
    }

    /// Returns whether clients for files see it: WebDAV, archives and exports have no form for lists.
    pub const fn is_for_file_clients(self) -> bool {
        !matches!(self, Self::List | Self::Row)
    }

    /// Returns whether it is one of what may be very many beside each other: a document or a row. They have no place in
    /// caches, and an entity tag. A row can contain its attachments.
    pub const fn is_leaf(self) -> bool {
        matches!(self, Self::Document | Self::Row)
    }

    /// Returns whether it can contain documents: a library, a folder, or a row with its attachments.
    pub const fn takes_documents(self) -> bool {
        self.holds_documents() || matches!(self, Self::Row)
    }

    /// Returns whether an item of this kind can contain others: all but documents can.
    pub const fn has_contents(self) -> bool {
        !matches!(self, Self::Document)
    }

    /// Returns whether an item of kind `child` may be directly inside an item of this kind.
    pub const fn may_hold(self, child: NodeKind) -> bool {
        match child {
            Self::Site | Self::Library | Self::List => matches!(self, Self::Site),
            Self::Folder => self.holds_documents(),
            Self::Document => self.takes_documents(),
            Self::Row => matches!(self, Self::List),
        }
    }

    /// Returns the right that a change to an item of this kind needs: `contents` for what people work on, the right to
    /// manage sites or libraries for the others.
    pub const fn right_to_change(self, contents: Right) -> Right {
        match self {
            Self::Site => Right::ManageSite,
            Self::Library | Self::List => Right::ManageLibraries,
            Self::Folder | Self::Document | Self::Row => contents,
        }
    }
}
