//! A caller's rights in a site collection: computed once for each version of its permissions, then cached.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex};

use database::Reader;
use database::content::{node, scope};
use model::{Id, Principal, Result, Right, Rights, Role, Timestamp, TokenScopes};

use crate::farm::registry::Registry;

/// Limit on cached sets of rights. When it is reached, the whole cache is cleared.
const MAX_CACHED: usize = 10_000;

/// Rights of a caller from the grants in one content database.
pub(crate) struct GrantedRights {
    /// Pairs of scope and rights; a scope may be in several.
    pub(crate) by_scope: Vec<(Id, Rights)>,
    /// The earliest end of one of the grants; `None` if none ends.
    pub(crate) ends_at: Option<Timestamp>,
}

/// A caller's rights in one site collection, as of one version of its tree and of the farm's directory of people and
/// roles.
pub(crate) struct Access {
    tree_version: i64,
    directory_version: i64,
    all_rights: bool,
    /// The rights that the caller's credential permits at most.
    mask: Rights,
    scopes: HashMap<Id, Rights>,
    /// The earliest end of a grant that counts here; `None` if none ends.
    ends_at: Option<Timestamp>,
    /// Time at which this was computed. Grants that had ended by then are not in it.
    computed_at: Timestamp,
    /// Items that the caller may not open, but that lie on the path to something that the caller may. Only their names
    /// are shown.
    name_only_ancestors: HashSet<Id>,
}

impl Access {
    /// Returns the caller's rights on items of a scope.
    pub(crate) fn rights(&self, scope: Id) -> Rights {
        let rights = if self.all_rights { Rights::ALL } else { self.scopes.get(&scope).copied().unwrap_or_default() };
        rights.intersection(self.mask)
    }

    /// Returns whether the caller may open items of a scope.
    pub(crate) fn may_view(&self, scope: Id) -> bool {
        self.rights(scope).has(Right::View)
    }

    /// Returns whether the caller may know that an item exists.
    pub(crate) fn may_know(&self, node: Id, scope: Id) -> bool {
        self.may_view(scope) || self.name_only_ancestors.contains(&node)
    }

    /// Returns whether this was computed from the given version of the tree and the caller's version of the directory,
    /// and still holds.
    pub(crate) fn is_current(&self, tree_version: i64, principal: &Principal) -> bool {
        self.tree_version == tree_version
            && self.directory_version == principal.directory_version
            && !self.has_expired()
    }

    /// Returns whether this has to be computed again: a grant in it has ended, or the clock was set back, so that one
    /// that is not in it may be valid again.
    pub(crate) fn has_expired(&self) -> bool {
        let now = Timestamp::now();
        now < self.computed_at || self.ends_at.is_some_and(|end| end <= now)
    }
}

/// Cached rights by site collection, user and token scopes.
#[derive(Default)]
pub(crate) struct AccessCache {
    entries: Mutex<HashMap<(Id, Id, TokenScopes), Arc<Access>>>,
}

impl AccessCache {
    /// Returns the caller's rights in `collection`, if they are cached for that version of the tree.
    pub(crate) fn known(&self, collection: Id, tree_version: i64, principal: &Principal) -> Option<Arc<Access>> {
        let entries = self.entries();
        let key = (collection, principal.id, principal.limits.scopes);
        entries.get(&key).filter(|access| access.is_current(tree_version, principal)).cloned()
    }

    /// Returns the caller's rights in `collection`, whose tree has the given version in this reader's snapshot. `keep`
    /// must not be set inside a write transaction: the data it read may be rolled back, and another transaction may
    /// then commit something different under the same version.
    pub(crate) fn get(
        &self,
        reader: &mut Reader<'_>,
        collection: Id,
        tree_version: i64,
        principal: &Principal,
        roles: &HashMap<Id, Role>,
        keep: bool,
    ) -> Result<Arc<Access>> {
        if let Some(access) = self.known(collection, tree_version, principal) {
            return Ok(access);
        }
        let access = Arc::new(compute(reader, collection, tree_version, principal, roles)?);
        if !keep {
            return Ok(access);
        }
        let mut entries = self.entries();
        if entries.len() >= MAX_CACHED {
            entries.clear();
        }
        entries.insert((collection, principal.id, principal.limits.scopes), access.clone());
        Ok(access)
    }

    fn entries(&self) -> std::sync::MutexGuard<'_, HashMap<(Id, Id, TokenScopes), Arc<Access>>> {
        self.entries.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

fn compute(
    reader: &mut Reader<'_>,
    collection: Id,
    tree_version: i64,
    principal: &Principal,
    roles: &HashMap<Id, Role>,
) -> Result<Access> {
    let now = Timestamp::now();
    let mut access = Access {
        tree_version,
        directory_version: principal.directory_version,
        all_rights: principal.everywhere,
        mask: principal.limits.scopes.rights(),
        scopes: HashMap::new(),
        ends_at: None,
        computed_at: now,
        name_only_ancestors: HashSet::new(),
    };
    if access.all_rights {
        return Ok(access);
    }
    let mut owners = Vec::new();
    for id in principal.ids() {
        for granted in scope::granted_to(reader, id, collection, now)? {
            let rights = access.scopes.entry(granted.scope_id).or_default();
            *rights = rights.union(Registry::rights(roles, granted.role_id));
            access.ends_at = access.ends_at.into_iter().chain(granted.expires_at).min();
            owners.push((granted.scope_id, granted.owner_id));
        }
    }
    for (scope, owner) in owners {
        if access.may_view(scope) {
            record_ancestors(reader, &mut access, owner)?;
        }
    }
    Ok(access)
}

/// Records the ancestors of `owner` that the caller may not open, up to the first that is already recorded.
fn record_ancestors(reader: &mut Reader<'_>, access: &mut Access, owner: Id) -> Result<()> {
    let mut way = Vec::new();
    let mut next = node::find(reader, owner)?.map(|node| node.parent_id);
    while let Some(id) = next.filter(|id| !id.is_none()) {
        let Some(above) = node::find(reader, id)? else {
            // The path ends in a recycle bin, so nothing leads to the item.
            return Ok(());
        };
        if access.name_only_ancestors.contains(&above.id) {
            break;
        }
        if !access.may_view(above.scope_id) {
            way.push(above.id);
        }
        next = Some(above.parent_id);
    }
    access.name_only_ancestors.extend(way);
    Ok(())
}
