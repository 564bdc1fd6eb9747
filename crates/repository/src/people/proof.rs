//! How fresh the proof is that the caller is who they are, and proving it anew.
//!
//! What would let whoever sits at an open session, or found a token, stay for good asks for the password again.

use std::time::Duration;

use database::Transaction;
use database::configuration::{event, web_session};
use model::{Code, Error, Id, Proof, Result, Timestamp};

use crate::Session;
use crate::people::caller::Purpose;

use super::Client;

/// How long a proof is fresh.
const FRESH: Duration = Duration::from_secs(10 * 60);

/// Whether a proof is fresh at this time.
fn is_fresh(proof: Proof, now: Timestamp) -> bool {
    match proof {
        Proof::Command | Proof::Password => true,
        // One from the future was noted by a clock that ran ahead; it would stay fresh for too long.
        Proof::Session(at) => at > now.before(FRESH) && at <= now.after(FRESH),
        Proof::Token => false,
    }
}

impl Session {
    /// Whether the caller may do now what needs a fresh proof.
    pub fn is_fresh(&self) -> bool {
        is_fresh(self.principal.proof, Timestamp::now())
    }

    /// Refuses unless the caller proved within the last ten minutes who they are.
    ///
    /// # Errors
    /// Forbidden with code `fresh_sign_in_needed`.
    pub fn require_fresh(&self, what: &str) -> Result<()> {
        if self.is_fresh() {
            return Ok(());
        }
        let text = match self.principal.proof {
            Proof::Token => format!("a token cannot {what}: sign in with the password"),
            _ => format!(
                "to {what}, prove that it is you: your last sign-in was more than ten minutes ago; sign in anew, or send the \
                 password with Basic"
            ),
        };
        Err(Error::forbidden(text).with_code(Code::FreshSignInNeeded))
    }

    /// Proves anew for a session of the caller's that it is them.
    ///
    /// # Errors
    /// Forbidden with code `wrong_password`, or with code `leaked_password` when it is right and nobody may have it any
    /// more; Exhausted with code `too_many_attempts`; NotFound when the session has ended.
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
        let fresh = |seconds: i64| is_fresh(Proof::Session(at(seconds)), at(0));
        assert!(fresh(0) && fresh(-599) && fresh(30));
        assert!(!fresh(-600) && !fresh(601) && !fresh(-1_000_000));
        assert!(is_fresh(Proof::Password, at(0)) && is_fresh(Proof::Command, at(0)) && !is_fresh(Proof::Token, at(0)));
    }
}
