//! Operations on personal access tokens, for their owners and for farm administrators.

use std::time::Duration;

use async_recursion::async_recursion as boxed;
use database::configuration::{account, event, farm, token};
use database::{Reader, Transaction};
use model::{Code, Error, Id, Network, NodeKind, Result, Timestamp, TokenScope, TokenScopes};

use crate::Session;

use super::accounts::missing;
use super::secret::{self, SecretKind};
use super::{Token, text};

/// Maximum number of tokens of one account.
const MAX_TOKENS: usize = 100;

/// Maximum number of networks of one token.
const MAX_NETWORKS: usize = 20;

/// Maximum number of sites, libraries and folders of one token.
const MAX_ROOTS: usize = 20;
/// Maximum lifetime of a token in days; also the largest limit that the farm may set.
const MAX_DAYS: u64 = 365;
/// Name of the setting that holds the farm's own limit.
const MAX_DAYS_SETTING: &str = "longest_token_days";
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// Data of a new token.
#[derive(Clone, Debug)]
pub struct NewTokenRequest {
    /// Name given by its owner.
    pub name: String,
    /// End of its validity; the latest that the farm allows when absent.
    pub expires_at: Option<Timestamp>,
    /// Scopes for which it may be used.
    pub scopes: TokenScopes,
    /// The only sites, libraries and folders that exist for it; empty for all.
    pub places: Vec<Id>,
    /// The only networks from which it is valid; empty for all.
    pub networks: Vec<Network>,
}

/// A token with all rights of its owner, for as long as the farm allows.
impl From<&str> for NewTokenRequest {
    fn from(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            expires_at: None,
            scopes: TokenScopes::ALL,
            places: Vec::new(),
            networks: Vec::new(),
        }
    }
}

/// A newly created token.
pub struct NewToken {
    /// The token.
    pub token: Token,
    /// Secret that the client presents. It is not stored and cannot be shown again.
    pub secret: String,
}

impl Session {
    /// Creates a token for an account. It is valid until it is revoked or ends, even if the password changes meanwhile.
    ///
    /// # Errors
    /// `Forbidden` for callers who are neither the user nor a farm administrator, and with code `fresh_sign_in_needed`
    /// for tokens and for sessions with an old proof; `NotFound` for the account or for a place; `Invalid` for a bad
    /// name, for an end that is in the past or too late, and for invalid places or scopes, with code
    /// `too_many_networks` for more than 20 networks; `Exhausted` with code `too_many_tokens` when there are 100
    /// already.
    #[boxed]
    pub async fn create_token(&self, account: Id, wish: NewTokenRequest) -> Result<NewToken> {
        self.require_fresh("make a token")?;
        self.require_self_or_administrator(account, "create tokens")?;
        let now = Timestamp::now();
        let name = text::display_name("the name of a token", &wish.name)?;
        if wish.networks.len() > MAX_NETWORKS {
            let text = format!("a token has at most {MAX_NETWORKS} networks");
            return Err(Error::invalid(text).with_code(Code::TooManyNetworks));
        }
        let (expires_at, places) = (self.end_of(wish.expires_at, now).await?, self.places_of(&wish).await?);
        let token = Token {
            id: self.repository.inner.ids.next(),
            name,
            created_at: now,
            expires_at: Some(expires_at),
            used_at: None,
            scopes: Some(wish.scopes),
            places,
            networks: wish.networks,
        };
        let (secret, hash) = secret::new(SecretKind::Token)?;
        let (created, actor) = (token.clone(), self.principal.id);
        let (repetition, asking) = (self.repetition.clone(), self.clone());
        let create = move |tx: &mut Transaction| {
            asking.require_present_proof(tx)?;
            if let Some(created) = repetition.find(tx)? {
                return Err(Error::conflict(format!(
                    "this idempotency key already made the token {created}, whose secret is shown only once: revoke \
                     that token and make another one with a new key"
                ))
                .with_code(Code::TokenExists));
            }
            account::find(tx, account)?.filter(|a| !a.disabled).ok_or_else(|| missing(account))?;
            if token::count(tx, account)? >= MAX_TOKENS as i64 {
                return Err(Error::exhausted(format!(
                    "an account has at most {MAX_TOKENS} tokens; revoke one that is no longer used"
                ))
                .with_code(Code::TooManyTokens));
            }
            token::insert(tx, account, &token, &hash)?;
            repetition.store_result(tx, token.id)?;
            let words: Vec<&str> = wish.scopes.iter().map(TokenScope::as_str).collect();
            let places = match token.places.len() {
                0 => String::new(),
                count => format!(", {}", model::counted(count as u64, "place")),
            };
            let networks: String = token.networks.iter().map(|network| format!(", from {network}")).collect();
            record(
                tx,
                actor,
                "token.create",
                account,
                token.id,
                &format!("{} ({}{places}{networks})", token.name, words.join(", ")),
            )
        };
        self.repository.inner.configuration.write(create).await?;
        Ok(NewToken { token: created, secret })
    }

    /// Returns the number of days after which every new token ends.
    #[boxed]
    pub async fn longest_token_days(&self) -> Result<u64> {
        let read = |reader: &mut Reader| farm::setting(reader, MAX_DAYS_SETTING);
        let days = self.repository.inner.configuration.read(read).await?.and_then(|text| text.parse().ok());
        Ok(days.unwrap_or(MAX_DAYS).clamp(1, MAX_DAYS))
    }

    /// Sets the number of days after which every new token ends, 1 to 365. Existing tokens keep their end.
    ///
    /// # Errors
    /// `Forbidden` for callers who are not farm administrators; `Invalid`.
    #[boxed]
    pub async fn set_longest_token_days(&self, days: u64) -> Result<()> {
        self.require_farm_administrator("say how long tokens last")?;
        if !(1..=MAX_DAYS).contains(&days) {
            return Err(Error::invalid(format!("a token lasts 1 to {MAX_DAYS} days")));
        }
        let actor = self.principal.id;
        let set = move |tx: &mut Transaction| {
            farm::put_setting(tx, MAX_DAYS_SETTING, &days.to_string())?;
            event::record(tx, Timestamp::now(), actor, "token.limit", "farm", &format!("{days} days"))
        };
        self.repository.inner.configuration.write(set).await
    }

    async fn end_of(&self, wanted: Option<Timestamp>, now: Timestamp) -> Result<Timestamp> {
        let days = self.longest_token_days().await?;
        let latest = now.after(DAY * u32::try_from(days).unwrap_or(1));
        match wanted {
            None => Ok(latest),
            Some(end) if end <= now => {
                Err(Error::invalid("the token would have ended before it began; choose an end in the future"))
            }
            // A client that computed the end from the number of days did so a moment ago, by its own clock.
            Some(end) if end > latest.after(Duration::from_secs(60)) => {
                Err(Error::invalid(format!("a token ends after {days} days at the latest: choose an earlier end"))
                    .with_code(Code::TokenTooLong))
            }
            Some(end) => Ok(end),
        }
    }

    /// Returns the requested places without duplicates. The creator of the token must be able to open them.
    async fn places_of(&self, wish: &NewTokenRequest) -> Result<Vec<Id>> {
        if wish.scopes.is_empty() {
            return Err(Error::invalid(
                "a token without a scope could do nothing: choose at least one of read, write, manage, farm",
            )
            .with_code(Code::InvalidScope));
        }
        let mut places = wish.places.clone();
        places.sort_unstable();
        places.dedup();
        if places.len() > MAX_ROOTS {
            return Err(
                Error::invalid(format!("a token has at most {MAX_ROOTS} places")).with_code(Code::TooManyPlaces)
            );
        }
        if !places.is_empty() && wish.scopes.has(TokenScope::Farm) {
            return Err(Error::invalid(
                "the scope farm cannot be limited to places: leave out the scope farm, or the places",
            )
            .with_code(Code::InvalidScope));
        }
        for place in &places {
            let item = self.item(&(*place).into()).await?;
            if item.kind == NodeKind::Document {
                return Err(
                    Error::invalid("the places of a token are sites, libraries and folders").with_code(Code::WrongKind)
                );
            }
        }
        Ok(places)
    }

    /// Returns the tokens of an account, oldest first.
    ///
    /// # Errors
    /// `Forbidden` for callers who are neither the user nor a farm administrator, and with code `token_scope` for a
    /// token that does not cover the whole account.
    #[boxed]
    pub async fn tokens(&self, account: Id) -> Result<Vec<Token>> {
        self.require_self_or_administrator(account, "list tokens")?;
        self.repository.inner.configuration.read(move |reader| token::list(reader, account, MAX_TOKENS)).await
    }

    /// Revokes a token of an account, effective from the next request on.
    ///
    /// # Errors
    /// `Forbidden` for callers who are neither the user nor a farm administrator, and with code `token_scope` for a
    /// token that does not cover the whole account; `NotFound`.
    #[boxed]
    pub async fn revoke_token(&self, account: Id, id: Id) -> Result<()> {
        self.require_self_or_administrator(account, "revoke tokens")?;
        let actor = self.principal.id;
        let revoke = move |tx: &mut Transaction| {
            if token::remove(tx, account, id)? == 0 {
                return Err(Error::not_found(format!("the account has no token with the identifier {id}")));
            }
            record(tx, actor, "token.revoke", account, id, "")
        };
        self.repository.inner.configuration.write_vital(revoke).await
    }
}

fn record(tx: &mut Transaction, actor: Id, action: &str, account: Id, token: Id, name: &str) -> Result<()> {
    let detail = format!("{token} {name}");
    event::record(tx, Timestamp::now(), actor, action, &format!("account {account}"), detail.trim_end())
}
