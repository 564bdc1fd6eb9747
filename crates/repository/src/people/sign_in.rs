//! Verification of login and password, and the sessions that begin with it.
//!
//! A wrong password, an unknown login, an account without a password and a disabled account take the same time and give
//! the same answer. [`throttle`] counts each attempt before it is checked.

use std::net::IpAddr;
use std::sync::atomic::Ordering;
use std::time::Duration;

use async_recursion::async_recursion as boxed;
use database::configuration::account::{self, Identity, StoredPassword};
use database::configuration::{edit_token, event, password_list, web_session};
use database::{Reader, Transaction};
use metrics::counter;
use model::{Authentication, Code, Error, Id, LoginName, Principal, Result, Timestamp};

use crate::Repository;
use crate::people::caller::{Client, Purpose};

use super::cache::Verified;
use super::devices::{self, AttemptOrigin};
use super::edit_tokens::ENDED_EDIT_TOKENS;
use super::identity::principal;
use super::password_list::{ListLookup, leaked};
use super::secret::{self, SecretKind};
use super::throttle::{self, Admission, Reservation};
use super::{MAX_PASSWORD_CHARS, WebSession, links, password, text};

/// Maximum lifetime of a session, however much it is used.
pub(super) const SESSION_LENGTH: Duration = Duration::from_secs(14 * 24 * 60 * 60);
/// Maximum number of sessions of one account. The oldest end first.
pub(super) const MAX_SESSIONS: usize = 100;
/// Interval between purges of old counters and sessions.
const PURGE_EVERY: Duration = Duration::from_secs(60);
/// Time for which ended sessions are kept.
const ENDED_SESSIONS: Duration = Duration::from_secs(24 * 60 * 60);

/// A session that has just begun.
pub struct SignedIn {
    /// Secret that the client presents from now on. It is not stored and cannot be shown again.
    pub secret: String,
    /// Time at which the session ends, however much it is used.
    pub expires_at: Timestamp,
    /// The user who signed in.
    pub principal: Principal,
    /// True if the password would be refused as a new one, because it is short or easy to guess. It should be changed.
    /// False without a judgement while too many others are signing in.
    pub outdated_password: bool,
    /// The device secret, which the client presents at later sign-ins; `None` if the client presented a known one.
    pub device: Option<String>,
}

impl Repository {
    /// Begins a session.
    ///
    /// # Errors
    /// `Forbidden` with code `sign_in_failed`, whatever was wrong, or with code `leaked_password` when the password is
    /// right but forbidden; `Exhausted` with code `too_many_attempts` after too many failures; `Unavailable` or
    /// `Corrupt` from the configuration database.
    #[boxed]
    pub async fn sign_in(&self, login: &str, password: &str, client: &Client) -> Result<SignedIn> {
        self.sign_in_at(login, password, client, Timestamp::now()).await
    }

    /// Replaces a password that has since been forbidden, and with which the account can therefore not sign in.
    ///
    /// # Errors
    /// `Forbidden` with code `sign_in_failed` when login and password do not match or when the old password is not on
    /// the list; errors of [`change_own_password`](crate::Session::change_own_password).
    #[boxed]
    pub async fn replace_leaked_password(&self, login: &str, old: &str, new: &str, client: &Client) -> Result<()> {
        let identity = self.authenticate(login, old, client, Purpose::Change).await?.ok_or_else(failed)?;
        if !self.is_listed(old).await? {
            return Err(failed());
        }
        let principal = self.principal(identity.account).await?;
        self.as_caller(principal).change_own_password(old, new, client).await
    }

    /// Ends the session with this secret. Does nothing when there is none.
    #[boxed]
    pub async fn sign_out(&self, secret: &str) -> Result<()> {
        let Some(hash) = secret::hash(SecretKind::Session, secret) else { return Ok(()) };
        let end = move |tx: &mut Transaction| {
            let Some(found) = web_session::find_identity(tx, &hash)? else { return Ok(()) };
            web_session::remove_by_hash(tx, &hash)?;
            record(tx, found.identity.account, "sign-out", found.identity.account, String::new())
        };
        self.inner.configuration.write_vital(end).await
    }

    pub(super) async fn sign_in_at(
        &self,
        login: &str,
        password: &str,
        client: &Client,
        now: Timestamp,
    ) -> Result<SignedIn> {
        let Some(identity) = self.authenticate(login, password, client, Purpose::Session).await? else {
            return Err(failed());
        };
        // Before the session begins: a client that goes away meanwhile leaves no session behind.
        let own = vec![identity.login.clone(), identity.display_name.clone()];
        let outdated_password = self.inner.identities.hasher.is_outdated(password, own).await;
        let (secret, hash) = secret::new(SecretKind::Session)?;
        let fresh_device = secret::new(SecretKind::Device)?;
        let from = AttemptOrigin::new(client.address, client.device.as_deref());
        let session = WebSession {
            id: self.inner.ids.next(),
            created_at: now,
            expires_at: now.after(SESSION_LENGTH),
            seen_at: now,
            address: client.address.to_canonical().to_string(),
            agent: text::shown(&client.agent, 200),
            proved_at: now,
            proved_address: client.address.to_canonical().to_string(),
        };
        let (repository, expires_at) = (self.clone(), session.expires_at);
        let begin = move |tx: &mut Transaction| {
            let Some(identity) = enabled_at_version(tx, identity.account, identity.password_version)? else {
                return Ok(None);
            };
            let account = identity.account;
            web_session::insert(tx, account, identity.password_version, &session, &hash)?;
            web_session::trim(tx, account, MAX_SESSIONS)?;
            account::set_signed_in(tx, account, now)?;
            let subjects = from.subjects(tx, Some(&LoginName::new(&identity.login)?))?;
            throttle::forget(tx, &subjects)?;
            let device = from.keep_device(tx, account, &fresh_device, now)?;
            record(tx, account, "sign-in.success", account, session.address.clone())?;
            let proof = Authentication::Session { id: session.id, proved_at: now };
            Ok(Some((principal(tx, &repository.inner.identities, identity, proof)?, device)))
        };
        let (principal, device) = self.inner.configuration.write_vital(begin).await?.ok_or_else(failed)?;
        count("success");
        Ok(SignedIn { secret, expires_at, principal, outdated_password, device })
    }

    /// Returns the enabled account with this login and password.
    ///
    /// # Errors
    /// `Exhausted` with code `too_many_attempts`; `Forbidden` with code `leaked_password` when the password is right
    /// but forbidden, unless it is presented in order to be changed.
    pub(super) async fn authenticate(
        &self,
        login: &str,
        password: &str,
        client: &Client,
        purpose: Purpose,
    ) -> Result<Option<Identity>> {
        let verified = &self.inner.identities.verified;
        // A login or password outside the rules cannot exist. It is handled like any other mismatch.
        let possible = password.chars().take(MAX_PASSWORD_CHARS + 1).count() <= MAX_PASSWORD_CHARS;
        let login = LoginName::new(login).ok().filter(|_| possible);
        let password = if possible { password } else { "" };
        let network = throttle::client_network(client.address);
        let digest = verified.digest(login.as_ref().map_or("", LoginName::as_str), password, network);
        if let Some(identity) = self.verified_before(&digest, login.as_ref(), password, purpose).await? {
            return Ok(Some(identity));
        }
        let attempt = Attempt::new(login, client);
        self.refuse_while_waiting(&attempt).await?;
        let _alone = verified.lock_for(&digest).await;
        if let Some(identity) = self.verified_before(&digest, attempt.login.as_ref(), password, purpose).await? {
            return Ok(Some(identity));
        }
        let Some((identity, asked)) = self.check(&attempt, password, purpose).await? else { return Ok(None) };
        // A change of the password records no sign-in. The next sign-in must therefore not find the password in the
        // cache.
        if purpose != Purpose::Change {
            let unlisted = asked.filter(|asked| !asked.listed).map(|asked| asked.list);
            let (account, password_version) = (identity.account, identity.password_version);
            verified.put(digest, Verified { account, password_version, unlisted });
        }
        if asked.is_some_and(|asked| asked.listed) { Err(leaked()) } else { Ok(Some(identity)) }
    }

    /// Returns the account if this password was verified recently and has not changed since. If the list of forbidden
    /// passwords is another one than before, the password is looked up again.
    async fn verified_before(
        &self,
        digest: &[u8; 32],
        login: Option<&LoginName>,
        password: &str,
        purpose: Purpose,
    ) -> Result<Option<Identity>> {
        let verified = &self.inner.identities.verified;
        let Some(Verified { account, password_version, unlisted }) = verified.get(digest) else { return Ok(None) };
        let find = move |reader: &mut Reader| {
            let list = if purpose.asks_list() { password_list::in_use(reader)? } else { None };
            Ok((account::find_identity(reader, account)?, list.map_or(Id::NONE, |list| list.id)))
        };
        let (identity, list) = self.inner.configuration.read(find).await?;
        let same = |identity: &Identity| {
            identity.password_version == password_version && login.is_some_and(|login| login.as_str() == identity.login)
        };
        let Some(identity) = identity.filter(same) else {
            verified.remove(digest);
            return Ok(None);
        };
        if purpose.asks_list() && unlisted != Some(list) {
            let asked = self.look_up_in_list(password).await?;
            if asked.listed {
                return Err(leaked());
            }
            verified.note_unlisted(digest, asked.list);
        }
        Ok(Some(identity))
    }

    /// Refuses an attempt that must wait, before it costs anything.
    async fn refuse_while_waiting(&self, attempt: &Attempt) -> Result<()> {
        let (from, login, now) = (attempt.from, attempt.login.clone(), Timestamp::now());
        let look = move |reader: &mut Reader| {
            let subjects = from.subjects(reader, login.as_ref())?;
            throttle::waiting(reader, &subjects, now)
        };
        let waiting = self.inner.configuration.read(look).await?;
        waiting.map_or(Ok(()), |wait| Err(refused(wait)))
    }

    /// Counts one attempt and makes it. A right password is looked up in the list of forbidden passwords before
    /// anything is recorded.
    async fn check(
        &self,
        attempt: &Attempt,
        password: &str,
        purpose: Purpose,
    ) -> Result<Option<(Identity, Option<ListLookup>)>> {
        // The permit comes first: otherwise many concurrent attempts would count as failed while they wait.
        let permit = self.inner.identities.hasher.permit().await?;
        let (reservation, stored) = self.reserve(attempt).await?;
        let (known, hash) = match stored {
            Some(stored) => (Some((stored.account, stored.version, stored.disabled)), stored.hash),
            None => (None, None),
        };
        let right = password::verify(permit, password, hash).await?;
        // For a disabled account the list is not consulted: the time taken must not show that the password is right.
        let asks = right && known.is_some_and(|(_, _, disabled)| !disabled) && purpose.asks_list();
        let asked = if asks { Some(self.look_up_in_list(password).await?) } else { None };
        let succeeds = purpose == Purpose::Request && asked.is_none_or(|asked| !asked.listed);
        let (address, from) = (attempt.address, attempt.from);
        let settle = move |tx: &mut Transaction| {
            let identity = match known {
                Some((account, version, false)) if right => enabled_at_version(tx, account, version)?,
                _ => None,
            };
            match &identity {
                Some(identity) => {
                    throttle::succeeded(tx, &reservation)?;
                    if succeeds {
                        from.keep_address(tx, identity.account, Timestamp::now())?;
                        let detail = format!("HTTP Basic, {address}");
                        record(tx, identity.account, "sign-in.success", identity.account, detail)?;
                    }
                }
                None => {
                    let account = known.map_or(Id::NONE, |(account, ..)| account);
                    record(tx, Id::NONE, "sign-in.failure", account, address.to_string())?;
                }
            }
            Ok(identity)
        };
        let identity = self.inner.configuration.write_vital(settle).await?;
        match &identity {
            Some(_) if succeeds => count("success"),
            // Counted once the session has begun.
            Some(_) => {}
            None => count("failure"),
        }
        Ok(identity.map(|identity| (identity, asked)))
    }

    /// Counts an attempt before it is made, and reads the stored password that it must match.
    async fn reserve(&self, attempt: &Attempt) -> Result<(Reservation, Option<StoredPassword>)> {
        let (from, login) = (attempt.from, attempt.login.clone());
        let now = Timestamp::now();
        // The limit allows for the clock: sessions and devices become valid again if the clock was ahead and is set
        // back.
        let purge = match self.claim_purge(now) {
            true => Some(self.old_enough(ENDED_SESSIONS).await?),
            false => None,
        };
        let reserve = move |tx: &mut Transaction| {
            if let Some(limit) = purge {
                throttle::purge(tx, now)?;
                web_session::purge(tx, limit)?;
                devices::purge(tx, limit)?;
                links::purge(tx, limit)?;
                edit_token::purge(tx, limit.before(ENDED_EDIT_TOKENS))?;
            }
            let subjects = from.subjects(tx, login.as_ref())?;
            let admission = throttle::reserve(tx, &subjects, now)?;
            let stored = match &login {
                Some(login) => account::find_password(tx, login)?,
                None => None,
            };
            Ok((admission, stored))
        };
        match self.inner.configuration.write_vital(reserve).await? {
            (Admission::Admitted(reservation), stored) => Ok((reservation, stored)),
            (Admission::Refused(wait), _) => Err(refused(wait)),
        }
    }

    fn claim_purge(&self, now: Timestamp) -> bool {
        let last = self.inner.identities.purged_at.load(Ordering::Relaxed);
        let due = last <= now.before(PURGE_EVERY).micros() || last > now.micros();
        due && self
            .inner
            .identities
            .purged_at
            .compare_exchange(last, now.micros(), Ordering::Relaxed, Ordering::Relaxed)
            .is_ok()
    }
}

/// One attempt at a password.
struct Attempt {
    login: Option<LoginName>,
    address: IpAddr,
    from: AttemptOrigin,
}

impl Attempt {
    fn new(login: Option<LoginName>, client: &Client) -> Self {
        let from = AttemptOrigin::new(client.address, client.device.as_deref());
        Self { login, address: client.address.to_canonical(), from }
    }
}

/// Returns the enabled account if its password still has this version.
fn enabled_at_version(tx: &mut Transaction, account: Id, password_version: i64) -> Result<Option<Identity>> {
    Ok(account::find_identity(tx, account)?.filter(|identity| identity.password_version == password_version))
}

/// Records an event. The login itself is not recorded, because people type their password there by mistake.
fn record(tx: &mut Transaction, actor: Id, action: &str, account: Id, detail: String) -> Result<()> {
    let subject = if account.is_none() { "account unknown".to_owned() } else { format!("account {account}") };
    event::record(tx, Timestamp::now(), actor, action, &subject, &detail)
}

fn failed() -> Error {
    Error::forbidden("the login or the password is wrong").with_code(Code::SignInFailed)
}

fn refused(wait: Duration) -> Error {
    count("throttled");
    throttle::refusal(wait)
}

fn count(outcome: &'static str) {
    counter!("strongroom_sign_ins_total", "outcome" => outcome).increment(1);
}
