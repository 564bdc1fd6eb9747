//! The state of the search indexes, for administrators.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use async_recursion::async_recursion as boxed;
use database::Reader;
use database::content::{event, feed, node};
use model::{Error, Id, Result, Timestamp, counted};
use search::index::{Fault, View, WantedFaults};
use search::programs::ProgramStatus;

use super::attach::open_for_reading;
use crate::farm::health::{HealthFinding, HealthSubject, Severity};
use crate::{Session, Storage, StorageDatabase};

/// Age from which a change that is not in the index counts. Events that change no entry are noted every five seconds.
const RECENT: Duration = Duration::from_secs(10);

/// State of the search index of a content database, on this server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SearchStatus {
    /// Name of the content database.
    pub database: String,
    /// Address of the search server that has the index; `None` for an index in the data directory.
    pub server: Option<String>,
    /// False if there is no index that can be used. Documents are then found by name only.
    pub is_available: bool,
    /// Documents read so far and all documents, while there is no complete index.
    pub building: Option<(u64, u64)>,
    /// Number of entries: one for each version of a document that somebody finds.
    pub entries: u64,
    /// Number of entries without a readable text, by error code.
    pub faults: BTreeMap<String, u64>,
    /// Number of documents whose texts are still to be read, because they need much time, or a store or a child process
    /// did not answer.
    pub waiting: u64,
    /// Number of documents with pictures in which text is still to be recognised.
    pub awaiting_recognition: u64,
    /// Number of events that are not in the index yet.
    pub events_behind: u64,
    /// Time of the oldest of these.
    pub behind_since: Option<Timestamp>,
    /// Size on disk in bytes.
    pub size: u64,
    /// The last comparison with the database; `None` before the first.
    pub comparison: Option<SearchComparison>,
}

/// A comparison of a search index with its content database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SearchComparison {
    /// Time of its end.
    pub at: Timestamp,
    /// Documents that were compared.
    pub documents: u64,
    /// Documents whose entries differed and were repaired.
    pub repaired: u64,
}

/// The state of a search index as administrators see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SearchState {
    /// There is no index that can be used. Documents are found by name only.
    Unavailable,
    /// The index is being built. Documents that it does not contain yet are found by name only.
    Building,
    /// A change of more than ten seconds ago is not in it.
    Behind,
    /// It contains every change, up to the last seconds.
    Current,
}

impl SearchState {
    /// Public name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Unavailable => "unavailable",
            Self::Building => "building",
            Self::Behind => "behind",
            Self::Current => "current",
        }
    }
}

impl SearchStatus {
    /// Returns the number of entries without a readable text.
    pub fn unreadable(&self) -> u64 {
        self.faults.values().sum()
    }

    /// Returns the state in one word.
    pub fn state(&self) -> SearchState {
        let is_old = |since: Timestamp| since < Timestamp::now().before(RECENT);
        match self {
            Self { is_available: false, .. } => SearchState::Unavailable,
            Self { building: Some(_), .. } => SearchState::Building,
            Self { behind_since: Some(since), .. } if is_old(*since) => SearchState::Behind,
            _ => SearchState::Current,
        }
    }
}

/// A document whose text cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SearchFault {
    /// Name of the content database.
    pub database: String,
    /// The document.
    pub document: Id,
    /// The version.
    pub version: Id,
    /// Name of the document; empty if it was deleted meanwhile.
    pub name: String,
    /// Site, library and path; `None` for a document in a recycle bin, or one that the caller may not see.
    pub path: Option<String>,
    /// Error code.
    pub code: String,
    /// The reason in words.
    pub reason: String,
}

impl Session {
    /// Returns the state of the search index of each open content database.
    ///
    /// # Errors
    /// `Forbidden` unless the caller is a farm administrator.
    #[boxed]
    pub async fn search_status(&self) -> Result<Vec<SearchStatus>> {
        let storage = self.storage().await?;
        let mut all = Vec::new();
        for database in storage.databases()? {
            let server = storage.search_index(database.id).server();
            let mut status = SearchStatus { database: database.name.clone(), server, ..SearchStatus::default() };
            if let Some(view) = self.search_view(&storage, &database).await? {
                status = read_status(&storage, &database, view, status).await?;
            }
            all.push(status);
        }
        Ok(all)
    }

    /// Returns the external programs that read documents, as this process finds them; none in a process that opens no
    /// documents, or cannot start a child process to look for them.
    ///
    /// # Errors
    /// `Forbidden` unless the caller is a farm administrator.
    #[boxed]
    pub async fn search_programs(&self) -> Result<Vec<ProgramStatus>> {
        self.storage().await?;
        match self.repository.programs() {
            Ok(programs) => Ok(programs.status().await.unwrap_or_else(|error| {
                tracing::warn!(error = error.report(), "programs that read documents cannot be looked for");
                Vec::new()
            })),
            Err(_) => Ok(Vec::new()),
        }
    }

    /// Returns documents whose text cannot be read, newest documents first: those before this document and version, at
    /// most `limit`.
    ///
    /// # Errors
    /// `Forbidden` unless the caller is a farm administrator; `Unavailable` if an index cannot be read.
    #[boxed]
    pub async fn search_faults(&self, before: Option<(Id, Id)>, limit: usize) -> Result<Vec<SearchFault>> {
        let storage = self.storage().await?;
        let mut all = Vec::new();
        for database in storage.databases()? {
            let Some(view) = self.search_view(&storage, &database).await? else { continue };
            let read = move |reader: &mut Reader<'_>| {
                let faults = match view.faults(before, limit, WantedFaults::Final) {
                    Ok(faults) => faults,
                    Err(error) => return Ok(Err(error)),
                };
                let named = faults.into_iter().map(|fault| Ok((node::find(reader, fault.node)?, fault)));
                named.collect::<Result<Vec<_>>>().map(Ok)
            };
            for (row, fault) in database.database.read_long(read).await?? {
                all.push(SearchFault {
                    database: database.name.clone(),
                    document: fault.node,
                    version: fault.version,
                    name: row.map(|row| row.name).unwrap_or_default(),
                    path: None,
                    code: fault.fault.code,
                    reason: fault.fault.reason,
                });
            }
        }
        all.sort_by_key(|fault| std::cmp::Reverse((fault.document, fault.version)));
        all.truncate(limit);
        for fault in &mut all {
            fault.path = self.item(&fault.document.into()).await.ok().map(|item| item.path);
        }
        Ok(all)
    }

    /// Returns a finding for each index that differed from its content database in the last comparison, and for each on
    /// a search server that cannot be read. Another one that cannot be read is rebuilt, and documents are found by name
    /// meanwhile.
    pub(crate) async fn search_findings(&self) -> Vec<HealthFinding> {
        let mut findings = Vec::new();
        let Ok(storage) = self.storage().await else { return findings };
        for database in storage.databases().unwrap_or_default() {
            let view = self.search_view(&storage, &database).await.ok().flatten();
            if let Some(server) = storage.search_index(database.id).server().filter(|_| view.is_none()) {
                let message = format!(
                    "The search index of {} on the search server {server} cannot be used, so documents are found by \
                     name only: check that the server runs and can be reached, its health and its disk, and the log.",
                    database.name
                );
                findings.push(HealthFinding {
                    rule: "search-server",
                    severity: Severity::Warning,
                    subject: HealthSubject::Database(database.name.clone()),
                    message,
                    message_key: ("search-server", vec![database.name.clone(), server]),
                });
            }
            let last = view.and_then(|view| view.checkpoint().comparison.last);
            let repaired = last.map_or(0, |last| last.counts.differences());
            if repaired > 0 {
                let message = format!(
                    "The last nightly comparison of the search index of {} with the database found {} that differed, \
                     and repaired the index: if this repeats, check the disk of the index and report it.",
                    database.name,
                    counted(repaired, "document")
                );
                let key = ("search-repaired", vec![database.name.clone(), repaired.to_string()]);
                findings.push(HealthFinding {
                    rule: "search-repaired",
                    severity: Severity::Warning,
                    subject: HealthSubject::Database(database.name),
                    message,
                    message_key: key,
                });
            }
        }
        findings
    }

    /// Returns the index of a content database as it is now; `None` if there is none that can be used. Without a server
    /// in this process, it is opened for reading.
    async fn search_view(&self, storage: &Storage, database: &StorageDatabase) -> Result<Option<Arc<View>>> {
        if let Some(index) = self.repository.inner.search.of(database.id) {
            let newest = tokio::task::spawn_blocking(move || index.newest());
            let ended = |error| Error::unavailable("reading a search index ended early").with_source(error);
            return match newest.await.map_err(ended)? {
                Ok(view) => Ok(Some(view)),
                Err(error) => {
                    tracing::warn!(error = error.report(), "the state of a search index cannot be read");
                    Ok(None)
                }
            };
        }
        if self.repository.inner.serving {
            return Ok(None);
        }
        Ok(open_for_reading(storage, database.id).await?.map(|index| index.view()))
    }
}

async fn read_status(
    storage: &Storage,
    database: &StorageDatabase,
    view: Arc<View>,
    status: SearchStatus,
) -> Result<SearchStatus> {
    let home = storage.search_index(database.id);
    let read = move |reader: &mut Reader<'_>| {
        let checkpoint = view.checkpoint();
        let building = match checkpoint.walk {
            Some(last) => {
                let (all, _) = feed::count_leaves(reader, Id::NONE)?;
                let (left, _) = feed::count_leaves(reader, Id::new(last))?;
                Some((all.saturating_sub(left), all))
            }
            None => None,
        };
        let next = feed::after(reader, checkpoint.sequence, 1)?.pop();
        let events_behind = match &next {
            Some(_) => model::unsigned(event::last(reader)?.saturating_sub(checkpoint.sequence)),
            None => 0,
        };
        let (mut faults, entries) = match view.fault_counts().and_then(|faults| Ok((faults, view.entries()?))) {
            Ok(read) => read,
            Err(error) => return Ok(Err(error)),
        };
        let waiting = faults.remove(Fault::WAITS_FOR_TEXT).unwrap_or_default();
        let awaiting_recognition = faults.remove(Fault::WAITS_FOR_RECOGNITION).unwrap_or_default();
        Ok(Ok(SearchStatus {
            is_available: true,
            size: home.size(),
            building,
            entries,
            faults,
            waiting,
            awaiting_recognition,
            events_behind,
            behind_since: next.map(|event| event.at),
            comparison: checkpoint.comparison.last.map(|last| SearchComparison {
                at: Timestamp::from_micros(last.at),
                documents: last.counts.documents,
                repaired: last.counts.differences(),
            }),
            ..status
        }))
    };
    database.database.read_long(read).await?
}
