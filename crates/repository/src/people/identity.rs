//! Identification of the user behind a credential presented with a request: a session, a token, or login and password.
//!
//! Sessions and tokens are checked for every request, by one short read of the configuration database that covers
//! everything that can revoke the credential. An unknown, expired, revoked or disabled credential gives the same
//! result: `None`.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use async_recursion::async_recursion as boxed;
use database::configuration::account::{self, Identity};
use database::configuration::{group, token, web_session};
use database::{Reader, Transaction};
use metrics::counter;
use model::{Authentication, Error, Id, Limits, Network, Principal, Result, Timestamp, TokenScope, TokenScopes};

use crate::Repository;
use crate::people::cache::Held;
use crate::people::caller::{Caller, Credential};
use crate::people::identities::Identities;

use super::Client;
use super::caller::Purpose;
use super::secret::{self, SecretKind};

/// Idle time after which a session ends.
pub(super) const SESSION_IDLE: Duration = Duration::from_secs(24 * 60 * 60);
/// Precision of the time of last use.
const TOUCH_EVERY: Duration = Duration::from_secs(60);
/// Maximum difference between the clocks of two servers of a farm. A session whose last use lies further in the future
/// comes from a clock that ran ahead. It would outlive its time, so it is refused.
pub(crate) const CLOCK_TOLERANCE: Duration = Duration::from_secs(10 * 60);

/// The row of a credential, before the groups of its account are known.
pub(super) struct CredentialRow {
    pub(super) identity: Identity,
    pub(super) credential: Credential,
    pub(super) proof: Authentication,
    pub(super) limits: Limits,
    /// True if the limits include places, which are not loaded yet.
    pub(super) has_places: bool,
    pub(super) networks: Vec<Network>,
    pub(super) id: Id,
    pub(super) expires_at: Option<Timestamp>,
    pub(super) used_at: Option<Timestamp>,
}

impl Repository {
    /// Returns the holder of the session with this secret; `None` when the session is unknown or ended, or its account
    /// is disabled.
    ///
    /// # Errors
    /// `Unavailable` or `Corrupt` from the configuration database.
    #[boxed]
    pub async fn caller_from_session(&self, secret: &str) -> Result<Option<Caller>> {
        let caller = self.session_at(secret, Timestamp::now()).await?;
        count("session", caller.is_some());
        Ok(caller)
    }

    /// Returns the holder of the token with this secret, presented from this address. Returns `None` when the token is
    /// unknown, expired or not valid for that network, or its account is disabled.
    ///
    /// # Errors
    /// `Unavailable` or `Corrupt` from the configuration database.
    #[boxed]
    pub async fn caller_from_token(&self, secret: &str, address: IpAddr) -> Result<Option<Caller>> {
        let caller = self.token_at(secret, address, Timestamp::now()).await?;
        count("token", caller.is_some());
        Ok(caller)
    }

    /// Returns the user with this login and password; `None` when they do not match or the account is disabled. A
    /// verified password is not checked by argon2 again for some minutes, but each call checks that it still is the
    /// account's password.
    ///
    /// # Errors
    /// `Exhausted` with code `too_many_attempts` after too many failures; `Forbidden` with code `leaked_password` when
    /// the password is right but has since been forbidden; `Unavailable` or `Corrupt` from the configuration database.
    #[boxed]
    pub async fn caller_from_password(&self, login: &str, password: &str, client: &Client) -> Result<Option<Caller>> {
        let identity = self.authenticate(login, password, client, Purpose::Request).await?;
        count("password", identity.is_some());
        let Some(identity) = identity else { return Ok(None) };
        let repository = self.clone();
        let caller = self
            .inner
            .configuration
            .read(move |reader| caller(reader, &repository.inner.identities, identity, Credential::Password));
        caller.await.map(Some)
    }

    /// Returns the oldest enabled farm administrator. Commands that work on the data directory itself act as this user.
    ///
    /// # Errors
    /// `Corrupt` when the farm has none.
    #[boxed]
    pub async fn farm_administrator(&self) -> Result<Principal> {
        let repository = self.clone();
        let find = move |reader: &mut Reader| {
            let identity = match account::first_farm_administrator(reader)? {
                Some(id) => account::find_identity(reader, id)?,
                None => None,
            };
            let identity = identity.ok_or_else(|| Error::corrupt("the farm has no enabled administrator"))?;
            principal(reader, &repository.inner.identities, identity, Authentication::Command)
        };
        self.inner.configuration.read(find).await
    }

    /// Returns a user as the caller of operations, without any credential.
    ///
    /// # Errors
    /// `NotFound`; `Unavailable` or `Corrupt` from the configuration database.
    pub(crate) async fn principal(&self, id: Id) -> Result<Principal> {
        let repository = self.clone();
        let find = move |reader: &mut Reader| {
            let identity = account::find_identity(reader, id)?;
            let identity = identity.ok_or_else(|| Error::not_found("there is no such user"))?;
            principal(reader, &repository.inner.identities, identity, Authentication::Command)
        };
        self.inner.configuration.read(find).await
    }

    pub(super) async fn session_at(&self, secret: &str, now: Timestamp) -> Result<Option<Caller>> {
        let Some(hash) = secret::hash(SecretKind::Session, secret) else { return Ok(None) };
        let csrf_key = secret::csrf_key(secret);
        let find = move |reader: &mut Reader| {
            let found = web_session::find_identity(reader, &hash)?;
            let found = found.filter(|found| found.password_version == found.identity.password_version);
            Ok(found.map(|found| CredentialRow {
                credential: Credential::Session { id: found.session, csrf_key },
                proof: Authentication::Session { id: found.session, proved_at: found.proved_at },
                limits: Limits::NONE,
                has_places: false,
                networks: Vec::new(),
                id: found.session,
                expires_at: Some(found.expires_at),
                used_at: Some(found.seen_at),
                identity: found.identity,
            }))
        };
        let Some(held) = self.held(hash, find).await? else { return Ok(None) };
        let seen_at = held.used_at.filter(|at| *at > now.before(SESSION_IDLE) && *at <= now.after(CLOCK_TOLERANCE));
        if held.has_expired(now) || seen_at.is_none() {
            return Ok(None);
        }
        self.touch(held.id, seen_at, now, web_session::touch);
        Ok(Some(held.caller.clone()))
    }

    pub(super) async fn token_at(&self, secret: &str, address: IpAddr, now: Timestamp) -> Result<Option<Caller>> {
        let Some(hash) = secret::hash(SecretKind::Token, secret) else { return Ok(None) };
        let find = move |reader: &mut Reader| {
            let found = token::find_identity(reader, &hash)?;
            Ok(found.map(|found| CredentialRow {
                credential: Credential::Token { id: found.token },
                proof: Authentication::Token,
                limits: Limits { scopes: found.scopes.unwrap_or(TokenScopes::ALL), roots: Vec::new() },
                has_places: found.has_places,
                networks: found.networks,
                id: found.token,
                expires_at: found.expires_at,
                used_at: found.used_at,
                identity: found.identity,
            }))
        };
        let Some(held) = self.held(hash, find).await? else { return Ok(None) };
        if held.has_expired(now) || !held.is_good_from(address) {
            return Ok(None);
        }
        self.touch(held.id, held.used_at, now, token::touch);
        Ok(Some(held.caller.clone()))
    }

    /// Returns the credential with this hash. It comes from the cache as long as nothing was committed to the
    /// configuration database since it was read.
    pub(super) async fn held(
        &self,
        hash: [u8; 32],
        find: impl Fn(&mut Reader) -> Result<Option<CredentialRow>> + Clone + Send + 'static,
    ) -> Result<Option<Arc<Held>>> {
        // Taken before the read: a commit in between makes the cached entry useless, never wrong.
        let mark = self.inner.configuration.mark();
        if let Some(held) = mark.and_then(|mark| self.inner.identities.held.get(mark, &hash)) {
            return Ok(Some(held));
        }
        let held = self.look_up(find).await?.map(Arc::new);
        if let (Some(mark), Some(held)) = (mark, &held) {
            self.inner.identities.held.put(mark, hash, held.clone());
        }
        Ok(held)
    }

    /// Looks the credential up with one statement. The groups are mostly cached; otherwise credential and groups are
    /// read again together, from one snapshot.
    async fn look_up(
        &self,
        find: impl Fn(&mut Reader) -> Result<Option<CredentialRow>> + Clone + Send + 'static,
    ) -> Result<Option<Held>> {
        let Some(shown) = self.inner.configuration.read_one(find.clone()).await? else { return Ok(None) };
        let known = &self.inner.identities.groups;
        if let Some(groups) = known.known(shown.identity.account, shown.identity.directory_version)
            && !shown.has_places
        {
            return Ok(Some(shown.held(&groups)));
        }
        let repository = self.clone();
        let find_all = move |reader: &mut Reader| {
            let Some(mut shown) = find(reader)? else { return Ok(None) };
            if shown.has_places {
                shown.limits.roots = token::places(reader, shown.id)?;
            }
            let groups = groups(reader, &repository.inner.identities, &shown.identity)?;
            Ok(Some(shown.held(&groups)))
        };
        self.inner.configuration.read(find_all).await
    }

    /// Writes the time of last use in the background when the stored one is old. A failure to write, such as on a full
    /// disk, must not fail the request.
    pub(super) fn touch(
        &self,
        credential: Id,
        last: Option<Timestamp>,
        now: Timestamp,
        write: fn(&mut Transaction, Id, Timestamp, Timestamp) -> Result<u64>,
    ) {
        let limit = now.before(TOUCH_EVERY);
        if last.is_some_and(|last| last > limit) || !self.inner.identities.touches.claim(credential, now, limit) {
            return;
        }
        let configuration = self.inner.configuration.clone();
        tokio::spawn(async move {
            if let Err(error) = configuration.write_vital(move |tx| write(tx, credential, now, limit)).await {
                tracing::warn!(error = %error.report(), "the time of last use of a credential was not stored");
            }
        });
    }
}

impl CredentialRow {
    fn held(mut self, groups: &[Id]) -> Held {
        let preferences = std::mem::take(&mut self.identity.preferences);
        let principal = member(self.identity, groups, self.limits, self.proof);
        let caller = Caller { principal, credential: self.credential, preferences };
        Held { caller, id: self.id, expires_at: self.expires_at, used_at: self.used_at, networks: self.networks }
    }
}

/// Returns the principal of an identity, with its groups from the same snapshot.
pub(super) fn principal(
    reader: &mut Reader,
    identities: &Identities,
    identity: Identity,
    proof: Authentication,
) -> Result<Principal> {
    let groups = groups(reader, identities, &identity)?;
    Ok(member(identity, &groups, Limits::NONE, proof))
}

fn groups(reader: &mut Reader, identities: &Identities, identity: &Identity) -> Result<Arc<[Id]>> {
    identities.groups.get(identity.account, identity.directory_version, || {
        let mut groups = group::of_account(reader, identity.account)?;
        groups.push(Principal::EVERYONE);
        groups.sort_unstable();
        Ok(groups)
    })
}

fn member(identity: Identity, groups: &[Id], limits: Limits, proof: Authentication) -> Principal {
    Principal {
        id: identity.account,
        login: identity.login,
        display_name: identity.display_name,
        farm_administrator: identity.farm_administrator && limits.scopes.has(TokenScope::Farm),
        everywhere: identity.farm_administrator,
        groups: groups.to_vec(),
        directory_version: identity.directory_version,
        limits,
        proof,
    }
}

fn caller(
    reader: &mut Reader,
    identities: &Identities,
    mut identity: Identity,
    credential: Credential,
) -> Result<Caller> {
    let preferences = std::mem::take(&mut identity.preferences);
    let proof = Authentication::Password { version: identity.password_version };
    Ok(Caller { principal: principal(reader, identities, identity, proof)?, credential, preferences })
}

pub(super) fn count(credential: &'static str, found: bool) {
    let outcome = if found { "found" } else { "refused" };
    counter!("strongroom_identity_lookups_total", "credential" => credential, "outcome" => outcome).increment(1);
}
