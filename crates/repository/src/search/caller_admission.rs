//! Filter of index entries by the caller's rights.

use std::cell::RefCell;
use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use database::Reader;
use model::{Id, Principal, Result, Right};
use search::index::{Admission, Audience, Candidate, ChangedDocument, PlaceAccess, PlaceKey, ValidEntry};

use super::places::{Places, UnknownPlace};
use super::unindexed::{Standing, UnindexedChanges, UnindexedDocument};
use super::visible_scopes::{VisibleScopes, sees_drafts};

/// Admits the entries of documents that the caller may open, in the version that the caller sees.
pub(super) struct CallerAdmission {
    pub(super) places: Arc<Places>,
    pub(super) unindexed: Arc<UnindexedChanges>,
    pub(super) principal: Arc<Principal>,
    /// Scopes in which the caller may view documents, and those in which the caller also sees drafts; `None` for all.
    pub(super) scopes: Option<Arc<VisibleScopes>>,
    /// Places that entries name and that were created since the places were read.
    pub(super) unknown: UnknownPlaces,
    /// By the numbers of places.
    decisions: RefCell<Vec<Decision>>,
}

/// Limit on the places that are read for one search.
const MAX_UNKNOWN: usize = 1_000;

/// Places to be read before the search is repeated.
#[derive(Clone, Default)]
pub(super) struct UnknownPlaces(Arc<Mutex<HashSet<UnknownPlace>>>);

impl UnknownPlaces {
    /// Adds a place, up to a limit.
    pub(super) fn add(&self, place: UnknownPlace) {
        let mut places = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if places.len() < MAX_UNKNOWN {
            places.insert(place);
        }
    }

    /// Takes all places.
    pub(super) fn take(&self) -> HashSet<UnknownPlace> {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl CallerAdmission {
    /// Runs a lookup, and repeats it once if it met places created since.
    ///
    /// # Errors
    /// Those of the database.
    pub(super) fn with_known_places<T>(
        &mut self,
        reader: &mut Reader<'_>,
        mut look: impl FnMut(&Self) -> T,
    ) -> Result<T> {
        let found = look(self);
        let unknown = self.unknown.take();
        if unknown.is_empty() {
            return Ok(found);
        }
        self.places = self.places.with(reader, &unknown)?;
        self.decisions.borrow_mut().clear();
        Ok(look(self))
    }
}

/// Admits what a [`CallerAdmission`] admits, if the indexed values of the document are in columns of the library that
/// it is in now. Values in those of another library are hidden.
pub(super) struct WithValues<'a>(pub(super) &'a CallerAdmission);

impl Admission for WithValues<'_> {
    fn admit(&self, entry: &Candidate<'_>) -> bool {
        self.0.admit(entry) && {
            let library = entry.library();
            let is_there = || self.0.places.upward(entry.collection(), self.place(entry)).any(|above| above == library);
            library.is_none() || is_there()
        }
    }

    fn place(&self, entry: &Candidate<'_>) -> Id {
        self.0.place(entry)
    }

    fn caller(&self) -> Id {
        self.0.caller()
    }

    fn access(&self, key: &PlaceKey) -> PlaceAccess {
        let PlaceKey { collection, place, library } = *key;
        let is_there = || self.0.places.upward(collection, place).any(|above| above == library);
        if library.is_none() || is_there() { self.0.access(key) } else { PlaceAccess::None }
    }

    fn changed(&self) -> Vec<ChangedDocument> {
        self.0.changed_with(|collection, place| self.0.places.upward(collection, place).chain([Id::NONE]).collect())
    }
}

/// The answer for documents in one place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Decision {
    /// Not looked up yet.
    #[default]
    Open,
    /// The caller may not view them.
    Hidden,
    /// The caller may view them.
    View,
    /// The caller also sees their drafts.
    Drafts,
}

impl CallerAdmission {
    pub(super) fn new(
        places: Arc<Places>,
        unindexed: Arc<UnindexedChanges>,
        principal: Arc<Principal>,
        scopes: Option<Arc<VisibleScopes>>,
    ) -> Self {
        Self { places, unindexed, principal, scopes, unknown: UnknownPlaces::default(), decisions: RefCell::default() }
    }

    /// Returns the decision for a place, which is kept for the next entry with the same number.
    fn decision(&self, entry: &Candidate<'_>) -> Decision {
        let (number, mut decisions) = (entry.place_number(), self.decisions.borrow_mut());
        if let Some(known) = decisions.get(number).filter(|known| **known != Decision::Open) {
            return *known;
        }
        let decided = self.decide(entry.collection(), entry.place());
        if number >= decisions.len() {
            decisions.resize(number + 1, Decision::Open);
        }
        if let Some(kept) = decisions.get_mut(number) {
            *kept = decided;
        }
        decided
    }

    fn decide(&self, collection: Id, place: Id) -> Decision {
        let scope = match self.places.scope(collection, place) {
            Ok(Some(scope)) => scope,
            Ok(None) => return Decision::Hidden,
            Err(unknown) => {
                self.unknown.add(unknown);
                return Decision::Hidden;
            }
        };
        let (may_view, sees_drafts) = match &self.scopes {
            Some(visible) => (visible.view.contains(&scope), visible.drafts.contains(&scope)),
            None => {
                // The credential of a caller with all rights may permit less.
                let rights = self.principal.limits.scopes.rights();
                (rights.has(Right::View), sees_drafts(rights))
            }
        };
        if !may_view || !self.principal.limits.includes(self.places.upward(collection, place)) {
            return Decision::Hidden;
        }
        if sees_drafts { Decision::Drafts } else { Decision::View }
    }
}

impl CallerAdmission {
    /// Returns whether the caller may find an entry in a place of this decision.
    fn shows(&self, decision: Decision, audience: Option<Audience>, author: Id, holder: Id) -> bool {
        let caller = self.principal.id;
        let sees_drafts = || decision == Decision::Drafts || author == caller;
        decision != Decision::Hidden
            && match audience {
                Some(Audience::All) => holder != caller,
                Some(Audience::Published) => holder != caller && !sees_drafts(),
                Some(Audience::Draft) => holder != caller && sees_drafts(),
                Some(Audience::WorkingCopy) => holder == caller,
                None => false,
            }
    }

    /// Returns the documents that changed. `libraries` returns those whose values may have been indexed for a document
    /// in a place.
    fn changed_with(&self, libraries: impl Fn(Id, Id) -> HashSet<Id>) -> Vec<ChangedDocument> {
        let entries = |document: &UnindexedDocument| {
            let (collection, place) = (document.collection, document.place);
            let decision = self.decide(collection, place);
            let (libraries, name_print) = (libraries(collection, place), document.name_print);
            let valid = document.versions.iter().map(|indexed| ValidEntry {
                version: indexed.version,
                audience: indexed.audience,
                holder: indexed.holder,
                name_print,
                collection,
                place,
                is_admitted: self.shows(decision, Some(indexed.audience), document.author, indexed.holder),
                libraries: libraries.clone(),
            });
            valid.collect()
        };
        let changed = self.unindexed.all_documents();
        changed.map(|(node, now)| ChangedDocument { node, entries: now.map(entries).unwrap_or_default() }).collect()
    }
}

impl Admission for CallerAdmission {
    fn admit(&self, entry: &Candidate<'_>) -> bool {
        let decision = match self.unindexed.standing(entry) {
            Standing::Unchanged => self.decision(entry),
            Standing::In(place) => self.decide(entry.collection(), place),
            Standing::Outdated => return false,
        };
        if decision == Decision::Hidden || entry.is_plain() {
            return decision != Decision::Hidden;
        }
        self.shows(decision, entry.audience(), entry.author(), entry.holder())
    }

    fn place(&self, entry: &Candidate<'_>) -> Id {
        match self.unindexed.standing(entry) {
            Standing::In(place) => place,
            Standing::Unchanged | Standing::Outdated => entry.place(),
        }
    }

    fn caller(&self) -> Id {
        self.principal.id
    }

    fn access(&self, key: &PlaceKey) -> PlaceAccess {
        match self.decide(key.collection, key.place) {
            Decision::Drafts => PlaceAccess::ViewDrafts,
            Decision::View => PlaceAccess::View,
            Decision::Hidden | Decision::Open => PlaceAccess::None,
        }
    }

    /// Names of documents that changed are compared with their rows.
    fn changed(&self) -> Vec<ChangedDocument> {
        self.unindexed.all_documents().map(|(node, _)| ChangedDocument { node, entries: Vec::new() }).collect()
    }
}
