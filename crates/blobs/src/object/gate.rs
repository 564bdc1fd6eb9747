//! The check that a location holds the farm's store. It runs on first use, so that an unresponsive service delays only
//! the callers that need it.

use std::time::Duration;

use async_recursion::async_recursion as boxed;
use bytes::Bytes;
use model::{Code, Error, ErrorKind, Result};
use tokio::time::timeout;

use crate::marker::{self, Owner};
use crate::single_flight::CachedCheck;

use super::bucket::{Bucket, ReadVersion};
use super::names::Names;

/// Limit on the length of the marker, which has some hundred bytes.
const MARKER_LIMIT: u64 = 64 << 10;
/// Timeout for reading the marker.
const MARKER_TIMEOUT: Duration = Duration::from_secs(10);
/// Minimum delay between a failed check and the next one.
const PAUSE: Duration = Duration::from_secs(5);

/// Limit on attempts to change the marker while others change it too or replies are lost.
const MARKER_CHANGES: usize = 5;

/// The check that precedes every use of a store.
pub struct StoreCheck {
    owner: Owner,
    /// Lets an empty location become a store.
    create: bool,
    check: CachedCheck,
}

impl StoreCheck {
    pub fn new(owner: &Owner, create: bool) -> Self {
        Self { owner: owner.clone(), create, check: CachedCheck::new(None, PAUSE) }
    }

    /// Makes sure, once, that the location is a store of this farm.
    ///
    /// # Errors
    /// `Conflict` when it belongs to another farm or holds something else; `Unavailable` when it does not answer within
    /// ten seconds, and with code `store_absent` when it is empty and must not become a store.
    #[boxed]
    pub async fn ready(&self, bucket: &Bucket, names: &Names) -> Result<()> {
        self.check.ensure(|| self.claim_in_time(bucket, names)).await
    }

    async fn claim_in_time(&self, bucket: &Bucket, names: &Names) -> Result<()> {
        timeout(MARKER_TIMEOUT, self.create_or_verify(bucket, names)).await.unwrap_or_else(|_| {
            Err(Error::unavailable(format!(
                "{} did not answer within {} seconds; try again later",
                bucket.label(),
                MARKER_TIMEOUT.as_secs()
            )))
        })
    }

    async fn create_or_verify(&self, bucket: &Bucket, names: &Names) -> Result<()> {
        let (marker, label) = (names.marker(), bucket.label());
        let mut found = bucket.get(&marker, MARKER_LIMIT).await?;
        if found.is_none() {
            let first = bucket.list(names.root(), None, 1, None).await?.objects.into_iter().next();
            if let Some(first) = first.filter(|first| first.key != marker) {
                let blobs = first.key.starts_with(&names.blobs());
                let text = match blobs {
                    true => format!("{label} holds BLOBs but its marker {marker} is missing: restore that object"),
                    false => format!(
                        "{label} contains {}, which does not belong to a BLOB store: choose another prefix",
                        first.key
                    ),
                };
                let kind = if blobs { ErrorKind::Corrupt } else { ErrorKind::Conflict };
                return Err(Error::new(kind, text).with_code(Code::NotABlobStore));
            }
            if !self.create {
                return Err(absent(bucket));
            }
            let text = marker::text("docs/formats/object-store.md", &self.owner);
            if bucket.create(&marker, &[Bytes::from(text)]).await? {
                return Ok(());
            }
            found = bucket.get(&marker, MARKER_LIMIT).await?;
        }
        let Some(found) = found else {
            return Err(Error::unavailable(format!("{marker} in {label} exists but cannot be read: try again")));
        };
        self.check_mark(bucket, names, &found).map(drop)
    }

    /// Returns the text of the marker, if it belongs to this farm.
    fn check_mark(&self, bucket: &Bucket, names: &Names, found: &Bytes) -> Result<String> {
        let text = String::from_utf8_lossy(found).into_owned();
        marker::check(&text, &names.marker(), bucket.label(), &self.owner, marker::FORMAT)?;
        Ok(text)
    }

    /// Returns the text of the marker, if it belongs to this farm.
    ///
    /// # Errors
    /// Those of [`Self::ready`]; `Unavailable` with code `store_absent` when the marker is gone; `Corrupt` when it
    /// cannot be understood.
    #[boxed]
    pub async fn read_marker(&self, bucket: &Bucket, names: &Names) -> Result<String> {
        self.read_mark(bucket, names).await.map(|(text, _)| text)
    }

    async fn read_mark(&self, bucket: &Bucket, names: &Names) -> Result<(String, ReadVersion)> {
        self.ready(bucket, names).await?;
        match bucket.get_versioned(&names.marker(), MARKER_LIMIT).await? {
            Some((found, version)) => Ok((self.check_mark(bucket, names, &found)?, version)),
            None => Err(absent(bucket)),
        }
    }

    /// Writes another holder into the marker and returns the previous one. The write depends on the marker that was
    /// read (`If-Match`), so a concurrent change is never replaced unseen. Where a service does not support that
    /// condition, the last of several concurrent changes stays, and each of them may return the same previous holder.
    ///
    /// # Errors
    /// Those of [`Self::read_marker`]; `Unavailable` when the marker keeps changing or the replies are lost.
    #[boxed]
    pub async fn set_holder(&self, bucket: &Bucket, names: &Names, holder: Option<String>) -> Result<Option<String>> {
        let mut tried = None;
        for _ in 0..MARKER_CHANGES {
            let (text, version) = self.read_mark(bucket, names).await?;
            let before = marker::holder(&text);
            if before == holder {
                // An earlier attempt may have succeeded although its reply was lost.
                return Ok(tried.unwrap_or(before));
            }
            let text = marker::with_holder(&text, holder.as_deref());
            if bucket.replace_version(&names.marker(), version, &[Bytes::from(text)]).await? {
                return Ok(before);
            }
            tried = Some(before);
        }
        Err(Error::unavailable(format!(
            "{} in {} could not be changed: others change it at the same time, or replies of the service are lost; try \
             again",
            names.marker(),
            bucket.label()
        )))
    }
}

fn absent(bucket: &Bucket) -> Error {
    let text = format!(
        "{} contains no BLOB store: it is another bucket than the one that was added, or it was emptied. If its BLOBs \
         are lost for good, make the store anew",
        bucket.label()
    );
    Error::unavailable(text).with_code(Code::StoreAbsent)
}
