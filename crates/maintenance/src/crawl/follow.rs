//! Follower of one content database: writes all documents and rows to an index once, and what events change as they
//! arrive.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use database::content::node::{self, NodeRow};
use database::content::{attachment, feed};
use database::{Mark, Reader};
use model::{Error, ErrorKind, Id, NodeKind, Result};
use repository::{Programs, Storage, StorageDatabase};
use search::index::{Checkpoint, Entry, Fault, IndexWriter, SearchIndex, View, WalkCounts};
use tokio::sync::oneshot;
use tokio::task::JoinSet;

use super::blocking::blocking;
use super::entries::{DocumentEntries, read_entries};
use super::open_index::starting_checkpoint;
use super::pace::Pace;
use super::slow::SlowReading;
use super::text::{ReadPass, TextReader};

/// Polling interval for events, and for a document that is being read beside them.
const POLL: Duration = Duration::from_millis(100);
const POLL_READING: Duration = Duration::from_millis(10);
/// Documents and rows below a container that are read at once.
pub(super) const BATCH_BELOW: usize = 5_000;
/// Commit interval during the initial walk, and for events that changed no entry.
pub(super) const COMMIT: Duration = Duration::from_secs(5);
/// Commit interval while documents that changed are read.
pub(super) const COMMIT_TEXTS: Duration = Duration::from_secs(1);
/// Number of documents that are read at the same time.
const AT_ONCE: usize = 6;
/// Bytes of text after which entries are committed. They are read again after a crash.
const MAX_WAITING: usize = 64 << 20;
/// Minimum interval between two looks at the farm's stores.
const STORES: Duration = Duration::from_secs(5);

/// Number of documents, and bytes of their texts.
#[derive(Default)]
struct Waiting {
    bytes: usize,
    documents: usize,
}

/// Documents that were walked through since a follower was opened, and their size in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Walked {
    pub(crate) documents: u64,
    pub(crate) bytes: u64,
}

/// The follower of a content database, which is the only writer of an index.
pub(crate) struct Follower {
    pub(super) storage: Storage,
    pub(super) database: StorageDatabase,
    pub(super) texts: TextReader,
    pub(super) index: Arc<SearchIndex>,
    /// `None` only while it works.
    writer: Option<IndexWriter>,
    pub(super) checkpoint: Checkpoint,
    /// Entries that were written since the last commit.
    waiting: Waiting,
    /// State of the database when its events were read last.
    pub(super) followed: Option<Mark>,
    /// True if there were no events when they were read last.
    has_caught_up: bool,
    /// True if there may be more events than were read last.
    pub(super) has_more_events: bool,
    committed: Instant,
    /// Sequence of the last event in the last commit.
    committed_sequence: i64,
    /// Last time of this action; `None` before the first.
    pub(super) gaps_read_at: Option<Instant>,
    /// Result of comparing the files of the index with their checksums, once it is there.
    pub(super) verification: Option<oneshot::Receiver<Result<()>>>,
    /// Missing sequences, and since when this process misses them.
    pub(super) missed: HashMap<i64, Instant>,
    pub(super) slow: SlowReading,
    /// Last look at the installed programs; `None` before the first.
    pub(super) programs_checked_at: Option<Instant>,
    stores_checked_at: Instant,
    pub(super) pace: Pace,
    pub(super) comparison_pace: Pace,
    pub(super) walked: Walked,
    /// True while documents of the walk are written. Documents that events change may have been counted before.
    pub(super) counts_texts: bool,
}

impl Follower {
    /// Opens an index for writing. The walk reads at most `rate` bytes of documents per second.
    ///
    /// # Errors
    /// Those of the database; `Unavailable` if the index has a writer already.
    pub(crate) async fn open(
        programs: &Programs,
        storage: Storage,
        database: StorageDatabase,
        index: Arc<SearchIndex>,
        rate: Option<u64>,
    ) -> Result<Self> {
        let texts = TextReader::new(programs.clone(), storage.clone(), database.clone()).await?;
        let mut checkpoint = starting_checkpoint(&database, index.view().checkpoint().clone()).await?;
        checkpoint.has_encrypted_texts |= texts.reads_encrypted();
        let opening = index.clone();
        let writer = Some(blocking(move || IndexWriter::open(opening)).await?);
        let view = index.view();
        let slow = blocking(move || SlowReading::of(&view)).await?;
        let (now, pace) = (Instant::now(), Pace::new(&storage, rate));
        let comparison_pace = Pace::new(&storage, None);
        let committed_sequence = checkpoint.sequence;
        Ok(Self {
            storage,
            database,
            texts,
            index,
            writer,
            checkpoint,
            waiting: Waiting::default(),
            followed: None,
            has_caught_up: false,
            has_more_events: false,
            committed: now,
            committed_sequence,
            gaps_read_at: None,
            verification: None,
            missed: HashMap::new(),
            slow,
            programs_checked_at: None,
            stores_checked_at: now,
            pace,
            comparison_pace,
            walked: Walked::default(),
            counts_texts: false,
        })
    }

    /// Writes what the next events changed and the next documents of the walk, and commits when it is time. Waits when
    /// there is nothing to do.
    pub(crate) async fn step(&mut self) -> Result<()> {
        let followed = self.follow_events().await?;
        self.has_caught_up = !followed;
        let walked = self.walk_on().await?;
        self.look_at_programs().await?;
        self.retry_on().await?;
        self.read_waiting().await?;
        let has_waited = self.committed.elapsed() >= COMMIT;
        let is_walking = self.checkpoint.walk.is_some();
        let has_events = self.checkpoint.sequence > self.committed_sequence;
        // Many rows change at once, and a commit takes longer than writing some hundred of them.
        let is_time = !self.has_more_events || self.committed.elapsed() >= COMMIT_TEXTS;
        let is_due = has_waited && (is_walking || has_events) || !is_walking && self.waiting.documents > 0 && is_time;
        if is_due {
            self.commit().await?;
        }
        let compared = self.compare_on().await?;
        if !walked && !compared && !self.has_more_events {
            tokio::time::sleep(if self.slow.is_reading() { POLL_READING } else { POLL }).await;
        }
        Ok(())
    }

    /// Returns whether the index contains all documents, except texts that cannot be read at the moment.
    pub(crate) fn is_complete(&self) -> bool {
        self.checkpoint.walk.is_none() && self.has_caught_up
    }

    /// Returns whether the index may contain texts from stores that encrypt.
    pub(crate) fn has_encrypted_texts(&self) -> bool {
        self.checkpoint.has_encrypted_texts
    }

    /// Returns the number of documents whose texts are still to be read, because a store or a child process did not
    /// answer in time, or text in pictures is to be recognised. There may be more from 10,000 on.
    pub(crate) fn waiting(&self) -> usize {
        self.slow.waiting() + usize::from(self.checkpoint.retry.is_some())
    }

    /// Returns how far the walk has come since the follower was opened.
    pub(crate) fn walked(&self) -> Walked {
        self.walked
    }

    /// Returns the numbers of documents in the whole walk.
    pub(crate) fn walk_counts(&self) -> WalkCounts {
        self.checkpoint.walk_counts
    }

    /// Returns the last document that the walk has written; `None` after the walk.
    pub(crate) fn walked_to(&self) -> Option<Id> {
        self.checkpoint.walk.map(Id::new)
    }

    /// Closes the index. With `commit`, commits first. Waits for merges, so that another writer can open the files.
    ///
    /// # Errors
    /// Those of the index.
    pub(crate) async fn close(mut self, commit: bool) -> Result<()> {
        let committed = if commit { self.commit().await } else { Ok(()) };
        if let Some(writer) = self.writer.take() {
            blocking(move || writer.close()).await?;
        }
        committed
    }

    /// Writes documents and rows, or removes those that are gone.
    pub(super) async fn write_items(&mut self, ids: Vec<Id>, commit: Duration) -> Result<()> {
        let read = move |reader: &mut Reader<'_>| {
            ids.into_iter().map(|id| Ok((id, node::find(reader, id)?))).collect::<Result<Vec<_>>>()
        };
        let mut leaves = Vec::new();
        for (id, row) in self.database.database.read(read).await? {
            match row {
                Some(row) if row.kind.is_leaf() => leaves.push(row),
                Some(_) => {}
                None => {
                    self.checkpoint.walk_counts.removed += 1;
                    self.put(id, DocumentEntries::NONE).await?;
                }
            }
        }
        self.write(leaves, commit).await
    }

    /// Writes the attachments of those of these items that are rows: when a row moves or gets permissions of its own,
    /// they are in another place.
    pub(super) async fn write_attachments(&mut self, ids: Vec<Id>, commit: Duration) -> Result<()> {
        let read = move |reader: &mut Reader<'_>| {
            Ok(attachment::rows_with(reader, &ids)?.into_iter().map(|row| row.id).collect::<Vec<Id>>())
        };
        for row in self.database.database.read(read).await? {
            let mut after = Id::NONE;
            loop {
                let read = move |reader: &mut Reader<'_>| feed::leaves_below(reader, row, after, BATCH_BELOW);
                let mut attachments = self.database.database.read(read).await?;
                let Some(last) = attachments.last().map(|leaf| leaf.id) else { break };
                after = last;
                attachments.retain(|leaf| leaf.kind == NodeKind::Document);
                self.write(attachments, commit).await?;
            }
        }
        Ok(())
    }

    /// Writes documents and rows. Documents are read several at the same time, since most of the time is spent on
    /// waiting for a child process. Commits at this interval, even while a document takes long to read.
    pub(super) async fn write(&mut self, leaves: Vec<NodeRow>, commit: Duration) -> Result<()> {
        self.look_at_stores().await?;
        let (rows, documents): (Vec<_>, Vec<_>) = leaves.into_iter().partition(|leaf| leaf.kind == NodeKind::Row);
        self.write_rows(&rows, commit).await?;
        let (mut documents, mut reading) = (documents.into_iter(), JoinSet::new());
        loop {
            while reading.len() < AT_ONCE
                && let Some(document) = documents.next()
            {
                // Tasks of their own go on while entries are being written, which their time limits include.
                let texts = self.texts.clone();
                let id = document.id;
                reading.spawn(async move { (id, read_entries(&texts, document, ReadPass::First).await) });
            }
            match tokio::time::timeout(commit, reading.join_next()).await {
                Ok(None) => return Ok(()),
                Ok(Some(read)) => {
                    let (id, read) = read.map_err(|error| {
                        Error::new(ErrorKind::Unavailable, "reading a document ended early").with_source(error)
                    })?;
                    if let Some(read) = read? {
                        self.put(id, read).await?;
                    }
                }
                // A document takes long to read.
                Err(_) => {}
            }
            self.commit_if_due(commit).await?;
        }
    }

    /// Commits what was written, at this interval or after much text.
    pub(super) async fn commit_if_due(&mut self, interval: Duration) -> Result<()> {
        if self.waiting.documents > 0 && (self.waiting.bytes >= MAX_WAITING || self.committed.elapsed() >= interval) {
            self.commit().await?;
        }
        Ok(())
    }

    /// Takes note of stores and settings that were added or changed since, from time to time.
    pub(super) async fn look_at_stores(&mut self) -> Result<()> {
        if self.stores_checked_at.elapsed() >= STORES {
            self.texts.refresh().await?;
            self.checkpoint.has_encrypted_texts |= self.texts.reads_encrypted();
            self.stores_checked_at = Instant::now();
        }
        Ok(())
    }

    /// Returns the index with all that was written so far.
    pub(super) async fn committed_view(&mut self) -> Result<Arc<View>> {
        if self.waiting.documents > 0 {
            self.commit().await?;
        }
        Ok(self.index.view())
    }

    /// Replaces the entries of a document. One whose text is not complete is read again later.
    pub(super) async fn put(&mut self, id: Id, read: DocumentEntries) -> Result<()> {
        self.slow.note_written(id, read.is_whole, read.awaits_recognition);
        let has = |is: fn(&Entry) -> bool| u64::from(read.entries.iter().any(is));
        if self.counts_texts {
            let counts = &mut self.checkpoint.walk_counts;
            counts.texts += has(|entry| !entry.text.is_empty());
            counts.faults += has(|entry| entry.fault.as_ref().is_some_and(|fault| !Fault::is_waiting(&fault.code)));
            counts.cut += u64::from(read.is_cut);
        }
        self.replace_all(vec![(id, read.entries)]).await
    }

    /// Replaces the entries of documents and rows.
    pub(super) async fn replace_all(&mut self, all: Vec<(Id, Vec<Entry>)>) -> Result<()> {
        metrics::counter!("strongroom_search_index_writes_total").increment(all.len() as u64);
        self.waiting.documents += all.len();
        self.waiting.bytes += all.iter().flat_map(|(_, entries)| entries).map(|entry| entry.text.len()).sum::<usize>();
        // A writer whose memory is full waits for the disk.
        self.with_writer(move |writer| all.iter().try_for_each(|(id, entries)| writer.replace(*id, entries))).await
    }

    /// Commits all written entries with the checkpoint so far. Entries of events after the checkpoint are written again
    /// after a crash.
    pub(super) async fn commit(&mut self) -> Result<()> {
        let checkpoint = self.checkpoint.clone();
        let sequence = checkpoint.sequence;
        self.with_writer(move |writer| writer.commit(&checkpoint)).await?;
        (self.committed, self.waiting) = (Instant::now(), Waiting::default());
        self.committed_sequence = sequence;
        Ok(())
    }

    async fn with_writer(&mut self, work: impl FnOnce(&mut IndexWriter) -> Result<()> + Send + 'static) -> Result<()> {
        let writer = self.writer.take().ok_or_else(|| Error::unavailable("the search index cannot be written"));
        let mut writer = writer?;
        let (writer, done) = blocking(move || {
            let done = work(&mut writer);
            Ok((writer, done))
        })
        .await?;
        self.writer = Some(writer);
        done
    }
}
