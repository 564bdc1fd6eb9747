//! Passwords of share links: hashed like those of accounts. For each link, each network has its own budget of failures.
//! Wider networks have one too, and so do all networks together. Neither of these two counts for a network that has
//! opened the link before, so that guesses made elsewhere do not keep its users waiting.

use std::net::IpAddr;
use std::time::Duration;

use database::configuration::link_network;
use database::{Reader, Transaction};
use model::{Code, Error, Id, Result, Timestamp};

use crate::Repository;

use super::secret::{self, SecretKind};
use super::throttle::{self, Admission, Subject};
use super::{Client, MAX_PASSWORD_CHARS, password};

/// Minimum number of characters of a link's password. It may be short, because the budgets of failures soon make a
/// guesser wait.
const MIN_CHARS: usize = 8;
/// Time for which a network that opened a link stays known.
const OPENED_FOR: Duration = Duration::from_secs(30 * 24 * 60 * 60);
/// Maximum number of networks, wider networks included, known for one link.
pub(super) const MAX_NETWORKS_PER_LINK: usize = 40;
/// Maximum number of networks known for all links.
const MAX_NETWORKS: usize = 100_000;

impl Repository {
    /// Returns the secret of a new link, and the hash to store.
    pub(crate) fn link_secret(&self) -> Result<(String, [u8; 32])> {
        secret::new(SecretKind::Link)
    }

    /// Returns the hash to store for a link's password.
    pub(crate) async fn link_password(&self, password: &str) -> Result<String> {
        let length = password.chars().take(MAX_PASSWORD_CHARS + 1).count();
        if !(MIN_CHARS..=MAX_PASSWORD_CHARS).contains(&length) {
            return Err(Error::invalid(format!("the password of a link has at least {MIN_CHARS} characters"))
                .with_code(Code::InvalidLinkPassword));
        }
        self.inner.identities.hasher.hash(password).await
    }

    /// Returns whether `password` is the password of the link whose stored hash is `stored`.
    ///
    /// # Errors
    /// `Exhausted` with code `too_many_attempts` after too many failures.
    pub(crate) async fn try_link_password(
        &self,
        link: Id,
        stored: &str,
        password: &str,
        client: &Client,
    ) -> Result<bool> {
        let address = client.address;
        // Checked before waiting for a permit and again afterwards. A refusal takes no permit from others and writes
        // nothing.
        self.refuse_waiting(link, address).await?;
        let permit = self.inner.identities.hasher.permit().await?;
        self.refuse_waiting(link, address).await?;
        let now = Timestamp::now();
        let reserve = move |tx: &mut Transaction| {
            let subjects = subjects(tx, link, address, now)?;
            throttle::reserve(tx, &subjects, now)
        };
        let reservation = match self.inner.configuration.write_vital(reserve).await? {
            Admission::Admitted(reservation) => reservation,
            Admission::Refused(wait) => return Err(throttle::refusal(wait)),
        };
        let fits = password.len() <= 4 * MAX_PASSWORD_CHARS;
        let right = password::verify(permit, if fits { password } else { "" }, Some(stored.to_owned())).await?;
        if right {
            let settle = move |tx: &mut Transaction| {
                throttle::succeeded(tx, &reservation)?;
                keep_opened(tx, link, address, now)
            };
            self.inner.configuration.write_vital(settle).await?;
        }
        Ok(right)
    }

    async fn refuse_waiting(&self, link: Id, address: IpAddr) -> Result<()> {
        let now = Timestamp::now();
        let look = move |reader: &mut Reader| {
            let subjects = subjects(reader, link, address, now)?;
            throttle::waiting(reader, &subjects, now)
        };
        self.inner.configuration.read(look).await?.map_or(Ok(()), |wait| Err(throttle::refusal(wait)))
    }
}

/// Removes networks that have opened no link for [`OPENED_FOR`] before `limit`, and those beyond [`MAX_NETWORKS`].
pub(crate) fn purge(tx: &mut Transaction, limit: Timestamp) -> Result<()> {
    link_network::purge(tx, limit.before(OPENED_FOR), MAX_NETWORKS)?;
    Ok(())
}

/// Returns the subjects that an attempt at the password of a link counts against.
fn subjects(reader: &mut Reader, link: Id, address: IpAddr, now: Timestamp) -> Result<Vec<Subject>> {
    let mut subjects = vec![Subject::link_pair(link, address), Subject::address(address)];
    let mut opened = |network: &str| {
        let at = link_network::opened_at(reader, link, &network_hash(network))?;
        Ok::<_, Error>(at.is_some_and(|at| at >= now.before(OPENED_FOR)))
    };
    if !opened(&exact(address))? {
        subjects.push(Subject::link_wide(link, address));
        if !opened(&wide(address))? {
            subjects.push(Subject::link(link));
        }
    }
    Ok(subjects)
}

/// Stores the networks from which a link was opened.
pub(super) fn keep_opened(tx: &mut Transaction, link: Id, address: IpAddr, now: Timestamp) -> Result<()> {
    for network in [exact(address), wide(address)] {
        link_network::keep(tx, link, &network_hash(&network), now, MAX_NETWORKS_PER_LINK)?;
    }
    Ok(())
}

fn exact(address: IpAddr) -> String {
    throttle::client_network(address).to_string()
}

fn wide(address: IpAddr) -> String {
    format!("around {}", throttle::surrounding_network(address))
}

fn network_hash(network: &str) -> [u8; 32] {
    blake3::derive_key("strongroom 2026-11 a network from which a link was opened", network.as_bytes())
}

/// Returns the hash by which the secret of a link is compared; `None` for text that cannot be one.
pub(crate) fn link_hash(secret: &str) -> Option<[u8; 32]> {
    secret::hash(SecretKind::Link, secret)
}
