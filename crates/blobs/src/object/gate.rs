//! Whether the place is the farm's store: asked when it is first used, so that a service that gives no answer holds up only those who
//! need it.

use std::time::Duration;

use bytes::Bytes;
use model::{Error, ErrorKind, Result};
use tokio::time::timeout;

use super::provider::Store;
use crate::asked::Asked;
use crate::mark::{self, Owner};

/// The marker has some hundred bytes.
const MARKER_LIMIT: u64 = 64 << 10;
/// How long a service may take to show the marker.
const PATIENCE: Duration = Duration::from_secs(10);
/// For so long what went wrong is answered without asking again.
const PAUSE: Duration = Duration::from_secs(5);

/// Stands before every use of a store.
pub struct Gate {
    owner: Owner,
    /// Whether an empty place becomes a store.
    create: bool,
    asked: Asked,
}

impl Gate {
    pub fn new(owner: &Owner, create: bool) -> Self {
        Self { owner: owner.clone(), create, asked: Asked::new(None, PAUSE) }
    }
}

impl Store {
    /// Makes sure, once, that the place is a store of this farm.
    ///
    /// Errors: `Conflict` when it belongs to another farm or holds something else; `Unavailable` when it does not answer within ten
    /// seconds, and with code `store_absent` when it holds nothing and is not to become a store.
    pub async fn ready(&self) -> Result<()> {
        self.gate.asked.settle(|| self.claim_in_time()).await
    }

    async fn claim_in_time(&self) -> Result<()> {
        timeout(PATIENCE, self.claim()).await.unwrap_or_else(|_| {
            Err(Error::unavailable(format!(
                "{} gave no answer within {} seconds; try again later",
                self.bucket.label(),
                PATIENCE.as_secs()
            )))
        })
    }

    async fn claim(&self) -> Result<()> {
        let (marker, label) = (self.names.marker(), self.bucket.label());
        let mut found = self.bucket.get(&marker, MARKER_LIMIT).await?;
        if found.is_none() {
            let first = self.bucket.list(self.names.root(), None, 1, None).await?.objects.into_iter().next();
            if let Some(first) = first.filter(|first| first.key != marker) {
                let blobs = first.key.starts_with(&self.names.blobs());
                let text = match blobs {
                    true => format!("{label} holds BLOBs but its marker {marker} is missing: restore that object"),
                    false => format!("{label} holds {}, which is no BLOB store's: choose another prefix", first.key),
                };
                let kind = if blobs { ErrorKind::Corrupt } else { ErrorKind::Conflict };
                return Err(Error::new(kind, text).with_code("not_a_blob_store"));
            }
            if !self.gate.create {
                return Err(self.absent());
            }
            let text = mark::text("docs/formats/object-store.md", &self.gate.owner);
            if self.bucket.create(&marker, &[Bytes::from(text)]).await? {
                return Ok(());
            }
            found = self.bucket.get(&marker, MARKER_LIMIT).await?;
        }
        let Some(found) = found else {
            return Err(Error::unavailable(format!("{marker} in {label} is there and is not: try again")));
        };
        self.check_mark(&found).map(drop)
    }

    /// The text of the marker, where it is this farm's.
    fn check_mark(&self, found: &Bytes) -> Result<String> {
        let text = String::from_utf8_lossy(found).into_owned();
        mark::check(&text, &self.names.marker(), self.bucket.label(), &self.gate.owner, mark::FORMAT)?;
        Ok(text)
    }

    pub async fn mark(&self) -> Result<String> {
        self.ready().await?;
        match self.bucket.get(&self.names.marker(), MARKER_LIMIT).await? {
            Some(found) => self.check_mark(&found),
            None => Err(self.absent()),
        }
    }

    /// Writes another holder into the marker; answers with the one before.
    pub async fn set_holder(&self, holder: Option<String>) -> Result<Option<String>> {
        let text = self.mark().await?;
        let before = mark::holder(&text);
        if before != holder {
            let text = mark::with_holder(&text, holder.as_deref());
            self.bucket.replace(&self.names.marker(), &[Bytes::from(text)]).await?;
        }
        Ok(before)
    }

    fn absent(&self) -> Error {
        let text = format!(
            "{} holds no BLOB store: it is another bucket than the one that was added, or was emptied. If what it held is lost for good, make \
             the store anew",
            self.bucket.label()
        );
        Error::unavailable(text).with_code("store_absent")
    }
}
