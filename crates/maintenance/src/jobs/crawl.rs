//! Full crawls: each builds a new search index of a content database beside the one in use, from all documents, while
//! searches go on.

use std::collections::BTreeSet;

use database::Reader;
use database::content::feed;
use model::{Error, ErrorKind, Id, JobPhase, counted};
use repository::{CrawlWork, StorageDatabase};
use serde::{Deserialize, Serialize};

use super::running_job::{Halt, JobResult, RunningJob};
use crate::crawl::{CrawlCounts, Follower, blocking, open_building};

/// Position from which a crawl resumes.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Cursor {
    /// The content databases whose index is finished.
    finished: BTreeSet<i64>,
}

/// Numbers of documents, and their size in bytes.
#[derive(Clone, Copy, Default)]
struct Amount {
    documents: u64,
    bytes: u64,
}

pub(super) async fn run(job: &RunningJob, work: &CrawlWork) -> JobResult<String> {
    let storage = job.storage().refreshed().await?;
    let databases = match &work.database {
        Some(name) => vec![storage.database(name)?],
        None => storage.databases()?,
    };
    job.forget_failures();
    if work.database.is_none() {
        for absent in storage.absent() {
            job.fail(format!("database {}", absent.name()), &Error::unavailable("it is not open, so it was skipped"));
        }
    }
    let mut cursor: Cursor = serde_json::from_value(job.progress().cursor).unwrap_or_default();
    let mut sizes = Vec::with_capacity(databases.len());
    for database in &databases {
        sizes.push(amount(database, Id::NONE).await?);
    }
    job.update_progress(|progress| {
        progress.begin(JobPhase::ReadingDocuments);
        progress.total_items = sizes.iter().map(|size| size.documents).sum();
        progress.total_bytes = sizes.iter().map(|size| size.bytes).sum();
        (progress.items, progress.bytes) = (0, 0);
    });
    for (database, size) in databases.iter().zip(sizes) {
        if cursor.finished.contains(&database.id.get()) {
            job.update_progress(|progress| {
                progress.items += size.documents;
                progress.bytes += size.bytes;
            });
            continue;
        }
        build(job, work, database, size).await?;
        cursor.finished.insert(database.id.get());
        job.update_progress(|progress| progress.cursor = serde_json::to_value(&cursor).unwrap_or_default());
    }
    job.update_progress(|progress| {
        progress.phase = String::new();
        progress.cursor = serde_json::Value::Null;
    });
    let progress = job.progress();
    let of = |name: &str| progress.results.get(name).copied().unwrap_or(0);
    Ok(format!(
        "{} read, {} with text, {} whose text cannot be read",
        counted(progress.items, "document"),
        of("texts_read"),
        of("texts_unreadable")
    ))
}

async fn amount(database: &StorageDatabase, after: Id) -> model::Result<Amount> {
    let count = move |reader: &mut Reader<'_>| feed::count_documents(reader, after);
    let (documents, bytes) = database.database.read_long(count).await?;
    Ok(Amount { documents, bytes })
}

/// Builds the index of a content database, and puts it into use.
async fn build(job: &RunningJob, work: &CrawlWork, database: &StorageDatabase, size: Amount) -> JobResult<()> {
    let storage = job.storage().refreshed().await?;
    let directory = storage.search_index(database.id);
    let index = open_building(directory.clone(), database, job.id).await?;
    let sandbox = storage.sandbox()?;
    let mut follower = Follower::open(&sandbox, storage, database.clone(), index, work.rate).await?;
    let rest = match follower.walk() {
        Some(last) => amount(database, last).await?,
        None => Amount::default(),
    };
    // What an earlier run of this job has read.
    job.update_progress(|progress| {
        progress.items += size.documents.saturating_sub(rest.documents);
        progress.bytes += size.bytes.saturating_sub(rest.bytes);
    });
    let read = read_all(job, &mut follower).await;
    let is_damaged = matches!(&read, Err(Halt::Fault(error)) if error.kind() == ErrorKind::Corrupt);
    // Another runner goes on from the last commit.
    let is_lost = matches!(read, Err(Halt::Lost));
    let closed = follower.close(!is_damaged && !is_lost).await;
    if is_damaged {
        let (directory, job) = (directory.clone(), job.id);
        blocking(move || directory.discard(job)).await?;
    }
    read?;
    closed?;
    let (directory, job) = (directory, job.id);
    blocking(move || directory.publish(job)).await?;
    Ok(())
}

/// Reads all documents.
async fn read_all(job: &RunningJob, follower: &mut Follower) -> JobResult<()> {
    let mut before = CrawlCounts::default();
    while !follower.is_complete() {
        job.check_stop()?;
        follower.step().await?;
        let now = follower.counts();
        job.update_progress(|progress| {
            progress.items += now.walked - before.walked;
            progress.bytes += now.walked_bytes - before.walked_bytes;
        });
        job.count("texts_read", now.texts - before.texts);
        job.count("texts_cut", now.cut - before.cut);
        job.count("texts_unreadable", now.faults - before.faults);
        job.count("documents_removed", now.removed - before.removed);
        before = now;
    }
    Ok(())
}
