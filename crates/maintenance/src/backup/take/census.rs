//! Census: the BLOBs that the databases of a set need. Each digest is listed once, in ascending order, however many
//! databases need it.

use std::collections::VecDeque;
use std::path::PathBuf;

use async_recursion::async_recursion as boxed;
use database::content::blob::BlobRow;
use database::content::census;
use database::{Database, OpenSnapshot};
use model::{Digest, Result};
use repository::{DATABASE_STORE, StorageDatabase};

/// Number of references read from a database per query.
const PAGE: usize = 2_000;

/// State of a content database from which the census reads.
#[derive(Clone)]
pub(crate) enum State {
    /// A copy of the database, in this file.
    Copy(Database, PathBuf),
    /// A snapshot of the database itself.
    Held(OpenSnapshot),
    /// The live database, which may change during the census. Garbage collection is held back meanwhile.
    Live(Database),
}

impl State {
    async fn page(&self, after: Option<Digest>) -> Result<Vec<BlobRow>> {
        match self {
            Self::Copy(database, _) => {
                database.read_long(move |reader| census::needed(reader, after, DATABASE_STORE, PAGE)).await
            }
            Self::Held(held) => held.read(move |reader| census::needed(reader, after, DATABASE_STORE, PAGE)).await,
            Self::Live(database) => {
                database.read_long(move |reader| census::held(reader, after, DATABASE_STORE, PAGE)).await
            }
        }
    }

    /// Returns number and total bytes of the BLOBs that the state needs.
    #[boxed]
    pub async fn total(&self) -> Result<(u64, u64)> {
        let count = |(count, bytes): (i64, i64)| (count.max(0) as u64, bytes.max(0) as u64);
        let total = match self {
            Self::Copy(database, _) => database.read_long(move |reader| census::total(reader, DATABASE_STORE)).await?,
            Self::Held(held) => held.read(move |reader| census::total(reader, DATABASE_STORE)).await?,
            Self::Live(database) => {
                database.read_long(move |reader| census::held_total(reader, DATABASE_STORE)).await?
            }
        };
        Ok(count(total))
    }
}

/// A database of the census and its unread rows.
struct Source {
    database: usize,
    state: State,
    waiting: VecDeque<BlobRow>,
    after: Option<Digest>,
    ended: bool,
}

/// A BLOB that the set needs.
#[derive(Clone, Debug)]
pub(crate) struct Needed {
    pub row: BlobRow,
    /// Index of the database within the census.
    pub database: usize,
}

/// Merged census of several databases.
pub(crate) struct Census {
    sources: Vec<Source>,
}

impl Census {
    pub fn new(states: Vec<State>) -> Self {
        let source =
            |(database, state)| Source { database, state, waiting: VecDeque::new(), after: None, ended: false };
        Self { sources: states.into_iter().enumerate().map(source).collect() }
    }

    /// Returns the next BLOB, in ascending order of digests.
    #[boxed]
    pub async fn next(&mut self) -> Result<Option<Needed>> {
        let mut least: Option<Digest> = None;
        for source in &mut self.sources {
            source.fill().await?;
            if let Some(row) = source.waiting.front() {
                least = Some(least.map_or(row.digest, |digest| digest.min(row.digest)));
            }
        }
        let Some(least) = least else { return Ok(None) };
        let mut found = None;
        for source in &mut self.sources {
            if source.waiting.front().is_some_and(|row| row.digest == least)
                && let Some(row) = source.waiting.pop_front()
            {
                found.get_or_insert(Needed { row, database: source.database });
            }
        }
        Ok(found)
    }
}

impl Source {
    async fn fill(&mut self) -> Result<()> {
        if !self.waiting.is_empty() || self.ended {
            return Ok(());
        }
        self.waiting = self.state.page(self.after).await?.into();
        self.ended = self.waiting.len() < PAGE;
        self.after = self.waiting.back().map(|row| row.digest);
        Ok(())
    }
}

/// A content database in the set, and the state from which its BLOBs are listed.
pub(crate) struct Taken {
    pub database: StorageDatabase,
    pub state: State,
}

#[cfg(test)]
mod tests {
    use database::content::blob;
    use database::content::deletion_queue::{self, ReclaimRow};
    use database::testing::each_engine;
    use database::{Schema, Transaction};
    use model::{Id, ReclaimReason, ReclaimState, Timestamp};

    use super::*;

    const FILES: Id = Id::new(7);

    fn row(byte: u8, store_id: Id) -> BlobRow {
        BlobRow { id: Id::new(i64::from(byte)), digest: Digest::new([byte; 32]), size: 10, store_id, locator: None }
    }

    /// A server copy needs the BLOBs of all versions that existed at the end of the copy, including BLOBs that were
    /// released or moved before the census.
    #[tokio::test(flavor = "multi_thread")]
    async fn a_living_database_tells_of_everything_that_collection_still_keeps() {
        each_engine(Schema::Content, |database| async move {
            let write = |transaction: &mut Transaction<'_>| {
                let now = Timestamp::now();
                // 1: no version has it any more. 2: moved into the database since. 3: always in the database. 4: moved
                // to another store.
                for row in [row(1, FILES), row(2, DATABASE_STORE), row(3, DATABASE_STORE), row(4, FILES)] {
                    blob::insert(transaction, &row, now)?;
                }
                for (byte, store_id) in [(2, FILES), (4, Id::new(8))] {
                    let (digest, reason, state) =
                        (Digest::new([byte; 32]), ReclaimReason::Moved, ReclaimState::Quarantined);
                    let old = ReclaimRow { store_id, digest, size: 10, reason, state, since: now };
                    deletion_queue::quarantine(transaction, &old)?;
                }
                Ok(())
            };
            database.write(write).await.unwrap();
            let of = async |state: State| {
                assert_eq!(state.total().await.unwrap().1, state.total().await.unwrap().0 * 10);
                let mut census = Census::new(vec![state]);
                let mut found = Vec::new();
                while let Some(needed) = census.next().await.unwrap() {
                    found.push(needed.row.id.get());
                }
                found
            };
            assert_eq!(of(State::Live(database.clone())).await, [1, 2, 4]);
            assert!(
                of(State::Copy(database, PathBuf::new())).await.is_empty(),
                "a snapshot needs what versions have in it"
            );
        })
        .await;
    }
}
