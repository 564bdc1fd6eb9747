//! Statements over accounts: the users who can sign in, and the farm's record of each.
//!
//! This module must not know how passwords are checked or who may change what.

use model::{Id, LoginName, Preferences, Result, Timestamp};

use crate::{Reader, Row, Transaction, params, statements};

statements! {
    INSERT_ACCOUNT = "INSERT INTO account (id, login, display_name, email, password_hash, password_version, \
        farm_administrator, disabled, deleted, language, theme, time_zone, created_at, \
        signed_in_at) VALUES ($1, $2, $3, $4, $5, 1, $6, FALSE, FALSE, $7, $8, $9, $10, NULL)";
    FIND_ACCOUNT = "SELECT id, login, display_name, email, farm_administrator, disabled, deleted, language, theme, \
        time_zone, created_at, signed_in_at FROM account WHERE id = $1";
    FIND_ACCOUNT_BY_LOGIN = "SELECT id, login, display_name, email, farm_administrator, disabled, deleted, language, \
        theme, time_zone, created_at, signed_in_at FROM account WHERE login = $1";
    LIST_ACCOUNTS = "SELECT id, login, display_name, email, farm_administrator, disabled, deleted, language, theme, \
        time_zone, created_at, signed_in_at FROM account WHERE login > $1 AND NOT deleted ORDER BY login LIMIT $2";
    FIRST_FARM_ADMINISTRATOR = "SELECT id FROM account WHERE farm_administrator AND NOT disabled ORDER BY id LIMIT 1";
    OTHER_FARM_ADMINISTRATOR = "SELECT id FROM account WHERE farm_administrator AND NOT disabled AND id <> $1 LIMIT 1";
    FIND_PASSWORD = "SELECT id, password_hash, password_version, disabled FROM account WHERE login = $1";
    UPDATE_ACCOUNT = "UPDATE account SET login = $2, display_name = $3, email = $4, farm_administrator = $5, \
        disabled = $6, deleted = $7 WHERE id = $1";
    UPDATE_PASSWORD = "UPDATE account SET password_hash = $2, password_version = password_version + 1 WHERE id = $1";
    UPDATE_PREFERENCES = "UPDATE account SET language = $2, theme = $3, time_zone = $4 WHERE id = $1";
    UPDATE_SIGNED_IN = "UPDATE account SET signed_in_at = $2 WHERE id = $1";
    FIND_IDENTITY = "SELECT a.id, a.login, a.display_name, a.farm_administrator, a.password_version, a.language, \
        a.theme, a.time_zone, f.directory_version FROM account a CROSS JOIN farm f WHERE a.id = $1 AND NOT a.disabled";
}

/// A user's record in the farm, without secrets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Account {
    /// Identifier of the user. It is never reused.
    pub id: Id,
    /// The user's login name.
    pub login: String,
    /// The display name.
    pub display_name: String,
    /// E-mail address, or empty.
    pub email: String,
    /// True if the user administers the farm.
    pub farm_administrator: bool,
    /// True if all credentials of the user are refused.
    pub disabled: bool,
    /// Set if the account is kept only for its name in the history. Such an account is always disabled.
    pub deleted: bool,
    /// Language, theme and time zone.
    pub preferences: Preferences,
    /// Time at which the account was created.
    pub created_at: Timestamp,
    /// Time of the last sign-in with the password.
    pub signed_in_at: Option<Timestamp>,
}

/// The facts about an account that a request needs once its credential has been found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The account.
    pub account: Id,
    /// The user's login name.
    pub login: String,
    /// The display name.
    pub display_name: String,
    /// True if the user administers the farm.
    pub farm_administrator: bool,
    /// Counter that rises with each change of the password.
    pub password_version: i64,
    /// Language, theme and time zone.
    pub preferences: Preferences,
    /// The farm's directory version, read in the same statement.
    pub directory_version: i64,
}

/// The stored data for checking a password.
pub struct StoredPassword {
    /// The account.
    pub account: Id,
    /// The hash in PHC text form; `None` for an account that cannot sign in with a password.
    pub hash: Option<String>,
    /// Counter that rises with each change of the password.
    pub version: i64,
    /// Set if the account is disabled.
    pub disabled: bool,
}

/// Adds an enabled account with `password_version` 1.
pub fn insert(tx: &mut Transaction, account: &Account, password_hash: Option<&str>) -> Result<()> {
    tx.execute(
        INSERT_ACCOUNT,
        &params![
            account.id,
            account.login.as_str(),
            account.display_name.as_str(),
            account.email.as_str(),
            password_hash,
            account.farm_administrator,
            account.preferences.language.as_str(),
            account.preferences.theme,
            account.preferences.time_zone.as_str(),
            account.created_at
        ],
    )?;
    Ok(())
}

/// The account with this identifier, even if it is disabled or deleted.
pub fn find(reader: &mut Reader, id: Id) -> Result<Option<Account>> {
    reader.find(FIND_ACCOUNT, &params![id], account)
}

/// The account with this login, even if it is disabled or deleted.
pub fn find_by_login(reader: &mut Reader, login: &LoginName) -> Result<Option<Account>> {
    reader.find(FIND_ACCOUNT_BY_LOGIN, &params![login.as_str()], account)
}

/// Up to `limit` accounts that are not deleted, in order of login, starting after the login `after`.
pub fn list(reader: &mut Reader, after: &str, limit: usize) -> Result<Vec<Account>> {
    reader.query(LIST_ACCOUNTS, &params![after, limit as i64], account)
}

/// The oldest enabled farm administrator.
pub fn first_farm_administrator(reader: &mut Reader) -> Result<Option<Id>> {
    reader.find(FIRST_FARM_ADMINISTRATOR, &params![], |row| row.get(0))
}

/// Returns whether an enabled account other than `id` is a farm administrator.
pub fn has_other_farm_administrator(tx: &mut Transaction, id: Id) -> Result<bool> {
    let other: Option<Id> = tx.find(OTHER_FARM_ADMINISTRATOR, &params![id], |row| row.get(0))?;
    Ok(other.is_some())
}

/// The stored password of the account with this login.
pub fn find_password(reader: &mut Reader, login: &LoginName) -> Result<Option<StoredPassword>> {
    reader.find(FIND_PASSWORD, &params![login.as_str()], |row| {
        Ok(StoredPassword { account: row.get(0)?, hash: row.get(1)?, version: row.get(2)?, disabled: row.get(3)? })
    })
}

/// The identity behind an enabled account, with the directory version at the same moment.
pub fn find_identity(reader: &mut Reader, id: Id) -> Result<Option<Identity>> {
    reader.find(FIND_IDENTITY, &params![id], |row| identity(row, 0))
}

/// Stores the login, names and flags of `account`.
pub fn update(tx: &mut Transaction, account: &Account) -> Result<u64> {
    tx.execute(
        UPDATE_ACCOUNT,
        &params![
            account.id,
            account.login.as_str(),
            account.display_name.as_str(),
            account.email.as_str(),
            account.farm_administrator,
            account.disabled,
            account.deleted
        ],
    )
}

/// Replaces the password hash and raises the password version, which ends all sessions of the account.
pub fn set_password(tx: &mut Transaction, id: Id, hash: Option<&str>) -> Result<u64> {
    tx.execute(UPDATE_PASSWORD, &params![id, hash])
}

/// Replaces the language, theme and time zone.
pub fn set_preferences(tx: &mut Transaction, id: Id, preferences: &Preferences) -> Result<u64> {
    tx.execute(
        UPDATE_PREFERENCES,
        &params![id, preferences.language.as_str(), preferences.theme, preferences.time_zone.as_str()],
    )
}

/// Records the time of a sign-in.
pub fn set_signed_in(tx: &mut Transaction, id: Id, at: Timestamp) -> Result<u64> {
    tx.execute(UPDATE_SIGNED_IN, &params![id, at])
}

/// Reads the columns of an [`Identity`], which begin at column `first`.
pub(super) fn identity(row: &Row, first: usize) -> Result<Identity> {
    Ok(Identity {
        account: row.get(first)?,
        login: row.get(first + 1)?,
        display_name: row.get(first + 2)?,
        farm_administrator: row.get(first + 3)?,
        password_version: row.get(first + 4)?,
        preferences: preferences(row, first + 5)?,
        directory_version: row.get(first + 8)?,
    })
}

fn account(row: &Row) -> Result<Account> {
    Ok(Account {
        id: row.get(0)?,
        login: row.get(1)?,
        display_name: row.get(2)?,
        email: row.get(3)?,
        farm_administrator: row.get(4)?,
        disabled: row.get(5)?,
        deleted: row.get(6)?,
        preferences: preferences(row, 7)?,
        created_at: row.get(10)?,
        signed_in_at: row.get(11)?,
    })
}

fn preferences(row: &Row, first: usize) -> Result<Preferences> {
    Ok(Preferences { language: row.get(first)?, theme: row.get(first + 1)?, time_zone: row.get(first + 2)? })
}
