//! Statements over the tokens in addresses with which office programs edit one document.
//!
//! Secrets are stored as hashes only.

use model::{Id, Result, Timestamp};

use super::account::{Identity, identity};
use crate::{Reader, Transaction, params, statements};

statements! {
    INSERT_EDIT_TOKEN = "INSERT INTO edit_token (id, account_id, document_id, hash, password_version, created_at, \
        used_at, session_id) SELECT $2, a.id, $3, $4, a.password_version, $5, $5, $6 FROM account a \
        WHERE a.id = $1 AND NOT a.disabled";
    FIND_EDIT_IDENTITY = "SELECT a.id, a.login, a.display_name, a.farm_administrator, a.password_version, a.language, \
        a.theme, a.time_zone, f.directory_version, t.id, t.document_id, t.password_version, CASE WHEN t.session_id = 0 \
        OR EXISTS (SELECT 1 FROM web_session s WHERE s.id = t.session_id) THEN t.created_at ELSE 0 END, t.used_at \
        FROM edit_token t JOIN account a ON a.id = t.account_id CROSS JOIN farm f WHERE t.hash = $1 AND NOT a.disabled";
    TOUCH_EDIT_TOKEN = "UPDATE edit_token SET used_at = $2 WHERE id = $1 AND used_at < $3";
    TOUCH_EDIT_TOKENS_OF = "UPDATE edit_token SET used_at = $2
        WHERE document_id = $1 AND used_at > $3 AND used_at < $4";
    END_EDIT_TOKENS = "UPDATE edit_token SET created_at = 0 WHERE account_id = $1";
    DELETE_UNUSED_EDIT_TOKENS = "DELETE FROM edit_token WHERE used_at <= $1";
    DELETE_SURPLUS_EDIT_TOKENS = "DELETE FROM edit_token WHERE account_id = $1 AND used_at <= $3 AND id NOT IN \
        (SELECT id FROM edit_token WHERE account_id = $1 ORDER BY used_at DESC, id DESC LIMIT $2)";
    COUNT_EDIT_TOKENS = "SELECT COUNT(*) FROM edit_token WHERE account_id = $1";
}

/// A presented token, with the identity behind it.
pub struct EditIdentity {
    /// The identity.
    pub identity: Identity,
    /// The token.
    pub token: Id,
    /// The only document that exists for the token.
    pub document: Id,
    /// Password version when it was made.
    pub password_version: i64,
    /// Time when it was made; 0 if its session or all tokens of the account were ended.
    pub created_at: Timestamp,
    /// Time of the last use, accurate to about a minute.
    pub used_at: Timestamp,
}

/// Data of a new token.
pub struct NewEditToken {
    /// The account.
    pub account: Id,
    /// The session in which it was made, with which it ends; [`Id::NONE`] for none.
    pub session: Id,
    /// The token.
    pub token: Id,
    /// The only document that exists for the token.
    pub document: Id,
    /// Time when it was made.
    pub now: Timestamp,
}

/// Adds a token of an enabled account, with the hash of its secret. Its creation counts as its first use. Returns how
/// many were added, 0 or 1.
pub fn insert(tx: &mut Transaction, new: &NewEditToken, hash: &[u8]) -> Result<u64> {
    tx.execute(INSERT_EDIT_TOKEN, &params![new.account, new.token, new.document, hash, new.now, new.session])
}

/// Returns the token with this hash, if its account is enabled. The caller must check whether the token has ended.
pub fn find_identity(reader: &mut Reader, hash: &[u8]) -> Result<Option<EditIdentity>> {
    reader.find(FIND_EDIT_IDENTITY, &params![hash], |row| {
        Ok(EditIdentity {
            identity: identity(row, 0)?,
            token: row.get(9)?,
            document: row.get(10)?,
            password_version: row.get(11)?,
            created_at: row.get(12)?,
            used_at: row.get(13)?,
        })
    })
}

/// Records a use at `now`, unless a use after `unless_after` is already recorded.
pub fn touch(tx: &mut Transaction, token: Id, now: Timestamp, unless_after: Timestamp) -> Result<u64> {
    tx.execute(TOUCH_EDIT_TOKEN, &params![token, now, unless_after])
}

/// Records a use of all tokens of a document that were used after `after` and not since `unless_after`.
pub fn touch_all(
    tx: &mut Transaction,
    document: Id,
    now: Timestamp,
    after: Timestamp,
    unless_after: Timestamp,
) -> Result<u64> {
    tx.execute(TOUCH_EDIT_TOKENS_OF, &params![document, now, after, unless_after])
}

/// Ends all tokens of an account: they count as made at time 0, which is past every limit.
pub fn end_all(tx: &mut Transaction, account: Id) -> Result<u64> {
    tx.execute(END_EDIT_TOKENS, &params![account])
}

/// Removes tokens that were used at `limit` for the last time or before, for all accounts.
pub fn purge(tx: &mut Transaction, limit: Timestamp) -> Result<u64> {
    tx.execute(DELETE_UNUSED_EDIT_TOKENS, &params![limit])
}

/// Removes all but `keep` tokens of an account, those that were not used for the longest time. A token that was used
/// after `unused_since` stays. Returns how many are left.
pub fn trim(tx: &mut Transaction, account: Id, keep: usize, unused_since: Timestamp) -> Result<u64> {
    tx.execute(DELETE_SURPLUS_EDIT_TOKENS, &params![account, keep as i64, unused_since])?;
    let left: Option<i64> = tx.find(COUNT_EDIT_TOKENS, &params![account], |row| row.get(0))?;
    Ok(left.unwrap_or(0).unsigned_abs())
}
