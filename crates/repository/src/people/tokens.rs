//! Owns personal access tokens: what their owners and farm administrators may do with them.

use database::Transaction;
use database::configuration::{account, event, token};
use model::{Error, Id, Result, Timestamp};

use super::accounts::missing;
use super::secret::{self, SecretKind};
use super::{Token, text};
use crate::Session;

/// Most tokens of one account.
const MOST_TOKENS: usize = 100;

/// A token that has just been made.
pub struct NewToken {
    /// The token.
    pub token: Token,
    /// What the client shows; it is not stored and cannot be shown again.
    pub secret: String,
}

impl Session {
    /// Makes a token for an account. It works until it is revoked or `expires_at` comes.
    ///
    /// # Errors
    /// Forbidden for others than the user and farm administrators; NotFound; Invalid for a bad name or a past end; Exhausted
    /// with code `too_many_tokens` when there are 100 already.
    pub async fn create_token(&self, account: Id, name: &str, expires_at: Option<Timestamp>) -> Result<NewToken> {
        self.require_self_or_administrator(account, "create tokens for another account")?;
        let now = Timestamp::now();
        if expires_at.is_some_and(|end| end <= now) {
            return Err(Error::invalid("the token would have ended before it began; choose an end in the future"));
        }
        let name = text::display_name("the name of a token", name)?;
        let token = Token { id: self.repository.inner.ids.next(), name, created_at: now, expires_at, used_at: None };
        let (secret, hash) = secret::new(SecretKind::Token)?;
        let (created, actor) = (token.clone(), self.principal.id);
        let repetition = self.repetition.clone();
        let create = move |tx: &mut Transaction| {
            if let Some(created) = repetition.find(tx)? {
                return Err(Error::conflict(format!(
                    "this idempotency key made the token {created} already, and a secret is shown once only: revoke that \
                     token and make another with a new key"
                ))
                .with_code("token_exists"));
            }
            account::find(tx, account)?.filter(|a| !a.disabled).ok_or_else(|| missing(account))?;
            if token::count(tx, account)? >= MOST_TOKENS as i64 {
                return Err(Error::exhausted(format!(
                    "an account has at most {MOST_TOKENS} tokens; revoke one that is not used any more"
                ))
                .with_code("too_many_tokens"));
            }
            token::insert(tx, account, &token, &hash)?;
            repetition.keep(tx, token.id)?;
            record(tx, actor, "token.create", account, token.id, &token.name)
        };
        self.repository.inner.configuration.write(create).await?;
        Ok(NewToken { token: created, secret })
    }

    /// The tokens of an account, oldest first.
    ///
    /// # Errors
    /// Forbidden for others than the user and farm administrators.
    pub async fn tokens(&self, account: Id) -> Result<Vec<Token>> {
        self.require_self_or_administrator(account, "list tokens of another account")?;
        self.repository.inner.configuration.read(move |reader| token::list(reader, account, MOST_TOKENS)).await
    }

    /// Revokes a token of an account, with effect on the next request.
    ///
    /// # Errors
    /// Forbidden for others than the user and farm administrators; NotFound.
    pub async fn revoke_token(&self, account: Id, id: Id) -> Result<()> {
        self.require_self_or_administrator(account, "revoke tokens of another account")?;
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
