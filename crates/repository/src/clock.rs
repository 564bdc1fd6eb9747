//! What is deleted for good after a time is deleted by a time that no step of the clock brings nearer.
//!
//! The farm notes what its clock said, and how long the machine had been running then. A clock that went further than
//! time did is set ahead by somebody or something: that step is subtracted until an administrator says that the clock
//! is right. So nothing young is taken for old; what is old waits. Expiry that takes nothing away for good (links,
//! sessions, tokens, locks) follows the clock itself.

use std::time::Duration;

use database::Transaction;
use database::configuration::{event, farm};
use model::{Error, Result, Timestamp};
use serde::{Deserialize, Serialize};

use crate::{Repository, Session, Storage};

/// A step that needs no explanation while the machine runs.
const SMALL: i64 = 24 * 3600 * 1_000_000;
/// A time that a machine may have been off.
const OFF: i64 = 14 * SMALL;

/// The clock at one moment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Moment {
    /// What the clock says, in microseconds.
    clock: i64,
    /// How long the machine has been running, sleep included.
    running: i64,
    /// Which start of which machine.
    boot: String,
}

/// What the farm knows of its clock.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Noted {
    #[serde(flatten)]
    seen: Moment,
    /// Microseconds by which the clock went ahead without an explanation.
    ahead: i64,
}

impl Moment {
    fn now() -> Self {
        let running = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
        let running = running.tv_sec.saturating_mul(1_000_000).saturating_add(running.tv_nsec / 1000);
        // Without it each look counts as one after another start, which only needs a greater step to be noticed.
        let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default().trim().to_owned();
        Self { clock: Timestamp::now().micros(), running, boot }
    }
}

impl Noted {
    /// What is known after another look at the clock.
    fn look(before: Option<Self>, now: Moment) -> Self {
        let Some(before) = before else { return Self { seen: now, ahead: 0 } };
        let passed = now.clock.saturating_sub(before.seen.clock);
        let same_start = !now.boot.is_empty() && now.boot == before.seen.boot;
        let (step, explained) = match same_start {
            true => (passed.saturating_sub(now.running.saturating_sub(before.seen.running)), SMALL),
            false => (passed, OFF),
        };
        let step = if (-SMALL..=explained).contains(&step) { 0 } else { step };
        Self { seen: now, ahead: before.ahead.saturating_add(step).max(0) }
    }
}

fn read(text: Option<String>) -> Result<Option<Noted>> {
    let parse = |text: String| {
        serde_json::from_str(&text).map_err(|error| {
            Error::corrupt("what the farm noted of its clock cannot be read: `strongroom clock accept` sets it anew")
                .with_source(error)
        })
    };
    text.map(parse).transpose()
}

/// Looks at the clock and notes what it says.
fn look(transaction: &mut Transaction<'_>) -> Result<Noted> {
    let before = read(farm::clock(transaction)?)?;
    let noted = Noted::look(before.clone(), Moment::now());
    if before.is_none_or(|before| before.ahead != noted.ahead) && noted.ahead > 0 {
        let days = noted.ahead / SMALL;
        tracing::error!(
            days,
            "the clock went ahead: what is deleted after a time waits so much longer, until `strongroom clock accept` says that it is right"
        );
    }
    let text =
        serde_json::to_string(&noted).map_err(|error| Error::corrupt("a time has no text").with_source(error))?;
    farm::note_clock(transaction, &text)?;
    Ok(noted)
}

impl Repository {
    /// The time for deciding what is old enough to be deleted for good: the clock's, less all steps ahead that nobody
    /// accepted.
    pub async fn settled_now(&self) -> Result<Timestamp> {
        let noted = self.inner.configuration.write_vital(look).await?;
        Ok(Timestamp::from_micros(noted.seen.clock.saturating_sub(noted.ahead)))
    }
}

impl Storage {
    /// The time for deciding what is old enough to be deleted for good: the clock's, less all steps ahead that nobody
    /// accepted.
    pub async fn settled_now(&self) -> Result<Timestamp> {
        self.repository.settled_now().await
    }
}

impl Session {
    /// By how much the clock went ahead without an explanation.
    ///
    /// Errors: `Forbidden` for others than farm administrators.
    pub async fn clock_ahead(&self) -> Result<Duration> {
        self.require_farm_administrator("look at its clock")?;
        let noted = self.repository.inner.configuration.write_vital(look).await?;
        Ok(Duration::from_micros(noted.ahead.unsigned_abs()))
    }

    /// Takes the clock for right as it is: what waits because of its steps is deleted when it is due.
    ///
    /// Errors: `Forbidden` for others than farm administrators.
    pub async fn accept_clock(&self) -> Result<()> {
        self.require_farm_administrator("accept its clock")?;
        let actor = self.principal.id;
        let accept = move |transaction: &mut Transaction<'_>| {
            let noted = Noted { seen: Moment::now(), ahead: 0 };
            let text = serde_json::to_string(&noted)
                .map_err(|error| Error::corrupt("a time has no text").with_source(error))?;
            farm::note_clock(transaction, &text)?;
            event::record(transaction, Timestamp::now(), actor, "clock.accept", "farm", "")
        };
        self.repository.inner.configuration.write_vital(accept).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: i64 = 3600 * 1_000_000;
    const YEAR: i64 = 365 * SMALL;

    fn moment(clock: i64, running: i64, boot: &str) -> Moment {
        Moment { clock, running, boot: boot.to_owned() }
    }

    #[test]
    fn only_steps_ahead_that_time_does_not_explain_count() {
        let begin = Noted::look(None, moment(10 * YEAR, HOUR, "a"));
        assert_eq!(begin.ahead, 0);
        for (what, now, ahead) in [
            ("time", moment(10 * YEAR + 40 * SMALL, HOUR + 40 * SMALL, "a"), 0),
            ("a small step", moment(10 * YEAR + 20 * HOUR, HOUR, "a"), 0),
            ("a great step", moment(11 * YEAR, HOUR, "a"), YEAR),
            ("a step back", moment(9 * YEAR, 2 * HOUR, "a"), 0),
            ("a week without power", moment(10 * YEAR + 7 * SMALL, 0, "b"), 0),
            ("a wrong clock after a start", moment(11 * YEAR, 0, "b"), YEAR),
        ] {
            assert_eq!(Noted::look(Some(begin.clone()), now).ahead, ahead, "{what}");
        }
    }

    #[test]
    fn a_clock_that_comes_back_takes_its_step_along_and_one_that_was_behind_is_not_trusted_at_once() {
        let begin = Noted::look(None, moment(10 * YEAR, 0, "a"));
        let there = Noted::look(Some(begin.clone()), moment(11 * YEAR, 0, "a"));
        assert_eq!(Noted::look(Some(there), moment(10 * YEAR + HOUR, HOUR, "a")).ahead, 0);
        // What was written down while the clock was behind looks a year older than it is when the clock is right again.
        let behind = Noted::look(Some(begin), moment(9 * YEAR, 0, "a"));
        assert_eq!(Noted::look(Some(behind), moment(10 * YEAR, 0, "a")).ahead, YEAR);
    }
}
