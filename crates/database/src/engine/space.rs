//! Owns a database's use of disk space, and the rebuilding of tables and indexes to return some of it.
//!
//! This module must not know any table.

use std::time::{Duration, Instant};

use async_recursion::async_recursion as boxed;
use model::{Error, Result};

use crate::dialect;

use super::database::{Backend, Database};
use super::location::Engine;
use super::session::Reader;

/// Time for which a pause watches for other writers before it concludes that there are none.
const WATCH_TIME: Duration = Duration::from_millis(25);

/// Maximum bytes of BLOBs in a PostgreSQL database for which their table is rewritten.
const REWRITTEN_AT_MOST: i64 = 256 << 20;
/// Minimum bytes that a rewrite must free, beyond the size of the BLOBs.
const REWRITTEN_AT_LEAST: i64 = 16 << 20;

impl Database {
    /// Bytes of the database on disk, without logs that the engine recycles.
    #[boxed]
    pub async fn size_bytes(&self) -> Result<u64> {
        let size = self.read(|reader| reader.find(dialect::SIZE_BYTES, &[], |row| row.get::<i64>(0))).await?;
        u64::try_from(size.unwrap_or_default())
            .map_err(|e| Error::corrupt("the size of a database is out of range").with_source(e))
    }

    /// Rebuilds the indexes of a content database, table by table. With SQLite, writers wait while the indexes of one
    /// table are rebuilt; PostgreSQL rebuilds concurrently, without blocking. If there are other writers, each rebuild
    /// is followed by a pause of eight times its duration.
    #[boxed]
    pub async fn rebuild_indexes(&self) -> Result<()> {
        for statement in dialect::REINDEX {
            let start = Instant::now();
            match &*self.0 {
                Backend::Sqlite(_) => {
                    self.write_vital(move |transaction| transaction.execute(statement, &[])).await?;
                }
                Backend::Postgres(postgres) => postgres.maintain(statement.source(Engine::Postgres)).await?,
            }
            self.yield_to_writers(start.elapsed()).await?;
        }
        Ok(())
    }

    /// Pauses for eight times the duration of a step, if other transactions are being committed.
    async fn yield_to_writers(&self, step: Duration) -> Result<()> {
        let before = self.position().await?;
        let look = step.min(WATCH_TIME);
        tokio::time::sleep(look).await;
        if self.position().await? != before {
            tokio::time::sleep((step * 8).saturating_sub(look)).await;
        }
        Ok(())
    }

    /// Rewrites the tables and indexes of the database without gaps, and returns the number of bytes freed on disk.
    /// Writers wait meanwhile, and are refused after some seconds; on PostgreSQL readers wait too. It temporarily takes
    /// as much additional space as the database.
    ///
    /// # Errors
    /// `Unavailable` with code `busy` if other transactions never let it begin; `Exhausted` if the disk is full. No
    /// data is lost in either case.
    #[boxed]
    pub async fn compact(&self) -> Result<u64> {
        let before = self.size_bytes().await?;
        match &*self.0 {
            Backend::Sqlite(sqlite) => sqlite.compact().await?,
            Backend::Postgres(postgres) => postgres.maintain("VACUUM (FULL, ANALYZE)").await?,
        }
        Ok(before.saturating_sub(self.size_bytes().await?))
    }

    /// Unused bytes inside the database that could be returned to the disk, as reported by the engine.
    #[boxed]
    pub async fn free_bytes(&self) -> Result<u64> {
        let free = self.read(|reader| reader.find(dialect::FREE_BYTES, &[], |row| row.get::<i64>(0))).await?;
        Ok(u64::try_from(free.unwrap_or_default()).unwrap_or_default())
    }

    /// Returns the space of deleted BLOBs to the operating system, in steps between which other transactions run, and
    /// returns the number of bytes freed. Only a content database has such space. A SQLite file from a version before
    /// this feature is left as it is.
    ///
    /// On PostgreSQL the table of BLOBs is rewritten under a lock. That is done only if the remaining BLOBs are few and
    /// the rewrite frees enough.
    #[boxed]
    pub async fn free_blob_space(&self) -> Result<u64> {
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
