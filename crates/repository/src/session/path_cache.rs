//! Cache of the ancestor chains of sites, libraries and folders, each valid for one version of its site collection's
//! tree.
//!
//! Every change to the row of such an item changes the version of the tree in the same transaction. A chain that was
//! read at a version therefore stays valid as long as the database shows that version.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};

use database::content::node::NodeRow;
use model::{Id, Name};

/// Limit on cached chains. When it is reached, the whole cache is cleared.
const MAX_CHAINS: usize = 20_000;

/// The chain from the root site to an item; rows are shared between chains.
pub(crate) type Chain = Vec<Arc<NodeRow>>;

/// Cached chains by path and by identifier.
#[derive(Default)]
pub(crate) struct ChainCache(Mutex<Entries>);

#[derive(Default)]
struct Entries {
    by_path: HashMap<String, Versioned>,
    by_id: HashMap<Id, Versioned>,
}

struct Versioned {
    tree_version: i64,
    way: Arc<[Arc<NodeRow>]>,
}

/// A path below the root site of a collection, spelled as requested.
pub(crate) struct PathKey {
    text: String,
    /// End offsets of the texts of all shorter paths.
    ends: Vec<usize>,
}

impl PathKey {
    pub(crate) fn new(collection: Id, names: &[Name]) -> Self {
        let mut text = collection.to_string();
        let mut ends = vec![text.len()];
        for name in names {
            text.push('/');
            text.push_str(name.as_str());
            ends.push(text.len());
        }
        Self { text, ends }
    }

    /// Returns the text of the first `count` names.
    fn first(&self, count: usize) -> &str {
        &self.text[..self.ends[count]]
    }
}

impl ChainCache {
    /// Returns the chain of the container at the first `count` names.
    pub(crate) fn by_path(&self, path: &PathKey, count: usize, tree_version: i64) -> Option<Chain> {
        self.kept().by_path.get(path.first(count)).and_then(|versioned| versioned.at(tree_version))
    }

    /// Returns the latest known chain of the container at the first `count` names, and the version of the tree for
    /// which it was valid.
    pub(crate) fn last_by_path(&self, path: &PathKey, count: usize) -> Option<(i64, Chain)> {
        self.kept().by_path.get(path.first(count)).map(|versioned| (versioned.tree_version, versioned.way.to_vec()))
    }

    /// Returns the site collection in which a container was last seen.
    pub(crate) fn collection_of(&self, id: Id) -> Option<Id> {
        self.kept().by_id.get(&id).and_then(|versioned| versioned.way.first()).map(|root| root.id)
    }

    /// Returns the chain of a container.
    pub(crate) fn by_id(&self, id: Id, tree_version: i64) -> Option<Chain> {
        self.kept().by_id.get(&id).and_then(|versioned| versioned.at(tree_version))
    }

    /// Caches the part of a chain that leads to a container, as read from a snapshot with this version.
    pub(crate) fn keep(&self, path: Option<&PathKey>, tree_version: i64, way: &[Arc<NodeRow>]) {
        let containers = way.iter().take_while(|node| node.kind.is_container()).count();
        let Some(last) = containers.checked_sub(1).map(|index| &way[index]) else { return };
        let shared: Arc<[Arc<NodeRow>]> = way[..containers].into();
        let mut kept = self.kept();
        if kept.by_id.len() >= MAX_CHAINS || kept.by_path.len() >= MAX_CHAINS {
            *kept = Entries::default();
        }
        if let Some(path) = path {
            let versioned = Versioned { tree_version, way: shared.clone() };
            kept.by_path.insert(path.first(containers - 1).to_owned(), versioned);
        }
        kept.by_id.insert(last.id, Versioned { tree_version, way: shared });
    }

    fn kept(&self) -> MutexGuard<'_, Entries> {
        self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

impl Versioned {
    fn at(&self, tree_version: i64) -> Option<Chain> {
        (self.tree_version == tree_version).then(|| self.way.to_vec())
    }
}
