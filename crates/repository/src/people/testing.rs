//! Sessions for the tests of other crates.

use database::Transaction;
use database::configuration::{account, web_session};
use model::{Error, Id, Result, Timestamp};

use super::WebSession;
use super::secret::{self, SecretKind};
use super::sign_in::SESSION_LENGTH;
use crate::Repository;

impl Repository {
    /// Begins a session of an account, with a proof of identity made at `now`. Returns the session's secret.
    ///
    /// # Errors
    /// `NotFound`; `Unavailable` or `Corrupt` from the configuration database.
    pub async fn begin_session_at(&self, account: Id, now: Timestamp) -> Result<String> {
        let (secret, hash) = secret::new(SecretKind::Session)?;
        let session = WebSession {
            id: self.inner.ids.next(),
            created_at: now,
            expires_at: now.after(SESSION_LENGTH),
            seen_at: now,
            address: String::new(),
            agent: String::new(),
            proved_at: now,
            proved_address: String::new(),
        };
        let begin = move |tx: &mut Transaction| {
            let identity = account::find_identity(tx, account)?;
            let identity = identity.ok_or_else(|| Error::not_found("there is no such user"))?;
            web_session::insert(tx, account, identity.password_version, &session, &hash)
        };
        self.inner.configuration.write(begin).await?;
        Ok(secret)
    }
}
