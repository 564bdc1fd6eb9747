//! Tokens in addresses with which office programs edit one document. A program takes an address and no credentials, so
//! the address carries a secret: for one document, with the rights that its user has on it, until an hour after its
//! last use.

use std::time::Duration;

use async_recursion::async_recursion as boxed;
use database::configuration::edit_token::{self, NewEditToken};
use database::configuration::event;
use database::{Reader, Transaction};
use model::{Authentication, Code, Error, Id, Limits, Name, NodeKind, Result, Right, Timestamp, TokenScope};

use super::accounts::missing;
use super::caller::{Caller, Credential};
use super::identity::{CLOCK_TOLERANCE, CredentialRow, count};
use super::secret::{self, SecretKind};
use crate::session::errors::{checkout_required, held_by, held_by_another};
use crate::{Repository, Session, Target};

/// Time after the last use at which a token ends.
const IDLE: Duration = Duration::from_hours(1);
/// Time after which a token ends even if it is in use. The program then asks for a login and password.
const LONGEST: Duration = Duration::from_hours(24);
/// Time after the last use for which an ended token is kept. Its address then still names the document to those who
/// sign in.
pub(super) const ENDED_EDIT_TOKENS: Duration = Duration::from_hours(7 * 24);
/// Time within which a use of a token is not recorded again for an editor that several people share.
const KEPT_EVERY: Duration = Duration::from_mins(5);
/// Limit on the tokens of one account. A new one replaces the one that was not used for the longest time, unless all
/// are in use.
pub(super) const MAX_EDIT_TOKENS: usize = 1_000;

/// The right to edit one document, for an address.
pub struct EditToken {
    /// The secret of the address. It is not stored and cannot be shown again.
    pub secret: String,
    /// The name of the document.
    pub name: Name,
}

/// Result of the look-up of a secret: its document, and its user while it has not ended.
pub struct EditAccess {
    /// The document.
    pub document: Id,
    /// The user, limited to the document; `None` if the token has ended.
    pub caller: Option<Caller>,
}

impl Session {
    /// Makes a token for an address with which an office program opens and saves a document.
    ///
    /// # Errors
    /// `NotFound`; `Forbidden` for callers who may not edit the document, and with code `token_scope` for callers with
    /// a token; `Conflict` with code `wrong_kind` for another item; `Locked` with code `checked_out` for a document
    /// that another user has checked out; `Conflict` with code `checkout_required` for a document that has to be
    /// checked out first; `Exhausted` with code `too_many_edit_tokens` for callers who opened 1,000 documents within
    /// an hour.
    #[boxed]
    pub async fn create_edit_token(&self, document: &Target) -> Result<EditToken> {
        if self.principal.proof == Authentication::Token {
            let text = "a token cannot make an address for an office program: sign in with the password";
            return Err(Error::forbidden(text).with_code(Code::TokenScope));
        }
        let item = self.item(document).await?;
        if item.kind != NodeKind::Document {
            return Err(Error::conflict(format!("\"{}\" is not a document", item.name)).with_code(Code::WrongKind));
        }
        if !item.rights.has(Right::Edit) {
            return Err(Error::lacking(Right::Edit, &item.name));
        }
        if let Some(held) = item.check_out.filter(|held| held.by != self.principal.id) {
            let names = self.principal_names(&[held.by]).await?;
            let holder = names.get(&held.by).map(|holder| held_by(&item.name, &holder.name));
            return Err(holder.unwrap_or_else(|| held_by_another(&item.name)));
        }
        // The program would open the document and could not save it.
        if item.check_out.is_none() && self.library_settings(&item.id.into()).await?.require_checkout {
            return Err(checkout_required(&item.name));
        }
        let (secret, hash) = secret::new(SecretKind::Edit)?;
        let (token, account, now) = (self.repository.inner.ids.next(), self.principal.id, Timestamp::now());
        let session = match self.principal.proof {
            Authentication::Session { id, .. } => id,
            _ => Id::NONE,
        };
        let detail = format!("{} (item {})", item.path, item.id);
        let asking = self.clone();
        let create = move |tx: &mut Transaction| {
            asking.require_present_proof(tx)?;
            let new = NewEditToken { account, session, token, document: item.id, now };
            if edit_token::insert(tx, &new, &hash)? == 0 {
                return Err(missing(account));
            }
            if edit_token::trim(tx, account, MAX_EDIT_TOKENS, now.before(IDLE))? > MAX_EDIT_TOKENS as u64 {
                let text = format!("you have opened {MAX_EDIT_TOKENS} documents in office programs: wait an hour");
                return Err(Error::exhausted(text).with_code(Code::TooManyEditTokens));
            }
            event::record(tx, now, account, "token.edit", &format!("account {account}, token {token}"), &detail)
        };
        self.repository.inner.configuration.write(create).await?;
        Ok(EditToken { secret, name: Name::new(item.name)? })
    }
}

impl Repository {
    /// Returns the document and the user of the secret in an address for an office program; `None` if it is unknown, or
    /// its account is disabled.
    ///
    /// # Errors
    /// `Unavailable` or `Corrupt` from the configuration database.
    #[boxed]
    pub async fn edit_access(&self, secret: &str) -> Result<Option<EditAccess>> {
        let access = self.edit_access_at(secret, Timestamp::now()).await?;
        count("edit", access.as_ref().is_some_and(|access| access.caller.is_some()));
        Ok(access)
    }

    /// Keeps the tokens of a document from ending for lack of use, because it is open in an editor that several people
    /// share: its office server speaks for all of them with the token of one. They end after a day all the same.
    ///
    /// # Errors
    /// `Unavailable` or `Corrupt` from the configuration database.
    #[boxed]
    pub async fn keep_edit_tokens(&self, document: Id) -> Result<()> {
        let now = Timestamp::now();
        let touch = move |tx: &mut Transaction| {
            edit_token::touch_all(tx, document, now, now.before(IDLE), now.before(KEPT_EVERY)).map(drop)
        };
        self.inner.configuration.write(touch).await
    }

    pub(super) async fn edit_access_at(&self, secret: &str, now: Timestamp) -> Result<Option<EditAccess>> {
        let Some(hash) = secret::hash(SecretKind::Edit, secret) else { return Ok(None) };
        let find = move |reader: &mut Reader| {
            let found = edit_token::find_identity(reader, &hash)?;
            let found = found.filter(|found| found.password_version == found.identity.password_version);
            Ok(found.map(|found| CredentialRow {
                credential: Credential::Token { id: found.token },
                proof: Authentication::Token,
                limits: Limits { scopes: [TokenScope::Write].into_iter().collect(), roots: vec![found.document] },
                has_places: false,
                networks: Vec::new(),
                id: found.token,
                expires_at: Some(found.created_at.after(LONGEST)),
                used_at: Some(found.used_at),
                identity: found.identity,
            }))
        };
        if let Some(held) = self.held(hash, find).await? {
            let used_at = held.used_at.filter(|at| *at > now.before(IDLE) && *at <= now.after(CLOCK_TOLERANCE));
            let document = held.caller.principal.limits.roots.first().copied();
            if let (false, Some(_), Some(document)) = (held.has_expired(now), used_at, document) {
                self.touch(held.id, used_at, now, edit_token::touch);
                return Ok(Some(EditAccess { document, caller: Some(held.caller.clone()) }));
            }
        }
        let ended = move |reader: &mut Reader| edit_token::find_identity(reader, &hash);
        let ended = self.inner.configuration.read(ended).await?;
        Ok(ended.map(|ended| EditAccess { document: ended.document, caller: None }))
    }
}
