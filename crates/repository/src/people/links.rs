//! Passwords of links to documents: hashed like those of accounts. Each network has a budget of its own for each link, and
//! so has each greater network around it. When many failed from wherever, networks from which the link was never opened
//! wait; no guess elsewhere takes anything from one that opened it.

use std::net::IpAddr;

use database::{Reader, Transaction};
use model::{Error, Id, Result, Timestamp};

use super::secret::{self, SecretKind};
use super::throttle::{self, Admission};
use super::{Client, MAX_PASSWORD_CHARS, password};
use crate::Repository;

/// Fewest characters of a link's password: whoever guesses has to wait soon.
const MIN_CHARS: usize = 8;

impl Repository {
    /// The secret of a new link, and the hash to store of it.
    pub(crate) fn link_secret(&self) -> Result<(String, [u8; 32])> {
        secret::new(SecretKind::Link)
    }

    /// The hash to store of a link's password.
    pub(crate) async fn link_password(&self, password: &str) -> Result<String> {
        let length = password.chars().take(MAX_PASSWORD_CHARS + 1).count();
        if !(MIN_CHARS..=MAX_PASSWORD_CHARS).contains(&length) {
            return Err(Error::invalid(format!("the password of a link has at least {MIN_CHARS} characters"))
                .with_code("invalid_link_password"));
        }
        self.inner.identities.hasher.hash(password).await
    }

    /// Whether `password` is the one of a link, whose stored hash is `stored`.
    ///
    /// # Errors
    /// Exhausted with code `too_many_attempts` after too many failures.
    pub(crate) async fn try_link_password(
        &self,
        link: Id,
        stored: &str,
        password: &str,
        client: &Client,
    ) -> Result<bool> {
        let address = client.address;
        // Before a turn is waited for, and again after it: a refusal takes no turn from others and writes nothing.
        self.refuse_waiting(link, address).await?;
        let turn = self.inner.identities.hasher.turn().await?;
        self.refuse_waiting(link, address).await?;
        let now = Timestamp::now();
        let reserve = move |tx: &mut Transaction| {
            let subjects = throttle::subjects_of_link(tx, link, address, now)?;
            throttle::reserve(tx, &subjects, now)
        };
        let reservation = match self.inner.configuration.write_vital(reserve).await? {
            Admission::Admitted(reservation) => reservation,
            Admission::Refused(wait) => return Err(throttle::refusal(wait)),
        };
        let fits = password.len() <= 4 * MAX_PASSWORD_CHARS;
        let right = password::verify(turn, if fits { password } else { "" }, Some(stored.to_owned())).await?;
        if right {
            let settle = move |tx: &mut Transaction| {
                throttle::succeeded(tx, &reservation)?;
                throttle::note_opened(tx, link, address, now)
            };
            self.inner.configuration.write_vital(settle).await?;
        }
        Ok(right)
    }

    async fn refuse_waiting(&self, link: Id, address: IpAddr) -> Result<()> {
        let now = Timestamp::now();
        let look = move |reader: &mut Reader| {
            let subjects = throttle::subjects_of_link(reader, link, address, now)?;
            throttle::waiting(reader, &subjects, now)
        };
        self.inner.configuration.read(look).await?.map_or(Ok(()), |wait| Err(throttle::refusal(wait)))
    }
}

/// The hash by which the secret of a link is compared; none for text that cannot be one.
pub(crate) fn link_hash(secret: &str) -> Option<[u8; 32]> {
    secret::hash(SecretKind::Link, secret)
}
