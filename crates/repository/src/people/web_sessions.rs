//! Owns what users and farm administrators may do with sessions that have begun.

use std::net::IpAddr;
use std::time::Duration;

use database::Transaction;
use database::configuration::{event, web_session};
use model::{Error, Id, Result, Timestamp};

use super::WebSession;
use super::identity::SESSION_IDLE;
use super::sign_in::MOST_SESSIONS;
use crate::Session;

/// Sessions that began within this time tell which addresses people have.
const LATELY: Duration = Duration::from_secs(7 * 24 * 60 * 60);
/// From this many accounts on, a private address is more likely a proxy than a machine that people share.
const MANY_ACCOUNTS: i64 = 10;
/// Most addresses that are looked at.
const MOST_ADDRESSES: usize = 20;

impl Session {
    /// The sessions of an account that have not ended, newest first.
    ///
    /// # Errors
    /// Forbidden for others than the user and farm administrators, and with code `token_scope` for a token that is for less
    /// than the account.
    pub async fn web_sessions(&self, account: Id) -> Result<Vec<WebSession>> {
        self.require_self_or_administrator(account, "list sessions")?;
        let now = Timestamp::now();
        let list = move |reader: &mut database::Reader| {
            web_session::list(reader, account, now, now.before(SESSION_IDLE), MOST_SESSIONS)
        };
        self.repository.inner.configuration.read(list).await
    }

    /// Private addresses from which many accounts signed in lately, with their number.
    pub(crate) async fn shared_addresses(&self) -> Result<Vec<(IpAddr, i64)>> {
        let since = Timestamp::now().before(LATELY);
        let find = move |reader: &mut database::Reader| {
            web_session::busy_addresses(reader, since, MANY_ACCOUNTS, MOST_ADDRESSES)
        };
        let found = self.repository.inner.configuration.read(find).await?;
        let parsed = found.into_iter().filter_map(|(text, accounts)| Some((text.parse().ok()?, accounts)));
        Ok(parsed.filter(|(address, _)| is_private(*address)).collect())
    }

    /// Ends a session of an account, with effect on the next request.
    ///
    /// # Errors
    /// Forbidden for others than the user and farm administrators, and with code `token_scope` for a token that is for less
    /// than the account; NotFound.
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

    /// Ends all sessions of an account, with effect on the next request.
    ///
    /// # Errors
    /// Forbidden for others than the user and farm administrators, and with code `token_scope` for a token that is for less
    /// than the account.
    pub async fn end_all_web_sessions(&self, account: Id) -> Result<()> {
        self.require_self_or_administrator(account, "end sessions")?;
        let actor = self.principal.id;
        let end = move |tx: &mut Transaction| {
            web_session::remove_all(tx, account)?;
            record(tx, actor, account, "all sessions")
        };
        self.repository.inner.configuration.write_vital(end).await
    }
}

/// Whether an address is used within a house only.
fn is_private(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(v4) => {
            // 100.64.0.0/10 lies between providers and their customers, and within clusters (RFC 6598).
            let shared = v4.octets()[0] == 100 && v4.octets()[1] & 0xc0 == 64;
            v4.is_private() || v4.is_loopback() || v4.is_link_local() || shared
        }
        IpAddr::V6(v6) => v6.is_loopback() || v6.is_unique_local() || v6.is_unicast_link_local(),
    }
}

fn record(tx: &mut Transaction, actor: Id, account: Id, detail: &str) -> Result<()> {
    event::record(tx, Timestamp::now(), actor, "session.end", &format!("account {account}"), detail)
}
