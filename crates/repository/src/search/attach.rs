//! Takes the index of a content database into use.

use std::sync::Arc;

use model::Id;
use search::index::SearchIndex;

use crate::Repository;

impl Repository {
    /// Sets the index that searches use for a content database; `None` removes it.
    pub fn use_search_index(&self, database: Id, index: Option<Arc<SearchIndex>>) {
        self.inner.search.set(database, index);
    }
}
