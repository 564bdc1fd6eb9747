//! Opens the index of a content database, and begins a new one where it cannot be used.

use std::sync::Arc;

use database::content::{event, feed};
use database::{Engine, Reader};
use model::{ErrorKind, Id, Result};
use repository::{Generation, SearchHome, SearchSettings, StorageDatabase};
use search::index::{Checkpoint, FollowedEvent, SearchIndex};

use super::blocking::blocking;

/// Number of recent sequences that a new index on PostgreSQL reads again. There, sequences are assigned before commit
/// and can become visible out of order.
const OVERTAKEN: i64 = 10_000;
/// Sequences between a checkpoint and the next event from which on the checkpoint is wrong.
const MAX_JUMP: i64 = 10_000_000;

/// Opens the generation of an index that is in use, and begins a new one where there is none that can be used. With
/// `suspect`, all files are compared with their checksums first.
///
/// # Errors
/// `Unavailable` if the directory or the database cannot be read or written.
pub(super) async fn open_current(
    home: SearchHome,
    database: &StorageDatabase,
    settings: &SearchSettings,
    suspect: bool,
) -> Result<OpenIndex> {
    let asked = home.clone();
    if let Some(generation) = blocking(move || asked.current()).await? {
        let (opening, opened) = (home.clone(), generation.clone());
        // A panic of the library counts as damage too.
        match blocking(move || open(&opening, &opened, suspect)).await {
            Ok(index) if is_usable(database, settings, &index).await? => return Ok(OpenIndex { generation, index }),
            Ok(_) => tracing::info!(
                database = database.name,
                "the search index does not match its content database or the settings, and is rebuilt"
            ),
            Err(error) if error.kind() == ErrorKind::Corrupt => {
                tracing::warn!(error = error.report(), "a search index cannot be used and is rebuilt");
            }
            Err(error) => return Err(error),
        }
    }
    blocking(move || {
        let generation = home.begin()?;
        let index = open(&home, &generation, false)?;
        Ok(OpenIndex { generation, index })
    })
    .await
}

/// Opens the index that a job builds, and begins it anew if it cannot be used.
///
/// # Errors
/// `Unavailable` if the directory or the database cannot be read or written.
pub(crate) async fn open_building(
    home: SearchHome,
    database: &StorageDatabase,
    settings: &SearchSettings,
    job: Id,
) -> Result<Arc<SearchIndex>> {
    let opening = home.clone();
    let opened = blocking(move || open(&opening, &opening.create_building(job)?, false)).await;
    let is_final = match &opened {
        Ok(index) => is_usable(database, settings, index).await?,
        Err(error) => error.kind() != ErrorKind::Corrupt,
    };
    if is_final {
        return opened;
    }
    drop(opened);
    blocking(move || {
        home.discard(job)?;
        open(&home, &home.create_building(job)?, false)
    })
    .await
}

/// An open index with its generation.
pub(super) struct OpenIndex {
    pub(super) generation: Generation,
    pub(super) index: Arc<SearchIndex>,
}

fn open(home: &SearchHome, generation: &Generation, suspect: bool) -> Result<Arc<SearchIndex>> {
    let index = home.open(generation)?;
    if suspect {
        index.verify()?;
    }
    Ok(Arc::new(index))
}

/// Returns whether the content database contains the newest event that an index has followed, the next event is not far
/// from it, and the index contains no text that it must not contain.
pub(super) async fn is_usable(
    database: &StorageDatabase,
    settings: &SearchSettings,
    index: &SearchIndex,
) -> Result<bool> {
    let (view, database) = (index.view(), &database.database);
    let checkpoint = view.checkpoint();
    if checkpoint.has_encrypted_texts && !settings.index_encrypted_texts {
        return Ok(false);
    }
    let Some(newest) = checkpoint.newest else { return Ok(checkpoint.sequence == 0) };
    let sequence = checkpoint.sequence;
    let read = move |reader: &mut Reader<'_>| Ok((has_event(reader, newest)?, feed::after(reader, sequence, 1)?.pop()));
    let (has_newest, next) = database.read(read).await?;
    Ok(has_newest && !next.is_some_and(|next| is_jump(database.engine(), sequence, next.sequence)))
}

/// Returns whether a content database has an event that an index has followed.
///
/// # Errors
/// Those of the database.
pub(super) fn has_event(reader: &mut Reader<'_>, followed: FollowedEvent) -> Result<bool> {
    let found = feed::at(reader, &[followed.sequence])?.pop();
    Ok(found.is_some_and(|event| (event.at.micros(), event.node_id.get()) == (followed.at, followed.node)))
}

/// Returns whether the next event after a checkpoint is so far from it that the checkpoint cannot be right. SQLite has
/// no missing sequences that count.
pub(super) fn is_jump(engine: Engine, sequence: i64, next: i64) -> bool {
    engine == Engine::Postgres && next.saturating_sub(sequence) > MAX_JUMP
}

/// Returns the checkpoint from which to follow. A new index begins at the newest event, or some events before it where
/// sequences are assigned before transactions commit; the walk through all documents has what is older. After the walk,
/// an index that has followed no event has those of the database from the first one on to follow.
pub(super) async fn starting_checkpoint(database: &StorageDatabase, checkpoint: Checkpoint) -> Result<Checkpoint> {
    if checkpoint.newest.is_some() || checkpoint.walk != Some(0) {
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
    Ok(Checkpoint { sequence: last.saturating_sub(overtaken).max(0), newest, ..checkpoint })
}
