//! Statements over personal access tokens.
//!
//! Secrets are stored as hashes only.

use model::{Error, Id, Network, Result, Timestamp, TokenScopes};

use super::account::{Identity, identity};
use crate::{Reader, Row, Transaction, params, statements};

statements! {
    INSERT_TOKEN = "INSERT INTO access_token (id, account_id, name, hash, created_at, expires_at, used_at, scopes, \
        networks) VALUES ($1, $2, $3, $4, $5, $6, NULL, $7, $8)";
    INSERT_PLACE = "INSERT INTO token_place (token_id, node_id) VALUES ($1, $2)";
    LIST_PLACES = "SELECT node_id FROM token_place WHERE token_id = $1 ORDER BY node_id";
    FIND_TOKEN_IDENTITY = "SELECT a.id, a.login, a.display_name, a.farm_administrator, a.password_version, a.language, \
        a.theme, a.time_zone, f.directory_version, t.id, t.expires_at, t.used_at, t.scopes, t.networks, \
        EXISTS (SELECT 1 FROM token_place p WHERE p.token_id = t.id) \
        FROM access_token t JOIN account a ON a.id = t.account_id CROSS JOIN farm f \
        WHERE t.hash = $1 AND NOT a.disabled";
    LIST_TOKENS = "SELECT id, name, created_at, expires_at, used_at, scopes, networks FROM access_token \
        WHERE account_id = $1 ORDER BY id LIMIT $2";
    COUNT_TOKENS = "SELECT COUNT(*) FROM access_token WHERE account_id = $1";
    TOUCH_TOKEN = "UPDATE access_token SET used_at = $2 WHERE id = $1 AND (used_at IS NULL OR used_at < $3)";
    DELETE_TOKEN = "DELETE FROM access_token WHERE account_id = $1 AND id = $2";
    DELETE_TOKENS = "DELETE FROM access_token WHERE account_id = $1";
}

/// A token as its owner sees it. The secret was shown only once, at creation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token {
    /// Identifier of the token.
    pub id: Id,
    /// Name given by its owner.
    pub name: String,
    /// Time of creation.
    pub created_at: Timestamp,
    /// Expiry time, if any.
    pub expires_at: Option<Timestamp>,
    /// Time of the last use, accurate to about a minute.
    pub used_at: Option<Timestamp>,
    /// Scopes of the token. `None` for a token from before scopes existed, which has all rights of its owner.
    pub scopes: Option<TokenScopes>,
    /// The only sites, libraries and folders that the token can see; empty for all.
    pub places: Vec<Id>,
    /// The only networks from which the token works; empty for all.
    pub networks: Vec<Network>,
}

/// A presented token, with the identity behind it.
pub struct TokenIdentity {
    /// The identity.
    pub identity: Identity,
    /// The token.
    pub token: Id,
    /// Expiry time, if any.
    pub expires_at: Option<Timestamp>,
    /// Time of the last use, accurate to about a minute.
    pub used_at: Option<Timestamp>,
    /// Scopes of the token.
    pub scopes: Option<TokenScopes>,
    /// The only networks from which the token works; empty for all.
    pub networks: Vec<Network>,
    /// Set if the token is restricted to some locations, see [`places`].
    pub has_places: bool,
}

/// Adds a token with the hash of its secret.
pub fn insert(tx: &mut Transaction, account: Id, token: &Token, hash: &[u8]) -> Result<()> {
    tx.execute(
        INSERT_TOKEN,
        &params![
            token.id,
            account,
            token.name.as_str(),
            hash,
            token.created_at,
            token.expires_at,
            token.scopes.map(TokenScopes::bits),
            token.networks.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
        ],
    )?;
    for place in &token.places {
        tx.execute(INSERT_PLACE, &params![token.id, *place])?;
    }
    Ok(())
}

/// The token with this hash, if its account is enabled. The caller must check whether the token has expired.
pub fn find_identity(reader: &mut Reader, hash: &[u8]) -> Result<Option<TokenIdentity>> {
    reader.find(FIND_TOKEN_IDENTITY, &params![hash], |row| {
        Ok(TokenIdentity {
            identity: identity(row, 0)?,
            token: row.get(9)?,
            expires_at: row.get(10)?,
            used_at: row.get(11)?,
            scopes: scopes(row, 12)?,
            networks: networks(row, 13)?,
            has_places: row.get(14)?,
        })
    })
}

/// The sites, libraries and folders to which a token is restricted.
pub fn places(reader: &mut Reader, token: Id) -> Result<Vec<Id>> {
    reader.query(LIST_PLACES, &params![token], |row| row.get(0))
}

/// Up to `limit` tokens of an account, oldest first.
pub fn list(reader: &mut Reader, account: Id, limit: usize) -> Result<Vec<Token>> {
    let mut tokens = reader.query(LIST_TOKENS, &params![account, limit as i64], token)?;
    for token in &mut tokens {
        token.places = places(reader, token.id)?;
    }
    Ok(tokens)
}

/// Number of tokens of an account.
pub fn count(tx: &mut Transaction, account: Id) -> Result<i64> {
    Ok(tx.find(COUNT_TOKENS, &params![account], |row| row.get(0))?.unwrap_or(0))
}

/// Records a use at `now`, unless a use after `unless_after` is already recorded.
pub fn touch(tx: &mut Transaction, token: Id, now: Timestamp, unless_after: Timestamp) -> Result<u64> {
    tx.execute(TOUCH_TOKEN, &params![token, now, unless_after])
}

/// Removes one token of an account. Returns how many were removed, 0 or 1.
pub fn remove(tx: &mut Transaction, account: Id, token: Id) -> Result<u64> {
    tx.execute(DELETE_TOKEN, &params![account, token])
}

/// Removes all tokens of an account.
pub fn remove_all(tx: &mut Transaction, account: Id) -> Result<u64> {
    tx.execute(DELETE_TOKENS, &params![account])
}

fn token(row: &Row) -> Result<Token> {
    Ok(Token {
        id: row.get(0)?,
        name: row.get(1)?,
        created_at: row.get(2)?,
        expires_at: row.get(3)?,
        used_at: row.get(4)?,
        scopes: scopes(row, 5)?,
        places: Vec::new(),
        networks: networks(row, 6)?,
    })
}

/// An unreadable list is an error: it must not make the token valid from all networks.
fn networks(row: &Row, column: usize) -> Result<Vec<Network>> {
    let text: String = row.get(column)?;
    let read = |word: &str| {
        word.parse().map_err(|e: Error| Error::corrupt("a stored network of a token cannot be read").with_source(e))
    };
    text.split_whitespace().map(read).collect()
}

fn scopes(row: &Row, column: usize) -> Result<Option<TokenScopes>> {
    let bits: Option<i64> = row.get(column)?;
    Ok(bits.map(TokenScopes::from_bits))
}
