//! Operations on existing sessions, for their users and for farm administrators.

use std::net::IpAddr;
use std::time::Duration;

use async_recursion::async_recursion as boxed;
use database::Transaction;
use database::configuration::{edit_token, event, web_session};
use model::{Error, Id, Result, Timestamp};

use super::WebSession;
use super::identity::SESSION_IDLE;
use super::sign_in::MAX_SESSIONS;
use crate::Session;

/// Period in which sessions must have begun to count for [`Session::shared_addresses`].
const LATELY: Duration = Duration::from_secs(7 * 24 * 60 * 60);
/// Number of accounts from which on a private address is more likely a proxy than a shared computer.
const MANY_ACCOUNTS: i64 = 10;
/// Maximum number of addresses reported.
const MAX_ADDRESSES: usize = 20;

impl Session {
    /// Returns the sessions of an account that have not ended, newest first.
    ///
    /// # Errors
    /// `Forbidden` for callers who are neither the user nor a farm administrator, and with code `token_scope` for a
    /// token that does not cover the whole account.
    #[boxed]
    pub async fn web_sessions(&self, account: Id) -> Result<Vec<WebSession>> {
        self.require_self_or_administrator(account, "list sessions")?;
        let now = Timestamp::now();
        let list = move |reader: &mut database::Reader| {
            web_session::list(reader, account, now, now.before(SESSION_IDLE), MAX_SESSIONS)
        };
        self.repository.inner.configuration.read(list).await
    }

    /// Returns private addresses from which many accounts signed in recently, each with the number of accounts, the
    /// busiest first.
    pub(crate) async fn shared_addresses(&self) -> Result<Vec<(IpAddr, i64)>> {
        let since = Timestamp::now().before(LATELY);
        let find = move |reader: &mut database::Reader| web_session::busy_addresses(reader, since, MANY_ACCOUNTS);
        let found = self.repository.inner.configuration.read(find).await?;
        let parsed = found.into_iter().filter_map(|(text, accounts)| Some((text.parse().ok()?, accounts)));
        Ok(parsed.filter(|(address, _)| is_private(*address)).take(MAX_ADDRESSES).collect())
    }

    /// Ends a session of an account, effective from the next request on.
    ///
    /// # Errors
    /// `Forbidden` for callers who are neither the user nor a farm administrator, and with code `token_scope` for a
    /// token that does not cover the whole account; `NotFound`.
    #[boxed]
    pub async fn end_web_session(&self, account: Id, id: Id) -> Result<()> {
        self.require_self_or_administrator(account, "end sessions")?;
        let actor = self.principal.id;
        let end = move |tx: &mut Transaction| {
            if web_session::remove(tx, account, id)? == 0 {
                return Err(Error::not_found("the session has ended already"));
            }
            record(tx, actor, account, "one session")
        };
        self.repository.inner.configuration.write_vital(end).await
    }

    /// Ends all sessions of an account, and the tokens of its office programs, effective from the next request on.
    ///
    /// # Errors
    /// `Forbidden` for callers who are neither the user nor a farm administrator, and with code `token_scope` for a
    /// token that does not cover the whole account.
    #[boxed]
    pub async fn end_all_web_sessions(&self, account: Id) -> Result<()> {
        self.require_self_or_administrator(account, "end sessions")?;
        let actor = self.principal.id;
        let end = move |tx: &mut Transaction| {
            web_session::remove_all(tx, account)?;
            edit_token::end_all(tx, account)?;
            record(tx, actor, account, "all sessions")
        };
        self.repository.inner.configuration.write_vital(end).await
    }
}

/// Returns whether an address is used only within a local network or on this host.
fn is_private(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(v4) => {
            // 100.64.0.0/10 is used between providers and their customers, and within clusters (RFC 6598).
            let shared = v4.octets()[0] == 100 && v4.octets()[1] & 0xc0 == 64;
            v4.is_private() || v4.is_loopback() || v4.is_link_local() || shared
        }
        IpAddr::V6(v6) => v6.is_loopback() || v6.is_unique_local() || v6.is_unicast_link_local(),
    }
}

fn record(tx: &mut Transaction, actor: Id, account: Id, detail: &str) -> Result<()> {
    event::record(tx, Timestamp::now(), actor, "session.end", &format!("account {account}"), detail)
}
