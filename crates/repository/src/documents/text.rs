//! The text of office documents, to be shown where the documents themselves cannot be.

use model::{Error, Result};
use search::extract::{self, Extract, Format};
use tokio::sync::Semaphore;

use super::open::VersionChoice;
use crate::{Session, Target};

/// Documents that are looked into at the same time: each takes its length in memory, up to 32 MB, and twice that while it is unpacked.
static TURNS: Semaphore = Semaphore::const_new(2);

impl Session {
    /// Reads the text of an office document, in the version that the caller sees.
    ///
    /// # Errors
    /// Invalid with code `not_readable` when it is no document of this format, and when it is longer than 32 MB.
    pub async fn text(&self, target: &Target, format: Format) -> Result<Extract> {
        let mut opened = self.open(target, VersionChoice::Visible).await?;
        let size = opened.size();
        if size > extract::MOST_BYTES {
            return Err(Error::invalid("only documents of up to 32 MB are looked into").with_code("not_readable"));
        }
        let stopping = |_| Error::unavailable("the server is about to stop");
        let _turn = TURNS.acquire().await.map_err(stopping)?;
        let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or_default());
        while let Some(chunk) = opened.next_chunk().await? {
            bytes.extend_from_slice(&chunk);
        }
        let read = tokio::task::spawn_blocking(move || extract::extract(format, &bytes)).await;
        read.map_err(|error| Error::corrupt("the text of a document cannot be read").with_source(error))?
    }
}
