//! Owns what an account knows its people by besides passwords: browsers that signed in before, and addresses from which programs did.
//!
//! What is known proves nothing. It has a budget of its own for wrong passwords, so that strangers lock nobody out.

use std::net::IpAddr;
use std::time::Duration;

use database::configuration::known_device;
use database::{Reader, Transaction};
use model::{Id, LoginName, Result, Timestamp};

use super::secret::{self, SecretKind};
use super::throttle::{self, Subject};

/// Most devices and addresses that an account knows; the ones that were not seen for longest go first.
const MOST_KNOWN: usize = 20;
/// How long a device is known that does not come back; the age of its cookie.
pub const DEVICE_LIFE: Duration = Duration::from_secs(365 * 24 * 60 * 60);

/// From where a password is tried, as an account may know it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Whereabouts {
    address: IpAddr,
    device: Option<[u8; 32]>,
}

impl Whereabouts {
    pub(crate) fn new(address: IpAddr, device: Option<&str>) -> Self {
        let device = device.and_then(|secret| secret::hash(SecretKind::Device, secret));
        Self { address: address.to_canonical(), device }
    }

    /// What an attempt on an account name counts for. A known device counts for itself alone. At a known address the account
    /// name is not locked, since programs keep no cookies. Always in this order, so that two servers that count at the same
    /// time cannot wait for each other.
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

    /// Keeps the device: the one that was shown when somebody here knows it, else a new one, whose secret is returned for it.
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
            known_device::keep(tx, account, shown, now, MOST_KNOWN)?;
            return Ok(None);
        }
        known_device::keep(tx, account, &fresh.1, now, MOST_KNOWN)?;
        Ok(Some(fresh.0.clone()))
    }

    /// Keeps the address, from which a program showed the right password.
    pub(crate) fn keep_address(&self, tx: &mut Transaction, account: Id, now: Timestamp) -> Result<()> {
        known_device::keep(tx, account, &address_hash(self.address), now, MOST_KNOWN)
    }
}

/// Forgets devices and addresses that were not seen since [`DEVICE_LIFE`] before `limit`.
pub(crate) fn purge(tx: &mut Transaction, limit: Timestamp) -> Result<()> {
    known_device::purge(tx, limit.before(DEVICE_LIFE))?;
    Ok(())
}

fn address_hash(address: IpAddr) -> [u8; 32] {
    let network = throttle::network(address).to_string();
    blake3::derive_key("strongroom 2026-11 an address from which a program signed in", network.as_bytes())
}
