//! Limits on attempts at passwords: for a login from one network, for a login, for a network, for a device that the
//! account knows, and for a link.
//!
//! An attempt is counted before it is checked, in its own transaction. Parallel guesses and guesses on several servers
//! therefore share one budget, and a restart does not renew it. A success takes the attempt back.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::time::Duration;

use database::configuration::throttle::{self, Attempts};
use database::{Reader, Transaction};
use model::{Code, Error, Id, LoginName, Result, Timestamp};

/// Wait after the last free attempt. Each further attempt doubles it.
const FIRST_WAIT: Duration = Duration::from_secs(15);
/// Maximum wait.
const MAX_WAIT: Duration = Duration::from_secs(15 * 60);
/// Time after which an unchanged counter is deleted.
const FORGOTTEN_AFTER: Duration = Duration::from_secs(60 * 60);
/// Maximum number of counters kept.
const MAX_SUBJECTS: usize = 100_000;

/// Number of failures of one login from one network before waiting begins.
const FREE_OF_PAIR: i64 = 5;
/// Number of failures of a login from anywhere within an hour, after which only known devices and addresses may try.
const FREE_OF_LOGIN: i64 = 100;
/// Number of failures from one network, for any logins.
const FREE_OF_NETWORK: i64 = 50;
/// Number of failures at one link from one wide network, such as that of a provider's customer, within an hour.
const FREE_OF_WIDE: i64 = 20;
/// Number of failures at one link from networks that never opened it, within an hour.
const FREE_OF_LINK: i64 = 200;
/// Time in which one failure of a wide network, or of a link (`LINK_RENEWS`), is forgiven: all of them within an hour.
const WIDE_RENEWS: Duration = Duration::from_secs(180);
const LINK_RENEWS: Duration = Duration::from_secs(18);
/// Time in which one failure of a login is forgiven: all of them within an hour.
const LOGIN_RENEWS: Duration = Duration::from_secs(36);
/// Time in which one failure of a network is forgiven.
const NETWORK_RENEWS: Duration = Duration::from_secs(30);

/// Way in which a used-up budget recovers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pace {
    /// After a wait that doubles with each failure, until a success.
    Doubling,
    /// One failure at a time, each after this time.
    Renewed(Duration),
}

/// Counter that attempts count against.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Subject {
    key: String,
    /// Number of failures allowed before waiting begins.
    free: i64,
    pace: Pace,
}

impl Subject {
    /// Attempts on one login from one network, even if there is no such account.
    pub(crate) fn pair(login: &LoginName, address: IpAddr) -> Self {
        Self { key: format!("pair {login} {}", client_network(address)), free: FREE_OF_PAIR, pace: Pace::Doubling }
    }

    /// Attempts on one login from a device that the account knows.
    pub(crate) fn device(login: &LoginName, device: &[u8; 32]) -> Self {
        let device = blake3::Hash::from_bytes(*device).to_hex();
        Self { key: format!("device {login} {device}"), free: FREE_OF_PAIR, pace: Pace::Doubling }
    }

    /// Attempts on one login from devices and addresses that the account does not know.
    pub(crate) fn login(login: &LoginName) -> Self {
        Self { key: format!("login {login}"), free: FREE_OF_LOGIN, pace: Pace::Renewed(LOGIN_RENEWS) }
    }

    /// All attempts from one network. An office behind one address shares this budget, so it is larger and renews
    /// itself.
    pub(crate) fn address(address: IpAddr) -> Self {
        let key = format!("network {}", client_network(address));
        Self { key, free: FREE_OF_NETWORK, pace: Pace::Renewed(NETWORK_RENEWS) }
    }

    /// Attempts at the password of one link from one network.
    pub(crate) fn link_pair(link: Id, address: IpAddr) -> Self {
        Self { key: format!("link pair {link} {}", client_network(address)), free: FREE_OF_PAIR, pace: Pace::Doubling }
    }

    /// Attempts at the password of one link from one wide network, because one client may have many small networks.
    pub(crate) fn link_wide(link: Id, address: IpAddr) -> Self {
        Self {
            key: format!("link wide {link} {}", surrounding_network(address)),
            free: FREE_OF_WIDE,
            pace: Pace::Renewed(WIDE_RENEWS),
        }
    }

    /// Attempts at the password of one link from all networks that never opened it.
    pub(crate) fn link(link: Id) -> Self {
        Self { key: format!("link {link}"), free: FREE_OF_LINK, pace: Pace::Renewed(LINK_RENEWS) }
    }

    /// Returns the number of failures that still count, and the elapsed part of the time until the next one is
    /// forgiven, in microseconds.
    fn failures(&self, attempts: Attempts, now: Timestamp) -> (i64, i64) {
        let age = now.micros().saturating_sub(attempts.changed_at.micros()).max(0);
        if age > micros(FORGOTTEN_AFTER) || clock_went_back(attempts, now) {
            return (0, 0);
        }
        match self.pace {
            Pace::Doubling => (attempts.failures.max(0), 0),
            Pace::Renewed(each) => match attempts.failures - age / micros(each) {
                left @ 1.. => (left, age % micros(each)),
                _ => (0, 0),
            },
        }
    }

    /// Returns the wait that follows this number of failures.
    fn wait(&self, failures: i64) -> Duration {
        match (self.pace, failures - self.free) {
            (Pace::Doubling, surplus @ 0..) => FIRST_WAIT.saturating_mul(1 << surplus.min(16)).min(MAX_WAIT),
            _ => Duration::ZERO,
        }
    }

    /// Returns the time that an attempt must still wait, if any.
    fn remaining(&self, attempts: Attempts, now: Timestamp) -> Option<Duration> {
        if clock_went_back(attempts, now) {
            return None;
        }
        let left = match self.pace {
            Pace::Doubling => attempts.blocked_until.micros().saturating_sub(now.micros()),
            Pace::Renewed(each) => match self.failures(attempts, now) {
                (failures, passed) if failures >= self.free => micros(each) - passed,
                _ => 0,
            },
        };
        (left > 0).then(|| Duration::from_micros(left.unsigned_abs()).min(MAX_WAIT))
    }
}

/// Returns the network that counts as one client: an IPv4 address, or the 64-bit network part of an IPv6 address,
/// because one client has all addresses in it.
pub(crate) fn client_network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V4(v4) => IpAddr::V4(v4),
        IpAddr::V6(v6) => IpAddr::V6(Ipv6Addr::from_bits(v6.to_bits() & !(u128::MAX >> 64))),
    }
}

/// Returns the wide network around a client: 24 bits of an IPv4 address, 48 bits of an IPv6 address.
pub(crate) fn surrounding_network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V4(v4) => IpAddr::V4(Ipv4Addr::from_bits(v4.to_bits() & !(u32::MAX >> 24))),
        IpAddr::V6(v6) => IpAddr::V6(Ipv6Addr::from_bits(v6.to_bits() & !(u128::MAX >> 48))),
    }
}

/// An attempt that has been counted and may be checked.
#[derive(Clone, Debug)]
pub(crate) struct Reservation(Vec<(Subject, Timestamp)>);

/// Decision on whether an attempt may be checked.
pub(crate) enum Admission {
    Admitted(Reservation),
    /// The attempt must wait for this time.
    Refused(Duration),
}

/// Returns the longest wait in force for any of the subjects, without counting an attempt.
pub(crate) fn waiting(reader: &mut Reader, subjects: &[Subject], now: Timestamp) -> Result<Option<Duration>> {
    let mut longest = None;
    for subject in subjects {
        if let Some(attempts) = throttle::find(reader, &subject.key)? {
            longest = longest.max(subject.remaining(attempts, now));
        }
    }
    Ok(longest)
}

/// Counts an attempt for all subjects, or for none if one of them must wait.
pub(crate) fn reserve(tx: &mut Transaction, subjects: &[Subject], now: Timestamp) -> Result<Admission> {
    let mut counted = Vec::with_capacity(subjects.len());
    let mut reserved = Vec::with_capacity(subjects.len());
    for subject in subjects {
        let before = throttle::count(tx, &subject.key, now)?;
        counted.push((subject, before));
        if let Some(wait) = subject.remaining(before, now) {
            for (subject, before) in counted {
                throttle::update(tx, &subject.key, before)?;
            }
            return Ok(Admission::Refused(wait));
        }
        let (failures, passed) = subject.failures(before, now);
        let (failures, changed_at) = (failures + 1, Timestamp::from_micros(now.micros() - passed));
        let wait = subject.wait(failures);
        let blocked_until = if wait.is_zero() { Timestamp::from_micros(0) } else { now.after(wait) };
        throttle::update(tx, &subject.key, Attempts { failures, blocked_until, changed_at })?;
        reserved.push((subject.clone(), blocked_until));
    }
    Ok(Admission::Admitted(Reservation(reserved)))
}

/// Settles a successful attempt: clears the failures of unshared subjects, and takes this one attempt back from shared
/// ones.
pub(crate) fn succeeded(tx: &mut Transaction, reservation: &Reservation) -> Result<()> {
    for (subject, blocked_until) in &reservation.0 {
        match subject.pace {
            Pace::Doubling => throttle::remove(tx, &subject.key)?,
            Pace::Renewed(_) => throttle::give_back(tx, &subject.key, *blocked_until)?,
        };
    }
    Ok(())
}

/// Clears the failures of unshared subjects after a sign-in.
pub(crate) fn forget(tx: &mut Transaction, subjects: &[Subject]) -> Result<()> {
    for subject in subjects.iter().filter(|subject| subject.pace == Pace::Doubling) {
        throttle::remove(tx, &subject.key)?;
    }
    Ok(())
}

/// Clears all failures of a login, whatever their origin, after its password was set.
pub(crate) fn forget_login(tx: &mut Transaction, login: &LoginName) -> Result<()> {
    throttle::remove(tx, &Subject::login(login).key)?;
    throttle::remove_with_prefix(tx, &format!("pair {login} "))?;
    throttle::remove_with_prefix(tx, &format!("device {login} "))?;
    Ok(())
}

/// Deletes counters that no longer matter.
pub(crate) fn purge(tx: &mut Transaction, now: Timestamp) -> Result<()> {
    throttle::purge(tx, now.before(FORGOTTEN_AFTER), MAX_SUBJECTS)?;
    Ok(())
}

/// Returns the error for an attempt that must wait.
pub(crate) fn refusal(wait: Duration) -> Error {
    // Rounded up, so that a client that returns after the stated seconds does not come too early.
    let seconds = wait.as_secs() + u64::from(wait.subsec_nanos() > 0);
    let seconds = seconds.max(1);
    let text = match seconds.div_ceil(60) {
        1 => model::counted(seconds, "second"),
        minutes => model::counted(minutes, "minute"),
    };
    Error::exhausted(format!("too many failed attempts; try again in {text}"))
        .with_code(Code::TooManyAttempts)
        .with_retry_after(Duration::from_secs(seconds))
}

/// Returns whether a counter was written by a clock that has since been set back. Without this check, a clock that once
/// ran ahead would lock users out for as long as it was ahead.
fn clock_went_back(attempts: Attempts, now: Timestamp) -> bool {
    attempts.changed_at > now.after(MAX_WAIT)
}

fn micros(duration: Duration) -> i64 {
    i64::try_from(duration.as_micros()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attempts(failures: i64, blocked_until: i64, changed_at: i64) -> Attempts {
        let at = |seconds: i64| Timestamp::from_micros(seconds * 1_000_000);
        Attempts { failures, blocked_until: at(blocked_until), changed_at: at(changed_at) }
    }

    fn ann() -> LoginName {
        LoginName::new("ann").unwrap()
    }

    fn address(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn waits_double_up_to_a_quarter_of_an_hour() {
        let subject = Subject::pair(&ann(), address("10.0.0.1"));
        let waits: Vec<u64> = (3..14).map(|failures| subject.wait(failures).as_secs()).collect();
        assert_eq!(waits, [0, 0, 15, 30, 60, 120, 240, 480, 900, 900, 900]);
        assert_eq!(subject.wait(i64::MAX).as_secs(), 900);
    }

    #[test]
    fn what_many_share_is_forgiven_with_time_and_a_pair_after_an_hour() {
        let now = Timestamp::from_micros(10_000_000_000);
        let pair = Subject::pair(&ann(), address("10.0.0.1"));
        let network = Subject::address(address("10.0.0.1"));
        assert_eq!(pair.failures(attempts(7, 0, 10_000 - 3_500), now).0, 7);
        assert_eq!(pair.failures(attempts(7, 0, 10_000 - 3_700), now).0, 0);
        assert_eq!(network.failures(attempts(7, 0, 10_000 - 61), now), (5, 1_000_000));
        assert_eq!(network.failures(attempts(7, 0, 10_000 - 900), now).0, 0);
        assert_eq!(network.remaining(attempts(49, 0, 10_000), now), None);
        assert_eq!(network.remaining(attempts(50, 0, 10_000 - 10), now), Some(Duration::from_secs(20)));
        let login = Subject::login(&ann());
        assert_eq!(login.remaining(attempts(100, 0, 10_000), now), Some(Duration::from_secs(36)));
        assert_eq!(login.remaining(attempts(100, 0, 10_000 - 36), now), None);
    }

    #[test]
    fn a_clock_that_ran_ahead_locks_nobody_out() {
        let now = Timestamp::from_micros(10_000_000_000);
        let pair = Subject::pair(&ann(), address("10.0.0.1"));
        assert_eq!(pair.remaining(attempts(9, 10_100, 10_000), now), Some(Duration::from_secs(100)));
        assert_eq!(pair.remaining(attempts(9, 9_000_100, 9_000_000), now), None);
        assert_eq!(pair.remaining(attempts(9, 20_000, 10_000), now), Some(MAX_WAIT));
        assert_eq!(Subject::login(&ann()).remaining(attempts(200, 0, 9_000_000), now), None);
    }

    #[test]
    fn one_client_is_one_subject() {
        let subject = |text: &str| Subject::address(address(text));
        assert_eq!(subject("10.1.2.3"), subject("::ffff:10.1.2.3"));
        assert_eq!(subject("2001:db8:1:2:3::4"), subject("2001:db8:1:2:ffff::1"));
        assert_ne!(subject("2001:db8:1:2::4"), subject("2001:db8:1:3::4"));
        assert_ne!(subject("10.1.2.3"), subject("10.1.2.4"));
    }

    #[test]
    fn a_refusal_says_how_long() {
        assert!(refusal(Duration::from_secs(15)).message().ends_with("in 15 seconds"));
        assert!(refusal(Duration::from_secs(700)).message().ends_with("in 12 minutes"));
        assert_eq!(refusal(Duration::from_millis(14_200)).retry_after(), Some(Duration::from_secs(15)));
    }
}
