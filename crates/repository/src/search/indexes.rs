//! The open search indexes of this process.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock};

use model::Id;
use search::index::{SearchIndex, SearchServer};

use super::places::Places;
use super::visible_scopes::ScopesCache;

/// The indexes by content database, and the places that decide who may find what in them.
#[derive(Default)]
pub(crate) struct SearchIndexes {
    open: RwLock<HashMap<Id, Arc<SearchIndex>>>,
    places: Mutex<HashMap<Id, Arc<Places>>>,
    /// The search server that has the indexes; without one, they are in the data directory.
    pub(crate) server: OnceLock<SearchServer>,
    /// The scopes that callers may view.
    pub(super) scopes: ScopesCache,
}

impl SearchIndexes {
    /// Returns the index of a content database, if it is open.
    pub(super) fn of(&self, database: Id) -> Option<Arc<SearchIndex>> {
        self.open.read().unwrap_or_else(PoisonError::into_inner).get(&database).cloned()
    }

    /// Takes an index into use, or out of use.
    pub(super) fn set(&self, database: Id, index: Option<Arc<SearchIndex>>) {
        let mut open = self.open.write().unwrap_or_else(PoisonError::into_inner);
        match index {
            Some(index) => open.insert(database, index),
            None => open.remove(&database),
        };
    }

    /// Returns the places of a content database that were loaded last.
    pub(super) fn places(&self, database: Id) -> Arc<Places> {
        self.places.lock().unwrap_or_else(PoisonError::into_inner).entry(database).or_default().clone()
    }

    /// Keeps the places of a content database for later searches.
    pub(super) fn keep_places(&self, database: Id, places: Arc<Places>) {
        self.places.lock().unwrap_or_else(PoisonError::into_inner).insert(database, places);
    }
}
