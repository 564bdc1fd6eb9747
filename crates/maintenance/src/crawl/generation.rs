//! Follows a content database with one generation of its index.

use std::sync::Arc;
use std::time::{Duration, Instant};

use database::ExclusiveRight;
use model::{Error, ErrorKind, Id, Result};
use repository::{Repository, SearchHome, Storage};
use search::index::SearchIndex;

use super::blocking::blocking;
use super::follow::Follower;
use super::open_index::{is_usable, open_current};

/// Polling interval for another generation of an index, and for the settings of the search.
const GENERATIONS: Duration = Duration::from_secs(1);
/// Interval between comparisons of the newest event in the index with the database, which may have lost events when
/// another server of it took over.
const HISTORY: Duration = Duration::from_secs(10);

/// Follows a content database with the generation of the index in use, until there is another one or the index contains
/// texts that it must not contain any more. Calls `use_index` with the index. Ends with an error when `right` is lost.
pub(super) async fn follow_generation(
    repository: &Repository,
    storage: &Storage,
    id: Id,
    suspect: bool,
    right: Option<&ExclusiveRight>,
    use_index: impl FnOnce(Arc<SearchIndex>),
) -> Result<()> {
    let storage = storage.refreshed().await?;
    let database = storage.databases()?.into_iter().find(|known| known.id == id);
    let database = database.ok_or_else(|| Error::unavailable("the content database is not open"))?;
    let home = storage.search_index(id);
    let settings = storage.search_settings().await?;
    let current = open_current(home.clone(), &database, &settings, suspect).await?;
    let mut follower =
        Follower::open(repository.programs()?, storage.clone(), database.clone(), current.index.clone(), None).await?;
    use_index(current.index.clone());
    let (tidying, in_use) = (home.clone(), current.generation.clone());
    if let Err(error) = blocking(move || tidying.tidy(&in_use)).await {
        tracing::warn!(error = error.report(), "old search indexes cannot be removed");
    }
    let ended = async {
        let (mut looked, mut compared) = (Instant::now(), Instant::now());
        loop {
            follower.step().await?;
            // A search server checks its own files.
            if repository.take_search_index_damage(id) && right.is_none() {
                return Err(Error::corrupt("a search could not read a part of the index"));
            }
            if looked.elapsed() >= GENERATIONS {
                looked = Instant::now();
                if let Some(right) = right {
                    right.require().await?;
                }
                let home = home.clone();
                let is_newest = blocking(move || home.current()).await?.as_ref() == Some(&current.generation);
                let settings = storage.search_settings().await?;
                if !is_newest || follower.has_encrypted_texts() && !settings.index_encrypted_texts {
                    return Ok(());
                }
                if compared.elapsed() >= HISTORY {
                    compared = Instant::now();
                    if !is_usable(&database, &settings, &current.index).await? {
                        repository.forget_search_places(id);
                        return Ok(());
                    }
                }
            }
        }
    };
    let ended: Result<()> = ended.await;
    let closed = follower.close(false).await;
    ended.and(closed)
}

/// Removes indexes whose jobs have ended without finishing them.
pub(super) async fn discard_abandoned(storage: &Storage, home: SearchHome) -> Result<()> {
    let listed = home.clone();
    for job in blocking(move || listed.builders()).await? {
        let has_ended = match storage.job(job).await {
            Ok(job) => job.status.has_ended(),
            Err(error) if error.kind() == ErrorKind::NotFound => true,
            Err(error) => return Err(error),
        };
        if has_ended {
            let home = home.clone();
            blocking(move || home.discard(job)).await?;
        }
    }
    Ok(())
}
