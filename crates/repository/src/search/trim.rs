//! What a caller may find in the index of one content database.

use std::collections::HashSet;
use std::sync::Arc;

use model::{Id, Principal, Right, Rights};
use search::index::{Admission, Candidate, Face};

use super::places::Places;

/// Admits the entries of documents that the caller may open, in the version that the caller sees.
pub(super) struct Trim {
    pub(super) places: Arc<Places>,
    pub(super) principal: Arc<Principal>,
    /// Scopes in which the caller may view documents, and those in which the caller also sees drafts; `None` for all.
    pub(super) scopes: Option<VisibleScopes>,
}

/// The scopes that a caller may view.
#[derive(Default)]
pub(super) struct VisibleScopes {
    view: HashSet<Id>,
    drafts: HashSet<Id>,
}

impl VisibleScopes {
    /// Adds what a grant on a scope allows.
    pub(super) fn add(&mut self, scope: Id, rights: Rights) {
        if rights.has(Right::View) {
            self.view.insert(scope);
        }
        if sees_drafts(rights) {
            self.drafts.insert(scope);
        }
    }
}

fn sees_drafts(rights: Rights) -> bool {
    rights.has(Right::Publish) || rights.has(Right::Edit)
}

impl Admission for Trim {
    fn admits(&self, entry: &Candidate<'_>) -> bool {
        let (collection, place) = (entry.collection(), entry.place());
        let Some(scope) = self.places.scope(collection, place) else { return false };
        let may = |scopes: fn(&VisibleScopes) -> &HashSet<Id>| {
            self.scopes.as_ref().is_none_or(|visible| scopes(visible).contains(&scope))
        };
        if !may(|visible| &visible.view) {
            return false;
        }
        let caller = self.principal.id;
        let sees_drafts = || {
            let by_scope = match &self.scopes {
                Some(visible) => visible.drafts.contains(&scope),
                None => sees_drafts(self.principal.limits.scopes.rights()),
            };
            by_scope || entry.author() == caller
        };
        let is_shown = match entry.face() {
            Some(Face::All) => entry.holder() != caller,
            Some(Face::Published) => entry.holder() != caller && !sees_drafts(),
            Some(Face::Draft) => entry.holder() != caller && sees_drafts(),
            Some(Face::WorkingCopy) => entry.holder() == caller,
            None => false,
        };
        is_shown && self.principal.limits.includes(self.places.upward(collection, place))
    }
}
