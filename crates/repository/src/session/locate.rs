//! Finding an item by path or identifier, with all of its ancestors and the caller's rights.

use std::sync::Arc;

use database::Reader;
use database::content::collection::{self, CollectionRow};
use database::content::node::{self, NodeRow};
use database::content::version::{self, VersionRow};
use model::{Code, Error, Id, MAX_DEPTH, Name, NodeKind, NodePath, Principal, Result, Right, Rights, TokenScope};

use crate::Repository;
use crate::farm::registry::{ContentDatabase, Registry};
use crate::session::access::Access;
use crate::session::errors::{no_item, nothing_at};
use crate::session::path_cache::{Chain, PathKey};

/// An item that the caller may know of, with its ancestors.
#[derive(Clone)]
pub(crate) struct Located {
    pub(crate) registry: Arc<Registry>,
    pub(crate) content: Arc<ContentDatabase>,
    pub(crate) collection: CollectionRow,
    pub(crate) access: Arc<Access>,
    pub(crate) principal: Arc<Principal>,
    /// All items from the root site to the item itself; never empty.
    pub(crate) chain: Chain,
}

fn sees_drafts(access: &Access, caller: Id, node: &NodeRow) -> bool {
    let rights = access.rights(node.scope_id);
    rights.has(Right::Publish) || rights.has(Right::Edit) || node.created_by == caller
}

fn visible_version(access: &Access, caller: Id, node: &NodeRow) -> Option<Id> {
    if node.holder_id == Some(caller) && node.working_id.is_some() {
        node.working_id
    } else if sees_drafts(access, caller, node) {
        node.version_id
    } else {
        node.published_id
    }
}

/// Returns whether a caller with these rights may know of an item that is not in a recycle bin.
pub(crate) fn knows(access: &Access, caller: Id, node: &NodeRow) -> bool {
    access.may_know(node.id, node.scope_id)
        && (node.kind.is_container() || visible_version(access, caller, node).is_some())
}

impl Located {
    /// The item itself.
    pub(crate) fn node(&self) -> &NodeRow {
        // The chain is never empty: both functions that build it include the item.
        &self.chain[self.chain.len() - 1]
    }

    /// Returns the parent; `None` for a root site.
    pub(crate) fn parent(&self) -> Option<&NodeRow> {
        self.chain.len().checked_sub(2).map(|index| &*self.chain[index])
    }

    /// Returns the item's path in the farm, beginning with the address of its site collection.
    pub(crate) fn path(&self) -> String {
        let names = self.chain.iter().skip(1).map(|node| node.name.as_str());
        let address = Some(self.collection.path.as_str()).filter(|address| !address.is_empty());
        address.into_iter().chain(names).collect::<Vec<_>>().join("/")
    }

    /// The caller's rights on the item.
    pub(crate) fn rights(&self) -> Rights {
        self.access.rights(self.node().scope_id)
    }

    /// Returns whether the caller may know the totals of the whole site collection: the caller manages its root site,
    /// and the root site is within reach of the credential.
    pub(crate) fn may_see_totals(&self) -> bool {
        self.chain.first().is_some_and(|root| {
            let within = self.principal.limits.includes(std::iter::once(root.id));
            within && self.access.rights(root.scope_id).has(Right::ManageSite)
        })
    }

    /// Returns whether the item is within reach of the caller's credential.
    pub(crate) fn is_within_credential(&self) -> bool {
        self.principal.limits.includes(self.chain.iter().map(|node| node.id))
    }

    /// Refuses a caller without `right` on the item. If the caller may not even open it, the error is the same as for a
    /// missing item.
    pub(crate) fn require(&self, right: Right) -> Result<()> {
        let rights = self.rights();
        if rights.has(right) {
            return Ok(());
        }
        if right == Right::View || !rights.has(Right::View) {
            return Err(no_item());
        }
        let scope = TokenScope::of(right);
        if !self.principal.limits.scopes.has(scope) {
            let (name, scope) = (&self.node().name, scope.as_str());
            return Err(Error::forbidden(format!(
                "this token cannot do that with \"{name}\": it needs the scope {scope}"
            ))
            .with_code(Code::TokenScope));
        }
        Err(Error::lacking(right, &self.node().name))
    }

    /// Refuses an item of another kind.
    pub(crate) fn require_kind(&self, kind: NodeKind) -> Result<()> {
        let node = self.node();
        if node.kind == kind {
            return Ok(());
        }
        Err(Error::conflict(format!("\"{}\" is a {}, not a {}", node.name, node.kind.as_str(), kind.as_str()))
            .with_code(Code::WrongKind))
    }

    /// Returns whether the caller sees drafts of a document.
    pub(crate) fn sees_drafts(&self, node: &NodeRow) -> bool {
        sees_drafts(&self.access, self.principal.id, node)
    }

    /// Returns the version of a document that the caller sees: the caller's working copy, the latest draft, or the
    /// published version.
    pub(crate) fn visible_version(&self, node: &NodeRow) -> Option<Id> {
        visible_version(&self.access, self.principal.id, node)
    }

    /// Returns whether the caller may know of a child of this item.
    pub(crate) fn may_know(&self, node: &NodeRow) -> bool {
        knows(&self.access, self.principal.id, node)
    }

    /// Returns whether a listing of this item shows a child to the caller. A row that the caller may know of only
    /// because an attachment was shared is left out: filters and orders would tell its values.
    pub(crate) fn lists(&self, node: &NodeRow) -> bool {
        self.may_know(node) && (node.kind != NodeKind::Row || self.access.may_view(node.scope_id))
    }

    /// Reads the row of the version that the caller sees, which locates its bytes.
    pub(crate) fn read_visible(&self, reader: &mut Reader<'_>) -> Result<VersionRow> {
        let id = self.visible_version(self.node()).ok_or_else(no_item)?;
        version::find(reader, id)?.ok_or_else(|| Error::corrupt("the document's present version is missing"))
    }
}

/// Context of a lookup: the caller, the database, and whether intermediate results may be cached.
#[derive(Clone)]
pub(crate) struct Finder {
    pub(crate) repository: Repository,
    pub(crate) principal: Arc<Principal>,
    pub(crate) registry: Arc<Registry>,
    pub(crate) content: Arc<ContentDatabase>,
    /// Set outside write transactions only.
    pub(crate) keep: bool,
}

/// Finds the item at a path. Names that the caller may not know and names that do not exist give the same error.
#[expect(
    clippy::disallowed_methods,
    reason = "what is found is asked for in the end, and nothing is told of it before"
)]
pub(crate) fn locate_path(reader: &mut Reader<'_>, finder: &Finder, path: &NodePath) -> Result<Located> {
    let (collection, used) = finder.registry.collection_of(path).ok_or_else(|| nothing_at(path))?;
    let mut located = locate_collection(reader, finder, collection.id)?;
    let (version, names) = (located.collection.tree_version, &path.names()[used..]);
    let (chains, key) = (&finder.repository.inner.chains, PathKey::new(collection.id, names));
    // The item may be a cached container itself, a document or row in one, or an attachment of a row.
    let known = (names.len().saturating_sub(2)..=names.len()).rev();
    let known = known.filter(|_| finder.keep).find_map(|count| Some((count, chains.by_path(&key, count, version)?)));
    let (first, chain) = match known {
        Some((count, chain)) => (count, chain),
        None => (0, vec![root_of(reader, collection.id)?]),
    };
    let kept = if first > 0 { chain.len() } else { 0 };
    located.chain = chain;
    for name in &names[first..] {
        let child = node::find_child(reader, located.node().id, &name.folded())?.ok_or_else(|| nothing_at(path))?;
        located.chain.push(Arc::new(child));
    }
    if finder.keep && located.chain.iter().filter(|node| node.kind.is_container()).count() > kept {
        chains.keep(Some(&key), version, &located.chain);
    }
    if !located.may_know(located.node()) || !located.is_within_credential() {
        return Err(nothing_at(path));
    }
    Ok(located)
}

/// Finds the item with an identifier. Items in a recycle bin are not found.
pub(crate) fn locate_id(reader: &mut Reader<'_>, finder: &Finder, id: Id) -> Result<Located> {
    let mut below = Vec::new();
    let mut next = id;
    let mut located = loop {
        if next.is_none() {
            let root = below.last().map(|root: &Arc<NodeRow>| root.id).ok_or_else(no_item)?;
            break locate_collection(reader, finder, root)?;
        }
        if let Some(known) = known_chain(reader, finder, next)? {
            break known;
        }
        let node = node::find(reader, next)?.ok_or_else(no_item)?;
        next = node.parent_id;
        below.push(Arc::new(node));
        if below.len() > MAX_DEPTH + 1 {
            return Err(Error::corrupt(format!("the item {id} is its own ancestor")));
        }
    };
    let new_container = below.iter().any(|node| node.kind.is_container());
    below.reverse();
    located.chain.append(&mut below);
    if finder.keep && new_container {
        finder.repository.inner.chains.keep(None, located.collection.tree_version, &located.chain);
    }
    if !located.may_know(located.node()) || !located.is_within_credential() {
        return Err(no_item());
    }
    Ok(located)
}

/// Returns a container whose cached chain is still current.
fn known_chain(reader: &mut Reader<'_>, finder: &Finder, id: Id) -> Result<Option<Located>> {
    let chains = &finder.repository.inner.chains;
    let Some(collection) = Some(id).filter(|_| finder.keep).and_then(|id| chains.collection_of(id)) else {
        return Ok(None);
    };
    let Some(row) = collection::find(reader, collection)? else { return Ok(None) };
    let Some(chain) = chains.by_id(id, row.tree_version) else { return Ok(None) };
    Ok(Some(Located { chain, ..enter(reader, finder, row)? }))
}

fn root_of(reader: &mut Reader<'_>, collection_id: Id) -> Result<Arc<NodeRow>> {
    Ok(Arc::new(node::find(reader, collection_id)?.ok_or_else(no_item)?))
}

/// Returns a site collection with the caller's rights in it, with an empty chain.
fn locate_collection(reader: &mut Reader<'_>, finder: &Finder, collection_id: Id) -> Result<Located> {
    let collection = collection::find(reader, collection_id)?.ok_or_else(no_item)?;
    enter(reader, finder, collection)
}

fn enter(reader: &mut Reader<'_>, finder: &Finder, collection: CollectionRow) -> Result<Located> {
    let (cache, principal) = (&finder.repository.inner.access, &finder.principal);
    let (version, roles) = (collection.tree_version, &finder.registry.roles);
    let access = cache.get(reader, collection.id, version, principal, roles, finder.keep)?;
    Ok(Located {
        registry: finder.registry.clone(),
        content: finder.content.clone(),
        collection,
        access,
        principal: principal.clone(),
        chain: Vec::new(),
    })
}

/// Refuses the name of a new child when its path would become too deep.
pub(crate) fn check_depth(located: &Located, below: usize, name: &Name) -> Result<()> {
    if located.chain.len() + below >= MAX_DEPTH {
        return Err(
            Error::invalid(format!("\"{name}\" would be deeper than {MAX_DEPTH} levels")).with_code(Code::PathTooDeep)
        );
    }
    Ok(())
}
