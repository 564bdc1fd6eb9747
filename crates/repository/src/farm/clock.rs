//! What is deleted for good after a time is deleted by a time that no large step of the clock brings nearer.
//!
//! The farm notes what its clock said, and how long the machine had been running then. A clock that has since gone a day
//! further than the machine ran, or two weeks further across a start of the machine, was set ahead. That step is
//! subtracted until the clock is set back, or an administrator says that it is right. So nothing young is taken for old;
//! what is old waits. Expiry that takes nothing away for good (links, sessions, tokens, locks) follows the clock itself;
//! their rows go only when they are old enough for good.
//!
//! Smaller steps are not subtracted, although some windows are only hours long. For those each process remembers what its
//! clock said at looks of its own. Whatever bears an earlier time than a look was there by then, so that it is at least
//! as old as the look, unless the clock was set after it. Where no look is old enough, and where the clock was set after
//! the one that is, the window is two weeks longer.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use database::Transaction;
use database::configuration::{event, farm};
use model::{Error, Result, Timestamp};
use serde::{Deserialize, Serialize};

use crate::{Repository, Session, Storage};

/// A step that needs no explanation while the machine runs.
const SMALL: i64 = 24 * 3600 * 1_000_000;
/// A time that a machine may have been off.
const OFF: i64 = 14 * SMALL;

/// Time between two looks of a process at its clock, which it takes whether anybody asks or not.
const LOOK: Duration = Duration::from_secs(20);
/// A difference between what the clock and the time since the start say that is no step of the clock.
const DRIFT: i64 = 2 * 60 * 1_000_000;
/// Least time between two looks that are kept, unless the clock was set between them.
const LOOKS_APART: Duration = Duration::from_secs(10 * 60);
/// Time for which looks are kept. A longer window finds none that is old enough.
const LOOKS_KEPT: Duration = Duration::from_secs(8 * 24 * 3600);

/// What the clock said while this process ran, oldest first.
#[derive(Default)]
pub(crate) struct Looks(Mutex<VecDeque<(Instant, Timestamp)>>);

impl Looks {
    fn note(&self, at: Instant, said: Timestamp) {
        let mut looks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_news = |last: &(Instant, Timestamp)| {
            at.saturating_duration_since(last.0) >= LOOKS_APART || stepped(*last, (at, said))
        };
        if looks.back().is_none_or(is_news) {
            looks.push_back((at, said));
        }
        while looks.front().is_some_and(|(first, _)| at.saturating_duration_since(*first) > LOOKS_KEPT) {
            looks.pop_front();
        }
    }

    /// Returns the time before which everything is at least `age` old. `now` is what the clock says, `settled` the same
    /// less the steps ahead that nobody accepted.
    fn old_enough(&self, now: (Instant, Timestamp), settled: Timestamp, age: Duration) -> Timestamp {
        let looks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let seen = looks.iter().rposition(|(then, _)| now.0.saturating_duration_since(*then) >= age);
        let by_clock = settled.before(age);
        // Without such a look the step may be as large as any that needs no explanation.
        let certain = by_clock.before(Duration::from_micros(OFF.unsigned_abs()));
        let Some(seen) = seen else { return certain };
        let then = looks[seen];
        // While the clock was behind, what is young was stamped as if it had been there at that look.
        match looks.range(seen + 1..).chain([&now]).any(|look| stepped(then, *look)) {
            true => certain,
            false => certain.max(by_clock.min(then.1)),
        }
    }
}

/// Returns whether the clock was set between two looks, the earlier one first.
fn stepped((then, said): (Instant, Timestamp), (later, says): (Instant, Timestamp)) -> bool {
    let passed = i64::try_from(later.saturating_duration_since(then).as_micros()).unwrap_or(i64::MAX);
    let step = says.micros().saturating_sub(said.micros()).saturating_sub(passed);
    !(-DRIFT..=DRIFT).contains(&step)
}

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
    /// Looks at the clock again and again as long as the repository is there: a step back and forth between two
    /// questions would not be seen otherwise.
    pub(crate) fn keep_looking_at_the_clock(&self) {
        let inner = Arc::downgrade(&self.inner);
        tokio::spawn(async move {
            while let Some(inner) = inner.upgrade() {
                inner.looks.note(Instant::now(), Timestamp::now());
                drop(inner);
                tokio::time::sleep(LOOK).await;
            }
        });
    }

    /// The time for deciding what is old enough to be deleted for good: the clock's, less all steps ahead that nobody
    /// accepted.
    pub async fn settled_now(&self) -> Result<Timestamp> {
        let noted = self.inner.configuration.write_vital(look).await?;
        self.inner.looks.note(Instant::now(), Timestamp::from_micros(noted.seen.clock));
        Ok(Timestamp::from_micros(noted.seen.clock.saturating_sub(noted.ahead)))
    }

    /// Returns the time before which everything is at least so old, for windows that are shorter than a step of the clock
    /// which is not subtracted. It lies two weeks further back until the process has run for so long, and for so long
    /// after the clock was set.
    pub(crate) async fn old_enough(&self, age: Duration) -> Result<Timestamp> {
        let settled = self.settled_now().await?;
        Ok(self.inner.looks.old_enough((Instant::now(), Timestamp::now()), settled, age))
    }
}

impl Storage {
    /// Returns the time before which everything is at least so old, for windows that are shorter than a step of the clock
    /// which is not subtracted. It lies two weeks further back until the process has run for so long, and for so long
    /// after the clock was set.
    pub async fn old_enough(&self, age: Duration) -> Result<Timestamp> {
        self.repository.old_enough(age).await
    }

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
        self.require_farm_administrator("look at the farm's clock")?;
        let noted = self.repository.inner.configuration.write_vital(look).await?;
        Ok(Duration::from_micros(noted.ahead.unsigned_abs()))
    }

    /// Takes the clock for right as it is: what waits because of its steps is deleted when it is due.
    ///
    /// Errors: `Forbidden` for others than farm administrators.
    pub async fn accept_clock(&self) -> Result<()> {
        self.require_farm_administrator("accept the farm's clock")?;
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
    fn no_step_makes_a_short_window_shorter() {
        let (looks, begin, hour) = (Looks::default(), Instant::now(), Duration::from_secs(3600));
        let said = |minutes: i64| Timestamp::from_micros(10 * YEAR + minutes * HOUR / 60);
        let after = |count: u32| begin + hour * count / 60;
        // Twenty hours ahead, of which nobody asks for an explanation.
        let ahead = 20 * 60;
        for (minute, clock) in [(0, 0), (20, ahead + 20), (40, ahead + 40), (60, ahead + 60)] {
            looks.note(after(minute), said(clock));
        }
        let old_enough = |minute: u32, clock: i64| looks.old_enough((after(minute), said(clock)), said(clock), hour);
        let certain = |clock: i64| said(clock).before(hour).before(Duration::from_micros(OFF as u64));
        assert_eq!(old_enough(50, ahead + 50), certain(ahead + 50), "no look is an hour old");
        assert_eq!(old_enough(65, ahead + 65), certain(ahead + 65), "the look that is was before the step");
        assert_eq!(old_enough(85, ahead + 85), said(ahead + 20), "what was there after the step");
        assert_eq!(old_enough(125, -1200), certain(-1200), "a clock that came back");
        let week = looks.0.lock().unwrap().len();
        looks.note(begin + LOOKS_KEPT + hour * 2, said(200));
        assert_eq!((week, looks.0.lock().unwrap().len()), (4, 1));
    }

    #[test]
    fn a_step_back_that_is_over_makes_nothing_young_look_old() {
        let (looks, begin, hour) = (Looks::default(), Instant::now(), Duration::from_secs(3600));
        let said = |minutes: i64| Timestamp::from_micros(10 * YEAR + minutes * HOUR / 60);
        let seconds = |count: u64| begin + Duration::from_secs(count);
        // Begun at nine. At half past ten the clock goes back by twenty hours, for two minutes.
        let clock = |second: u64| match second / 60 {
            90..92 => said(second as i64 / 60 - 20 * 60),
            minute => said(minute as i64),
        };
        let mut asked = Vec::new();
        for second in (0..200 * 60).step_by(LOOK.as_secs() as usize) {
            let now = (seconds(second), clock(second));
            looks.note(now.0, now.1);
            asked.push((second / 60, looks.old_enough(now, now.1, hour)));
        }
        // Something was stamped a minute after the step.
        let stamped = clock(91 * 60);
        for (minute, limit) in asked.into_iter().filter(|(minute, _)| *minute >= 91) {
            let is_old = minute >= 91 + 60;
            assert!(is_old || limit <= stamped, "in minute {minute} it counts as an hour old");
        }
        let (minute, minutes) = (160, said(160));
        let later = looks.old_enough((seconds(minute * 60), minutes), minutes, hour);
        assert!(later >= said(90), "and is forgotten in time");
        assert!(looks.0.lock().unwrap().len() < 30, "looks that tell nothing new are not kept");
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
