//! Whether the place is the farm's store: asked when it is first used, so that a service that gives no answer holds up only those who
//! need it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use model::{Error, ErrorKind, Result};
use tokio::sync::Mutex;
use tokio::time::{Instant, timeout};

use super::provider::Store;
use crate::directory::{Owner, check_marker_text, marker_text};

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
    open: AtomicBool,
    /// When it was asked in vain, and what came of it.
    refused: Mutex<Option<(Instant, Error)>>,
}

impl Gate {
    pub fn new(owner: &Owner, create: bool) -> Self {
        Self { owner: owner.clone(), create, open: AtomicBool::new(false), refused: Mutex::new(None) }
    }
}

impl Store {
    /// Makes sure, once, that the place is a store of this farm.
    ///
    /// Errors: `Conflict` when it belongs to another farm or holds something else; `Unavailable` when it does not answer within ten
    /// seconds, and with code `store_absent` when it holds nothing and is not to become a store.
    pub async fn ready(&self) -> Result<()> {
        if self.gate.open.load(Ordering::Acquire) {
            return Ok(());
        }
        let mut refused = self.gate.refused.lock().await;
        if self.gate.open.load(Ordering::Acquire) {
            return Ok(());
        }
        if let Some((when, error)) = refused.as_ref()
            && when.elapsed() < PAUSE
        {
            return Err(same(error));
        }
        let asked = timeout(PATIENCE, self.claim()).await.unwrap_or_else(|_| {
            Err(Error::unavailable(format!(
                "{} gave no answer within {} seconds; try again later",
                self.bucket.label(),
                PATIENCE.as_secs()
            )))
        });
        match asked {
            Ok(()) => {
                self.gate.open.store(true, Ordering::Release);
                *refused = None;
                Ok(())
            }
            Err(error) => {
                *refused = Some((Instant::now(), same(&error)));
                Err(error)
            }
        }
    }

    async fn claim(&self) -> Result<()> {
        let (marker, label, owner) = (self.names.marker(), self.bucket.label(), &self.gate.owner);
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
                let text = format!(
                    "{label} holds no BLOB store: it is another bucket than the one that was added, or was emptied. If what it held is \
                     lost for good, make the store anew"
                );
                return Err(Error::unavailable(text).with_code("store_absent"));
            }
            let text = marker_text("docs/formats/object-store.md", owner);
            if self.bucket.create(&marker, &[Bytes::from(text)]).await? {
                return Ok(());
            }
            found = self.bucket.get(&marker, MARKER_LIMIT).await?;
        }
        let Some(found) = found else {
            return Err(Error::unavailable(format!("{marker} in {label} is there and is not: try again")));
        };
        check_marker_text(&String::from_utf8_lossy(&found), &marker, label, owner)
    }
}

/// An error once more, without its cause.
fn same(error: &Error) -> Error {
    Error::new(error.kind(), error.message().to_owned()).with_code(error.code())
}
