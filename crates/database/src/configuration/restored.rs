//! What a configuration database that comes from a backup must forget or have put right before it is used.

use model::{Id, Result, Timestamp};

use super::farm::StoreRow;
use crate::{Transaction, params, statements};

statements! {
    PLACE_DATABASE = "UPDATE content_database SET location = $2 WHERE id = $1";
    DROP_DATABASE = "DELETE FROM content_database WHERE id = $1";
    DROP_COLLECTIONS_OF = "DELETE FROM site_collection WHERE database_id = $1";
    PLACE_STORE = "UPDATE blob_store SET kind = $2, location = $3, settings = $4, secret = $5 WHERE id = $1";
    DROP_SESSIONS = "DELETE FROM web_session";
    DROP_SERVERS = "DELETE FROM server";
    END_JOBS = "UPDATE job SET state = 'aborted', message = $1, runner = 0, lease_until = 0, finished_at = $2
        WHERE state IN ('waiting', 'running', 'paused')";
    KEPT = "UPDATE backup_set SET state = 'kept', finished_at = $2, seen_at = $2 WHERE id = $1 AND state = 'running'";
    END_BACKUPS = "UPDATE backup_set SET state = 'failed', finished_at = $2, message = $3 WHERE state = 'running' AND id <> $1";
}

/// Notes where a content database is now.
pub fn place_database(transaction: &mut Transaction<'_>, id: Id, location: &str) -> Result<()> {
    transaction.execute(PLACE_DATABASE, &params![id, location]).map(drop)
}

/// Forgets a content database with its site collections.
pub fn drop_database(transaction: &mut Transaction<'_>, id: Id) -> Result<()> {
    transaction.execute(DROP_COLLECTIONS_OF, &params![id])?;
    transaction.execute(DROP_DATABASE, &params![id]).map(drop)
}

/// Notes where a store is now, and of which kind.
pub fn place_store(transaction: &mut Transaction<'_>, row: &StoreRow) -> Result<()> {
    transaction
        .execute(PLACE_STORE, &params![row.id, &row.kind, &row.location, &row.settings, row.secret.as_deref()])
        .map(drop)
}

/// Signs everybody out, forgets the servers of the farm that was backed up, ends jobs and other backups that ran, and notes that the backup `set` is kept.
pub fn settle(transaction: &mut Transaction<'_>, set: Id, why: &str, now: Timestamp) -> Result<()> {
    transaction.execute(DROP_SESSIONS, &[])?;
    transaction.execute(DROP_SERVERS, &[])?;
    transaction.execute(END_JOBS, &params![why, now])?;
    transaction.execute(KEPT, &params![set, now])?;
    transaction.execute(END_BACKUPS, &params![set, now, why]).map(drop)
}
