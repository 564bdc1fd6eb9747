//! Owns how often passwords may be tried: per account name and per client address.
//!
//! An attempt is counted before it is checked, in a transaction of its own, so that parallel guesses and guesses on several
//! servers share one budget and a restart does not renew it. Success takes the attempt back.

use std::net::{IpAddr, Ipv6Addr};
use std::time::Duration;

use database::configuration::throttle::{self, Attempts};
use database::{Reader, Transaction};
use model::{Error, LoginName, Result, Timestamp};

/// Wait after the last free attempt; doubled with each further one.
const FIRST_WAIT: Duration = Duration::from_secs(15);
/// Longest wait.
const LONGEST_WAIT: Duration = Duration::from_secs(15 * 60);
/// A counter that did not move for this long is forgotten.
const FORGOTTEN_AFTER: Duration = Duration::from_secs(60 * 60);
/// Most counters that are kept.
const MOST_SUBJECTS: usize = 100_000;

/// What attempts are counted for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Subject {
    key: String,
    /// How many failures there may be before waiting begins.
    free: i64,
    /// The time in which one failure is forgiven, if any.
    forgiven_after: Option<Duration>,
}

impl Subject {
    /// All attempts on one account name, whether there is such an account or not.
    pub(crate) fn login(login: &LoginName) -> Self {
        Self { key: format!("login {login}"), free: 5, forgiven_after: None }
    }

    /// All attempts from one client. An office behind one address shares a budget, so it is larger and renews itself. Of an
    /// IPv6 address the network part counts, because one client has all addresses in it.
    pub(crate) fn address(address: IpAddr) -> Self {
        let network = match address.to_canonical() {
            IpAddr::V4(v4) => IpAddr::V4(v4),
            IpAddr::V6(v6) => IpAddr::V6(Ipv6Addr::from_bits(v6.to_bits() & !(u128::MAX >> 64))),
        };
        Self { key: format!("address {network}"), free: 20, forgiven_after: Some(Duration::from_secs(30)) }
    }

    /// All passwords that are tried on one link to a document.
    pub(crate) fn link(link: model::Id) -> Self {
        Self { key: format!("link {link}"), free: 10, forgiven_after: Some(Duration::from_secs(60)) }
    }

    /// Failures that still count.
    fn failures(&self, attempts: Attempts, now: Timestamp) -> i64 {
        let age = now.micros().saturating_sub(attempts.changed_at.micros()).max(0);
        if age > micros(FORGOTTEN_AFTER) || clock_went_back(attempts, now) {
            return 0;
        }
        let forgiven = self.forgiven_after.map_or(0, |each| age / micros(each));
        (attempts.failures - forgiven).max(0)
    }

    /// The wait that the given number of failures earns.
    fn wait(&self, failures: i64) -> Duration {
        match failures - self.free {
            ..0 => Duration::ZERO,
            surplus => FIRST_WAIT.saturating_mul(1 << surplus.min(16)).min(LONGEST_WAIT),
        }
    }
}

/// An attempt that was counted and may be checked.
#[derive(Clone, Debug)]
pub(crate) struct Reservation(Vec<(Subject, Timestamp)>);

/// Whether an attempt may be checked.
pub(crate) enum Admission {
    Admitted(Reservation),
    /// Not before this time has passed.
    Refused(Duration),
}

/// The longest wait in force for any of the subjects, without counting anything.
pub(crate) fn waiting(reader: &mut Reader, subjects: &[Subject], now: Timestamp) -> Result<Option<Duration>> {
    let mut longest = None;
    for subject in subjects {
        if let Some(attempts) = throttle::find(reader, &subject.key)? {
            longest = longest.max(remaining(attempts, now));
        }
    }
    Ok(longest)
}

/// Counts an attempt for all subjects, or for none if one of them has to wait.
pub(crate) fn reserve(tx: &mut Transaction, subjects: &[Subject], now: Timestamp) -> Result<Admission> {
    let mut counted = Vec::with_capacity(subjects.len());
    let mut reserved = Vec::with_capacity(subjects.len());
    for subject in subjects {
        let before = throttle::count(tx, &subject.key, now)?;
        counted.push((subject, before));
        if let Some(wait) = remaining(before, now) {
            for (subject, before) in counted {
                throttle::update(tx, &subject.key, before)?;
            }
            return Ok(Admission::Refused(wait));
        }
        let failures = subject.failures(before, now) + 1;
        let wait = subject.wait(failures);
        let blocked_until = if wait.is_zero() { Timestamp::from_micros(0) } else { now.after(wait) };
        throttle::update(tx, &subject.key, Attempts { failures, blocked_until, changed_at: now })?;
        reserved.push((subject.clone(), blocked_until));
    }
    Ok(Admission::Admitted(Reservation(reserved)))
}

/// After a success: forgets the failures of the account name, and takes this one attempt back from the address.
pub(crate) fn succeeded(tx: &mut Transaction, reservation: &Reservation) -> Result<()> {
    for (subject, blocked_until) in &reservation.0 {
        match subject.forgiven_after {
            None => throttle::remove(tx, &subject.key)?,
            Some(_) => throttle::give_back(tx, &subject.key, *blocked_until)?,
        };
    }
    Ok(())
}

/// Forgets the failures of an account name: somebody signed in, or an administrator set a new password.
pub(crate) fn forget(tx: &mut Transaction, subject: &Subject) -> Result<()> {
    throttle::remove(tx, &subject.key)?;
    Ok(())
}

/// Drops counters that no longer matter.
pub(crate) fn purge(tx: &mut Transaction, now: Timestamp) -> Result<()> {
    throttle::purge(tx, now.before(FORGOTTEN_AFTER), MOST_SUBJECTS)?;
    Ok(())
}

/// The error of an attempt that has to wait.
pub(crate) fn refusal(wait: Duration) -> Error {
    // Whoever comes back after the seconds that are told must not come too early.
    let seconds = wait.as_secs() + u64::from(wait.subsec_nanos() > 0);
    let seconds = seconds.max(1);
    let text = match seconds.div_ceil(60) {
        1 => model::counted(seconds, "second"),
        minutes => model::counted(minutes, "minute"),
    };
    Error::exhausted(format!("too many attempts to sign in failed; try again in {text}"))
        .with_code("too_many_attempts")
        .with_retry_after(Duration::from_secs(seconds))
}

fn remaining(attempts: Attempts, now: Timestamp) -> Option<Duration> {
    let micros = attempts.blocked_until.micros().saturating_sub(now.micros());
    if micros <= 0 || clock_went_back(attempts, now) {
        return None;
    }
    Some(Duration::from_micros(micros.unsigned_abs()).min(LONGEST_WAIT))
}

/// Without this, a clock that once ran ahead would lock people out for as long as it did.
fn clock_went_back(attempts: Attempts, now: Timestamp) -> bool {
    attempts.changed_at > now.after(LONGEST_WAIT)
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

    #[test]
    fn waits_double_up_to_a_quarter_of_an_hour() {
        let subject = Subject::login(&LoginName::new("ann").unwrap());
        let waits: Vec<u64> = (3..14).map(|failures| subject.wait(failures).as_secs()).collect();
        assert_eq!(waits, [0, 0, 15, 30, 60, 120, 240, 480, 900, 900, 900]);
        assert_eq!(subject.wait(i64::MAX).as_secs(), 900);
    }

    #[test]
    fn an_address_is_forgiven_with_time_and_an_account_after_an_hour() {
        let now = Timestamp::from_micros(10_000_000_000);
        let login = Subject::login(&LoginName::new("ann").unwrap());
        let address = Subject::address("10.0.0.1".parse().unwrap());
        assert_eq!(login.failures(attempts(7, 0, 10_000 - 3_500), now), 7);
        assert_eq!(login.failures(attempts(7, 0, 10_000 - 3_700), now), 0);
        assert_eq!(address.failures(attempts(7, 0, 10_000 - 61), now), 5);
        assert_eq!(address.failures(attempts(7, 0, 10_000 - 900), now), 0);
    }

    #[test]
    fn a_clock_that_ran_ahead_locks_nobody_out() {
        let now = Timestamp::from_micros(10_000_000_000);
        assert_eq!(remaining(attempts(9, 10_100, 10_000), now), Some(Duration::from_secs(100)));
        assert_eq!(remaining(attempts(9, 9_000_100, 9_000_000), now), None);
        assert_eq!(remaining(attempts(9, 20_000, 10_000), now), Some(LONGEST_WAIT));
    }

    #[test]
    fn one_client_is_one_subject() {
        let subject = |text: &str| Subject::address(text.parse().unwrap());
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
