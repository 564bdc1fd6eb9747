//! Operations on listings of the bucket: enumeration, totals and verification.

use std::sync::Arc;

use async_recursion::async_recursion as boxed;
use futures_util::{StreamExt, TryStreamExt, stream};
use model::{Digest, Result};

use super::bucket::{Bucket, Listed};
use super::names::stored_at;
use super::opening::Opened;
use super::reading::LargeSource;
use super::store::Store;
use crate::outcome::{CheckOutcome, Checked, Reporter};
use crate::provider::{Entry, Page, Source, Usage, reread};

/// Number of BLOBs verified concurrently.
const VERIFIED_AT_ONCE: usize = 4;

/// A paged walk over the objects whose keys begin with a prefix.
pub struct Walk<'a> {
    bucket: &'a Bucket,
    prefix: String,
    after: Option<String>,
    next: Option<String>,
    done: bool,
}

impl<'a> Walk<'a> {
    pub fn new(bucket: &'a Bucket, prefix: String, after: Option<String>) -> Self {
        Self { bucket, prefix, after, next: None, done: false }
    }

    /// Returns about `limit` more objects; `None` at the end.
    #[boxed]
    pub async fn some(&mut self, limit: usize) -> Result<Option<Vec<Listed>>> {
        if self.done {
            return Ok(None);
        }
        let listing = self.bucket.list(&self.prefix, self.after.as_deref(), limit, self.next.take()).await?;
        if let Some(last) = listing.objects.last() {
            self.after = Some(last.key.clone());
        }
        self.next = listing.next;
        self.done = self.next.is_none();
        Ok(Some(listing.objects))
    }
}

/// Returns a page of all BLOBs.
#[boxed]
pub async fn page(store: &Store, after: Option<Digest>, limit: usize) -> Result<Page> {
    let after = after.map(|digest| store.names.behind(&digest));
    let mut walk = Walk::new(&store.bucket, store.names.blobs(), after);
    let mut page = Page::default();
    // Requests one more than wanted, which shows whether there is a next page.
    while let Some(objects) = walk.some(limit.saturating_add(1)).await? {
        for object in objects {
            let Some((digest, size)) = store.names.parse_blob(&object.key) else { continue };
            if page.entries.last().is_some_and(|last: &Entry| last.digest == digest) {
                continue;
            }
            if page.entries.len() == limit {
                page.next = page.entries.last().map(|last| last.digest);
                return Ok(page);
            }
            page.entries.push(Entry { digest, size, stored_at: stored_at(object.modified) });
        }
    }
    Ok(page)
}

/// Computes the totals of all objects.
#[boxed]
pub async fn usage(store: &Store) -> Result<Usage> {
    let mut usage = Usage::default();
    let mut walk = Walk::new(&store.bucket, store.names.root().to_owned(), None);
    let mut last = None;
    while let Some(objects) = walk.some(1000).await? {
        for object in objects {
            usage.disk_bytes += object.length;
            if let Some((digest, size)) = store.names.parse_blob(&object.key)
                && last.replace(digest) != Some(digest)
            {
                usage.blobs += 1;
                usage.content_bytes += size;
            }
        }
    }
    Ok(usage)
}

/// Verifies every BLOB, and reports objects among them whose names are not those of BLOBs.
#[boxed]
pub async fn verify(store: &Arc<Store>, reporter: &Reporter) -> Result<()> {
    let mut walk = Walk::new(&store.bucket, store.names.blobs(), None);
    while let Some(objects) = walk.some(1000).await? {
        let checks = stream::iter(objects).map(|object| check(store, object)).buffered(VERIFIED_AT_ONCE);
        checks.try_for_each(|checked| reporter.report(checked)).await?;
    }
    Ok(())
}

async fn check(store: &Arc<Store>, object: Listed) -> Result<Checked> {
    let Some((digest, size)) = store.names.parse_blob(&object.key) else {
        let what = "not the name of a BLOB".to_owned();
        return Ok(Checked { digest: None, size: 0, outcome: CheckOutcome::Damaged { place: object.key, what } });
    };
    let opened = match store.open(digest, size).await {
        // Opening has already verified it.
        Ok(Opened::Whole(_)) => return Ok(Checked { digest: Some(digest), size, outcome: CheckOutcome::Intact }),
        Ok(Opened::Large(envelope)) => Ok(Box::new(LargeSource::new(store.clone(), envelope)) as Box<dyn Source>),
        Err(error) => Err(error),
    };
    let entry = Entry { digest, size, stored_at: stored_at(object.modified) };
    let outcome = match reread(opened, entry).await? {
        CheckOutcome::Damaged { what, .. } => CheckOutcome::Damaged { place: object.key, what },
        CheckOutcome::Missing { .. } => CheckOutcome::Missing { place: object.key },
        intact => intact,
    };
    Ok(Checked { digest: Some(digest), size, outcome })
}
