//! Takes the indexes of content databases into use.

use std::sync::Arc;

use async_recursion::async_recursion as boxed;
use model::{Error, ErrorKind, Id, Result};
use search::index::SearchIndex;

use crate::{Repository, Session, Storage};

impl Repository {
    /// Sets the index that searches use for a content database; `None` removes it.
    pub fn use_search_index(&self, database: Id, index: Option<Arc<SearchIndex>>) {
        self.inner.search.set(database, index);
    }
}

impl Session {
    /// Opens the search indexes of this data directory as they are now, for searches of a process that does not serve.
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
    let directory = storage.search_index(database);
    let opened = tokio::task::spawn_blocking(move || {
        let Some(path) = directory.current()? else { return Ok(None) };
        SearchIndex::open_existing(&path)
    });
    let ended = |error| Error::unavailable("reading a search index ended early").with_source(error);
    match opened.await.map_err(ended)? {
        Err(error) if error.kind() == ErrorKind::Corrupt => Ok(None),
        opened => opened,
    }
}
