//! Responses to requests that carried an idempotency key, so that a repetition changes nothing. Both kinds of database
//! have this table, because the transaction that makes the change also stores the response.

use model::{Result, Timestamp};

use crate::{Reader, Transaction, params, statements};

statements! {
    FIND = "SELECT request, result FROM idempotency WHERE key = $1";
    INSERT = "INSERT INTO idempotency (key, request, result, created_at) VALUES ($1, $2, $3, $4)";
    PURGE = "DELETE FROM idempotency WHERE created_at < $1";
}

/// The digest of the request that used this key, and its result.
pub fn find(reader: &mut Reader<'_>, key: &str) -> Result<Option<(Vec<u8>, String)>> {
    reader.find(FIND, &params![key], |row| Ok((row.get(0)?, row.get(1)?)))
}

/// Stores the result of a request. A key that is taken is a conflict.
pub fn insert(
    transaction: &mut Transaction<'_>,
    key: &str,
    request: &[u8],
    result: &str,
    now: Timestamp,
) -> Result<()> {
    transaction.execute(INSERT, &params![key, request, result, now]).map(drop)
}

/// Deletes results older than `time`.
pub fn purge(transaction: &mut Transaction<'_>, time: Timestamp) -> Result<u64> {
    transaction.execute(PURGE, &params![time])
}
