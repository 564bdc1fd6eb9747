//! In-memory caches that outlive a request: credentials, group memberships, names and recently verified passwords.
//!
//! No cache decides alone. Each entry is valid for one state of the database, or for one directory version or password
//! version, which is read from the database for each request. All maps are bounded.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use database::Mark;
use database::configuration::principal::PrincipalName;
use model::{Id, Network, Result, Timestamp};

use super::caller::Caller;

const MAX_ACCOUNTS: usize = 20_000;
const MAX_CREDENTIALS: usize = 20_000;
const MAX_NAMES: usize = 20_000;
const MAX_PASSWORDS: usize = 4_096;
const MAX_TOUCHES: usize = 20_000;
/// Time for which a verified password is accepted without running argon2 again.
const VERIFIED_FOR: Duration = Duration::from_secs(5 * 60);

/// Credentials as of one state of the configuration database.
#[derive(Default)]
pub(crate) struct Credentials(Mutex<(Option<Mark>, HeldByHash)>);

type HeldByHash = HashMap<[u8; 32], Arc<Held>>;

impl Credentials {
    /// Returns the credential with this hash, if it was read at `mark`.
    pub(super) fn get(&self, mark: Mark, hash: &[u8; 32]) -> Option<Arc<Held>> {
        let kept = lock(&self.0);
        if kept.0 == Some(mark) { kept.1.get(hash).cloned() } else { None }
    }

    /// Stores a credential that was read after `mark` was taken.
    pub(super) fn put(&self, mark: Mark, hash: [u8; 32], held: Arc<Held>) {
        let mut kept = lock(&self.0);
        if kept.0 != Some(mark) || kept.1.len() >= MAX_CREDENTIALS {
            *kept = (Some(mark), HashMap::new());
        }
        kept.1.insert(hash, held);
    }
}

/// Groups of accounts. Each list is as of one directory version.
#[derive(Default)]
pub(crate) struct GroupCache(Mutex<HashMap<Id, Groups>>);

/// A directory version, and the groups of an account at that version.
type Groups = (i64, Arc<[Id]>);

impl GroupCache {
    /// Returns the groups of `account` at the directory version `version`, if cached.
    pub(crate) fn known(&self, account: Id, version: i64) -> Option<Arc<[Id]>> {
        lock(&self.0).get(&account).filter(|(at, _)| *at == version).map(|(_, groups)| groups.clone())
    }

    /// Returns the groups of `account` at the directory version `version`, from the cache or from `load`.
    pub(crate) fn get(&self, account: Id, version: i64, load: impl FnOnce() -> Result<Vec<Id>>) -> Result<Arc<[Id]>> {
        if let Some(groups) = self.known(account, version) {
            return Ok(groups);
        }
        let groups: Arc<[Id]> = load()?.into();
        make_room(lock(&self.0), MAX_ACCOUNTS).insert(account, (version, groups.clone()));
        Ok(groups)
    }
}

/// Names of users and groups as of one directory version.
#[derive(Default)]
pub(crate) struct NameCache(Mutex<(i64, HashMap<Id, PrincipalName>)>);

impl NameCache {
    /// Returns the names of `ids` cached at this version, and the identifiers that must be looked up.
    pub(crate) fn get(&self, version: i64, ids: &[Id]) -> (HashMap<Id, PrincipalName>, Vec<Id>) {
        let kept = lock(&self.0);
        let (mut known, mut missing) = (HashMap::with_capacity(ids.len()), Vec::new());
        for id in ids {
            match kept.1.get(id).filter(|_| kept.0 == version) {
                Some(name) => drop(known.insert(*id, name.clone())),
                None => missing.push(*id),
            }
        }
        (known, missing)
    }

    /// Stores names that were looked up at this version or later.
    pub(crate) fn put<'n>(&self, version: i64, names: impl Iterator<Item = &'n PrincipalName>) {
        let mut kept = lock(&self.0);
        if kept.0 > version {
            return;
        }
        if kept.0 < version || kept.1.len() > MAX_NAMES {
            *kept = (version, HashMap::new());
        }
        kept.1.extend(names.map(|name| (name.id, name.clone())));
    }
}

/// A password that was verified for an account at a password version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Verified {
    pub(crate) account: Id,
    pub(crate) password_version: i64,
    /// The last list of forbidden passwords that was consulted and does not contain the password; [`Id::NONE`] if the
    /// farm had no list. `None` while no list has been consulted, or if every list consulted contains the password.
    pub(crate) unlisted: Option<Id>,
}

/// Recently verified passwords, by a keyed hash that only this process can compute.
pub(crate) struct VerifiedPasswords {
    key: [u8; 32],
    kept: Mutex<HashMap<[u8; 32], (Verified, Instant)>>,
    locks: [tokio::sync::Mutex<()>; 64],
}

impl VerifiedPasswords {
    /// Returns an empty cache with a new random key.
    pub(crate) fn new() -> Result<Self> {
        let mut key = [0u8; 32];
        super::secret::fill_random(&mut key)?;
        Ok(Self { key, kept: Mutex::default(), locks: std::array::from_fn(|_| tokio::sync::Mutex::default()) })
    }

    /// Returns the cache key for a login and a password presented from a network. The network is part of it because the
    /// first use from each network is recorded.
    pub(crate) fn digest(&self, login: &str, password: &str, network: IpAddr) -> [u8; 32] {
        let mut hasher = blake3::Hasher::new_keyed(&self.key);
        let network = network.to_string();
        for part in [login, &network, password] {
            hasher.update(&(part.len() as u64).to_le_bytes()).update(part.as_bytes());
        }
        *hasher.finalize().as_bytes()
    }

    /// Returns the account for which this password was verified within the last minutes.
    pub(crate) fn get(&self, digest: &[u8; 32]) -> Option<Verified> {
        lock(&self.kept).get(digest).filter(|(_, at)| at.elapsed() < VERIFIED_FOR).map(|(verified, _)| *verified)
    }

    /// Stores a password that was just verified.
    pub(crate) fn put(&self, digest: [u8; 32], verified: Verified) {
        let mut kept = lock(&self.kept);
        if kept.len() >= MAX_PASSWORDS {
            kept.retain(|_, (_, at)| at.elapsed() < VERIFIED_FOR);
        }
        make_room(kept, MAX_PASSWORDS).insert(digest, (verified, Instant::now()));
    }

    /// Records that a cached password is not on this list.
    pub(crate) fn note_unlisted(&self, digest: &[u8; 32], list: Id) {
        if let Some((verified, _)) = lock(&self.kept).get_mut(digest) {
            verified.unlisted = Some(list);
        }
    }

    /// Removes a password that is no longer valid.
    pub(crate) fn remove(&self, digest: &[u8; 32]) {
        lock(&self.kept).remove(digest);
    }

    /// Serialises requests that verify the same password. The later ones find it in the cache.
    pub(crate) async fn lock_for(&self, digest: &[u8; 32]) -> tokio::sync::MutexGuard<'_, ()> {
        self.locks[usize::from(digest[0]) % self.locks.len()].lock().await
    }
}

/// Credentials whose time of last use was written recently, so that parallel requests write it once.
#[derive(Default)]
pub(crate) struct RecentTouches(Mutex<HashMap<Id, Timestamp>>);

impl RecentTouches {
    /// Returns whether the caller must write: no request in this process has done so since `after`.
    pub(crate) fn claim(&self, credential: Id, now: Timestamp, after: Timestamp) -> bool {
        let kept = lock(&self.0);
        if kept.get(&credential).is_some_and(|at| *at > after && *at <= now) {
            return false;
        }
        make_room(kept, MAX_TOUCHES).insert(credential, now);
        true
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Entries are consistent at every moment, so a panic while the lock was held does no damage.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Empties a full map. This is simpler than evicting by age, and the next requests refill it with the entries in use.
fn make_room<K, V>(mut map: MutexGuard<'_, HashMap<K, V>>, most: usize) -> MutexGuard<'_, HashMap<K, V>> {
    if map.len() >= most {
        map.clear();
    }
    map
}

/// A credential found in the database. Its validity also depends on the time and, for a token, on the client's network.
pub(super) struct Held {
    pub(super) caller: Caller,
    pub(super) id: Id,
    pub(super) expires_at: Option<Timestamp>,
    pub(super) used_at: Option<Timestamp>,
    /// The only networks from which it is valid; empty for all.
    pub(super) networks: Vec<Network>,
}

impl Held {
    pub(super) fn has_expired(&self, now: Timestamp) -> bool {
        self.expires_at.is_some_and(|end| end <= now)
    }

    pub(super) fn is_good_from(&self, address: IpAddr) -> bool {
        self.networks.is_empty() || self.networks.iter().any(|network| network.contains(address))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_read_once_for_each_directory_version() {
        let cache = GroupCache::default();
        let id = Id::new(1000);
        assert_eq!(*cache.get(id, 1, || Ok(vec![Id::new(7)])).unwrap(), [Id::new(7)]);
        assert_eq!(*cache.get(id, 1, || panic!("must not be read again")).unwrap(), [Id::new(7)]);
        assert_eq!(*cache.get(id, 2, || Ok(vec![])).unwrap(), []);
    }

    #[test]
    fn names_of_an_older_version_are_not_shown_and_do_not_replace_newer_ones() {
        let cache = NameCache::default();
        let name = |text: &str| PrincipalName {
            id: Id::new(1000),
            kind: model::PrincipalKind::Group,
            name: text.to_owned(),
            login: None,
            disabled: false,
        };
        cache.put(2, [name("new")].iter());
        cache.put(1, [name("old")].iter());
        assert_eq!(cache.get(2, &[Id::new(1000)]).0[&Id::new(1000)].name, "new");
        assert_eq!(cache.get(3, &[Id::new(1000)]).1, [Id::new(1000)]);
    }

    #[test]
    fn login_password_and_network_cannot_be_shifted_into_each_other() {
        let here = IpAddr::from([10, 0, 0, 1]);
        let cache = VerifiedPasswords::new().unwrap();
        assert_ne!(cache.digest("ab", "c", here), cache.digest("a", "bc", here));
        assert_ne!(cache.digest("ab", "c", here), cache.digest("ab", "c", IpAddr::from([10, 0, 0, 2])));
        assert_ne!(cache.digest("ab", "c", here), VerifiedPasswords::new().unwrap().digest("ab", "c", here));
        let verified = Verified { account: Id::new(1000), password_version: 1, unlisted: None };
        for n in 0..3 * MAX_PASSWORDS {
            cache.put(cache.digest("ann", &n.to_string(), here), verified);
        }
        assert!(lock(&cache.kept).len() <= MAX_PASSWORDS);
        assert_eq!(cache.get(&cache.digest("ann", &(3 * MAX_PASSWORDS - 1).to_string(), here)), Some(verified));
    }

    #[test]
    fn a_use_is_written_by_one_of_many() {
        let touches = RecentTouches::default();
        let at = |seconds: i64| Timestamp::from_micros(seconds * 1_000_000);
        assert!(touches.claim(Id::new(1), at(100), at(40)));
        assert!(!touches.claim(Id::new(1), at(130), at(70)));
        assert!(touches.claim(Id::new(1), at(161), at(101)));
        assert!(touches.claim(Id::new(1), at(50), at(0)), "the clock went back");
    }
}
