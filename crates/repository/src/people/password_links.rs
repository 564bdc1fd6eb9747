//! Links with which users set a new password: an administrator makes one for a user who has none or has forgotten it.

use std::time::Duration;

use async_recursion::async_recursion as boxed;
use database::configuration::{account, password_link, web_session};
use database::{Reader, Transaction};
use model::{Code, Error, Id, LoginName, Result, Timestamp};

use super::Client;
use super::accounts::{missing, record};
use super::identity::CLOCK_TOLERANCE;
use super::secret::{self, SecretKind};
use super::throttle;
use crate::{Repository, Session};

/// Time after which a link ends.
const LIFE: Duration = Duration::from_hours(72);

/// A new link.
pub struct PasswordLink {
    /// Its secret. It is not stored and cannot be shown again.
    pub secret: String,
    /// End of its life.
    pub expires_at: Timestamp,
}

/// The user of a link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PasswordLinkUser {
    /// The account.
    pub account: Id,
    /// The login name.
    pub login: String,
    /// The display name.
    pub display_name: String,
}

impl Session {
    /// Makes a link with which a user sets a new password. It ends after 72 hours, when it was used, when the password
    /// changes otherwise, and when another one is made for the user.
    ///
    /// # Errors
    /// `Forbidden` for callers who are not farm administrators, and with code `fresh_sign_in_needed`; `NotFound` for an
    /// account that is unknown or disabled.
    #[boxed]
    pub async fn create_password_link(&self, account: Id) -> Result<PasswordLink> {
        const WHAT: &str = "make a link for a new password";
        self.require_farm_administrator(WHAT)?;
        self.require_fresh(WHAT)?;
        let (secret, hash) = secret::new(SecretKind::Password)?;
        let expires_at = Timestamp::now().after(LIFE);
        let (actor, asking) = (self.principal.id, self.clone());
        let create = move |tx: &mut Transaction| {
            asking.require_present_proof(tx)?;
            let found = account::find(tx, account)?.ok_or_else(|| missing(account))?;
            if password_link::put(tx, account, &hash, expires_at)? == 0 {
                return Err(missing(account));
            }
            record(tx, actor, "account.password-link", account, &found.login)
        };
        self.repository.inner.configuration.write_vital(create).await?;
        Ok(PasswordLink { secret, expires_at })
    }
}

impl Repository {
    /// Returns the user of a link, for anyone who has the link.
    ///
    /// # Errors
    /// `NotFound` with code `password_link_ended`, for whatever reason the link is invalid.
    #[boxed]
    pub async fn password_link(&self, secret: &str) -> Result<PasswordLinkUser> {
        let hash = secret::hash(SecretKind::Password, secret).ok_or_else(ended)?;
        self.inner.configuration.read(move |reader| valid(reader, &hash, Timestamp::now())).await
    }

    /// Sets the password of the user of a link. This ends the link and the user's sessions, and clears the user's
    /// failed attempts.
    ///
    /// # Errors
    /// `NotFound` with code `password_link_ended`; `Invalid` with code `invalid_password`, `easy_password` or
    /// `listed_password`;
    /// `Exhausted` while too many passwords are being hashed.
    #[boxed]
    pub async fn set_password_by_link(&self, secret: &str, new: &str, client: &Client) -> Result<()> {
        let user = self.password_link(secret).await?;
        let hash = secret::hash(SecretKind::Password, secret).ok_or_else(ended)?;
        let email = self.inner.configuration.read(move |reader| account::find(reader, user.account)).await?;
        let email = email.map(|account| account.email).unwrap_or_default();
        let own = [user.login.as_str(), &user.display_name, &email];
        // First, because it costs little.
        self.refuse_listed_new(new).await?;
        let password = self.inner.identities.hasher.hash_new(new, &own).await?;
        let address = client.address.to_canonical();
        let set = move |tx: &mut Transaction| {
            let user = valid(tx, &hash, Timestamp::now())?;
            account::set_password(tx, user.account, Some(&password))?;
            password_link::remove(tx, user.account)?;
            web_session::remove_all(tx, user.account)?;
            throttle::forget_login(tx, &LoginName::new(&user.login)?)?;
            record(
                tx,
                user.account,
                "account.password",
                user.account,
                &format!("{} (by a link, from {address})", user.login),
            )
        };
        self.inner.configuration.write_vital(set).await
    }
}

fn valid(reader: &mut Reader, hash: &[u8], now: Timestamp) -> Result<PasswordLinkUser> {
    let latest = now.after(LIFE).after(CLOCK_TOLERANCE);
    // A clock that was ahead gave it an end that is too late.
    let found = password_link::find(reader, hash)?.filter(|(_, ends)| *ends > now && *ends <= latest);
    let (account, _) = found.ok_or_else(ended)?;
    let found = account::find(reader, account)?.ok_or_else(ended)?;
    Ok(PasswordLinkUser { account, login: found.login, display_name: found.display_name })
}

fn ended() -> Error {
    Error::not_found("this link has ended or was used already: ask an administrator for another one")
        .with_code(Code::PasswordLinkEnded)
}
