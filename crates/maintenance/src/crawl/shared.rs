//! Keeps the search index of a content database on a search server up to date. All servers of the farm read it, and one
//! of them writes it: the one that has the right to.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use model::{Error, ErrorKind, Id, Result};
use repository::{Repository, Storage, StorageDatabase};
use search::index::SearchIndex;

use super::blocking::blocking;
use super::generation::{discard_abandoned, follow_generation};
use super::open_index::is_usable;

/// Name of the right to write the index.
const CRAWL: &str = "crawl";
/// Interval between two attempts to get the right.
const RIGHT_INTERVAL: Duration = Duration::from_secs(2);
/// Interval between two looks whether the index can be used.
const CHECK_INTERVAL: Duration = Duration::from_secs(3);
/// Interval between two looks for what full crawls have left.
const CLEAN_UP_INTERVAL: Duration = Duration::from_secs(10);
/// Delay before another attempt after a failure.
const RETRY: Duration = Duration::from_secs(5);

/// Reads the index of a content database on a search server, and writes it while no other server does.
pub(super) async fn share_always(repository: Repository, storage: Storage, database: Id) {
    tokio::join!(read_always(&repository, &storage, database), write_always(&repository, &storage, database));
}

/// Has searches use the index for as long as it can be used.
async fn read_always(repository: &Repository, storage: &Storage, id: Id) {
    let mut in_use: Option<Arc<SearchIndex>> = None;
    loop {
        let usable = usable(storage, id, in_use.clone()).await;
        let next = usable.unwrap_or_else(|error| {
            tracing::debug!(error = error.report(), "the search server does not answer");
            // Searches fail, and use it again as soon as it answers.
            in_use.clone()
        });
        if next.as_ref().map(Arc::as_ptr) != in_use.as_ref().map(Arc::as_ptr) {
            if next.is_none() {
                repository.forget_search_places(id);
            }
            repository.use_search_index(id, next.clone());
            in_use = next;
        }
        tokio::time::sleep(CHECK_INTERVAL).await;
    }
}

/// Returns the index, which is opened if it is not in use yet; `None` if it cannot be used.
async fn usable(storage: &Storage, id: Id, in_use: Option<Arc<SearchIndex>>) -> Result<Option<Arc<SearchIndex>>> {
    let storage = storage.refreshed().await?;
    let (database, home) = (database(&storage, id)?, storage.search_index(id));
    let settings = storage.search_settings().await?;
    let opened = blocking(move || match in_use {
        // Another generation may be in use by now.
        Some(index) => match index.newest() {
            Err(error) if error.kind() == ErrorKind::Corrupt => Ok(None),
            newest => newest.map(|_| Some(index)),
        },
        None => Ok(home.open_for_reading()?.map(Arc::new)),
    });
    let Some(index) = opened.await? else { return Ok(None) };
    Ok(is_usable(&database, &settings, &index).await?.then_some(index))
}

/// Writes the index whenever this server has the right to.
async fn write_always(repository: &Repository, storage: &Storage, id: Id) {
    loop {
        let pause = match write(repository, storage, id).await {
            Ok(()) => RIGHT_INTERVAL,
            Err(error) => {
                if error.kind() == ErrorKind::Corrupt {
                    repository.forget_search_places(id);
                }
                metrics::counter!("strongroom_search_index_failures_total").increment(1);
                tracing::warn!(
                    database = id.get(),
                    error = error.report(),
                    "a search index cannot be updated; retrying in 5 seconds"
                );
                RETRY
            }
        };
        tokio::time::sleep(pause).await;
    }
}

/// Writes the index, generation after generation, if no other server does.
async fn write(repository: &Repository, storage: &Storage, id: Id) -> Result<()> {
    let storage = storage.refreshed().await?;
    let database = database(&storage, id)?.database;
    let Some(right) = database.try_exclusive(CRAWL).await? else { return Ok(()) };
    tracing::info!(database = id.get(), "this server writes the search index");
    let written = loop {
        let followed = tokio::select! {
            followed = follow_generation(repository, &storage, id, false, Some(&right), |_| {}) => followed,
            never = discard_always(&storage, id) => match never {},
        };
        if followed.is_err() {
            break followed;
        }
    };
    right.release().await;
    written
}

/// Removes what full crawls have left that ended without finishing.
async fn discard_always(storage: &Storage, id: Id) -> Infallible {
    loop {
        if let Err(error) = discard_abandoned(storage, storage.search_index(id)).await {
            tracing::warn!(error = error.report(), "remains of a full crawl that ended early cannot be removed");
        }
        tokio::time::sleep(CLEAN_UP_INTERVAL).await;
    }
}

fn database(storage: &Storage, id: Id) -> Result<StorageDatabase> {
    let database = storage.databases()?.into_iter().find(|known| known.id == id);
    database.ok_or_else(|| Error::unavailable("the content database is not open"))
}
