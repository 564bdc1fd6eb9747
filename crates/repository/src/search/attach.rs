//! Takes the indexes of content databases into use.

use std::sync::Arc;

use async_recursion::async_recursion as boxed;
use model::{Error, Id, Result};
use search::index::{SearchIndex, SearchServer};

use crate::{Repository, Session, Storage};

impl Repository {
    /// Has the search indexes on a search server, which all servers of the farm share, and not in the data directory.
    /// Only the first call has an effect.
    pub fn share_search_indexes(&self, server: SearchServer) {
        self.inner.search.server.get_or_init(|| server);
    }

    /// Returns whether a search found the index of a content database damaged since the last call.
    pub fn take_search_index_damage(&self, database: Id) -> bool {
        self.inner.search.take_damage(database)
    }

    /// Forgets which places and scopes of a content database are known, after the database lost some of its history.
    pub fn forget_search_places(&self, database: Id) {
        self.inner.search.forget_places(database);
    }

    /// Sets the index that searches use for a content database; `None` removes it.
    pub fn use_search_index(&self, database: Id, index: Option<Arc<SearchIndex>>) {
        self.inner.search.set(database, index);
    }
}

impl Session {
    /// Opens the search indexes as they are now, for searches of a process that does not serve.
    /// They are only read, also while a server writes them. Texts of a database without a usable index are not
    /// searched.
    ///
    /// # Errors
    /// `Forbidden` unless the caller is a farm administrator; `Unavailable` if an index cannot be read.
    #[boxed]
    pub async fn read_search_indexes(&self) -> Result<()> {
        let storage = self.storage().await?;
        for database in storage.databases()? {
            let index = open_for_reading(&storage, database.id).await?;
            self.repository.use_search_index(database.id, index.map(Arc::new));
        }
        Ok(())
    }
}

/// Opens the index of a content database that is in use; `None` if there is none that can be used.
pub(super) async fn open_for_reading(storage: &Storage, database: Id) -> Result<Option<SearchIndex>> {
    let home = storage.search_index(database);
    let opened = tokio::task::spawn_blocking(move || home.open_for_reading());
    let ended = |error| Error::unavailable("reading a search index ended early").with_source(error);
    opened.await.map_err(ended)?
}
