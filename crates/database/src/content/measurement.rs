//! Measurements: how much each site, library, list and folder holds with all that is below it, by what protects it.

use model::{Id, NodeKind, Result, Timestamp};

use crate::{Reader, Transaction, params, statements};

statements! {
    FIND = "SELECT complete, running, wanted, measured_at FROM measurement WHERE collection_id = $1";
    LOCK = "SELECT complete, running, wanted, lease_until FROM measurement WHERE collection_id = $1 {for_update}";
    DUE = "SELECT c.id FROM collection c LEFT JOIN measurement m ON m.collection_id = c.id
        WHERE m.collection_id IS NULL OR ((m.lease_until < $1 OR m.lease_until > $4) AND (m.wanted > m.complete OR
        ((m.measured_at < $2 OR m.measured_at > $4)
        AND m.sequence < (SELECT COALESCE(MAX(e.sequence), 0) FROM event e)))) ORDER BY m.measured_at, c.id LIMIT $3";
    WANTED = "SELECT collection_id FROM measurement WHERE wanted > complete AND (lease_until < $1 OR lease_until > $3)
        ORDER BY measured_at, collection_id LIMIT $2";
    REQUEST = "INSERT INTO measurement (collection_id, complete, running, wanted, measured_at, sequence, lease_until)
        VALUES ($1, 0, 0, 1, 0, 0, 0) ON CONFLICT (collection_id) DO UPDATE SET wanted = measurement.running + 1";
    BEGIN = "UPDATE measurement SET running = $2, wanted = $2, lease_until = $3 WHERE collection_id = $1";
    KEEP = "UPDATE measurement SET lease_until = $3 WHERE collection_id = $1 AND running = $2";
    FINISH = "UPDATE measurement SET complete = $2, measured_at = $3, sequence = $4, lease_until = 0
        WHERE collection_id = $1 AND running = $2";
    PUT = "INSERT INTO measured (collection_id, round, node_id, scope_id, documents, list_rows, bytes, changed_at)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT (collection_id, round, node_id, scope_id) DO UPDATE SET
        documents = excluded.documents, list_rows = excluded.list_rows, bytes = excluded.bytes,
        changed_at = excluded.changed_at";
    OF_ITEMS = "SELECT node_id, scope_id, documents, list_rows, bytes, changed_at FROM measured
        WHERE collection_id = $1 AND round = $2 AND node_id {in $3}";
    HIDE = "INSERT INTO unmeasured (collection_id, round, node_id, scope_id) VALUES ($1, $2, $3, $4)
        ON CONFLICT (collection_id, round, node_id, scope_id) DO NOTHING";
    HIDDEN = "SELECT node_id, scope_id FROM unmeasured WHERE collection_id = $1 AND round >= $2 AND node_id {in $3}";
    REMOVE_OLD = "DELETE FROM measured WHERE (collection_id, round, node_id, scope_id) IN (SELECT collection_id, round,
        node_id, scope_id FROM measured WHERE collection_id = $1 AND round < $2 LIMIT $3)";
    REMOVE_HIDDEN = "DELETE FROM unmeasured WHERE collection_id = $1 AND round < $2";
    CHILDREN = "SELECT id, scope_id, kind, folded, modified_at FROM node WHERE parent_id = $1 AND folded > $2
        ORDER BY folded LIMIT $3";
    ATTACHED = "SELECT d.scope_id, COUNT(*), CAST(SUM(d.bytes) AS BIGINT), MAX(d.modified_at) FROM (
            SELECT n.id, n.scope_id, n.modified_at, COALESCE(SUM(v.size), 0) AS bytes
            FROM node n LEFT JOIN version v ON v.node_id = n.id
            WHERE n.parent_id {in $1} AND n.kind = 'document' GROUP BY n.id, n.scope_id, n.modified_at) AS d
        GROUP BY d.scope_id";
    BYTES = "SELECT node_id, CAST(SUM(size) AS BIGINT) FROM version WHERE node_id {in $1} GROUP BY node_id";
}

/// State of the measurements of a site collection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MeasurementRow {
    /// The round that readers use; 0 before the first one is complete.
    pub complete: i64,
    /// The round that was begun last.
    pub running: i64,
    /// The round that is asked for. It is due while it is greater than the complete one.
    pub wanted: i64,
    /// Time at which the complete round began.
    pub measured_at: Timestamp,
}

/// Figures of a container under one scope.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MeasuredRow {
    /// The container.
    pub node_id: Id,
    /// The scope.
    pub scope_id: Id,
    /// Number of documents.
    pub documents: i64,
    /// Number of rows of lists.
    pub rows: i64,
    /// Bytes of all versions.
    pub bytes: i64,
    /// Time of the last change.
    pub changed_at: Timestamp,
}

/// An item as a measurement needs it.
#[derive(Clone, Debug)]
pub struct Child {
    /// Identifier.
    pub id: Id,
    /// The permission scope that it inherits or owns.
    pub scope_id: Id,
    /// Its kind.
    pub kind: NodeKind,
    /// Name folded for comparison.
    pub folded: String,
    /// Time of its last change.
    pub modified_at: Timestamp,
}

/// Attachments of rows under one scope.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attached {
    /// The scope.
    pub scope_id: Id,
    /// Number of documents.
    pub documents: i64,
    /// Bytes of all versions.
    pub bytes: i64,
    /// Time of the last change.
    pub changed_at: Timestamp,
}

/// Attachments of these rows, by scope.
pub fn attached(reader: &mut Reader<'_>, rows: &[Id]) -> Result<Vec<Attached>> {
    reader.query(ATTACHED, &params![rows], |row| {
        Ok(Attached { scope_id: row.get(0)?, documents: row.get(1)?, bytes: row.get(2)?, changed_at: row.get(3)? })
    })
}

/// The state of the measurements of a site collection; `None` if none was ever asked for.
pub fn find(reader: &mut Reader<'_>, collection: Id) -> Result<Option<MeasurementRow>> {
    reader.find(FIND, &params![collection], |row| {
        let (complete, running, wanted) = (row.get(0)?, row.get(1)?, row.get(2)?);
        Ok(MeasurementRow { complete, running, wanted, measured_at: row.get(3)? })
    })
}

/// Site collections that wait for a measurement: somebody asked for it, there is none, or the last one was before
/// `older` and the database has changed since. Times after `future` were set by a clock that was ahead.
pub fn due(
    reader: &mut Reader<'_>,
    now: Timestamp,
    older: Timestamp,
    future: Timestamp,
    limit: usize,
) -> Result<Vec<Id>> {
    reader.query(DUE, &params![now, older, limit as i64, future], |row| row.get(0))
}

/// Site collections for which somebody asked for a measurement. Leases after `future` were given by a clock that was
/// ahead.
pub fn wanted(reader: &mut Reader<'_>, now: Timestamp, future: Timestamp, limit: usize) -> Result<Vec<Id>> {
    reader.query(WANTED, &params![now, limit as i64, future], |row| row.get(0))
}

/// Asks for a measurement that begins after this transaction.
pub fn request(transaction: &mut Transaction<'_>, collection: Id) -> Result<()> {
    transaction.execute(REQUEST, &params![collection]).map(drop)
}

/// Begins a round, under a lease. Returns `None` while another server has one. A lease beyond `until` was given by a
/// clock that was ahead.
pub fn begin(
    transaction: &mut Transaction<'_>,
    collection: Id,
    now: Timestamp,
    until: Timestamp,
) -> Result<Option<i64>> {
    let lock = |transaction: &mut Transaction<'_>| {
        transaction.find(LOCK, &params![collection], |row| Ok((row.get::<i64>(1)?, row.get::<Timestamp>(3)?)))
    };
    if lock(transaction)?.is_none() {
        request(transaction, collection)?;
    }
    let Some((running, _)) = lock(transaction)?.filter(|(_, leased)| *leased <= now || *leased > until) else {
        return Ok(None);
    };
    transaction.execute(BEGIN, &params![collection, running + 1, until])?;
    Ok(Some(running + 1))
}

/// Extends the lease of a round. Returns whether it is still the newest one.
pub fn keep(transaction: &mut Transaction<'_>, collection: Id, round: i64, until: Timestamp) -> Result<bool> {
    Ok(transaction.execute(KEEP, &params![collection, round, until])? > 0)
}

/// Makes a round the one that readers use. Returns whether it is still the newest one.
pub fn finish(
    transaction: &mut Transaction<'_>,
    collection: Id,
    round: i64,
    begun: Timestamp,
    sequence: i64,
) -> Result<bool> {
    let finished = transaction.execute(FINISH, &params![collection, round, begun, sequence])? > 0;
    if finished {
        transaction.execute(REMOVE_HIDDEN, &params![collection, round])?;
    }
    Ok(finished)
}

/// Stores what a container holds under one scope.
pub fn put(transaction: &mut Transaction<'_>, collection: Id, round: i64, row: &MeasuredRow) -> Result<()> {
    let values =
        params![collection, round, row.node_id, row.scope_id, row.documents, row.rows, row.bytes, row.changed_at];
    transaction.execute_deferred(PUT, &values)
}

/// Figures of these containers in a round.
pub fn of_items(reader: &mut Reader<'_>, collection: Id, round: i64, items: &[Id]) -> Result<Vec<MeasuredRow>> {
    reader.query(OF_ITEMS, &params![collection, round, items], |row| {
        Ok(MeasuredRow {
            node_id: row.get(0)?,
            scope_id: row.get(1)?,
            documents: row.get(2)?,
            rows: row.get(3)?,
            bytes: row.get(4)?,
            changed_at: row.get(5)?,
        })
    })
}

/// Notes that something in these containers changed from or to a scope, so that what was counted there under it is not
/// shown until it is measured again. Asks for that.
pub fn scope_changed(transaction: &mut Transaction<'_>, collection: Id, containers: &[Id], scope: Id) -> Result<()> {
    request(transaction, collection)?;
    let running = find(transaction, collection)?.map_or(0, |row| row.running);
    for container in containers {
        transaction.execute_deferred(HIDE, &params![collection, running, *container, scope])?;
    }
    Ok(())
}

/// Containers and scopes for which a round does not count any more.
pub fn hidden(reader: &mut Reader<'_>, collection: Id, round: i64, items: &[Id]) -> Result<Vec<(Id, Id)>> {
    reader.query(HIDDEN, &params![collection, round, items], |row| Ok((row.get(0)?, row.get(1)?)))
}

/// Removes up to `limit` rows of rounds before this one. Returns how many.
pub fn remove_before(transaction: &mut Transaction<'_>, collection: Id, round: i64, limit: usize) -> Result<u64> {
    transaction.execute(REMOVE_OLD, &params![collection, round, limit as i64])
}

/// Items directly in a container after a folded name, in the order of these names.
pub fn children(reader: &mut Reader<'_>, parent: Id, after: &str, limit: usize) -> Result<Vec<Child>> {
    reader.query(CHILDREN, &params![parent, after, limit as i64], |row| {
        Ok(Child {
            id: row.get(0)?,
            scope_id: row.get(1)?,
            kind: row.get(2)?,
            folded: row.get(3)?,
            modified_at: row.get(4)?,
        })
    })
}

/// Bytes of all versions of these documents. Documents without versions are missing.
pub fn bytes(reader: &mut Reader<'_>, documents: &[Id]) -> Result<Vec<(Id, i64)>> {
    reader.query(BYTES, &params![documents], |row| Ok((row.get(0)?, row.get(1)?)))
}
