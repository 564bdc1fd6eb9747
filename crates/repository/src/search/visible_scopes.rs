//! The scopes that callers may view. They are kept for as long as neither the permissions in a content database nor the
//! farm's people and roles change.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use model::{Id, Principal, Result, Right, Rights, Timestamp, TokenScopes};
use rustc_hash::FxHashSet;

use super::places::Places;
use crate::session::access::GrantedRights;

/// Limit on what is kept for all callers: their scopes and the site collections on which these depend, each of some 20
/// bytes. When it is reached, all are discarded.
const MAX_KEPT: usize = 2_000_000;

/// The scopes that a caller may view in one content database.
#[derive(Default)]
pub(super) struct VisibleScopes {
    pub(super) view: FxHashSet<Id>,
    /// Those in which the caller also sees drafts.
    pub(super) drafts: FxHashSet<Id>,
    /// Those in `view`, in their order.
    pub(super) sorted: Vec<Id>,
}

impl VisibleScopes {
    /// Collects what grants on scopes allow.
    pub(super) fn of(granted: Vec<(Id, Rights)>) -> Self {
        let mut scopes = Self::default();
        for (scope, rights) in granted {
            if rights.has(Right::View) {
                scopes.view.insert(scope);
            }
            if sees_drafts(rights) {
                scopes.drafts.insert(scope);
            }
        }
        scopes.sorted = scopes.view.iter().copied().collect();
        scopes.sorted.sort_unstable();
        scopes
    }
}

/// Returns whether rights on a document include seeing its drafts.
pub(super) fn sees_drafts(rights: Rights) -> bool {
    rights.has(Right::Publish) || rights.has(Right::Edit)
}

/// Kept scopes by content database, user and token scopes.
#[derive(Default)]
pub(crate) struct ScopesCache(Mutex<HashMap<(Id, Id, TokenScopes), KeptScopes>>);

/// The scopes of a caller, with the versions of all that they depend on.
struct KeptScopes {
    trees: Arc<[(Id, i64)]>,
    directory_version: i64,
    /// The earliest end of a grant that counts here; `None` if none ends.
    ends_at: Option<Timestamp>,
    /// Time before which they were computed. Grants that had ended by then are not in them.
    computed_at: Timestamp,
    scopes: Arc<VisibleScopes>,
}

impl KeptScopes {
    fn size(&self) -> usize {
        1 + self.trees.len() + self.scopes.view.len() + self.scopes.drafts.len()
    }
}

impl ScopesCache {
    /// Forgets the scopes in a content database.
    pub(super) fn forget(&self, database: Id) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).retain(|(other, ..), _| *other != database);
    }

    /// Returns the caller's scopes as of the snapshot in which `places` are current; `None` if the caller may view all.
    /// Calls `granted` for what the snapshot grants on scopes, unless it is known.
    ///
    /// # Errors
    /// Those of `granted`.
    pub(super) fn current(
        &self,
        database: Id,
        principal: &Principal,
        places: &Places,
        granted: impl FnOnce() -> Result<Option<GrantedRights>>,
    ) -> Result<Option<Arc<VisibleScopes>>> {
        if principal.everywhere {
            return Ok(None);
        }
        let key = (database, principal.id, principal.limits.scopes);
        let now = Timestamp::now();
        let is_current = |kept: &&KeptScopes| {
            kept.directory_version == principal.directory_version
                && kept.trees == places.trees
                && kept.computed_at <= now
                && kept.ends_at.is_none_or(|end| end > now)
        };
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = kept.get(&key).filter(is_current) {
            return Ok(Some(known.scopes.clone()));
        }
        drop(kept);
        let Some(granted) = granted()? else { return Ok(None) };
        let ends_at = granted.ends_at;
        let scopes = Arc::new(VisibleScopes::of(granted.by_scope));
        kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // Entries that depend on older permissions of this database are never used again.
        kept.retain(|(other, ..), known| *other != database || known.trees == places.trees);
        let (trees, directory_version) = (places.trees.clone(), principal.directory_version);
        let new = KeptScopes { trees, directory_version, ends_at, computed_at: now, scopes: scopes.clone() };
        if kept.values().map(KeptScopes::size).sum::<usize>() + new.size() > MAX_KEPT {
            kept.clear();
        }
        kept.insert(key, new);
        Ok(Some(scopes))
    }
}
