//! Owns what a database takes of its disk, and how tables and indexes are written anew to give some of that back.
//!
//! This module must not know any table.

use std::time::{Duration, Instant};

use model::{Error, Result};

use crate::dialect;

use super::database::{Backend, Database};
use super::location::Engine;
use super::session::Reader;

/// How long a pause looks for others who write before it decides that there are none.
const LOOK: Duration = Duration::from_millis(25);

/// Bytes of BLOBs in a PostgreSQL database up to which their table is written anew,
const REWRITTEN_AT_MOST: i64 = 256 << 20;
/// and bytes that this must free at least.
const REWRITTEN_AT_LEAST: i64 = 16 << 20;

impl Database {
    /// Bytes that the database takes on disk, without logs that the engine recycles.
    pub async fn size_bytes(&self) -> Result<u64> {
        let size = self.read(|reader| reader.find(dialect::SIZE_BYTES, &[], |row| row.get::<i64>(0))).await?;
        u64::try_from(size.unwrap_or_default())
            .map_err(|e| Error::corrupt("a database cannot have this size").with_source(e))
    }

    /// Writes the indexes of a content database anew, table by table. With SQLite whoever changes something waits while
    /// those of one table are written; PostgreSQL writes them beside the old ones, and nobody waits. While others
    /// write, they have the database to themselves for eight times as long after each table.
    pub async fn rebuild_indexes(&self) -> Result<()> {
        for statement in dialect::REINDEX {
            let start = Instant::now();
            match &*self.0 {
                Backend::Sqlite(_) => {
                    self.write_vital(move |transaction| transaction.execute(statement, &[])).await?;
                }
                Backend::Postgres(postgres) => postgres.maintain(statement.source(Engine::Postgres)).await?,
            }
            self.give_way(start.elapsed()).await?;
        }
        Ok(())
    }

    /// Leaves the database to those who write, if anybody does, for eight times as long as a step took.
    async fn give_way(&self, step: Duration) -> Result<()> {
        let before = self.position().await?;
        let look = step.min(LOOK);
        tokio::time::sleep(look).await;
        if self.position().await? != before {
            tokio::time::sleep((step * 8).saturating_sub(look)).await;
        }
        Ok(())
    }

    /// Writes the tables of the database and their indexes anew, without gaps, and answers with the bytes that this
    /// gave back to the system. Whoever changes something meanwhile waits, and is refused after some seconds; on
    /// PostgreSQL readers wait too. It takes as much room again as the database.
    ///
    /// # Errors
    /// Unavailable with code `busy` when others never let it in; Exhausted when the disk is full; nothing is lost then.
    pub async fn compact(&self) -> Result<u64> {
        let before = self.size_bytes().await?;
        match &*self.0 {
            Backend::Sqlite(sqlite) => sqlite.compact().await?,
            Backend::Postgres(postgres) => postgres.maintain("VACUUM (FULL, ANALYZE)").await?,
        }
        Ok(before.saturating_sub(self.size_bytes().await?))
    }

    /// Bytes inside the database that hold nothing and could be given back, as far as the engine tells.
    pub async fn free_bytes(&self) -> Result<u64> {
        let free = self.read(|reader| reader.find(dialect::FREE_BYTES, &[], |row| row.get::<i64>(0))).await?;
        Ok(u64::try_from(free.unwrap_or_default()).unwrap_or_default())
    }

    /// Gives the space of deleted BLOBs back to the system, in steps between which other transactions run; answers with
    /// the bytes that were freed. Only a content database has such space. A SQLite file of a version before this could
    /// free none is left as it is.
    ///
    /// On PostgreSQL the table of BLOBs is written anew, and locked meanwhile; this is done only when little is left in
    /// it.
    pub async fn give_back(&self) -> Result<u64> {
        let before = self.size_bytes().await?;
        match self.engine() {
            Engine::Sqlite => {
                let free = |reader: &mut Reader<'_>| reader.find(dialect::FREE_PAGES, &[], |row| row.get::<i64>(0));
                let mut left = self.read(free).await?.unwrap_or_default();
                while left > 0 {
                    self.write_vital(|transaction| transaction.query(dialect::GIVE_BACK, &[], |_| Ok(()))).await?;
                    let now = self.read(free).await?.unwrap_or_default();
                    if now >= left {
                        break;
                    }
                    left = now;
                }
            }
            Engine::Postgres => {
                let sizes = |reader: &mut Reader<'_>| {
                    reader.find(dialect::STORED_BYTES, &[], |row| Ok((row.get::<i64>(0)?, row.get::<i64>(1)?)))
                };
                let (taken, live) = self.read_long(sizes).await?.unwrap_or_default();
                if live <= REWRITTEN_AT_MOST && taken > live.saturating_mul(2).saturating_add(REWRITTEN_AT_LEAST) {
                    self.write_vital(|transaction| transaction.execute(dialect::GIVE_BACK, &[])).await?;
                }
            }
        }
        Ok(before.saturating_sub(self.size_bytes().await?))
    }
}
