//! Known devices and addresses of an account: browsers that have signed in before, and addresses from which programs
//! have.
//!
//! Being known proves nothing. It gives a separate budget for wrong passwords, so that strangers' guesses do not lock
//! out the account's user.

use std::net::IpAddr;
use std::time::Duration;

use database::configuration::known_device;
use database::{Reader, Transaction};
use model::{Id, LoginName, Result, Timestamp};

use super::secret::{self, SecretKind};
use super::throttle::{self, Subject};

/// Maximum number of devices and addresses known for an account. Those not seen for longest are dropped first.
const MAX_KNOWN_DEVICES: usize = 20;
/// Time for which an unused device stays known; also the maximum age of its cookie.
pub const DEVICE_LIFE: Duration = Duration::from_secs(365 * 24 * 60 * 60);

/// Origin of a password attempt, matched against the known devices and addresses of an account.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AttemptOrigin {
    address: IpAddr,
    device: Option<[u8; 32]>,
}

impl AttemptOrigin {
    pub(crate) fn new(address: IpAddr, device: Option<&str>) -> Self {
        let device = device.and_then(|secret| secret::hash(SecretKind::Device, secret));
        Self { address: address.to_canonical(), device }
    }

    /// Returns the subjects that an attempt on a login counts against. A known device counts against itself alone. At a
    /// known address, the login itself is not locked, because programs keep no cookies. The order is always the same,
    /// so that two servers that count at the same time cannot deadlock.
    pub(crate) fn subjects(&self, reader: &mut Reader, login: Option<&LoginName>) -> Result<Vec<Subject>> {
        let network = Subject::address(self.address);
        let Some(login) = login else { return Ok(vec![network]) };
        if let Some(device) = &self.device
            && known_device::is_known(reader, login, device)?
        {
            return Ok(vec![Subject::device(login, device)]);
        }
        let pair = Subject::pair(login, self.address);
        if known_device::is_known(reader, login, &address_hash(self.address))? {
            return Ok(vec![pair, network]);
        }
        Ok(vec![Subject::login(login), pair, network])
    }

    /// Stores the device. Keeps the presented device if any account knows it. Otherwise stores a new one and returns
    /// its secret for the client.
    pub(crate) fn keep_device(
        &self,
        tx: &mut Transaction,
        account: Id,
        fresh: &(String, [u8; 32]),
        now: Timestamp,
    ) -> Result<Option<String>> {
        if let Some(shown) = &self.device
            && known_device::is_known_to_anybody(tx, shown)?
        {
            known_device::keep(tx, account, shown, now, MAX_KNOWN_DEVICES)?;
            return Ok(None);
        }
        known_device::keep(tx, account, &fresh.1, now, MAX_KNOWN_DEVICES)?;
        Ok(Some(fresh.0.clone()))
    }

    /// Stores the address from which a program presented the right password.
    pub(crate) fn keep_address(&self, tx: &mut Transaction, account: Id, now: Timestamp) -> Result<()> {
        known_device::keep(tx, account, &address_hash(self.address), now, MAX_KNOWN_DEVICES)
    }
}

/// Removes devices and addresses not seen for [`DEVICE_LIFE`] before `limit`.
pub(crate) fn purge(tx: &mut Transaction, limit: Timestamp) -> Result<()> {
    known_device::purge(tx, limit.before(DEVICE_LIFE))?;
    Ok(())
}

fn address_hash(address: IpAddr) -> [u8; 32] {
    let network = throttle::client_network(address).to_string();
    blake3::derive_key("strongroom 2026-11 an address from which a program signed in", network.as_bytes())
}
