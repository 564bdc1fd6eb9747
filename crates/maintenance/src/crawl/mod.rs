//! Keeps search indexes up to date: one follower for each content database reads what changed and writes it to the
//! index in the server's data directory, or to one on a search server for all servers of the farm.
//!
//! An index holds nothing that the databases and stores do not hold. One that is missing, damaged or of another history
//! is therefore rebuilt. A full crawl builds another generation beside the one in use; the follower changes over to the
//! newest generation.

mod blocking;
mod comparison;
mod entries;
mod events;
mod follow;
mod generation;
mod open_index;
mod pace;
mod rereading;
mod rows;
mod shared;
mod slow;
mod text;
mod values;
mod walk;

use std::collections::HashMap;
use std::time::Duration;

use futures_util::future::BoxFuture;
use model::{ErrorKind, Id, Result};
use repository::{Repository, Storage};
use tokio::task::JoinHandle;

use crate::background::run_in_background;
use generation::{discard_abandoned, follow_generation};
use shared::share_always;

pub(crate) use blocking::blocking;
pub(crate) use follow::{Follower, Walked};
pub(crate) use open_index::open_building;

/// Polling interval for content databases that were added or opened.
const DATABASES: Duration = Duration::from_secs(5);
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
            let home = storage.search_index(database.id);
            let begin = || match home.is_shared() {
                true => tokio::spawn(share_always(repository.clone(), storage.clone(), database.id)),
                false => tokio::spawn(follow_always(repository.clone(), storage.clone(), database.id)),
            };
            self.0.entry(database.id).or_insert_with(begin);
            if home.is_shared() {
                // The server that writes the index does the rest.
                continue;
            }
            if let Err(error) = discard_abandoned(&storage, home).await {
                tracing::warn!(error = error.report(), "remains of a full crawl that ended early cannot be removed");
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

/// Follows a content database, and restarts after each failure.
async fn follow_always(repository: Repository, storage: Storage, database: Id) {
    let mut suspect = false;
    loop {
        let use_index = |index| repository.use_search_index(database, Some(index));
        let followed = follow_generation(&repository, &storage, database, suspect, None, use_index).await;
        let Err(error) = followed else {
            suspect = false;
            continue;
        };
        // The index or the database is damaged; the next look at the files of the index decides.
        suspect = error.kind() == ErrorKind::Corrupt;
        if suspect {
            repository.use_search_index(database, None);
            repository.forget_search_places(database);
        }
        metrics::counter!("strongroom_search_index_failures_total").increment(1);
        tracing::warn!(
            database = database.get(),
            error = error.report(),
            "a search index cannot be updated; retrying in 15 seconds"
        );
        tokio::time::sleep(RETRY).await;
    }
}
