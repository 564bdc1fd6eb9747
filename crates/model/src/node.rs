//! Kinds of item.

use crate::{Error, Result};

/// The kind of an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NodeKind {
    /// A site; the root of a site collection is one.
    Site,
    /// A list of documents, directly in a site.
    Library,
    /// A folder in a library.
    Folder,
    /// A document in a library, with versions.
    Document,
}

impl NodeKind {
    /// Returns the name used in the database and in the API.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Site => "site",
            Self::Library => "library",
            Self::Folder => "folder",
            Self::Document => "document",
        }
    }

    /// Parses the stored word.
    pub fn parse(text: &str) -> Result<Self> {
        match text {
            "site" => Ok(Self::Site),
            "library" => Ok(Self::Library),
            "folder" => Ok(Self::Folder),
            "document" => Ok(Self::Document),
            other => Err(Error::corrupt(format!("unknown kind of item \"{other}\""))),
        }
    }

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
