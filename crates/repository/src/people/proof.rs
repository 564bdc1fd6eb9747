//! Freshness of the proof of the caller's identity, and its renewal.
//!
//! Some operations would give lasting access to a person who sits at an open session or has found a token. These
//! operations require the password again.

use std::time::Duration;

use async_recursion::async_recursion as boxed;
use database::configuration::{account, event, web_session};
use database::{Reader, Transaction};
use model::{Authentication, Code, Error, Id, Result, Timestamp};

use crate::Session;
use crate::people::caller::Purpose;

use super::Client;

/// Time for which a proof is fresh.
const FRESH: Duration = Duration::from_secs(10 * 60);

/// Returns whether a proof is fresh at `now`.
fn is_fresh(proof: Authentication, now: Timestamp) -> bool {
    match proof {
        Authentication::Command | Authentication::Password { .. } => true,
        // A time further in the future was recorded by a clock that ran ahead. Such a proof would stay fresh for too
        // long.
        Authentication::Session { proved_at: at, .. } => at > now.before(FRESH) && at <= now.after(FRESH),
        Authentication::Token => false,
    }
}

impl Session {
    /// Returns whether the caller may currently perform operations that need a fresh proof.
    pub fn is_fresh(&self) -> bool {
        is_fresh(self.principal.proof, Timestamp::now())
    }

    /// Refuses unless the caller has proved their identity within the last ten minutes.
    ///
    /// # Errors
    /// `Forbidden` with code `fresh_sign_in_needed`.
    pub fn require_fresh(&self, what: &str) -> Result<()> {
        if self.is_fresh() {
            return Ok(());
        }
        let text = match self.principal.proof {
            Authentication::Token => format!("a token cannot {what}: sign in with the password"),
            _ => format!(
                "to {what}, prove that it is you: your last sign-in was more than ten minutes ago; sign in again, or \
                 send the password with Basic"
            ),
        };
        Err(Error::forbidden(text).with_code(Code::FreshSignInNeeded))
    }

    /// Refuses if the caller's session has ended or the password has changed since the request began. A request can be
    /// held open for minutes, and what it makes may outlive both.
    ///
    /// # Errors
    /// `Forbidden` with code `fresh_sign_in_needed`.
    pub(super) fn require_present_proof(&self, reader: &mut Reader) -> Result<()> {
        let own = self.principal.id;
        let is_present = match self.principal.proof {
            Authentication::Command | Authentication::Token => true,
            Authentication::Password { version } => {
                account::find_identity(reader, own)?.is_some_and(|identity| identity.password_version == version)
            }
            Authentication::Session { id, .. } => web_session::exists(reader, own, id)?,
        };
        if is_present {
            return Ok(());
        }
        let text = "your session has ended, or your password was changed meanwhile: sign in again";
        Err(Error::forbidden(text).with_code(Code::FreshSignInNeeded))
    }

    /// Renews the proof of identity for one of the caller's sessions.
    ///
    /// # Errors
    /// `Forbidden` with code `wrong_password`, or with code `leaked_password` when the password is right but forbidden;
    /// `Exhausted` with code `too_many_attempts`; `NotFound` when the session has ended.
    #[boxed]
    pub async fn prove(&self, session: Id, password: &str, client: &Client) -> Result<()> {
        let login = &self.principal.login;
        let checked = self.repository.authenticate(login, password, client, Purpose::Session).await?;
        if checked.is_none_or(|identity| identity.account != self.principal.id) {
            return Err(Error::forbidden("the password is wrong").with_code(Code::WrongPassword));
        }
        let (account, now, address) = (self.principal.id, Timestamp::now(), client.address.to_canonical().to_string());
        let prove = move |tx: &mut Transaction| {
            if web_session::prove(tx, account, session, now, &address)? == 0 {
                return Err(Error::not_found("the session has ended already"));
            }
            event::record(tx, now, account, "sign-in.proof", &format!("account {account}"), &address)
        };
        self.repository.inner.configuration.write_vital(prove).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proof_is_fresh_for_ten_minutes_whatever_the_clock_does() {
        let at = |seconds: i64| Timestamp::from_micros((1_000_000 + seconds) * 1_000_000);
        let fresh = |seconds: i64| is_fresh(Authentication::Session { id: Id::new(1), proved_at: at(seconds) }, at(0));
        assert!(fresh(0));
        assert!(fresh(-599));
        assert!(fresh(30));
        assert!(!fresh(-600));
        assert!(!fresh(601));
        assert!(!fresh(-1_000_000));
        assert!(is_fresh(Authentication::Password { version: 1 }, at(0)));
        assert!(is_fresh(Authentication::Command, at(0)));
        assert!(!is_fresh(Authentication::Token, at(0)));
    }
}
