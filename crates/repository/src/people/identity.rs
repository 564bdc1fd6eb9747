//! Owns who stands behind a credential that a request shows: a session, a token, or login and password.
//!
//! Sessions and tokens run for every request: one short read of the configuration database, in which everything that can
//! revoke the credential is looked at. What is unknown, expired, revoked or disabled gives the same answer: nobody.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use database::configuration::account::{self, Identity};
use database::configuration::{group, token, web_session};
use database::{Reader, Transaction};
use metrics::counter;
use model::{Error, Id, Limits, Network, Principal, Proof, Result, Timestamp, TokenScope, TokenScopes};

use crate::Repository;
use crate::people::cache::Held;
use crate::people::caller::{Caller, Credential};
use crate::people::identities::Identities;

use super::Client;
use super::caller::Purpose;
use super::secret::{self, SecretKind};

/// A session that is not used ends after this time.
pub(super) const SESSION_IDLE: Duration = Duration::from_secs(24 * 60 * 60);
/// How exactly the time of last use is known.
const TOUCH_EVERY: Duration = Duration::from_secs(60);
/// How far the clocks of two servers of a farm may differ. A session from further in the future was begun by a clock that
/// ran ahead; it would outlive its time, so it ends.
const CLOCK_TOLERANCE: Duration = Duration::from_secs(10 * 60);

/// The row of a credential, whose account's groups are still to be found.
struct Shown {
    identity: Identity,
    credential: Credential,
    proof: Proof,
    limits: Limits,
    /// Whether there are places among the limits, which are still to be found.
    has_places: bool,
    networks: Vec<Network>,
    id: Id,
    expires_at: Option<Timestamp>,
    used_at: Option<Timestamp>,
}

impl Repository {
    /// Who holds the session with this secret; nobody when it is unknown, ended or its account disabled.
    ///
    /// # Errors
    /// Unavailable or Corrupt from the configuration database.
    pub async fn caller_from_session(&self, secret: &str) -> Result<Option<Caller>> {
        let caller = self.session_at(secret, Timestamp::now()).await?;
        count("session", caller.is_some());
        Ok(caller)
    }

    /// Who holds the token with this secret and shows it from this address; nobody when it is unknown, expired, not for that
    /// network, or its account disabled.
    ///
    /// # Errors
    /// Unavailable or Corrupt from the configuration database.
    pub async fn caller_from_token(&self, secret: &str, address: IpAddr) -> Result<Option<Caller>> {
        let caller = self.token_at(secret, address, Timestamp::now()).await?;
        count("token", caller.is_some());
        Ok(caller)
    }

    /// Who has this login and password; nobody when they do not fit or the account is disabled. A password that was right
    /// is not checked by argon2 again for some minutes, but each call looks whether it still is the account's password.
    ///
    /// # Errors
    /// Exhausted with code `too_many_attempts` after too many failures; Forbidden with code `leaked_password` when the
    /// password is right and nobody may have it any more; Unavailable or Corrupt from the configuration database.
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

    /// The oldest enabled farm administrator, as whom commands on the data directory itself work.
    ///
    /// # Errors
    /// Corrupt when the farm has none.
    pub async fn farm_administrator(&self) -> Result<Principal> {
        let repository = self.clone();
        let find = move |reader: &mut Reader| {
            let identity = match account::first_farm_administrator(reader)? {
                Some(id) => account::find_identity(reader, id)?,
                None => None,
            };
            let identity = identity.ok_or_else(|| Error::corrupt("the farm has no administrator who is enabled"))?;
            principal(reader, &repository.inner.identities, identity, Proof::Command)
        };
        self.inner.configuration.read(find).await
    }

    /// A user as the caller of operations, whoever asks.
    ///
    /// # Errors
    /// NotFound; Unavailable or Corrupt from the configuration database.
    pub(crate) async fn principal(&self, id: Id) -> Result<Principal> {
        let repository = self.clone();
        let find = move |reader: &mut Reader| {
            let identity = account::find_identity(reader, id)?;
            let identity = identity.ok_or_else(|| Error::not_found("there is no such user"))?;
            principal(reader, &repository.inner.identities, identity, Proof::Command)
        };
        self.inner.configuration.read(find).await
    }

    pub(super) async fn session_at(&self, secret: &str, now: Timestamp) -> Result<Option<Caller>> {
        let Some(hash) = secret::hash(SecretKind::Session, secret) else { return Ok(None) };
        let csrf_key = secret::csrf_key(secret);
        let find = move |reader: &mut Reader| {
            let found = web_session::find_identity(reader, &hash)?;
            let found = found.filter(|found| found.password_version == found.identity.password_version);
            Ok(found.map(|found| Shown {
                credential: Credential::Session { id: found.session, csrf_key },
                proof: Proof::Session(found.proved_at),
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
            Ok(found.map(|found| Shown {
                credential: Credential::Token { id: found.token },
                proof: Proof::Token,
                limits: Limits { scopes: found.scopes.unwrap_or(TokenScopes::ALL), places: Vec::new() },
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

    /// The credential with this hash, from memory while nothing at all was committed to the configuration database since it
    /// was read.
    async fn held(
        &self,
        hash: [u8; 32],
        find: impl Fn(&mut Reader) -> Result<Option<Shown>> + Clone + Send + 'static,
    ) -> Result<Option<Arc<Held>>> {
        // Taken before the read: a commit in between makes what is kept useless, never wrong.
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

    /// One statement finds the credential; the groups are mostly in memory, or are read once more with it on one snapshot.
    async fn look_up(
        &self,
        find: impl Fn(&mut Reader) -> Result<Option<Shown>> + Clone + Send + 'static,
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
                shown.limits.places = token::places(reader, shown.id)?;
            }
            let groups = groups(reader, &repository.inner.identities, &shown.identity)?;
            Ok(Some(shown.held(&groups)))
        };
        self.inner.configuration.read(find_all).await
    }

    /// Writes the time of last use beside the request when the stored one is old. That it fails on a full disk must not
    /// stop reading.
    fn touch(
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

impl Shown {
    fn held(mut self, groups: &[Id]) -> Held {
        let preferences = std::mem::take(&mut self.identity.preferences);
        let principal = member(self.identity, groups, self.limits, self.proof);
        let caller = Caller { principal, credential: self.credential, preferences };
        Held { caller, id: self.id, expires_at: self.expires_at, used_at: self.used_at, networks: self.networks }
    }
}

/// The principal of an identity, with its groups of the same snapshot.
pub(super) fn principal(
    reader: &mut Reader,
    identities: &Identities,
    identity: Identity,
    proof: Proof,
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

fn member(identity: Identity, groups: &[Id], limits: Limits, proof: Proof) -> Principal {
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
    Ok(Caller { principal: principal(reader, identities, identity, Proof::Password)?, credential, preferences })
}

fn count(credential: &'static str, found: bool) {
    let outcome = if found { "found" } else { "refused" };
    counter!("strongroom_identity_lookups_total", "credential" => credential, "outcome" => outcome).increment(1);
}
