//! Takes the index of a content database into use.

use std::sync::Arc;

use model::Id;
use search::index::SearchIndex;

use crate::Repository;

impl Repository {
    /// Has searches use an index of a content database; `None` takes it out of use.
    pub fn use_search_index(&self, database: Id, index: Option<Arc<SearchIndex>>) {
        self.inner.search.set(database, index);
    }
}
