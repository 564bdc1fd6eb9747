//! Results of jobs in this database, counted in the same transactions that do the work.

use model::{Id, Result};

use crate::{Reader, Transaction, params, statements};

statements! {
    ADD = "INSERT INTO job_progress (job_id, moved, moved_bytes, lost) VALUES ($1, $2, $3, $4)
        ON CONFLICT (job_id) DO UPDATE SET moved = job_progress.moved + excluded.moved,
        moved_bytes = job_progress.moved_bytes + excluded.moved_bytes, lost = job_progress.lost + excluded.lost";
    FIND = "SELECT moved, moved_bytes, lost FROM job_progress WHERE job_id = $1";
    JOBS = "SELECT job_id FROM job_progress ORDER BY job_id";
    FORGET = "DELETE FROM job_progress WHERE job_id = $1";
}

/// The results of a job in one database.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Moved {
    /// Number of BLOBs moved.
    pub blobs: i64,
    /// Their size in bytes.
    pub bytes: i64,
    /// Number of references to lost bytes that were pointed at another store.
    pub lost: i64,
}

/// Adds to the results of a job.
pub fn add(transaction: &mut Transaction<'_>, job: Id, more: Moved) -> Result<()> {
    transaction.execute(ADD, &params![job, more.blobs, more.bytes, more.lost]).map(drop)
}

/// The results of a job in this database.
pub fn find(reader: &mut Reader<'_>, job: Id) -> Result<Moved> {
    let read = |row: &crate::Row<'_>| Ok(Moved { blobs: row.get(0)?, bytes: row.get(1)?, lost: row.get(2)? });
    Ok(reader.find(FIND, &params![job], read)?.unwrap_or_default())
}

/// Jobs with results in this database.
pub fn jobs(reader: &mut Reader<'_>) -> Result<Vec<Id>> {
    reader.query(JOBS, &[], |row| row.get(0))
}

/// Deletes the results of a job.
pub fn forget(transaction: &mut Transaction<'_>, job: Id) -> Result<()> {
    transaction.execute(FORGET, &params![job]).map(drop)
}
