//! Statements over the sessions that a sign-in with a password begins.
//!
//! Knows the hashes of the secrets only.

use model::{Id, Result, Timestamp};

use super::account::{Identity, identity};
use crate::{Reader, Row, Transaction, params, statements};

statements! {
    INSERT_SESSION = "INSERT INTO web_session (id, account_id, hash, password_version, created_at, expires_at, seen_at, \
        address, agent, proved_at, proved_address) VALUES ($1, $2, $3, $4, $5, $6, $5, $7, $8, $5, $7)";
    FIND_SESSION_IDENTITY = "SELECT a.id, a.login, a.display_name, a.farm_administrator, a.password_version, a.language, \
        a.theme, f.directory_version, s.id, s.password_version, s.expires_at, s.seen_at, s.proved_at \
        FROM web_session s JOIN account a ON a.id = s.account_id CROSS JOIN farm f \
        WHERE s.hash = $1 AND NOT a.disabled";
    LIST_SESSIONS = "SELECT s.id, s.created_at, s.expires_at, s.seen_at, s.address, s.agent, s.proved_at, \
        s.proved_address FROM web_session s \
        JOIN account a ON a.id = s.account_id AND a.password_version = s.password_version \
        WHERE s.account_id = $1 AND s.expires_at > $2 AND s.seen_at > $3 ORDER BY s.id DESC LIMIT $4";
    BUSY_ADDRESSES = "SELECT address, COUNT(DISTINCT account_id) FROM web_session WHERE created_at > $1 \
        GROUP BY address HAVING COUNT(DISTINCT account_id) >= $2 ORDER BY COUNT(DISTINCT account_id) DESC, address LIMIT $3";
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
    /// The session's identifier, which is no secret.
    pub id: Id,
    /// When the user signed in.
    pub created_at: Timestamp,
    /// When it ends, however much it is used.
    pub expires_at: Timestamp,
    /// When it was last used, exact to about a minute.
    pub seen_at: Timestamp,
    /// Address from which the user signed in.
    pub address: String,
    /// What the browser called itself.
    pub agent: String,
    /// When the user last proved with the password who they are; at the sign-in or later.
    pub proved_at: Timestamp,
    /// Address from which that was.
    pub proved_address: String,
}

/// A session that was shown, with the identity behind it.
pub struct SessionIdentity {
    /// The identity.
    pub identity: Identity,
    /// The session.
    pub session: Id,
    /// The password version at the sign-in.
    pub password_version: i64,
    /// When it ends, however much it is used.
    pub expires_at: Timestamp,
    /// When it was last used, exact to about a minute.
    pub seen_at: Timestamp,
    /// When the user last proved who they are.
    pub proved_at: Timestamp,
}

/// Adds a session of `account` with the hash of its secret. It was seen when it was created.
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

/// The session with this hash of an enabled account; whether it has ended is for the caller to see.
pub fn find_identity(reader: &mut Reader, hash: &[u8]) -> Result<Option<SessionIdentity>> {
    reader.find(FIND_SESSION_IDENTITY, &params![hash], |row| {
        Ok(SessionIdentity {
            identity: identity(row, 0)?,
            session: row.get(8)?,
            password_version: row.get(9)?,
            expires_at: row.get(10)?,
            seen_at: row.get(11)?,
            proved_at: row.get(12)?,
        })
    })
}

/// Up to `limit` sessions of an account that have not ended at `now` and were seen after `seen_after`, newest first.
pub fn list(
    reader: &mut Reader,
    account: Id,
    now: Timestamp,
    seen_after: Timestamp,
    limit: usize,
) -> Result<Vec<WebSession>> {
    reader.query(LIST_SESSIONS, &params![account, now, seen_after, limit as i64], session)
}

/// Up to `limit` addresses from which at least `accounts` accounts have sessions that began after `since`, with the number of
/// accounts, the busiest first.
pub fn busy_addresses(
    reader: &mut Reader,
    since: Timestamp,
    accounts: i64,
    limit: usize,
) -> Result<Vec<(String, i64)>> {
    reader.query(BUSY_ADDRESSES, &params![since, accounts, limit as i64], |row| Ok((row.get(0)?, row.get(1)?)))
}

/// Notes the use at `now`, unless one after `unless_after` is noted already.
pub fn touch(tx: &mut Transaction, session: Id, now: Timestamp, unless_after: Timestamp) -> Result<u64> {
    tx.execute(TOUCH_SESSION, &params![session, now, unless_after])
}

/// Notes that the user of a session proved anew who they are; says how many sessions there were.
pub fn prove(tx: &mut Transaction, account: Id, session: Id, now: Timestamp, address: &str) -> Result<u64> {
    tx.execute(PROVE_SESSION, &params![account, session, now, address])
}

/// Removes one session of an account; says how many there were.
pub fn remove(tx: &mut Transaction, account: Id, session: Id) -> Result<u64> {
    tx.execute(DELETE_SESSION, &params![account, session])
}

/// Removes the session with this hash; says how many there were.
pub fn remove_by_hash(tx: &mut Transaction, hash: &[u8]) -> Result<u64> {
    tx.execute(DELETE_SESSION_BY_HASH, &params![hash])
}

/// Removes all sessions of an account.
pub fn remove_all(tx: &mut Transaction, account: Id) -> Result<u64> {
    tx.execute(DELETE_SESSIONS, &params![account])
}

/// Removes sessions that ended at `limit` or before, of all accounts.
pub fn purge(tx: &mut Transaction, limit: Timestamp) -> Result<u64> {
    tx.execute(DELETE_EXPIRED_SESSIONS, &params![limit])
}

/// Keeps the newest `keep` sessions of an account.
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
