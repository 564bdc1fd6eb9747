//! The walk through all documents and rows of a content database, which writes each to the index once.

use std::time::Instant;

use database::Reader;
use database::content::feed;
use model::{Id, Result};

use super::follow::{COMMIT, Follower};

/// Documents and rows that are read at once.
pub(super) const BATCH: usize = 200;

impl Follower {
    /// Writes the next documents of the walk. Returns false if there are none, or it is not their time.
    pub(super) async fn walk_on(&mut self) -> Result<bool> {
        let Some(after) = self.checkpoint.walk else { return Ok(false) };
        if !self.pace.may_go_on() {
            return Ok(false);
        }
        let begun = Instant::now();
        let read = move |reader: &mut Reader<'_>| feed::leaves(reader, Id::new(after), BATCH);
        let documents = self.database.database.read_long(read).await?;
        if documents.is_empty() {
            self.checkpoint.walk = None;
            self.commit().await?;
            tracing::info!(database = self.database.name, "the search index contains all documents and rows");
            return Ok(false);
        }
        let last = documents.last().map(|document| document.id.get());
        let (count, bytes) = (documents.len() as u64, documents.iter().map(|row| model::unsigned(row.size)).sum());
        self.counts_texts = true;
        let written = self.write(documents, COMMIT).await;
        self.counts_texts = false;
        written?;
        self.checkpoint.walk = last.or(self.checkpoint.walk);
        self.walked.documents += count;
        self.walked.bytes += bytes;
        self.pace.note(&self.storage, begun, bytes);
        Ok(true)
    }
}
