//! Deletion, and removal of orphaned data objects.

use std::sync::Arc;

use async_recursion::async_recursion as boxed;
use bytes::Bytes;
use model::{Digest, Error, ErrorKind, Result, Timestamp};

use super::bucket::Listed;
use super::listing::Walk;
use super::store::Store;
use crate::coding::DataId;
use crate::coding::{HEADER_LENGTH, is_enveloped, peek};
use crate::provider::CompactReport;

/// Removes a BLOB of any size: first the key that makes it a BLOB, then its data.
#[boxed]
pub async fn delete(store: &Arc<Store>, digest: Digest) -> Result<()> {
    store.writable().await?;
    let mut walk = Walk::new(&store.bucket, store.names.of_digest(&digest), None);
    while let Some(objects) = walk.some(1000).await? {
        for object in objects {
            let data = data_of(store, &object).await?;
            store.bucket.delete(&object.key).await?;
            if let Some(data) = data {
                store.bucket.delete(&store.names.data(&data)).await?;
            }
        }
    }
    Ok(())
}

/// Returns the data object to which the object under a BLOB's key leads.
async fn data_of(store: &Store, object: &Listed) -> Result<Option<DataId>> {
    if object.length < HEADER_LENGTH as u64 {
        return Ok(None);
    }
    let head = store.bucket.get_range(&object.key, 0..HEADER_LENGTH as u64).await?;
    Ok(head.and_then(|head| peek(&head)?.2))
}

/// Removes orphaned data objects that are older than the orphan window.
#[boxed]
pub async fn compact(store: &Arc<Store>) -> Result<CompactReport> {
    store.writable().await?;
    let mut report = CompactReport::default();
    let mut walk = Walk::new(&store.bucket, store.names.all_data(), None);
    let mut before = None;
    while let Some(objects) = walk.some(1000).await? {
        for object in objects {
            let before = match before {
                Some(before) => before,
                None => *before.insert(service_time(store).await?.before(store.orphan_window())),
            };
            if object.modified >= before {
                continue;
            }
            match is_orphan(store, &object).await? {
                Some(true) => {
                    store.bucket.delete(&object.key).await?;
                    report.removed += 1;
                    report.freed_bytes += object.length;
                }
                Some(false) => {}
                None => report.damaged += 1,
            }
        }
    }
    Ok(report)
}

/// Returns the time of the service's clock, by which the ages of objects are measured.
async fn service_time(store: &Store) -> Result<Timestamp> {
    let key = store.names.clock();
    store
        .bucket
        .replace(&key, &[Bytes::from_static(b"The time at which this was written is the time of the service.\n")])
        .await?;
    let found = store.bucket.head(&key).await?;
    let found = found.ok_or_else(|| Error::unavailable(format!("{key} was written but cannot be found: try again")))?;
    Ok(found.modified)
}

/// Returns whether a data object is an orphan, to which no BLOB leads; `None` when damage makes that undecidable.
async fn is_orphan(store: &Arc<Store>, object: &Listed) -> Result<Option<bool>> {
    let Some(id) = store.names.parse_data(&object.key) else { return Ok(None) };
    let Some(start) = object.length.checked_sub(HEADER_LENGTH as u64) else { return Ok(None) };
    let Some(end) = store.bucket.get_range(&object.key, start..object.length).await? else { return Ok(Some(false)) };
    let Some((digest, size, Some(told))) = peek(&end) else { return Ok(None) };
    if told != id {
        return Ok(None);
    }
    match store.bucket.get_range(&store.names.blob(&digest, size), 0..HEADER_LENGTH as u64).await {
        Ok(Some(head)) if is_enveloped(&head) => Ok(peek(&head).map(|(_, _, data)| data != Some(id))),
        // The BLOB has its bytes under its own key.
        Ok(Some(_)) => Ok(Some(true)),
        Ok(None) => match store.open(digest, size).await {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(Some(true)),
            Err(error) if error.kind() != ErrorKind::Corrupt => Err(error),
            _ => Ok(None),
        },
        Err(error) if error.kind() == ErrorKind::Corrupt => Ok(None),
        Err(error) => Err(error),
    }
}
