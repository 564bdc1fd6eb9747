//! Limits on concurrent connections and requests per address and per user, so that nobody can take the server from all
//! others.
//!
//! Knows no route and no permission. Requests from this machine are not counted by address: they come from a proxy, or
//! from the administrator.

use std::collections::HashMap;
use std::hash::Hash;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use metrics::counter;
use model::{Code, Error, Result};

use crate::figures::names::TURNED_AWAY;

use super::options::Limits;

/// Maximum number of concurrent costly requests per user: archives, copies, exports, tables that are read, comparisons
/// of versions, searches through WebDAV and for more than 50 results, whole trees.
const COSTLY: usize = 4;

/// Keyed semaphore: counts the permits in use per key.
#[derive(Debug)]
pub struct KeyedSemaphore<K: Eq + Hash> {
    most: usize,
    taken: Mutex<HashMap<K, usize>>,
}

/// A permit, released when it is dropped.
#[derive(Debug)]
pub struct KeyedPermit<K: Eq + Hash> {
    semaphore: Arc<KeyedSemaphore<K>>,
    key: Option<K>,
}

impl<K: Eq + Hash + Clone> KeyedSemaphore<K> {
    /// Creates a semaphore with this many permits for each key; 0 means no limit.
    pub fn new(most: usize) -> Arc<Self> {
        Arc::new(Self { most, taken: Mutex::default() })
    }

    /// Returns a permit, unless all are taken.
    pub fn try_acquire(self: &Arc<Self>, key: K) -> Option<KeyedPermit<K>> {
        if self.most == 0 {
            return Some(KeyedPermit { semaphore: self.clone(), key: None });
        }
        let mut taken = self.locked();
        let count = taken.entry(key.clone()).or_default();
        if *count >= self.most {
            return None;
        }
        *count += 1;
        Some(KeyedPermit { semaphore: self.clone(), key: Some(key) })
    }
}

impl<K: Eq + Hash> KeyedSemaphore<K> {
    fn locked(&self) -> MutexGuard<'_, HashMap<K, usize>> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<K: Eq + Hash> KeyedPermit<K> {
    /// Returns the key of the permit; `None` where nothing is counted.
    pub fn key(&self) -> Option<&K> {
        self.key.as_ref()
    }
}

impl<K: Eq + Hash> Drop for KeyedPermit<K> {
    fn drop(&mut self) {
        let Some(key) = self.key.take() else { return };
        let mut taken = self.semaphore.locked();
        if let Some(count) = taken.get_mut(&key) {
            *count -= 1;
            if *count == 0 {
                taken.remove(&key);
            }
        }
    }
}

/// The concurrency limits of one server.
#[derive(Clone, Debug)]
pub struct ConcurrencyLimits {
    pub(super) connections: Arc<KeyedSemaphore<()>>,
    pub(super) connections_by_address: Arc<KeyedSemaphore<IpAddr>>,
    by_address: Arc<KeyedSemaphore<IpAddr>>,
    by_user: Arc<KeyedSemaphore<String>>,
    costly: Arc<KeyedSemaphore<String>>,
}

impl ConcurrencyLimits {
    /// Creates the semaphores of a server with these limits.
    pub fn new(limits: Limits) -> Self {
        Self {
            connections: KeyedSemaphore::new(limits.connections),
            connections_by_address: KeyedSemaphore::new(limits.connections_per_address),
            by_address: KeyedSemaphore::new(limits.requests_per_address),
            by_user: KeyedSemaphore::new(limits.requests_per_user),
            costly: KeyedSemaphore::new(COSTLY),
        }
    }

    /// Returns a permit for a request from this address; `None` if the address is not counted.
    pub fn address(&self, address: IpAddr) -> Result<Option<KeyedPermit<IpAddr>>> {
        let enter = |address| self.by_address.try_acquire(address).ok_or_else(|| too_many("requests_per_address"));
        counted(address).map(enter).transpose()
    }

    /// Returns a permit for a request of this user.
    pub fn user(&self, login: &str) -> Result<KeyedPermit<String>> {
        self.by_user.try_acquire(login.to_owned()).ok_or_else(|| too_many("requests_per_user"))
    }

    /// Returns a permit for a costly request of this user.
    pub fn costly(&self, login: &str) -> Result<KeyedPermit<String>> {
        self.costly.try_acquire(login.to_owned()).ok_or_else(|| {
            count_refusal("costly");
            Error::exhausted(format!(
                "{COSTLY} of your archives, copies, exports, imports, comparisons or searches are running: wait until \
                 one has finished"
            ))
            .with_code(Code::TooManyRequests)
        })
    }
}

/// Counts a refused connection or request in the metrics.
pub(super) fn count_refusal(limit: &'static str) {
    counter!(TURNED_AWAY, "limit" => limit).increment(1);
}

fn too_many(limit: &'static str) -> Error {
    count_refusal(limit);
    Error::exhausted("too many of your requests are being processed: wait until some have finished, then try again")
        .with_code(Code::TooManyRequests)
}

/// Returns the address to count by: `None` for this machine, and for IPv6 the /64 network, since one machine has many
/// addresses.
pub(super) fn counted(address: IpAddr) -> Option<IpAddr> {
    match address.to_canonical() {
        address if address.is_loopback() || address.is_unspecified() => None,
        IpAddr::V6(address) => {
            let network = u128::from(address) >> 64 << 64;
            Some(Ipv6Addr::from(network).into())
        }
        address => Some(address),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn permits_are_given_until_all_are_taken_and_come_back() {
        let semaphore = KeyedSemaphore::new(2);
        let (first, second) = (semaphore.try_acquire("a"), semaphore.try_acquire("a"));
        assert!(first.is_some());
        assert!(second.is_some());
        assert!(semaphore.try_acquire("a").is_none());
        assert!(semaphore.try_acquire("b").is_some());
        drop(first);
        assert!(semaphore.try_acquire("a").is_some());
        drop(second);
        assert!(semaphore.locked().is_empty());
        let open = KeyedSemaphore::new(0);
        assert!((0..1_000).all(|_| open.try_acquire("a").is_some()));
    }

    #[test]
    fn one_network_of_ipv6_is_one_address_and_this_machine_is_none() {
        let of = |text: &str| counted(text.parse().unwrap()).map(|address| address.to_string());
        assert_eq!(of("2001:db8::1"), of("2001:db8::ffff:2"));
        assert_ne!(of("2001:db8::1"), of("2001:db8:0:1::1"));
        assert_eq!(of("::ffff:192.0.2.7").as_deref(), Some("192.0.2.7"));
        assert_eq!((of("127.0.0.1"), of("::1"), of("::ffff:127.0.0.1")), (None, None, None));
    }
}
