//! Protection of time-based deletion against clock steps. Permanent deletion uses a time that no large forward step of
//! the clock can advance.
//!
//! The farm records the clock's time together with the machine's uptime at that moment. The clock is considered set
//! ahead when it has since advanced a day more than the uptime, or, after a reboot, by more than two weeks. The step is
//! subtracted until the clock is set back or an administrator accepts it. Recent data is therefore never taken for old;
//! old data waits longer. Expiry that deletes nothing permanently (links, sessions, tokens, locks) follows the clock
//! itself. The rows of expired links, sessions, tokens and locks are deleted only when they are old enough by the
//! protected time.
//!
//! Smaller steps are not subtracted, although some windows last only hours. For these windows each process keeps its
//! own observations of the clock. A timestamp earlier than an observation existed by then, so it is at least as old as
//! the observation, unless the clock was set afterwards. The window is extended by two weeks when no observation is old
//! enough, or when the clock was set after the one that is.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use database::Transaction;
use database::configuration::farm;
use model::{Error, Result, Timestamp};
use serde::{Deserialize, Serialize};

/// Largest step that is tolerated while the machine runs, in microseconds.
const TOLERATED_STEP: i64 = 24 * 3600 * 1_000_000;
/// Longest time that a machine is assumed to be switched off, in microseconds.
const MAX_POWER_OFF: i64 = 14 * TOLERATED_STEP;

/// Interval at which a process observes its clock, even when idle.
pub(super) const OBSERVATION_INTERVAL: Duration = Duration::from_secs(20);
/// Largest difference between wall clock and monotonic clock that does not count as a step, in microseconds.
const DRIFT: i64 = 2 * 60 * 1_000_000;
/// Minimum time between two observations that are kept, unless the clock was set between them.
const LOOKS_APART: Duration = Duration::from_secs(10 * 60);
/// Time for which observations are kept. A longer window finds none that is old enough.
const LOOKS_KEPT: Duration = Duration::from_secs(8 * 24 * 3600);

/// Observations of the clock since this process started, oldest first.
#[derive(Default)]
pub(crate) struct ClockObservations(Mutex<VecDeque<(Instant, Timestamp)>>);

impl ClockObservations {
    pub(super) fn note(&self, at: Instant, said: Timestamp) {
        let mut looks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_news = |last: &(Instant, Timestamp)| {
            at.saturating_duration_since(last.0) >= LOOKS_APART || clock_was_set(*last, (at, said))
        };
        if looks.back().is_none_or(is_news) {
            looks.push_back((at, said));
        }
        while looks.front().is_some_and(|(first, _)| at.saturating_duration_since(*first) > LOOKS_KEPT) {
            looks.pop_front();
        }
    }

    /// Returns the time before which everything is at least `age` old. `now` is the clock's time; `settled` is the same
    /// less all forward steps that have not been accepted.
    pub(super) fn cutoff_for_age(&self, now: (Instant, Timestamp), settled: Timestamp, age: Duration) -> Timestamp {
        let looks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let seen = looks.iter().rposition(|(then, _)| now.0.saturating_duration_since(*then) >= age);
        let by_clock = settled.before(age);
        // Without such an observation, the clock may be ahead by as much as the largest tolerated step.
        let certain = by_clock.before(Duration::from_micros(MAX_POWER_OFF.unsigned_abs()));
        let Some(seen) = seen else { return certain };
        let then = looks[seen];
        // While the clock was behind, recent data got timestamps as if it had existed at that observation.
        match looks.range(seen + 1..).chain([&now]).any(|look| clock_was_set(then, *look)) {
            true => certain,
            false => certain.max(by_clock.min(then.1)),
        }
    }
}

/// Returns whether the clock was set between two observations, given in order.
fn clock_was_set((then, said): (Instant, Timestamp), (later, says): (Instant, Timestamp)) -> bool {
    let passed = i64::try_from(later.saturating_duration_since(then).as_micros()).unwrap_or(i64::MAX);
    let step = says.micros().saturating_sub(said.micros()).saturating_sub(passed);
    !(-DRIFT..=DRIFT).contains(&step)
}

/// A reading of the clock.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Moment {
    /// The clock's time, in microseconds.
    pub(super) clock: i64,
    /// The machine's uptime including sleep, in microseconds.
    running: i64,
    /// Boot identifier of the machine.
    boot: String,
}

/// The clock state that the farm stores.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ClockState {
    #[serde(flatten)]
    pub(super) seen: Moment,
    /// Unexplained forward steps of the clock, in microseconds.
    pub(super) ahead: i64,
}

impl Moment {
    pub(super) fn now() -> Self {
        let running = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
        let running = running.tv_sec.saturating_mul(1_000_000).saturating_add(running.tv_nsec / 1000);
        // Without a boot identifier each reading counts as one after a reboot, so that only larger steps are noticed.
        let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default().trim().to_owned();
        Self { clock: Timestamp::now().micros(), running, boot }
    }
}

impl ClockState {
    /// Returns the state after another reading of the clock.
    fn look(before: Option<Self>, now: Moment) -> Self {
        let Some(before) = before else { return Self { seen: now, ahead: 0 } };
        let passed = now.clock.saturating_sub(before.seen.clock);
        let same_start = !now.boot.is_empty() && now.boot == before.seen.boot;
        let (step, explained) = match same_start {
            true => (passed.saturating_sub(now.running.saturating_sub(before.seen.running)), TOLERATED_STEP),
            false => (passed, MAX_POWER_OFF),
        };
        let step = if (-TOLERATED_STEP..=explained).contains(&step) { 0 } else { step };
        Self { seen: now, ahead: before.ahead.saturating_add(step).max(0) }
    }
}

fn read(text: Option<String>) -> Result<Option<ClockState>> {
    let parse = |text: String| {
        serde_json::from_str(&text).map_err(|error| {
            Error::corrupt("the farm's record of its clock cannot be read: `strongroom clock accept` renews it")
                .with_source(error)
        })
    };
    text.map(parse).transpose()
}

/// Reads the clock and stores the new state.
pub(super) fn look(transaction: &mut Transaction<'_>) -> Result<ClockState> {
    let before = read(farm::clock(transaction)?)?;
    let noted = ClockState::look(before.clone(), Moment::now());
    if before.is_none_or(|before| before.ahead != noted.ahead) && noted.ahead > 0 {
        let days = noted.ahead / TOLERATED_STEP;
        tracing::error!(
            days,
            "the clock jumped ahead: deletions that are due after a period wait that much longer, until `strongroom \
             clock accept` confirms the clock"
        );
    }
    let text = serde_json::to_string(&noted)
        .map_err(|error| Error::corrupt("a time cannot be written as text").with_source(error))?;
    farm::note_clock(transaction, &text)?;
    Ok(noted)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: i64 = 3600 * 1_000_000;
    const YEAR: i64 = 365 * TOLERATED_STEP;

    fn moment(clock: i64, running: i64, boot: &str) -> Moment {
        Moment { clock, running, boot: boot.to_owned() }
    }

    #[test]
    fn only_steps_ahead_that_time_does_not_explain_count() {
        let begin = ClockState::look(None, moment(10 * YEAR, HOUR, "a"));
        assert_eq!(begin.ahead, 0);
        for (what, now, ahead) in [
            ("time", moment(10 * YEAR + 40 * TOLERATED_STEP, HOUR + 40 * TOLERATED_STEP, "a"), 0),
            ("a small step", moment(10 * YEAR + 20 * HOUR, HOUR, "a"), 0),
            ("a great step", moment(11 * YEAR, HOUR, "a"), YEAR),
            ("a step back", moment(9 * YEAR, 2 * HOUR, "a"), 0),
            ("a week without power", moment(10 * YEAR + 7 * TOLERATED_STEP, 0, "b"), 0),
            ("a wrong clock after a start", moment(11 * YEAR, 0, "b"), YEAR),
        ] {
            assert_eq!(ClockState::look(Some(begin.clone()), now).ahead, ahead, "{what}");
        }
    }

    #[test]
    fn no_step_makes_a_short_window_shorter() {
        let (looks, begin, hour) = (ClockObservations::default(), Instant::now(), Duration::from_secs(3600));
        let said = |minutes: i64| Timestamp::from_micros(10 * YEAR + minutes * HOUR / 60);
        let after = |count: u32| begin + hour * count / 60;
        // Twenty hours ahead: a step that is tolerated.
        let ahead = 20 * 60;
        for (minute, clock) in [(0, 0), (20, ahead + 20), (40, ahead + 40), (60, ahead + 60)] {
            looks.note(after(minute), said(clock));
        }
        let old_enough =
            |minute: u32, clock: i64| looks.cutoff_for_age((after(minute), said(clock)), said(clock), hour);
        let certain = |clock: i64| said(clock).before(hour).before(Duration::from_micros(MAX_POWER_OFF as u64));
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
        let (looks, begin, hour) = (ClockObservations::default(), Instant::now(), Duration::from_secs(3600));
        let said = |minutes: i64| Timestamp::from_micros(10 * YEAR + minutes * HOUR / 60);
        let seconds = |count: u64| begin + Duration::from_secs(count);
        // Observed from minute 0. In minute 90 the clock goes back by twenty hours, for two minutes.
        let clock = |second: u64| match second / 60 {
            90..92 => said(second as i64 / 60 - 20 * 60),
            minute => said(minute as i64),
        };
        let mut asked = Vec::new();
        for second in (0..200 * 60).step_by(OBSERVATION_INTERVAL.as_secs() as usize) {
            let now = (seconds(second), clock(second));
            looks.note(now.0, now.1);
            asked.push((second / 60, looks.cutoff_for_age(now, now.1, hour)));
        }
        // A timestamp taken a minute after the step.
        let stamped = clock(91 * 60);
        for (minute, limit) in asked.into_iter().filter(|(minute, _)| *minute >= 91) {
            let is_old = minute >= 91 + 60;
            assert!(is_old || limit <= stamped, "in minute {minute} it counts as an hour old");
        }
        let (minute, minutes) = (160, said(160));
        let later = looks.cutoff_for_age((seconds(minute * 60), minutes), minutes, hour);
        assert!(later >= said(90), "and is forgotten in time");
        assert!(looks.0.lock().unwrap().len() < 30, "looks that tell nothing new are not kept");
    }

    #[test]
    fn a_clock_that_comes_back_takes_its_step_along_and_one_that_was_behind_is_not_trusted_at_once() {
        let begin = ClockState::look(None, moment(10 * YEAR, 0, "a"));
        let there = ClockState::look(Some(begin.clone()), moment(11 * YEAR, 0, "a"));
        assert_eq!(ClockState::look(Some(there), moment(10 * YEAR + HOUR, HOUR, "a")).ahead, 0);
        // Data written while the clock was behind looks a year older than it is once the clock is right again.
        let behind = ClockState::look(Some(begin), moment(9 * YEAR, 0, "a"));
        assert_eq!(ClockState::look(Some(behind), moment(10 * YEAR, 0, "a")).ahead, YEAR);
    }
}
