//! Owns what users and farm administrators may do with sessions that have begun.

use database::Transaction;
use database::configuration::{event, web_session};
use model::{Error, Id, Result, Timestamp};

use super::WebSession;
use super::identity::SESSION_IDLE;
use super::sign_in::MOST_SESSIONS;
use crate::Session;

impl Session {
    /// The sessions of an account that have not ended, newest first.
    ///
    /// # Errors
    /// Forbidden for others than the user and farm administrators.
    pub async fn web_sessions(&self, account: Id) -> Result<Vec<WebSession>> {
        self.require_self_or_administrator(account, "list sessions of another account")?;
        let now = Timestamp::now();
        let list = move |reader: &mut database::Reader| {
            web_session::list(reader, account, now, now.before(SESSION_IDLE), MOST_SESSIONS)
        };
        self.repository.inner.configuration.read(list).await
    }

    /// Ends a session of an account, with effect on the next request.
    ///
    /// # Errors
    /// Forbidden for others than the user and farm administrators; NotFound.
    pub async fn end_web_session(&self, account: Id, id: Id) -> Result<()> {
        self.require_self_or_administrator(account, "end sessions of another account")?;
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
    /// Forbidden for others than the user and farm administrators.
    pub async fn end_all_web_sessions(&self, account: Id) -> Result<()> {
        self.require_self_or_administrator(account, "end sessions of another account")?;
        let actor = self.principal.id;
        let end = move |tx: &mut Transaction| {
            web_session::remove_all(tx, account)?;
            record(tx, actor, account, "all sessions")
        };
        self.repository.inner.configuration.write_vital(end).await
    }
}

fn record(tx: &mut Transaction, actor: Id, account: Id, detail: &str) -> Result<()> {
    event::record(tx, Timestamp::now(), actor, "session.end", &format!("account {account}"), detail)
}
