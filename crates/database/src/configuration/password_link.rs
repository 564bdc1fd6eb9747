//! Statements over the links with which users set a new password.
//!
//! Secrets are stored as hashes only.

use model::{Id, Result, Timestamp};

use crate::{Reader, Transaction, params, statements};

statements! {
    PUT_PASSWORD_LINK = "INSERT INTO password_link (account_id, hash, password_version, expires_at) \
        SELECT a.id, $2, a.password_version, $3 FROM account a WHERE a.id = $1 AND NOT a.disabled \
        ON CONFLICT (account_id) DO UPDATE SET hash = excluded.hash, password_version = excluded.password_version, \
        expires_at = excluded.expires_at";
    FIND_PASSWORD_LINK = "SELECT l.account_id, l.expires_at FROM password_link l JOIN account a ON a.id = l.account_id \
        AND a.password_version = l.password_version WHERE l.hash = $1 AND NOT a.disabled";
    DELETE_PASSWORD_LINK = "DELETE FROM password_link WHERE account_id = $1";
    PURGE_PASSWORD_LINKS = "DELETE FROM password_link WHERE expires_at <= $1";
}

/// Stores the link of an enabled account, in place of an earlier one. Returns how many were stored, 0 or 1.
pub fn put(tx: &mut Transaction, account: Id, hash: &[u8], expires_at: Timestamp) -> Result<u64> {
    tx.execute(PUT_PASSWORD_LINK, &params![account, hash, expires_at])
}

/// Returns the account of the link with this hash, and the end of the link, if the account is enabled and still has the
/// password of then. The caller must check whether the link has ended.
pub fn find(reader: &mut Reader, hash: &[u8]) -> Result<Option<(Id, Timestamp)>> {
    reader.find(FIND_PASSWORD_LINK, &params![hash], |row| Ok((row.get(0)?, row.get(1)?)))
}

/// Removes the link of an account.
pub fn remove(tx: &mut Transaction, account: Id) -> Result<u64> {
    tx.execute(DELETE_PASSWORD_LINK, &params![account])
}

/// Removes links that ended at the time `before` or earlier.
pub fn purge(tx: &mut Transaction, before: Timestamp) -> Result<()> {
    tx.execute(PURGE_PASSWORD_LINKS, &params![before]).map(drop)
}
