//! The directory of a content database's index: opening it, and replacing an index that cannot be used.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use database::content::{event, feed};
use database::{Engine, Reader};
use model::{Error, ErrorKind, Result};
use repository::StorageDatabase;
use search::index::{Checkpoint, FollowedEvent, SearchIndex};

/// Number of recent sequences that a new index on PostgreSQL reads again. There, sequences are assigned before commit
/// and can become visible out of order.
const OVERTAKEN: i64 = 10_000;

/// Opens the index of a content database, and makes a new one where there is none that can be used. With `suspect`, all
/// files are compared with their checksums first. Returns the index, and the checkpoint from which to follow.
///
/// # Errors
/// `Unavailable` if the directory or the database cannot be read or written.
pub(super) async fn open_index(
    directory: PathBuf,
    database: &StorageDatabase,
    suspect: bool,
) -> Result<(Arc<SearchIndex>, Checkpoint)> {
    let index = open(directory.clone(), suspect).await?;
    let checkpoint = index.view().checkpoint().clone();
    if matches_database(database, &checkpoint).await? {
        return Ok((index, begin(database, checkpoint).await?));
    }
    tracing::info!(database = database.name, "the search index does not match this content database and is rebuilt");
    drop(index);
    let index = blocking(move || {
        remove(&directory)?;
        SearchIndex::open(&directory).map(Arc::new)
    })
    .await?;
    let checkpoint = index.view().checkpoint().clone();
    Ok((index, begin(database, checkpoint).await?))
}

async fn open(directory: PathBuf, suspect: bool) -> Result<Arc<SearchIndex>> {
    blocking(move || {
        blobs::create_private_directories(&directory)?;
        let opened = SearchIndex::open(&directory).and_then(|index| {
            if suspect {
                index.verify()?;
            }
            Ok(index)
        });
        match opened {
            Err(error) if error.kind() == ErrorKind::Corrupt => {
                tracing::warn!(error = error.report(), "a search index cannot be used and is rebuilt");
                remove(&directory)?;
                SearchIndex::open(&directory)
            }
            opened => opened,
        }
        .map(Arc::new)
    })
    .await
}

/// Replaces the directory by an empty one.
fn remove(directory: &Path) -> Result<()> {
    std::fs::remove_dir_all(directory).map_err(|error| {
        let message = format!("the search index in {} cannot be removed: {error}", directory.display());
        Error::unavailable(message).with_source(error)
    })?;
    blobs::create_private_directories(directory)
}

/// Returns whether the content database contains the newest event that the index has followed.
async fn matches_database(database: &StorageDatabase, checkpoint: &Checkpoint) -> Result<bool> {
    let Some(newest) = checkpoint.newest else { return Ok(checkpoint.sequence == 0) };
    let found = database.database.read(move |reader: &mut Reader<'_>| feed::at(reader, &[newest.sequence])).await?;
    Ok(found.first().is_some_and(|event| (event.at.micros(), event.node_id.get()) == (newest.at, newest.node)))
}

/// Returns the checkpoint from which to follow. A new index begins at the newest event, or some events before it where
/// sequences are assigned before transactions commit; the walk through all documents has what is older.
async fn begin(database: &StorageDatabase, checkpoint: Checkpoint) -> Result<Checkpoint> {
    if checkpoint.newest.is_some() {
        return Ok(checkpoint);
    }
    let read = |reader: &mut Reader<'_>| {
        let last = event::last(reader)?;
        Ok((last, feed::at(reader, &[last])?.pop()))
    };
    let (last, event) = database.database.read(read).await?;
    let newest =
        event.map(|event| FollowedEvent { sequence: event.sequence, at: event.at.micros(), node: event.node_id.get() });
    let overtaken = if database.database.engine() == Engine::Postgres { OVERTAKEN } else { 0 };
    Ok(Checkpoint { sequence: (last - overtaken).max(0), newest, ..checkpoint })
}

/// Runs work that waits for a disk.
pub(super) async fn blocking<T: Send + 'static>(work: impl FnOnce() -> Result<T> + Send + 'static) -> Result<T> {
    tokio::task::spawn_blocking(work).await.map_err(|error| {
        let kind = if error.is_panic() { ErrorKind::Corrupt } else { ErrorKind::Unavailable };
        Error::new(kind, "work on a search index ended early").with_source(error)
    })?
}
