//! Records of the backups that were taken. The farm needs them because a running backup, and a kept one without its own
//! copy of the BLOBs, hold back garbage collection.

use std::time::Duration;

use model::{BackupState, Id, Result, Timestamp};

use crate::{Reader, Row, Transaction, params, statements};

/// The columns that [`read`] expects, in its order.
macro_rules! columns {
    () => {
        "id, destination, state, needs_stores, started_at, seen_at, finished_at, bytes, new_bytes, message, verified_at,
        verify_faults, drilled_at, drill_faults"
    };
}

statements! {
    INSERT = "INSERT INTO backup_set (id, destination, state, needs_stores, started_at, seen_at, bytes, new_bytes,
        message)
        VALUES ($1, $2, 'running', $3, $4, $4, 0, 0, '')";
    SEEN = "UPDATE backup_set SET seen_at = $2 WHERE id = $1 AND state = 'running'";
    END = "UPDATE backup_set SET state = $2, finished_at = $3, seen_at = $3, bytes = $4, new_bytes = $5, message = $6
        WHERE id = $1 AND state = 'running'";
    SET_VERIFIED = "UPDATE backup_set SET verified_at = $2, verify_faults = $3 WHERE id = $1";
    SET_DRILLED = "UPDATE backup_set SET drilled_at = $2, drill_faults = $3 WHERE id = $1";
    REMOVE = "UPDATE backup_set SET state = 'removed' WHERE id = $1";
    FIND = concat!("SELECT ", columns!(), " FROM backup_set WHERE id = $1");
    LIST = concat!("SELECT ", columns!(), " FROM backup_set WHERE id < $1 ORDER BY id DESC LIMIT $2");
    HOLDS_SINCE = "SELECT MIN(started_at) FROM backup_set WHERE (state = 'running' AND seen_at > $1)
        OR (state = 'kept' AND needs_stores)";
    HOLDING = concat!("SELECT ", columns!(), " FROM backup_set
        WHERE (state = 'running' AND seen_at > $1) OR (state = 'kept' AND needs_stores) ORDER BY started_at, id");
    LAST_KEPT = "SELECT MAX(CASE WHEN started_at <= $1 THEN started_at END), MAX(started_at) FROM backup_set
        WHERE state = 'kept'";
    NEWEST_DRILL = "SELECT drilled_at, drill_faults FROM backup_set WHERE drilled_at IS NOT NULL
        ORDER BY drilled_at DESC, id DESC LIMIT 1";
    NEWEST_KEPT = "SELECT MAX(CASE WHEN NOT needs_stores THEN started_at END),
        MAX(CASE WHEN needs_stores THEN started_at END) FROM backup_set WHERE state = 'kept'";
}

/// Time after the last heartbeat of a running backup, after which its process counts as dead.
pub const ALIVE: Duration = Duration::from_secs(600);

/// A backup as recorded by the farm.
#[derive(Clone, Debug)]
pub struct BackupRow {
    /// Identifier, the same as in the backup set itself.
    pub id: Id,
    /// Location.
    pub destination: String,
    /// State.
    pub state: BackupState,
    /// Set if the backup set holds no copy of the BLOBs, so that the stores must keep them.
    pub needs_stores: bool,
    /// The point in time that the backup represents.
    pub started_at: Timestamp,
    /// Time of the last heartbeat of the process that takes the backup.
    pub seen_at: Timestamp,
    /// Time of the end.
    pub finished_at: Option<Timestamp>,
    /// Bytes that a restore of the set brings back.
    pub bytes: i64,
    /// Bytes that the backup added to its destination.
    pub new_bytes: i64,
    /// The outcome as a message for people.
    pub message: String,
    /// The last verification.
    pub verified: Option<BackupCheck>,
    /// The last drill.
    pub drilled: Option<BackupCheck>,
}

/// A check of a backup.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BackupCheck {
    /// Time of its end.
    pub at: Timestamp,
    /// Number of faults that were found.
    pub faults: i64,
}

impl BackupRow {
    /// Returns whether the process that takes a running backup has given a heartbeat lately.
    pub fn is_alive(&self, now: Timestamp) -> bool {
        self.seen_at > now.before(ALIVE)
    }
}

fn read(row: &Row<'_>) -> Result<BackupRow> {
    Ok(BackupRow {
        id: row.get(0)?,
        destination: row.get(1)?,
        state: row.get(2)?,
        needs_stores: row.get(3)?,
        started_at: row.get(4)?,
        seen_at: row.get(5)?,
        finished_at: row.get(6)?,
        bytes: row.get(7)?,
        new_bytes: row.get(8)?,
        message: row.get(9)?,
        verified: check(row, 10)?,
        drilled: check(row, 12)?,
    })
}

fn check(row: &Row<'_>, at: usize) -> Result<Option<BackupCheck>> {
    let (time, faults): (Option<Timestamp>, Option<i64>) = (row.get(at)?, row.get(at + 1)?);
    Ok(time.map(|at| BackupCheck { at, faults: faults.unwrap_or(0) }))
}

/// Registers a running backup. Nothing that is referenced from now on is collected until the backup ends.
pub fn insert(
    transaction: &mut Transaction<'_>,
    id: Id,
    destination: &str,
    needs_stores: bool,
    now: Timestamp,
) -> Result<()> {
    transaction.execute(INSERT, &params![id, destination, needs_stores, now]).map(drop)
}

/// Records a heartbeat of a running backup. Returns false if another process has ended the backup.
pub fn seen(transaction: &mut Transaction<'_>, id: Id, now: Timestamp) -> Result<bool> {
    Ok(transaction.execute(SEEN, &params![id, now])? == 1)
}

/// The outcome of a backup.
#[derive(Clone, Debug)]
pub struct Ended {
    /// `kept` or `failed`.
    pub state: BackupState,
    /// Bytes that a restore of the set brings back.
    pub bytes: i64,
    /// Bytes that the backup added to its destination.
    pub new_bytes: i64,
    /// Message for people.
    pub message: String,
}

/// Records the outcome of a backup.
pub fn end(transaction: &mut Transaction<'_>, id: Id, ended: &Ended, now: Timestamp) -> Result<()> {
    let values = params![id, ended.state, now, ended.bytes, ended.new_bytes, &ended.message];
    transaction.execute(END, &values).map(drop)
}

/// Returns the latest drill; `None` if there was none.
pub fn newest_drill(reader: &mut Reader<'_>) -> Result<Option<BackupCheck>> {
    Ok(reader.find(NEWEST_DRILL, &params![], |row| check(row, 0))?.flatten())
}

/// Records a verification of a backup. Returns 0 if the farm does not know it.
pub fn note_verification(transaction: &mut Transaction<'_>, id: Id, now: Timestamp, faults: i64) -> Result<u64> {
    transaction.execute(SET_VERIFIED, &params![id, now, faults])
}

/// Records a drill of a backup. Returns 0 if the farm does not know it.
pub fn note_drill(transaction: &mut Transaction<'_>, id: Id, now: Timestamp, faults: i64) -> Result<u64> {
    transaction.execute(SET_DRILLED, &params![id, now, faults])
}

/// Records that a backup was removed from its destination, or that the farm no longer looks for it there.
pub fn remove(transaction: &mut Transaction<'_>, id: Id) -> Result<()> {
    transaction.execute(REMOVE, &params![id]).map(drop)
}

/// The backup with this identifier.
pub fn find(reader: &mut Reader<'_>, id: Id) -> Result<Option<BackupRow>> {
    reader.find(FIND, &params![id], read)
}

/// Backups older than `before`, newest first.
pub fn list(reader: &mut Reader<'_>, before: Option<Id>, limit: usize) -> Result<Vec<BackupRow>> {
    reader.query(LIST, &params![before.unwrap_or(Id::new(i64::MAX)), limit as i64], read)
}

/// Returns the time since which every referenced BLOB must stay in the stores. It is the earliest point in time of the
/// backups that run (with a heartbeat after `alive_after`) or are kept without their own copy of the BLOBs.
pub fn holds_since(reader: &mut Reader<'_>, alive_after: Timestamp) -> Result<Option<Timestamp>> {
    Ok(reader.find(HOLDS_SINCE, &params![alive_after], |row| row.get::<Option<Timestamp>>(0))?.flatten())
}

/// The backups that [`holds_since`] counts, oldest first.
pub fn holding(reader: &mut Reader<'_>, alive_after: Timestamp) -> Result<Vec<BackupRow>> {
    reader.query(HOLDING, &params![alive_after], read)
}

/// Returns the start of the latest kept backup that began at or before `until`, and the start of the latest kept backup
/// overall.
pub fn last_kept(reader: &mut Reader<'_>, until: Timestamp) -> Result<(Option<Timestamp>, Option<Timestamp>)> {
    Ok(reader.find(LAST_KEPT, &params![until], |row| Ok((row.get(0)?, row.get(1)?)))?.unwrap_or_default())
}

/// Returns the start of the newest kept backup with its own copy of the BLOBs, and that of the newest without.
pub fn newest_kept(reader: &mut Reader<'_>) -> Result<(Option<Timestamp>, Option<Timestamp>)> {
    Ok(reader.find(NEWEST_KEPT, &params![], |row| Ok((row.get(0)?, row.get(1)?)))?.unwrap_or_default())
}
