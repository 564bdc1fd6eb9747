//! Reads texts for the search index in warm children.

use std::sync::Arc;

use model::Result;

use super::children::Sandbox;
use super::failure::stops;
use super::pool::{ReaderPool, TextRoom};
use super::read_limit::ReadLimit;
use crate::readers::{DocumentText, ReadableFormat};

impl Sandbox {
    /// Waits for room in memory for a document of this many bytes, whose text is to be read.
    ///
    /// # Errors
    /// `Unavailable` while the server stops.
    pub async fn text_room(&self, limit: ReadLimit, bytes: u64) -> Result<TextRoom> {
        self.pool(limit).room(bytes).await
    }

    /// Reads the text of a document for the search index, in a child that has read others before. Waits for one.
    ///
    /// # Errors
    /// Those of [`crate::readers::read`], and those of [`Self::read`].
    pub async fn read_text(
        &self,
        limit: ReadLimit,
        room: TextRoom,
        format: ReadableFormat,
        bytes: &[u8],
    ) -> Result<DocumentText> {
        let mut stopping = self.0.stopping.subscribe();
        tokio::select! {
            biased;
            _ = stopping.wait_for(|stops| *stops) => Err(stops()),
            read = self.pool(limit).read(room, format, bytes) => read,
        }
    }

    fn pool(&self, limit: ReadLimit) -> &Arc<ReaderPool> {
        match limit {
            ReadLimit::Short => &self.0.texts,
            ReadLimit::Long => &self.0.slow_texts,
        }
    }
}
