//! Corrections to a configuration database that was restored from a backup, made before it is used.

use model::{Id, Result, Timestamp};

use super::farm::StoreRow;
use crate::{Transaction, params, statements};

statements! {
    PLACE_DATABASE = "UPDATE content_database SET location = $2 WHERE id = $1";
    DROP_DATABASE = "DELETE FROM content_database WHERE id = $1";
    DROP_COLLECTIONS_OF = "DELETE FROM site_collection WHERE database_id = $1";
    PLACE_STORE = "UPDATE blob_store SET kind = $2, location = $3, settings = $4, secret = $5 WHERE id = $1";
    DROP_SESSIONS = "DELETE FROM web_session";
    DROP_EDIT_TOKENS = "DELETE FROM edit_token";
    DROP_PASSWORD_LINKS = "DELETE FROM password_link";
    DROP_SERVERS = "DELETE FROM server";
    END_JOBS = "UPDATE job SET state = 'aborted', message = $1, runner = 0, lease_until = 0, finished_at = $2
        WHERE state IN ('waiting', 'running', 'paused')";
    KEPT = "UPDATE backup_set SET state = 'kept', finished_at = $2, seen_at = $2 WHERE id = $1 AND state = 'running'";
    END_BACKUPS = "UPDATE backup_set SET state = 'failed', finished_at = $2, message = $3 WHERE state = 'running' AND
        id <> $1";
}

/// Stores the new location of a content database.
pub fn place_database(transaction: &mut Transaction<'_>, id: Id, location: &str) -> Result<()> {
    transaction.execute(PLACE_DATABASE, &params![id, location]).map(drop)
}

/// Deletes the entry of a content database, and the entries of its site collections.
pub fn drop_database(transaction: &mut Transaction<'_>, id: Id) -> Result<()> {
    transaction.execute(DROP_COLLECTIONS_OF, &params![id])?;
    transaction.execute(DROP_DATABASE, &params![id]).map(drop)
}

/// Stores the new location, kind and settings of a store.
pub fn place_store(transaction: &mut Transaction<'_>, row: &StoreRow) -> Result<()> {
    transaction
        .execute(PLACE_STORE, &params![row.id, &row.kind, &row.location, &row.settings, row.secret.as_deref()])
        .map(drop)
}

/// Ends all web sessions and tokens of office programs, deletes the servers of the backed-up farm, aborts its
/// unfinished jobs, fails its other running backups, and records the backup `set` as kept.
pub fn finish_restore(transaction: &mut Transaction<'_>, set: Id, why: &str, now: Timestamp) -> Result<()> {
    transaction.execute(DROP_SESSIONS, &[])?;
    transaction.execute(DROP_EDIT_TOKENS, &[])?;
    transaction.execute(DROP_PASSWORD_LINKS, &[])?;
    transaction.execute(DROP_SERVERS, &[])?;
    transaction.execute(END_JOBS, &params![why, now])?;
    transaction.execute(KEPT, &params![set, now])?;
    transaction.execute(END_BACKUPS, &params![set, now, why]).map(drop)
}
