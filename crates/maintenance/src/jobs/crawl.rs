//! Full crawls: each builds a new search index of a content database beside the one in use, from all documents and rows
//! of lists, while searches go on. The new index replaces the other only when all texts were read.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use database::Reader;
use database::content::feed;
use model::{Error, ErrorKind, Id, JobPhase, counted, readable_size};
use repository::{CrawlWork, SearchHome, Storage, StorageDatabase};
use search::index::WalkCounts;
use serde::{Deserialize, Serialize};

use super::running_job::{Halt, JobResult, RunningJob};
use crate::crawl::{Follower, Walked, blocking, open_building};

/// Interval between two looks at the free space of the disk, and the least that is left to databases and stores.
const ROOM: Duration = Duration::from_secs(5);
const LEAST_FREE: u64 = 256 << 20;
/// Maximum time for which a crawl waits for texts that cannot be read at the moment.
const MAX_WAIT: Duration = Duration::from_secs(30 * 60);

/// Position from which a crawl resumes.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Cursor {
    /// The content databases whose index is finished, with the numbers of their documents.
    finished: BTreeMap<i64, WalkCounts>,
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
        if cursor.finished.contains_key(&database.id.get()) {
            job.update_progress(|progress| {
                progress.items += size.documents;
                progress.bytes += size.bytes;
            });
            continue;
        }
        let counts = build(job, work, database, size, &cursor).await?;
        cursor.finished.insert(database.id.get(), counts);
        job.update_progress(|progress| progress.cursor = serde_json::to_value(&cursor).unwrap_or_default());
        job.save().await?;
    }
    job.update_progress(|progress| {
        progress.phase = String::new();
        progress.cursor = serde_json::Value::Null;
    });
    let progress = job.progress();
    let of = |name: &str| progress.results.get(name).copied().unwrap_or(0);
    Ok(format!(
        "{} read, {} with text, {} whose text cannot be read",
        counted(progress.items, "item"),
        of("texts_read"),
        of("texts_unreadable")
    ))
}

/// Refuses to go on when the disk of the indexes is nearly full: databases may be on it.
fn require_room(storage: &Storage, home: &SearchHome) -> JobResult<()> {
    // A search server refuses entries when its own disk is nearly full.
    let SearchHome::Directory(directory) = home else { return Ok(()) };
    let data = storage.directory();
    let free = blobs::free_bytes(if directory.path().exists() { directory.path() } else { &data })?;
    if free >= LEAST_FREE {
        return Ok(());
    }
    let message = format!(
        "only {} are free on the disk of {}, which is too little for another search index: free some space, then start \
         or resume the full crawl",
        readable_size(free),
        directory.path().display()
    );
    Err(Halt::Fault(Error::new(ErrorKind::Exhausted, message)))
}

async fn amount(database: &StorageDatabase, after: Id) -> model::Result<Amount> {
    let count = move |reader: &mut Reader<'_>| feed::count_leaves(reader, after);
    let (documents, bytes) = database.database.read_long(count).await?;
    Ok(Amount { documents, bytes })
}

/// Builds the index of a content database, and puts it into use.
async fn build(
    job: &RunningJob,
    work: &CrawlWork,
    database: &StorageDatabase,
    size: Amount,
    cursor: &Cursor,
) -> JobResult<WalkCounts> {
    let storage = job.storage().refreshed().await?;
    let home = storage.search_index(database.id);
    require_room(&storage, &home)?;
    let settings = storage.search_settings().await?;
    let index = open_building(home.clone(), database, &settings, job.id).await?;
    let programs = storage.programs()?;
    let mut follower = Follower::open(&programs, storage.clone(), database.clone(), index, work.rate).await?;
    let rest = match follower.walked_to() {
        Some(last) => amount(database, last).await?,
        None => Amount::default(),
    };
    // Documents that an earlier run of this job has read.
    job.update_progress(|progress| {
        progress.items += size.documents.saturating_sub(rest.documents);
        progress.bytes += size.bytes.saturating_sub(rest.bytes);
    });
    let read = read_all(job, &mut follower, cursor, &home).await;
    let (counts, has_encrypted_texts) = (follower.walk_counts(), follower.has_encrypted_texts());
    // After an error, another attempt goes on from the last commit. Another commit would hide entries that were lost.
    let closed = follower.close(matches!(read, Ok(()) | Err(Halt::Stopped))).await;
    let (discarding, id) = (home.clone(), job.id);
    let discard = || blocking(move || discarding.discard(id));
    if matches!(&read, Err(Halt::Fault(error)) if error.kind() == ErrorKind::Corrupt) {
        discard().await?;
        return read.map(|()| counts);
    }
    read?;
    closed?;
    if has_encrypted_texts && !storage.search_settings().await?.index_encrypted_texts {
        discard().await?;
        let message = "texts from stores that encrypt are not to be indexed any more: all documents are read again";
        return Err(Halt::Fault(Error::unavailable(message)));
    }
    blocking(move || home.publish(id)).await?;
    Ok(counts)
}

/// Reads all documents. Waits for stores and child processes that do not answer in time, up to a limit.
async fn read_all(job: &RunningJob, follower: &mut Follower, cursor: &Cursor, home: &SearchHome) -> JobResult<()> {
    let mut before = Walked::default();
    let (mut looked, mut least_waiting, mut waiting_since) = (Instant::now(), usize::MAX, Instant::now());
    while !follower.is_complete() || follower.waiting() > 0 {
        job.check_stop()?;
        if looked.elapsed() >= ROOM {
            looked = Instant::now();
            require_room(job.storage(), home)?;
        }
        if !follower.is_complete() || follower.waiting() < least_waiting {
            (least_waiting, waiting_since) = (follower.waiting(), Instant::now());
        } else if waiting_since.elapsed() >= MAX_WAIT {
            let left = counted(follower.waiting() as u64, "document");
            let message = format!(
                "{left} cannot be read because a store or a reader does not answer, so the index in use stays: check \
                 the stores, then resume the full crawl"
            );
            return Err(Halt::Fault(Error::new(ErrorKind::Exhausted, message)));
        }
        follower.step().await?;
        let now = follower.walked();
        let counts = cursor.finished.values().copied().chain([follower.walk_counts()]);
        let sum = |of: fn(WalkCounts) -> u64| counts.clone().map(of).sum::<u64>();
        job.update_progress(|progress| {
            progress.items += now.documents - before.documents;
            progress.bytes += now.bytes - before.bytes;
            for (name, amount) in [
                ("texts_read", sum(|counts| counts.texts)),
                ("texts_cut", sum(|counts| counts.cut)),
                ("texts_unreadable", sum(|counts| counts.faults)),
                ("documents_removed", sum(|counts| counts.removed)),
            ] {
                progress.results.insert(name.to_owned(), amount);
            }
        });
        before = now;
    }
    Ok(())
}
