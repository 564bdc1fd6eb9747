//! Follows one content database: first a walk through all documents, and all the while the events in their order.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use database::content::event;
use database::content::feed::{self, Change};
use database::content::node::{self, NodeRow};
use database::{Engine, Mark, Reader};
use model::{Error, ErrorKind, Id, NodeKind, Result, Timestamp};
use repository::{Repository, Storage, StorageDatabase};
use search::index::{Checkpoint, FollowedEvent, Gap, IndexWriter, SearchIndex};

use super::entries::entries;
use super::text::TextReader;

/// Polling interval for events.
const POLL: Duration = Duration::from_millis(200);
/// Events and documents that are read at once.
const BATCH: usize = 500;
/// A walk commits after this time, so that what it read is found and a crash costs no more.
const COMMIT: Duration = Duration::from_secs(5);
/// Sequences before the newest event from which a new index on PostgreSQL begins to follow. They are given before a
/// transaction commits, so that an older one may become visible after a newer one.
const OVERTAKEN: i64 = 10_000;
/// Time after which a missing sequence is taken for that of a transaction that was rolled back.
const GIVEN_UP: Duration = Duration::from_secs(60 * 60);
/// Interval at which missing sequences are asked for again.
const GAPS: Duration = Duration::from_secs(1);
/// Most missing sequences that are remembered.
const MAX_GAPS: usize = 10_000;

/// The follower of a content database.
pub(super) struct Follower {
    storage: Storage,
    database: StorageDatabase,
    texts: TextReader,
    /// `None` after a failure.
    writer: Option<IndexWriter>,
    checkpoint: Checkpoint,
    /// State of the database when its events were read last.
    followed: Option<Mark>,
    asked_for_gaps: Instant,
    committed: Instant,
}

impl Follower {
    /// Opens the index of a content database, and makes a new one where there is none that can be used.
    pub(super) async fn open(repository: Repository, storage: Storage, database: Id) -> Result<Self> {
        let database = storage.databases()?.into_iter().find(|known| known.id == database);
        let database = database.ok_or_else(|| Error::unavailable("the content database is not open"))?;
        let texts = TextReader::new(repository.sandbox()?.clone());
        repository.use_search_index(database.id, None);
        let place = storage.search_index(database.id);
        let mut index = open_index(place.clone()).await?;
        if !is_of_this_history(&database, index.view().checkpoint()).await? {
            tracing::info!(database = database.name, "the search index belongs to another history and is made anew");
            drop(index);
            remove(place.clone()).await?;
            index = open_index(place).await?;
        }
        let opened = index.clone();
        let writer = blocking(move || IndexWriter::open(opened)).await?;
        let mut checkpoint = index.view().checkpoint().clone();
        if checkpoint.newest.is_none() && checkpoint.walk == Some(0) {
            checkpoint.sequence = beginning(&database).await?;
        }
        repository.use_search_index(database.id, Some(index));
        let now = Instant::now();
        let (writer, followed) = (Some(writer), None);
        Ok(Self { storage, database, texts, writer, checkpoint, followed, asked_for_gaps: now, committed: now })
    }

    /// Follows until an error.
    pub(super) async fn run(mut self) -> Result<()> {
        loop {
            let followed = self.follow_events().await?;
            let walked = self.walk_on().await?;
            let is_due = !walked || self.committed.elapsed() >= COMMIT;
            if (followed || walked) && is_due {
                self.commit().await?;
            }
            if !followed && !walked {
                tokio::time::sleep(POLL).await;
            }
        }
    }

    /// Writes what the next events changed. Returns false if there are none.
    async fn follow_events(&mut self) -> Result<bool> {
        // Taken before the events are read, so that a later commit shows.
        let state = self.database.database.mark();
        if state.is_some() && state == self.followed {
            return Ok(false);
        }
        let (sequence, gaps) = (self.checkpoint.sequence, self.due_gaps());
        let read = move |reader: &mut Reader<'_>| {
            let mut changes = if gaps.is_empty() { Vec::new() } else { feed::at(reader, &gaps)? };
            changes.append(&mut feed::after(reader, sequence, BATCH)?);
            Ok(changes)
        };
        let changes = self.database.database.read(read).await?;
        if changes.is_empty() {
            self.followed = state;
            return Ok(false);
        }
        // Stores may have been added or changed since.
        self.storage = self.storage.refreshed().await?;
        let effects: BTreeSet<(Id, Effect)> =
            changes.iter().map(|change| (change.node_id, effect(&change.action))).collect();
        for (id, effect) in effects {
            match effect {
                Effect::Nothing => {}
                Effect::Document => self.write_item(id).await?,
                Effect::Below => self.write_below(id).await?,
            }
        }
        self.note_followed(&changes);
        Ok(true)
    }

    /// Returns the missing sequences from time to time, none otherwise.
    fn due_gaps(&mut self) -> Vec<i64> {
        if self.asked_for_gaps.elapsed() < GAPS {
            return Vec::new();
        }
        self.asked_for_gaps = Instant::now();
        self.checkpoint.gaps.iter().map(|gap| gap.sequence).collect()
    }

    /// Moves the checkpoint behind the changes. Sequences that are missing are remembered.
    fn note_followed(&mut self, changes: &[Change]) {
        let now = Timestamp::now();
        let seen: BTreeSet<i64> = changes.iter().map(|change| change.sequence).collect();
        let checkpoint = &mut self.checkpoint;
        let newest = seen.last().copied().unwrap_or_default().max(checkpoint.sequence);
        // SQLite gives sequences in the order of the commits.
        let is_complete = self.database.database.engine() == Engine::Sqlite;
        let missing = (checkpoint.sequence + 1..newest).filter(|sequence| !is_complete && !seen.contains(sequence));
        let missing: Vec<Gap> = missing.map(|sequence| Gap { sequence, since: now.micros() }).collect();
        let given_up = now.before(GIVEN_UP).micros();
        checkpoint.gaps.retain(|gap| !seen.contains(&gap.sequence) && gap.since > given_up);
        checkpoint.gaps.extend(missing);
        let excess = checkpoint.gaps.len().saturating_sub(MAX_GAPS);
        checkpoint.gaps.drain(..excess);
        if let Some(change) = changes.iter().max_by_key(|change| change.sequence)
            && change.sequence > checkpoint.sequence
        {
            let (sequence, at, node) = (change.sequence, change.at.micros(), change.node_id.get());
            checkpoint.newest = Some(FollowedEvent { sequence, at, node });
        }
        checkpoint.sequence = newest;
    }

    /// Writes the next documents of the first walk. Returns false once it is through.
    async fn walk_on(&mut self) -> Result<bool> {
        let Some(after) = self.checkpoint.walk else { return Ok(false) };
        let read = move |reader: &mut Reader<'_>| feed::documents(reader, Id::new(after), BATCH);
        let documents = self.database.database.read_long(read).await?;
        self.checkpoint.walk = documents.last().map(|document| document.id.get());
        let is_last = documents.is_empty();
        for document in documents {
            self.write(document).await?;
        }
        if is_last {
            self.commit().await?;
            tracing::info!(database = self.database.name, "the search index has all documents");
        }
        Ok(!is_last)
    }

    /// Writes a document, or removes it if it is gone.
    async fn write_item(&mut self, id: Id) -> Result<()> {
        match self.database.database.read(move |reader: &mut Reader<'_>| node::find(reader, id)).await? {
            Some(row) if row.kind == NodeKind::Document => self.write(row).await,
            Some(_) => Ok(()),
            None => self.writer()?.replace(id, &[]),
        }
    }

    /// Writes a document, or all documents below a container.
    async fn write_below(&mut self, id: Id) -> Result<()> {
        let mut after = Id::NONE;
        loop {
            let read = move |reader: &mut Reader<'_>| feed::documents_below(reader, id, after, BATCH);
            let documents = self.database.database.read_long(read).await?;
            let Some(last) = documents.last().map(|document| document.id) else { break };
            after = last;
            for document in documents {
                self.write(document).await?;
            }
        }
        // Gone, or a container.
        if after.is_none() { self.write_item(id).await } else { Ok(()) }
    }

    async fn write(&mut self, document: NodeRow) -> Result<()> {
        let id = document.id;
        let entries = entries(&self.storage, &self.database, &self.texts, document).await?;
        let mut writer = self.take_writer()?;
        // A writer whose memory is full waits for the disk.
        self.writer = Some(blocking(move || writer.replace(id, &entries).map(|()| writer)).await?);
        metrics::counter!("strongroom_search_documents_total").increment(1);
        Ok(())
    }

    async fn commit(&mut self) -> Result<()> {
        let (mut writer, checkpoint) = (self.take_writer()?, self.checkpoint.clone());
        self.writer = Some(blocking(move || writer.commit(&checkpoint).map(|()| writer)).await?);
        self.committed = Instant::now();
        Ok(())
    }

    fn writer(&mut self) -> Result<&mut IndexWriter> {
        self.writer.as_mut().ok_or_else(no_writer)
    }

    fn take_writer(&mut self) -> Result<IndexWriter> {
        self.writer.take().ok_or_else(no_writer)
    }
}

/// The writer is lost with the operation that failed with it.
fn no_writer() -> Error {
    Error::unavailable("the search index cannot be written")
}

/// What an event means for the index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Effect {
    /// Nothing that is indexed has changed. Permissions and positions of containers are not indexed.
    Nothing,
    /// The item itself, if it is a document.
    Document,
    /// The item and all documents below it.
    Below,
}

fn effect(action: &str) -> Effect {
    match action {
        "document.check-in"
        | "document.check-out"
        | "document.create"
        | "document.discard"
        | "document.replace"
        | "item.delete"
        | "item.rename"
        | "permissions.break"
        | "permissions.inherit"
        | "recycle.empty"
        | "recycle.expire"
        | "recycle.purge"
        | "version.delete"
        | "version.publish"
        | "version.restore" => Effect::Document,
        "item.copy" | "item.move" | "item.restore" => Effect::Below,
        "column.change"
        | "column.create"
        | "column.delete"
        | "content-type.create"
        | "content-type.delete"
        | "document.read"
        | "folder.create"
        | "item.break-lock"
        | "item.columns"
        | "item.lock"
        | "item.properties"
        | "item.unlock"
        | "library.create"
        | "library.settings"
        | "link.create"
        | "link.revoke"
        | "link.use"
        | "permissions.grant"
        | "permissions.revoke"
        | "site-collection.create"
        | "site.audit-reads"
        | "site.create"
        | "site.links"
        | "site.look"
        | "site.quota"
        | "view.delete"
        | "view.save" => Effect::Nothing,
        // An action of a newer version.
        _ => Effect::Below,
    }
}

/// Returns the sequence from which a new index follows: the newest event, or some events before it where sequences are
/// given before transactions commit.
async fn beginning(database: &StorageDatabase) -> Result<i64> {
    let newest = database.database.read(event::last).await?;
    let overtaken = if database.database.engine() == Engine::Postgres { OVERTAKEN } else { 0 };
    Ok((newest - overtaken).max(0))
}

/// Returns whether the content database contains the newest event that the index has followed.
async fn is_of_this_history(database: &StorageDatabase, checkpoint: &Checkpoint) -> Result<bool> {
    let Some(newest) = checkpoint.newest else { return Ok(true) };
    let found = database.database.read(move |reader: &mut Reader<'_>| feed::at(reader, &[newest.sequence])).await?;
    Ok(found.first().is_some_and(|event| (event.at.micros(), event.node_id.get()) == (newest.at, newest.node)))
}

/// Opens the index in a directory. One that cannot be used is removed, and a new one is made.
async fn open_index(place: PathBuf) -> Result<Arc<SearchIndex>> {
    blocking(move || {
        blobs::create_private_directories(&place)?;
        let index = match SearchIndex::open(&place) {
            Err(error) if error.kind() == ErrorKind::Corrupt => {
                tracing::warn!(error = error.report(), "a search index cannot be used and is made anew");
                std::fs::remove_dir_all(&place).map_err(|error| cannot_remove(&place, error))?;
                blobs::create_private_directories(&place)?;
                SearchIndex::open(&place)?
            }
            opened => opened?,
        };
        Ok(Arc::new(index))
    })
    .await
}

async fn remove(place: PathBuf) -> Result<()> {
    blocking(move || std::fs::remove_dir_all(&place).map_err(|error| cannot_remove(&place, error))).await
}

fn cannot_remove(place: &Path, error: std::io::Error) -> Error {
    let message = format!("the search index in {} cannot be removed: {error}", place.display());
    Error::unavailable(message).with_source(error)
}

async fn blocking<T: Send + 'static>(work: impl FnOnce() -> Result<T> + Send + 'static) -> Result<T> {
    let stops = |error| Error::unavailable("the server is stopping").with_source(error);
    tokio::task::spawn_blocking(work).await.map_err(stops)?
}

#[cfg(test)]
mod tests {
    use repository::AUDIT_ACTIONS;

    use super::*;

    #[test]
    fn each_action_is_classed() {
        let below = ["item.copy", "item.move", "item.restore"];
        for action in AUDIT_ACTIONS {
            assert_eq!(effect(action) == Effect::Below, below.contains(&action), "{action}");
        }
    }
}
