//! The open search indexes of this process.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock};

use database::Reader;
use model::{Error, ErrorKind, Id, Result};
use search::index::{SearchIndex, SearchServer};

use super::places::Places;
use super::visible_scopes::ScopesCache;

/// The indexes by content database, and the places that decide who may find what in them.
#[derive(Default)]
pub(crate) struct SearchIndexes {
    open: RwLock<HashMap<Id, Arc<SearchIndex>>>,
    places: Mutex<HashMap<Id, Arc<Mutex<Arc<Places>>>>>,
    /// Content databases of whose index a search could not read a part.
    damaged: Mutex<HashSet<Id>>,
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

    /// Notes the error of a search that read an index. If the index is damaged, the follower looks at its files.
    pub(super) fn note_error(&self, database: Id, error: &Error) {
        if error.kind() == ErrorKind::Corrupt {
            self.damaged.lock().unwrap_or_else(PoisonError::into_inner).insert(database);
        }
    }

    /// Returns whether damage was noted since the last call.
    pub(super) fn take_damage(&self, database: Id) -> bool {
        self.damaged.lock().unwrap_or_else(PoisonError::into_inner).remove(&database)
    }

    /// Returns the places of a content database as of the reader's snapshot. After a change, one search reads them
    /// while others wait for the result.
    ///
    /// # Errors
    /// Those of the database.
    pub(super) fn places(&self, database: Id, reader: &mut Reader<'_>) -> Result<Arc<Places>> {
        let slot = self.slot(database);
        let mut kept = slot.lock().unwrap_or_else(PoisonError::into_inner);
        let current = kept.current(reader)?;
        if !current.is_older_than(&kept) {
            *kept = current.clone();
        }
        Ok(current)
    }

    /// Keeps the places of a content database for later searches, unless there are newer ones.
    pub(super) fn keep_places(&self, database: Id, places: Arc<Places>) {
        let slot = self.slot(database);
        let mut kept = slot.lock().unwrap_or_else(PoisonError::into_inner);
        if !places.is_older_than(&kept) {
            *kept = places;
        }
    }

    /// Forgets the places of a content database, and who may view documents in them.
    pub(super) fn forget_places(&self, database: Id) {
        self.places.lock().unwrap_or_else(PoisonError::into_inner).remove(&database);
        self.scopes.forget(database);
    }

    fn slot(&self, database: Id) -> Arc<Mutex<Arc<Places>>> {
        self.places.lock().unwrap_or_else(PoisonError::into_inner).entry(database).or_default().clone()
    }
}
