//! Filter of index entries by the caller's rights.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use database::Reader;
use model::{Id, Principal, Result, Right};
use search::index::{Admission, Candidate, Face};

use super::places::{Places, UnknownPlace};
use super::tail::Tail;
use super::visible_scopes::{VisibleScopes, sees_drafts};

/// Admits the entries of documents that the caller may open, in the version that the caller sees.
pub(super) struct Trim {
    pub(super) places: Arc<Places>,
    pub(super) tail: Arc<Tail>,
    pub(super) principal: Arc<Principal>,
    /// Scopes in which the caller may view documents, and those in which the caller also sees drafts; `None` for all.
    pub(super) scopes: Option<Arc<VisibleScopes>>,
    /// Places that entries name and that were created since the places were read.
    pub(super) unknown: UnknownPlaces,
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

impl Trim {
    /// Looks something up, and does so again if that named places which were created meanwhile.
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
        Ok(look(self))
    }
}

/// Admits what a [`Trim`] admits, if the indexed values of the document are in columns of the library that it is in
/// now. Values in those of another library are hidden.
pub(super) struct WithValues<'a>(pub(super) &'a Trim);

impl Admission for WithValues<'_> {
    fn admit(&self, entry: &Candidate<'_>) -> Option<Id> {
        let (place, library) = (self.0.admit(entry)?, entry.library());
        let is_there = || self.0.places.upward(entry.collection(), place).any(|above| above == library);
        (library.is_none() || is_there()).then_some(place)
    }
}

impl Admission for Trim {
    fn admit(&self, entry: &Candidate<'_>) -> Option<Id> {
        let place = self.tail.place(entry)?;
        let collection = entry.collection();
        let scope = match self.places.scope(collection, place) {
            Ok(scope) => scope?,
            Err(unknown) => {
                self.unknown.add(unknown);
                return None;
            }
        };
        let may_view = match &self.scopes {
            Some(visible) => visible.view.contains(&scope),
            // The credential of a caller with all rights may permit less.
            None => self.principal.limits.scopes.rights().has(Right::View),
        };
        if !may_view {
            return None;
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
        (is_shown && self.principal.limits.includes(self.places.upward(collection, place))).then_some(place)
    }
}
