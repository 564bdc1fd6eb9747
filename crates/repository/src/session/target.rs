//! Addressing of items by callers.

use model::{Id, NodePath, Result};

/// An item, by identifier or by its path in the farm: address of the site collection, sites, library, folders, name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// The item with this identifier, wherever it has moved.
    Id(Id),
    /// The item that is at this path now.
    Path(NodePath),
}

impl Target {
    /// Parses a path written with slashes.
    pub fn path(text: &str) -> Result<Self> {
        NodePath::parse(text).map(Self::Path)
    }
}

impl From<Id> for Target {
    fn from(id: Id) -> Self {
        Self::Id(id)
    }
}

impl From<NodePath> for Target {
    fn from(path: NodePath) -> Self {
        Self::Path(path)
    }
}

pub(crate) fn join(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}/{name}") }
}
