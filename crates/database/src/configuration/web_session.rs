//! Statements over web sessions, which begin with a password sign-in.
//!
//! Secrets are stored as hashes only.

use model::{Id, Result, Timestamp};

use super::account::{Identity, identity};
use crate::{Reader, Row, Transaction, params, statements};

statements! {
    INSERT_SESSION = "INSERT INTO web_session (id, account_id, hash, password_version, created_at, expires_at,
        seen_at, \
        address, agent, proved_at, proved_address) VALUES ($1, $2, $3, $4, $5, $6, $5, $7, $8, $5, $7)";
    FIND_SESSION_IDENTITY = "SELECT a.id, a.login, a.display_name, a.farm_administrator, a.password_version,
        a.language, \
        a.theme, a.time_zone, f.directory_version, s.id, s.password_version, s.expires_at, s.seen_at, s.proved_at \
        FROM web_session s JOIN account a ON a.id = s.account_id CROSS JOIN farm f \
        WHERE s.hash = $1 AND NOT a.disabled";
    SESSION_EXISTS = "SELECT 1 FROM web_session s JOIN account a ON a.id = s.account_id \
        AND a.password_version = s.password_version WHERE a.id = $1 AND s.id = $2 AND NOT a.disabled";
    LIST_SESSIONS = "SELECT s.id, s.created_at, s.expires_at, s.seen_at, s.address, s.agent, s.proved_at, \
        s.proved_address FROM web_session s \
        JOIN account a ON a.id = s.account_id AND a.password_version = s.password_version \
        WHERE s.account_id = $1 AND s.expires_at > $2 AND s.seen_at > $3 ORDER BY s.id DESC LIMIT $4";
    BUSY_ADDRESSES = "SELECT address, COUNT(DISTINCT account_id) FROM web_session WHERE created_at > $1 \
        GROUP BY address HAVING COUNT(DISTINCT account_id) >= $2 ORDER BY COUNT(DISTINCT account_id) DESC, address";
    TOUCH_SESSION = "UPDATE web_session SET seen_at = $2 WHERE id = $1 AND seen_at < $3";
    PROVE_SESSION = "UPDATE web_session SET proved_at = $3, proved_address = $4 WHERE account_id = $1 AND id = $2";
    DELETE_SESSION = "DELETE FROM web_session WHERE account_id = $1 AND id = $2";
    DELETE_SESSION_BY_HASH = "DELETE FROM web_session WHERE hash = $1";
    DELETE_SESSIONS = "DELETE FROM web_session WHERE account_id = $1";
    DELETE_EXPIRED_SESSIONS = "DELETE FROM web_session WHERE expires_at <= $1";
    DELETE_OLD_SESSIONS = "DELETE FROM web_session WHERE account_id = $1 AND id < (SELECT MIN(id) FROM \
        (SELECT id FROM web_session WHERE account_id = $1 ORDER BY id DESC LIMIT $2) newest)";
}

/// A session as its owner sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WebSession {
    /// Identifier of the session. It is not secret.
    pub id: Id,
    /// Time of the sign-in.
    pub created_at: Timestamp,
    /// Expiry time, regardless of use.
    pub expires_at: Timestamp,
    /// Time of the last use, accurate to about a minute.
    pub seen_at: Timestamp,
    /// Address of the sign-in.
    pub address: String,
    /// User agent of the browser.
    pub agent: String,
    /// Time when the user last proved their identity with the password, at the sign-in or later.
    pub proved_at: Timestamp,
    /// Address of that proof.
    pub proved_address: String,
}

/// A presented session, with the identity behind it.
pub struct SessionIdentity {
    /// The identity.
    pub identity: Identity,
    /// The session.
    pub session: Id,
    /// Password version at the sign-in.
    pub password_version: i64,
    /// Expiry time, regardless of use.
    pub expires_at: Timestamp,
    /// Time of the last use, accurate to about a minute.
    pub seen_at: Timestamp,
    /// Time when the user last proved their identity.
    pub proved_at: Timestamp,
}

/// Adds a session of `account` with the hash of its secret. The creation counts as its first use.
pub fn insert(
    tx: &mut Transaction,
    account: Id,
    password_version: i64,
    session: &WebSession,
    hash: &[u8],
) -> Result<()> {
    tx.execute(
        INSERT_SESSION,
        &params![
            session.id,
            account,
            hash,
            password_version,
            session.created_at,
            session.expires_at,
            session.address.as_str(),
            session.agent.as_str()
        ],
    )?;
    Ok(())
}

/// The session with this hash, if its account is enabled. The caller must check whether the session has ended.
pub fn find_identity(reader: &mut Reader, hash: &[u8]) -> Result<Option<SessionIdentity>> {
    reader.find(FIND_SESSION_IDENTITY, &params![hash], |row| {
        Ok(SessionIdentity {
            identity: identity(row, 0)?,
            session: row.get(9)?,
            password_version: row.get(10)?,
            expires_at: row.get(11)?,
            seen_at: row.get(12)?,
            proved_at: row.get(13)?,
        })
    })
}

/// Returns whether an enabled account has this session, which began with its present password.
pub fn exists(reader: &mut Reader, account: Id, session: Id) -> Result<bool> {
    Ok(reader.find(SESSION_EXISTS, &params![account, session], |_| Ok(()))?.is_some())
}

/// Up to `limit` sessions of an account that are still valid at `now` and were used after `seen_after`, newest first.
pub fn list(
    reader: &mut Reader,
    account: Id,
    now: Timestamp,
    seen_after: Timestamp,
    limit: usize,
) -> Result<Vec<WebSession>> {
    reader.query(LIST_SESSIONS, &params![account, now, seen_after, limit as i64], session)
}

/// Addresses that are shared by the sessions of at least `accounts` accounts, counting sessions that began after
/// `since`. Each comes with its number of accounts, the busiest first.
pub fn busy_addresses(reader: &mut Reader, since: Timestamp, accounts: i64) -> Result<Vec<(String, i64)>> {
    reader.query(BUSY_ADDRESSES, &params![since, accounts], |row| Ok((row.get(0)?, row.get(1)?)))
}

/// Records a use at `now`, unless a use after `unless_after` is already recorded.
pub fn touch(tx: &mut Transaction, session: Id, now: Timestamp, unless_after: Timestamp) -> Result<u64> {
    tx.execute(TOUCH_SESSION, &params![session, now, unless_after])
}

/// Records that the user of a session has proved their identity again. Returns how many sessions were updated, 0 or 1.
pub fn prove(tx: &mut Transaction, account: Id, session: Id, now: Timestamp, address: &str) -> Result<u64> {
    tx.execute(PROVE_SESSION, &params![account, session, now, address])
}

/// Removes one session of an account. Returns how many were removed, 0 or 1.
pub fn remove(tx: &mut Transaction, account: Id, session: Id) -> Result<u64> {
    tx.execute(DELETE_SESSION, &params![account, session])
}

/// Removes the session with this hash. Returns how many were removed, 0 or 1.
pub fn remove_by_hash(tx: &mut Transaction, hash: &[u8]) -> Result<u64> {
    tx.execute(DELETE_SESSION_BY_HASH, &params![hash])
}

/// Removes all sessions of an account.
pub fn remove_all(tx: &mut Transaction, account: Id) -> Result<u64> {
    tx.execute(DELETE_SESSIONS, &params![account])
}

/// Removes sessions that ended at `limit` or before, for all accounts.
pub fn purge(tx: &mut Transaction, limit: Timestamp) -> Result<u64> {
    tx.execute(DELETE_EXPIRED_SESSIONS, &params![limit])
}

/// Removes all but the newest `keep` sessions of an account.
pub fn trim(tx: &mut Transaction, account: Id, keep: usize) -> Result<u64> {
    tx.execute(DELETE_OLD_SESSIONS, &params![account, keep as i64])
}

fn session(row: &Row) -> Result<WebSession> {
    Ok(WebSession {
        id: row.get(0)?,
        created_at: row.get(1)?,
        expires_at: row.get(2)?,
        seen_at: row.get(3)?,
        address: row.get(4)?,
        agent: row.get(5)?,
        proved_at: row.get(6)?,
        proved_address: row.get(7)?,
    })
}
