//! Faults: BLOBs that a check found missing or damaged, recorded until they are intact again or their loss is accepted.

use model::{Digest, FaultState, Id, Result, Timestamp, VersionNumber};

use super::node::number;
use crate::{Reader, Row, Transaction, params, statements};

statements! {
    PUT = "INSERT INTO blob_fault (store_id, digest, state, detail, found_at) VALUES ($1, $2, $3, $4, $5)
        ON CONFLICT (store_id, digest) DO UPDATE SET state = excluded.state, detail = excluded.detail";
    REMOVE = "DELETE FROM blob_fault WHERE store_id = $1 AND digest = $2";
    ACCEPT = "UPDATE blob_fault SET accepted_at = $2, accepted_by = $3 WHERE digest = $1 AND accepted_at IS NULL";
    FIND = "SELECT store_id, digest, state, detail, found_at, accepted_at, accepted_by FROM blob_fault WHERE digest = $1
        ORDER BY store_id";
    LIST = "SELECT store_id, digest, state, detail, found_at, accepted_at, accepted_by FROM blob_fault
        WHERE (digest, store_id) > ($1, $2) ORDER BY digest, store_id LIMIT $3";
    COUNT = "SELECT COUNT(*) FROM blob_fault WHERE accepted_at IS NULL";
    BY_STORE = "SELECT store_id, COUNT(*), COUNT(accepted_at) FROM blob_fault GROUP BY store_id";
    NEEDED_BY_STORE = "SELECT f.store_id, COUNT(*) FROM blob_fault f WHERE EXISTS (SELECT 1 FROM blob b
        WHERE b.digest = f.digest AND b.store_id = f.store_id) GROUP BY f.store_id";
    FORGET_UNNEEDED = "DELETE FROM blob_fault WHERE NOT EXISTS (SELECT 1 FROM blob b WHERE b.digest = blob_fault.digest
        AND b.store_id = blob_fault.store_id)";
    LEAD = "INSERT INTO blob_fault (store_id, digest, state, detail, found_at, accepted_at, accepted_by)
        SELECT $3, digest, 'missing', detail, found_at, accepted_at, accepted_by FROM blob_fault WHERE store_id = $1
        AND digest = $2
        ON CONFLICT (store_id, digest) DO UPDATE SET accepted_at = excluded.accepted_at, accepted_by =
        excluded.accepted_by";
    OF_NODE = "SELECT v.id, v.major, v.minor, v.working, f.state FROM version v JOIN blob b ON b.id = v.blob_id
        JOIN blob_fault f ON f.digest = b.digest AND f.store_id = b.store_id WHERE v.node_id = $1 ORDER BY v.id";
}

/// A missing or damaged BLOB.
#[derive(Clone, Debug)]
pub struct FaultRow {
    /// The store that should have the BLOB.
    pub store_id: Id,
    /// Digest of the bytes.
    pub digest: Digest,
    /// The fault.
    pub state: FaultState,
    /// Location and details of the fault.
    pub detail: String,
    /// Time of the first detection.
    pub found_at: Timestamp,
    /// Time when the loss was accepted; `None` until then.
    pub accepted_at: Option<Timestamp>,
    /// Acting user.
    pub accepted_by: Option<Id>,
}

fn read(row: &Row<'_>) -> Result<FaultRow> {
    Ok(FaultRow {
        store_id: row.get(0)?,
        digest: row.get(1)?,
        state: row.get(2)?,
        detail: row.get(3)?,
        found_at: row.get(4)?,
        accepted_at: row.get(5)?,
        accepted_by: row.get(6)?,
    })
}

/// Records a fault. A fault that is already known keeps its first time and its acceptance.
pub fn put(transaction: &mut Transaction<'_>, row: &FaultRow) -> Result<()> {
    let values = params![row.store_id, row.digest, row.state, &row.detail, row.found_at];
    transaction.execute(PUT, &values).map(drop)
}

/// Deletes the fault of a BLOB that is intact again or no longer needed.
pub fn remove(transaction: &mut Transaction<'_>, store: Id, digest: &Digest) -> Result<()> {
    transaction.execute(REMOVE, &params![store, *digest]).map(drop)
}

/// Records that the loss of these bytes is accepted. Returns the number of faults that this settles.
pub fn accept(transaction: &mut Transaction<'_>, digest: &Digest, now: Timestamp, by: Id) -> Result<u64> {
    transaction.execute(ACCEPT, &params![*digest, now, by])
}

/// Faults of these bytes.
pub fn find(reader: &mut Reader<'_>, digest: &Digest) -> Result<Vec<FaultRow>> {
    reader.query(FIND, &params![*digest], read)
}

/// Position in the list of faults: digest and store. A BLOB may have a fault in several stores.
pub type Position = (Digest, Id);

/// Position after all faults of these bytes.
pub fn after_all(digest: Digest) -> Position {
    (digest, Id::new(i64::MAX))
}

/// Faults in order of digest and store, starting after `after`.
pub fn list(reader: &mut Reader<'_>, after: Option<Position>, limit: usize) -> Result<Vec<FaultRow>> {
    let (digest, store) = match after {
        Some((digest, store)) => (digest.as_bytes().to_vec(), store),
        None => (Vec::new(), Id::NONE),
    };
    reader.query(LIST, &params![digest, store, limit as i64], read)
}

/// Number of faults whose loss is not accepted.
pub fn count(reader: &mut Reader<'_>) -> Result<i64> {
    Ok(reader.find(COUNT, &[], |row| row.get(0))?.unwrap_or(0))
}

/// For each store: its identifier, the number of faults, and how many of them are accepted as lost.
pub fn by_store(reader: &mut Reader<'_>) -> Result<Vec<(Id, i64, i64)>> {
    reader.query(BY_STORE, &[], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
}

/// For each store: its identifier, and the number of faults of copies that still have a reference.
pub fn needed_by_store(reader: &mut Reader<'_>) -> Result<Vec<(Id, i64)>> {
    reader.query(NEEDED_BY_STORE, &[], |row| Ok((row.get(0)?, row.get(1)?)))
}

/// Deletes the faults of copies without any reference. Returns their number.
pub fn forget_unneeded(transaction: &mut Transaction<'_>) -> Result<u64> {
    transaction.execute(FORGET_UNNEEDED, &[])
}

/// Moves the record of a loss to another store, to which the reference now points.
pub fn move_to_store(transaction: &mut Transaction<'_>, from: Id, to: Id, digest: &Digest) -> Result<()> {
    transaction.execute(LEAD, &params![from, *digest, to])?;
    remove(transaction, from, digest)
}

/// A version whose BLOB is missing or damaged.
#[derive(Clone, Debug)]
pub struct FaultyVersion {
    /// Identifier of the version.
    pub id: Id,
    /// Its number.
    pub number: VersionNumber,
    /// Set for a working copy, which only the holder of the check-out can see.
    pub working: bool,
    /// The fault.
    pub state: FaultState,
}

/// Versions of a document whose BLOB is missing or damaged, in order of identifier.
pub fn of_node(reader: &mut Reader<'_>, node: Id) -> Result<Vec<FaultyVersion>> {
    reader.query(OF_NODE, &params![node], |row| {
        Ok(FaultyVersion {
            id: row.get(0)?,
            number: VersionNumber::new(number(row, 1)?, number(row, 2)?),
            working: row.get(3)?,
            state: row.get(4)?,
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Schema;
    use crate::testing::each_engine;

    #[tokio::test(flavor = "multi_thread")]
    async fn the_end_of_a_page_may_lie_between_two_faults_of_one_blob() {
        each_engine(Schema::Content, |database| async move {
            let stored: Vec<(u8, i64)> = vec![(1, 1), (2, 1), (2, 2), (2, 3), (3, 2)];
            let faults = stored.clone();
            let write = move |transaction: &mut Transaction<'_>| {
                for (digest, store) in faults.iter().rev() {
                    put(transaction, &row(*digest, *store))?;
                }
                Ok(())
            };
            database.write(write).await.unwrap();
            for limit in 1..=6 {
                let (mut after, mut listed) = (None, Vec::new());
                loop {
                    let page = database.read(move |reader| list(reader, after, limit)).await.unwrap();
                    let Some(last) = page.last() else { break };
                    after = Some((last.digest, last.store_id));
                    listed.extend(page.iter().map(|row| (row.digest.as_bytes()[0], row.store_id.get())));
                }
                assert_eq!(listed, stored, "pages of {limit}");
            }
            let after = Some(after_all(Digest::new([2; 32])));
            let page = database.read(move |reader| list(reader, after, 9)).await.unwrap();
            assert_eq!(page.iter().map(|row| row.digest.as_bytes()[0]).collect::<Vec<_>>(), [3]);
        })
        .await;
    }

    fn row(digest: u8, store: i64) -> FaultRow {
        FaultRow {
            store_id: Id::new(store),
            digest: Digest::new([digest; 32]),
            state: FaultState::Missing,
            detail: String::new(),
            found_at: Timestamp::from_micros(1),
            accepted_at: None,
            accepted_by: None,
        }
    }
}
