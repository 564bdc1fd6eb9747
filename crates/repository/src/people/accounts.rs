//! Operations on accounts: create, change, disable, delete, set the password.

use async_recursion::async_recursion as boxed;
use database::Transaction;
use database::configuration::{
    account, edit_token, event, farm, group, known_device, password_link, principal, profile, saved_search, token,
    web_session,
};
use model::{Code, Error, Id, LoginName, MAX_PAGE, Preferences, Result, Timestamp, TokenScope};

use crate::Session;
use crate::people::caller::Purpose;

use super::{Account, Client, text, throttle};

/// Data of a new user.
#[derive(Clone, Debug, Default)]
pub struct NewAccount {
    /// The user's login name.
    pub login: String,
    /// The display name; the login if empty.
    pub display_name: String,
    /// E-mail address, or empty.
    pub email: String,
    /// The password. Without one, only tokens work until an administrator sets one.
    pub password: Option<String>,
    /// True if the user administers the farm.
    pub farm_administrator: bool,
}

/// Changes to an account; `None` leaves a value unchanged.
#[derive(Clone, Debug, Default)]
pub struct AccountChange {
    /// The user's login name.
    pub login: Option<String>,
    /// The display name.
    pub display_name: Option<String>,
    /// E-mail address, or empty.
    pub email: Option<String>,
    /// True if the user administers the farm.
    pub farm_administrator: Option<bool>,
    /// True to refuse all credentials of the user. Disabling ends all sessions. Enabling also restores a deleted
    /// account.
    pub disabled: Option<bool>,
}

impl Session {
    /// Creates an account.
    ///
    /// # Errors
    /// `Forbidden` for callers who are not farm administrators, and with code `fresh_sign_in_needed` for setting a
    /// password or making an administrator; `Invalid` for a text outside its limits and with code `invalid_password`,
    /// `easy_password` or `listed_password`; `Conflict` with code `login_taken`.
    #[boxed]
    pub async fn create_account(&self, new: NewAccount) -> Result<Account> {
        self.require_farm_administrator("create accounts")?;
        if new.farm_administrator {
            self.require_fresh("make an administrator")?;
        }
        if new.password.is_some() {
            self.require_fresh("give an account a password")?;
        }
        let login = LoginName::new(&new.login)?;
        let shown = if new.display_name.trim().is_empty() { login.as_str() } else { &new.display_name };
        let account = Account {
            id: self.repository.inner.ids.next(),
            login: login.as_str().to_owned(),
            display_name: text::display_name("the name of a person", shown)?,
            email: text::email(&new.email)?,
            farm_administrator: new.farm_administrator,
            disabled: false,
            deleted: false,
            preferences: Preferences::default(),
            created_at: Timestamp::now(),
            signed_in_at: None,
        };
        let hash = match &new.password {
            Some(password) => Some(self.hash(password, &account).await?),
            None => None,
        };
        let (actor, repetition) = (self.principal.id, self.repetition.clone());
        let create = move |tx: &mut Transaction| {
            if let Some(created) = repetition.find(tx)? {
                return account::find(tx, created)?.ok_or_else(|| missing(created));
            }
            farm::change_directory(tx)?;
            refuse_taken(tx, &login)?;
            account::insert(tx, &account, hash.as_deref())?;
            set_terms(tx, &account)?;
            repetition.store_result(tx, account.id)?;
            record(tx, actor, "account.create", account.id, &account.login)?;
            Ok(account.clone())
        };
        self.repository.inner.configuration.write(create).await
    }

    /// Returns up to `limit` accounts (at most 1,000) in order of login, after the login `after`, without deleted
    /// accounts.
    ///
    /// # Errors
    /// `Forbidden` for callers who are not farm administrators.
    #[boxed]
    pub async fn accounts(&self, after: &str, limit: usize) -> Result<Vec<Account>> {
        self.require_farm_administrator("list accounts")?;
        let after = after.to_owned();
        let list = self.repository.inner.configuration.read(move |r| account::list(r, &after, limit.min(MAX_PAGE)));
        list.await
    }

    /// Returns an account, even if it is disabled or deleted.
    ///
    /// # Errors
    /// `Forbidden` for callers who are neither the user nor a farm administrator; `NotFound`.
    #[boxed]
    pub async fn account(&self, id: Id) -> Result<Account> {
        if id != self.principal.id {
            self.require_farm_administrator("see another account")?;
        }
        let found = self.repository.inner.configuration.read(move |reader| account::find(reader, id)).await?;
        found.ok_or_else(|| missing(id))
    }

    /// Returns the account with this login, even if it is disabled or deleted.
    ///
    /// # Errors
    /// `Forbidden` for callers who are not farm administrators; `NotFound`.
    #[boxed]
    pub async fn account_by_login(&self, login: &str) -> Result<Account> {
        self.require_farm_administrator("see accounts")?;
        let login = LoginName::new(login)?;
        let none = Error::not_found(format!("there is no account with the login \"{login}\""));
        let find = self.repository.inner.configuration.read(move |reader| account::find_by_login(reader, &login));
        find.await?.ok_or(none)
    }

    /// Changes an account and returns the changed account.
    ///
    /// # Errors
    /// `Forbidden` for callers who are not farm administrators, and with code `fresh_sign_in_needed` for making an
    /// administrator and for enabling; `NotFound`; `Invalid`; `Conflict` with code `login_taken`, or with code
    /// `last_administrator` when the farm would have no administrator left.
    #[boxed]
    pub async fn update_account(&self, id: Id, change: AccountChange) -> Result<Account> {
        self.require_farm_administrator("change accounts")?;
        let login = change.login.as_deref().map(LoginName::new).transpose()?;
        let display_name = change.display_name.as_deref().map(|n| text::display_name("the name of a person", n));
        let display_name = display_name.transpose()?;
        let email = change.email.as_deref().map(text::email).transpose()?;
        let (actor, asking) = (self.principal.id, self.clone());
        let update = move |tx: &mut Transaction| {
            farm::change_directory(tx)?;
            let before = account::find(tx, id)?.ok_or_else(|| missing(id))?;
            let mut after = before.clone();
            if let Some(login) = &login
                && login.as_str() != before.login
            {
                refuse_taken(tx, login)?;
                after.login = login.as_str().to_owned();
            }
            after.display_name = display_name.clone().unwrap_or(after.display_name);
            after.email = email.clone().unwrap_or(after.email);
            after.farm_administrator = change.farm_administrator.unwrap_or(after.farm_administrator);
            if after.farm_administrator && !before.farm_administrator {
                asking.require_fresh("make an administrator")?;
            }
            after.disabled = change.disabled.unwrap_or(after.disabled);
            if before.disabled && !after.disabled {
                asking.require_fresh("enable an account")?;
            }
            after.deleted &= after.disabled;
            store(tx, &before, &after)?;
            record(tx, actor, "account.change", id, &difference(&before, &after))?;
            Ok(after)
        };
        self.repository.inner.configuration.write_vital(update).await
    }

    /// Deletes an account: none of its credentials works any more, it is removed from all groups, its saved searches
    /// are removed, and it is no longer listed. Its name remains on its past actions, and its login stays taken.
    /// Enabling the account restores it without a password.
    ///
    /// # Errors
    /// `Forbidden` for callers who are not farm administrators; `NotFound`; `Conflict` with code `last_administrator`.
    #[boxed]
    pub async fn delete_account(&self, id: Id) -> Result<()> {
        self.require_farm_administrator("delete accounts")?;
        let actor = self.principal.id;
        let delete = move |tx: &mut Transaction| {
            farm::change_directory(tx)?;
            let before = account::find(tx, id)?.filter(|account| !account.deleted).ok_or_else(|| missing(id))?;
            let after = Account { farm_administrator: false, disabled: true, deleted: true, ..before.clone() };
            store(tx, &before, &after)?;
            account::set_password(tx, id, None)?;
            token::remove_all(tx, id)?;
            saved_search::remove_all(tx, id)?;
            profile::remove(tx, id)?;
            group::remove_memberships(tx, id)?;
            record(tx, actor, "account.delete", id, &before.login)
        };
        self.repository.inner.configuration.write_vital(delete).await
    }

    /// Sets the password of an account. This ends its sessions and clears its failed attempts; its tokens keep working.
    ///
    /// # Errors
    /// `Forbidden` for callers who are not farm administrators, and with code `fresh_sign_in_needed`; `NotFound`;
    /// `Invalid` with code `invalid_password`, `easy_password` or `listed_password`.
    #[boxed]
    pub async fn set_password(&self, id: Id, new: &str) -> Result<()> {
        self.require_farm_administrator("set another's password")?;
        self.require_fresh("set a password")?;
        let account = self.account(id).await?;
        let hash = self.hash(new, &account).await?;
        self.store_password(id, hash).await
    }

    /// Changes the caller's own password. This ends all of the caller's sessions; tokens keep working.
    ///
    /// # Errors
    /// `Forbidden` with code `wrong_password` when `old` is not the password; `Exhausted` with code
    /// `too_many_attempts`, and with code `too_many_requests` while another change by the caller is in progress;
    /// `Invalid` with code `same_password`, `invalid_password`, `easy_password` or `listed_password`; `Forbidden` with
    /// code `token_scope` for a token that does not cover the whole account.
    #[boxed]
    pub async fn change_own_password(&self, old: &str, new: &str, client: &Client) -> Result<()> {
        self.require_own_account("change the password")?;
        if old == new {
            return Err(
                Error::invalid("this is the current password: choose another one").with_code(Code::SamePassword)
            );
        }
        // One change at a time per user, so that no user occupies all permits of the hasher. The new password is hashed
        // only after the old one was verified.
        let change = self.repository.inner.identities.changes.begin(self.principal.id);
        let _change = change.ok_or_else(|| {
            Error::exhausted("another change of your password is under way: wait until it has ended")
                .with_code(Code::TooManyRequests)
        })?;
        let checked = self.repository.authenticate(&self.principal.login, old, client, Purpose::Change).await?;
        if checked.is_none_or(|identity| identity.account != self.principal.id) {
            return Err(Error::forbidden("the current password is wrong").with_code(Code::WrongPassword));
        }
        let own = self.account(self.principal.id).await?;
        let hash = self.hash(new, &own).await?;
        self.store_password(self.principal.id, hash).await
    }

    /// Sets the caller's own language, theme and time zone.
    ///
    /// # Errors
    /// `Forbidden` with code `token_scope` for a token that does not cover the whole account.
    #[boxed]
    pub async fn set_preferences(&self, preferences: Preferences) -> Result<()> {
        self.require_own_account("change language, time zone and colours")?;
        let preferences = Preferences::new(&preferences.language, preferences.theme, &preferences.time_zone)?;
        let id = self.principal.id;
        let set = move |tx: &mut Transaction| account::set_preferences(tx, id, &preferences).map(drop);
        self.repository.inner.configuration.write(set).await
    }

    /// Refuses unless the account is the caller's own and the credential covers all of it, or the caller administers
    /// the farm.
    pub(super) fn require_self_or_administrator(&self, account: Id, what: &str) -> Result<()> {
        if account == self.principal.id {
            self.require_own_account(what)
        } else {
            self.require_farm_administrator(&format!("{what} of another account"))
        }
    }

    /// Refuses a token that does not cover its owner's whole account. Sessions, tokens and settings belong to no site,
    /// library or folder. The token must therefore not be limited to places, and needs the scope `manage`, or `farm`
    /// for a farm administrator.
    pub(crate) fn require_own_account(&self, what: &str) -> Result<()> {
        let limits = &self.principal.limits;
        let whole = limits.roots.is_empty() && limits.scopes.has(TokenScope::Manage);
        if whole || self.principal.farm_administrator {
            return Ok(());
        }
        let scopes = if self.principal.everywhere { "manage or farm" } else { "manage" };
        Err(Error::forbidden(format!("this token cannot {what}: make one without places and with the scope {scopes}"))
            .with_code(Code::TokenScope))
    }

    /// Refuses a token that is limited to places, for operations that belong to no site, library or folder.
    pub(crate) fn require_all_places(&self, what: &str) -> Result<()> {
        if self.principal.limits.roots.is_empty() {
            return Ok(());
        }
        Err(Error::forbidden(format!("this token cannot {what}: make one without places")).with_code(Code::TokenScope))
    }

    async fn hash(&self, new: &str, account: &Account) -> Result<String> {
        let own = [account.login.as_str(), &account.display_name, &account.email];
        let hash = self.repository.inner.identities.hasher.hash_new(new, &own).await?;
        self.repository.refuse_listed_new(new).await?;
        Ok(hash)
    }

    async fn store_password(&self, id: Id, hash: String) -> Result<()> {
        let actor = self.principal.id;
        let set = move |tx: &mut Transaction| {
            let account = account::find(tx, id)?.filter(|a| !a.deleted).ok_or_else(|| missing(id))?;
            account::set_password(tx, id, Some(&hash))?;
            web_session::remove_all(tx, id)?;
            throttle::forget_login(tx, &LoginName::new(&account.login)?)?;
            record(tx, actor, "account.password", id, &account.login)
        };
        self.repository.inner.configuration.write_vital(set).await
    }
}

/// Stores the differences between two states of an account. Refuses if the farm would lose its last administrator.
fn store(tx: &mut Transaction, before: &Account, after: &Account) -> Result<()> {
    let administers = |account: &Account| account.farm_administrator && !account.disabled;
    if administers(before) && !administers(after) && !account::has_other_farm_administrator(tx, before.id)? {
        return Err(Error::conflict(format!(
            "{} is the last administrator of the farm; make another account an administrator first",
            before.login
        ))
        .with_code(Code::LastAdministrator));
    }
    account::update(tx, after)?;
    if after.disabled {
        web_session::remove_all(tx, after.id)?;
        known_device::remove_all(tx, after.id)?;
        edit_token::end_all(tx, after.id)?;
        password_link::remove(tx, after.id)?;
    }
    set_terms(tx, after)
}

/// Sets the search terms of an account. Searches for people find enabled accounts only.
fn set_terms(tx: &mut Transaction, account: &Account) -> Result<()> {
    let terms = if account.disabled { vec![] } else { text::terms(Some(&account.login), &account.display_name) };
    principal::set_terms(tx, account.id, &terms)
}

fn refuse_taken(tx: &mut Transaction, login: &LoginName) -> Result<()> {
    let Some(other) = account::find_by_login(tx, login)? else { return Ok(()) };
    let why = if other.deleted { "belonged to an account that was deleted; enable that one again" } else { "is taken" };
    Err(Error::conflict(format!("the login \"{login}\" {why}")).with_code(Code::LoginTaken))
}

fn difference(before: &Account, after: &Account) -> String {
    let mut parts = Vec::new();
    if before.login != after.login {
        parts.push(format!("login {} becomes {}", before.login, after.login));
    }
    if before.display_name != after.display_name {
        parts.push(format!("name {} becomes {}", before.display_name, after.display_name));
    }
    if before.email != after.email {
        parts.push("e-mail address".to_owned());
    }
    if before.farm_administrator != after.farm_administrator {
        let word = if after.farm_administrator { "administers the farm" } else { "no longer administers the farm" };
        parts.push(word.to_owned());
    }
    if before.disabled != after.disabled {
        parts.push(if after.disabled { "disabled" } else { "enabled" }.to_owned());
    }
    format!("{}: {}", before.login, if parts.is_empty() { "nothing".to_owned() } else { parts.join(", ") })
}

pub(super) fn record(tx: &mut Transaction, actor: Id, action: &str, account: Id, detail: &str) -> Result<()> {
    event::record(tx, Timestamp::now(), actor, action, &format!("account {account}"), detail)
}

pub(super) fn missing(id: Id) -> Error {
    Error::not_found(format!("there is no account with the identifier {id}"))
}
