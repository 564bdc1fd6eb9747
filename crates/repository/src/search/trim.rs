//! Filter of index entries by the caller's rights.

use std::cell::RefCell;
use std::collections::HashSet;
use std::sync::Arc;

use model::{Id, Principal, Right, Rights};
use search::index::{Admission, Candidate, Face};

use super::places::{Places, UnknownPlace};
use super::tail::Tail;

/// Admits the entries of documents that the caller may open, in the version that the caller sees.
pub(super) struct Trim {
    pub(super) places: Arc<Places>,
    pub(super) tail: Arc<Tail>,
    pub(super) principal: Arc<Principal>,
    /// Scopes in which the caller may view documents, and those in which the caller also sees drafts; `None` for all.
    pub(super) scopes: Option<VisibleScopes>,
    /// Places that entries name and that were created since the places were read.
    pub(super) unknown: RefCell<HashSet<UnknownPlace>>,
}

/// Limit on the places that are read for one search.
const MAX_UNKNOWN: usize = 1_000;

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
        let Some(place) = self.tail.place(entry) else { return false };
        let collection = entry.collection();
        let scope = match self.places.scope(collection, place) {
            Ok(Some(scope)) => scope,
            Ok(None) => return false,
            Err(unknown) => {
                if self.unknown.borrow().len() < MAX_UNKNOWN {
                    self.unknown.borrow_mut().insert(unknown);
                }
                return false;
            }
        };
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
