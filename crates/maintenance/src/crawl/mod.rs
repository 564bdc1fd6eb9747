//! Keeps the search indexes of a server up to date: one follower for each content database reads what changed and
//! writes it to the index in the server's data directory.
//!
//! An index holds nothing that the databases and stores do not hold. One that is missing, damaged or of another history
//! is therefore rebuilt. A full crawl builds another generation beside the one in use; the follower changes over to the
//! newest generation.

mod entries;
mod follow;
mod followed;
mod pace;
mod place;
mod slow;
mod sweep;
mod text;
mod values;

use std::collections::HashMap;
use std::time::{Duration, Instant};

use futures_util::future::BoxFuture;
use model::{Error, ErrorKind, Id, Result};
use repository::{Repository, SearchDirectory, Storage};
use tokio::task::JoinHandle;

use crate::background::run_in_background;

pub(crate) use follow::{Follower, Walked};
pub(crate) use place::{blocking, open_building};

/// Polling interval for content databases that were added or opened.
const DATABASES: Duration = Duration::from_secs(5);
/// Polling interval for another generation of an index, and for the settings of the search.
const GENERATIONS: Duration = Duration::from_secs(1);
/// Delay before a failed follower restarts.
const RETRY: Duration = Duration::from_secs(15);

/// Keeps the search indexes up to date until dropped.
pub fn keep_search_indexes(repository: Repository) -> BoxFuture<'static, ()> {
    Box::pin(run_in_background("search", move || async move {
        let mut followers = Followers::default();
        loop {
            if let Err(error) = followers.start_missing(&repository).await {
                tracing::warn!(error = error.report(), "the search indexes cannot be kept up to date");
            }
            tokio::time::sleep(DATABASES).await;
        }
    }))
}

/// The running followers by content database; dropped, they end.
#[derive(Default)]
struct Followers(HashMap<Id, JoinHandle<()>>);

impl Followers {
    async fn start_missing(&mut self, repository: &Repository) -> Result<()> {
        let storage = repository.as_caller(repository.farm_administrator().await?).storage().await?;
        let databases = storage.databases()?;
        self.0.retain(|id, follower| {
            let is_open = databases.iter().any(|database| database.id == *id);
            if !is_open || follower.is_finished() {
                follower.abort();
                repository.use_search_index(*id, None);
            }
            is_open && !follower.is_finished()
        });
        for database in databases {
            let begin = || tokio::spawn(follow_always(repository.clone(), storage.clone(), database.id));
            self.0.entry(database.id).or_insert_with(begin);
            if let Err(error) = discard_abandoned(&storage, storage.search_index(database.id)).await {
                tracing::warn!(error = error.report(), "what an ended full crawl has left cannot be removed");
            }
        }
        Ok(())
    }
}

impl Drop for Followers {
    fn drop(&mut self) {
        self.0.values().for_each(JoinHandle::abort);
    }
}

/// Removes indexes whose jobs have ended without finishing them.
async fn discard_abandoned(storage: &Storage, directory: SearchDirectory) -> Result<()> {
    let listed = directory.clone();
    for job in blocking(move || listed.builders()).await? {
        let has_ended = match storage.job(job).await {
            Ok(job) => job.status.has_ended(),
            Err(error) if error.kind() == ErrorKind::NotFound => true,
            Err(error) => return Err(error),
        };
        if has_ended {
            let directory = directory.clone();
            blocking(move || directory.discard(job)).await?;
        }
    }
    Ok(())
}

/// Follows a content database, and restarts after each failure.
async fn follow_always(repository: Repository, storage: Storage, database: Id) {
    let mut suspect = false;
    loop {
        let Err(error) = follow_generation(&repository, &storage, database, suspect).await else {
            suspect = false;
            continue;
        };
        // The index or the database is damaged; the next look at the files of the index decides.
        suspect = error.kind() == ErrorKind::Corrupt;
        if suspect {
            repository.use_search_index(database, None);
        }
        metrics::counter!("strongroom_search_failures_total").increment(1);
        tracing::warn!(
            database = database.get(),
            error = error.report(),
            "a search index cannot be updated; retrying in 15 seconds"
        );
        tokio::time::sleep(RETRY).await;
    }
}

/// Follows a content database with the generation of the index in use, until there is another one or the index contains
/// texts that it must not contain any more.
async fn follow_generation(repository: &Repository, storage: &Storage, id: Id, suspect: bool) -> Result<()> {
    let storage = storage.refreshed().await?;
    let database = storage.databases()?.into_iter().find(|known| known.id == id);
    let database = database.ok_or_else(|| Error::unavailable("the content database is not open"))?;
    let directory = storage.search_index(id);
    let settings = storage.search_settings().await?;
    let current = place::open_current(directory.clone(), &database, &settings, suspect).await?;
    let mut follower =
        Follower::open(repository.programs()?, storage.clone(), database, current.index.clone(), None).await?;
    repository.use_search_index(id, Some(current.index));
    let (tidying, in_use) = (directory.clone(), current.path.clone());
    if let Err(error) = blocking(move || tidying.tidy(&in_use)).await {
        tracing::warn!(error = error.report(), "old search indexes cannot be removed");
    }
    let ended = async {
        let mut looked = Instant::now();
        loop {
            follower.step().await?;
            if looked.elapsed() >= GENERATIONS {
                looked = Instant::now();
                let directory = directory.clone();
                let is_newest = blocking(move || directory.current()).await?.as_ref() == Some(&current.path);
                let reads_encrypted = storage.search_settings().await?.index_encrypted_texts;
                if !is_newest || follower.has_encrypted_texts() && !reads_encrypted {
                    return Ok(());
                }
            }
        }
    };
    let ended: Result<()> = ended.await;
    let closed = follower.close(false).await;
    ended.and(closed)
}
