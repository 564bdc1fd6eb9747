//! Statements over the devices and addresses from which users signed in.
//!
//! This module knows only hashes, not what they are hashes of.

use model::{Id, LoginName, Result, Timestamp};

use crate::{Reader, Transaction, params, statements};

statements! {
    FIND_DEVICE = "SELECT d.seen_at FROM known_device d JOIN account a ON a.id = d.account_id \
        WHERE a.login = $1 AND d.hash = $2";
    FIND_DEVICE_OF_ANYBODY = "SELECT account_id FROM known_device WHERE hash = $1 LIMIT 1";
    KEEP_DEVICE = "INSERT INTO known_device (account_id, hash, seen_at) VALUES ($1, $2, $3) \
        ON CONFLICT (account_id, hash) DO UPDATE SET seen_at = excluded.seen_at";
    DELETE_DEVICES = "DELETE FROM known_device WHERE account_id = $1";
    DELETE_OLD_DEVICES = "DELETE FROM known_device WHERE seen_at < $1";
    DELETE_SURPLUS_DEVICES = "DELETE FROM known_device WHERE account_id = $1 AND seen_at < (SELECT MIN(seen_at) FROM \
        (SELECT seen_at FROM known_device WHERE account_id = $1 ORDER BY seen_at DESC LIMIT $2) newest)";
}

/// Returns whether the account with this login has signed in from the device or address with this hash.
pub fn is_known(reader: &mut Reader, login: &LoginName, hash: &[u8]) -> Result<bool> {
    let seen: Option<Timestamp> = reader.find(FIND_DEVICE, &params![login.as_str(), hash], |row| row.get(0))?;
    Ok(seen.is_some())
}

/// Returns whether any account has signed in from the device or address with this hash.
pub fn is_known_to_anybody(reader: &mut Reader, hash: &[u8]) -> Result<bool> {
    let found: Option<Id> = reader.find(FIND_DEVICE_OF_ANYBODY, &params![hash], |row| row.get(0))?;
    Ok(found.is_some())
}

/// Records the device or address with this hash as known to an account. The account keeps the `most` that were seen
/// last.
pub fn keep(tx: &mut Transaction, account: Id, hash: &[u8], now: Timestamp, most: usize) -> Result<()> {
    tx.execute(KEEP_DEVICE, &params![account, hash, now])?;
    tx.execute(DELETE_SURPLUS_DEVICES, &params![account, most as i64])?;
    Ok(())
}

/// Deletes all known devices and addresses of an account.
pub fn remove_all(tx: &mut Transaction, account: Id) -> Result<u64> {
    tx.execute(DELETE_DEVICES, &params![account])
}

/// Deletes devices and addresses not seen since `before`, for all accounts.
pub fn purge(tx: &mut Transaction, before: Timestamp) -> Result<u64> {
    tx.execute(DELETE_OLD_DEVICES, &params![before])
}
