//! Copying of BLOBs from one store to another. The BLOBs of a group are read together, stored together and read back
//! together, so that one flush of the destination covers the whole group.

use blobs::{BlobHasher, BlobStore, BlobWriter, Stored};
use database::content::blob::BlobRow;
use futures_util::future::join_all;
use futures_util::stream::{self, Stream, StreamExt};
use model::{Code, Error, ErrorKind, Result};
use repository::DATABASE_STORE;

/// Maximum number of BLOBs per group, and of their bytes. A longer BLOB is a group by itself.
const MAX_GROUP: usize = 32;
const MAX_GROUP_BYTES: u64 = 2 << 20;
/// Number of groups copied concurrently. The number is lower for a content database, because uploads wait in the same
/// write queue.
const AT_ONCE: usize = 4;
const AT_ONCE_INSIDE: usize = 2;
/// Number of BLOBs per group while users are active. Groups are then copied one at a time.
const MAX_GROUP_WHILE_BUSY: usize = 4;

/// Copies these BLOBs and verifies each copy. With `gently` the groups are small and copied one at a time.
pub(super) fn copy<'a>(
    from: &'a BlobStore,
    to: &'a BlobStore,
    to_id: model::Id,
    rows: Vec<BlobRow>,
    gently: bool,
) -> impl Stream<Item = (BlobRow, Result<Stored>)> + 'a {
    let (longest, at_once) = match gently {
        true => (MAX_GROUP_WHILE_BUSY, 1),
        false => (MAX_GROUP, if to_id == DATABASE_STORE { AT_ONCE_INSIDE } else { AT_ONCE }),
    };
    stream::iter(groups(rows, longest))
        .map(move |rows| copy_group(from, to, rows))
        .buffer_unordered(at_once)
        .flat_map(stream::iter)
}

fn groups(rows: Vec<BlobRow>, longest: usize) -> Vec<Vec<BlobRow>> {
    let mut groups: Vec<Vec<BlobRow>> = Vec::new();
    let mut bytes = 0;
    for row in rows {
        bytes += length(&row);
        match groups.last_mut() {
            Some(group) if group.len() < longest && bytes <= MAX_GROUP_BYTES => group.push(row),
            _ => {
                bytes = length(&row);
                groups.push(vec![row]);
            }
        }
    }
    groups
}

async fn copy_group(from: &BlobStore, to: &BlobStore, rows: Vec<BlobRow>) -> Vec<(BlobRow, Result<Stored>)> {
    let read = join_all(rows.iter().map(|row| read(from, to, row))).await;
    let stored = join_all(rows.iter().zip(read).map(|(row, writer)| async { store(row, writer?).await })).await;
    let checked =
        join_all(rows.iter().zip(stored).map(|(row, stored)| async { read_back(to, row, stored?).await })).await;
    rows.into_iter().zip(checked).collect()
}

/// Reads a BLOB into the writer of its copy, and returns the unfinished writer.
async fn read(from: &BlobStore, to: &BlobStore, row: &BlobRow) -> Result<BlobWriter> {
    let locator = row.locator.as_deref().map(blobs::Locator::from_bytes).transpose()?;
    let mut source = from.open(row.digest, length(row), locator.as_ref()).await.map_err(not_whole)?;
    let mut writer = to.writer(Some(length(row))).await?;
    while let Some(bytes) = source.next_chunk().await.map_err(not_whole)? {
        writer.write(bytes).await?;
    }
    Ok(writer)
}

async fn store(row: &BlobRow, writer: BlobWriter) -> Result<Stored> {
    let stored = writer.finish().await?;
    if stored.digest == row.digest {
        return Ok(stored);
    }
    Err(not_whole(Error::corrupt(
        "its bytes differ from those that were stored: `strongroom blobs faults` names the documents that need them",
    )))
}

async fn read_back(to: &BlobStore, row: &BlobRow, stored: Stored) -> Result<Stored> {
    let mut copy = to.open(row.digest, length(row), Some(&stored.locator)).await?;
    let mut hasher = BlobHasher::new();
    while let Some(bytes) = copy.next_chunk().await? {
        hasher.update(&bytes);
    }
    if hasher.finish() != row.digest {
        return Err(Error::corrupt("its copy reads back differently from what was written"));
    }
    Ok(stored)
}

fn length(row: &BlobRow) -> u64 {
    row.size.max(0) as u64
}

/// Adds the code [`Code::BlobNotWhole`] to errors that definitely mean missing or damaged source bytes.
fn not_whole(error: Error) -> Error {
    match error.kind() {
        ErrorKind::NotFound => {
            let missing = "its bytes are missing from their store: `strongroom blobs faults` names the documents that \
                           need them";
            Error::corrupt(missing).with_source(error).with_code(Code::BlobNotWhole)
        }
        ErrorKind::Corrupt => error.with_code(Code::BlobNotWhole),
        _ => error,
    }
}

#[cfg(test)]
mod tests {
    use database::content::blob::BlobRow;
    use model::{Digest, Id};

    use super::*;

    fn row(size: i64) -> BlobRow {
        BlobRow { id: Id::new(1), digest: Digest::new([0; 32]), size, store_id: Id::new(2), locator: None }
    }

    #[test]
    fn groups_are_bounded_by_number_and_bytes_and_lose_nothing() {
        let sizes = [100, 3 << 20, 1 << 20, 1 << 20, 1, 5 << 30, 7];
        let found: Vec<Vec<i64>> = groups(sizes.map(row).to_vec(), MAX_GROUP)
            .iter()
            .map(|group| group.iter().map(|row| row.size).collect())
            .collect();
        assert_eq!(found, [vec![100], vec![3 << 20], vec![1 << 20, 1 << 20], vec![1], vec![5 << 30], vec![7]]);
        let many = groups(vec![row(10); 70], MAX_GROUP);
        assert_eq!(many.iter().map(Vec::len).collect::<Vec<_>>(), [32, 32, 6]);
    }
}
