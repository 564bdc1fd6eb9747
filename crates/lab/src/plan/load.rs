//! Amount and timing of the load: models, ramps, steps and sweeps as one list of stages. Sends nothing.

use std::time::Duration;

use serde::Deserialize;

use crate::error::{Error, Result};
use crate::quantity::Span;

/// Limit on the counted seconds: 30 days.
const MAX_SECONDS: u64 = 30 * 86_400;

/// Limit on the levels that are listed one by one.
const MAX_LISTED: usize = 32;

/// The `[load]` section of a plan.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Load {
    /// `closed` (users wait for their responses) or `open` (arrivals do not wait).
    #[serde(default)]
    pub model: Model,
    /// Number of virtual users. In the open model, the limit on users that are busy at once.
    #[serde(default = "ten")]
    pub users: u32,
    /// Operations per second, in the open model.
    #[serde(default)]
    pub rate: Option<f64>,
    /// Pause of a user between a response and the next operation; drawn from 0.5 to 1.5 times this value.
    #[serde(default)]
    pub think: Span,
    /// Alternative to `think`: each user begins an operation once in this time on average, regardless of when the
    /// previous one ended.
    #[serde(default)]
    pub pace: Option<Span>,
    /// Time in which the load rises from zero.
    #[serde(default)]
    pub ramp: Span,
    /// Uncounted time after the ramp.
    #[serde(default)]
    pub warmup: Span,
    /// Counted time.
    #[serde(default = "minute")]
    pub duration: Span,
    /// Alternative to a single level: several levels in succession.
    #[serde(default)]
    pub steps: Vec<Step>,
    /// Timeout of one operation; exceeding it is a fault.
    #[serde(default = "minute")]
    pub timeout: Span,
    /// If true, each operation is that of a new person: with a new connection, and nothing remembered.
    #[serde(default)]
    pub fresh: bool,
    /// Number of generator threads.
    #[serde(default = "one")]
    pub threads: usize,
}

/// Load model, which determines when the next operation begins.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum Model {
    /// Users who wait for each response.
    #[default]
    Closed,
    /// A rate of arrivals.
    Open,
}

/// One level of a stepped load.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// Users, or operations per second in the open model.
    pub level: f64,
    /// Duration of the step.
    #[serde(rename = "for")]
    pub hold: Span,
}

/// Formats a duration for use in a sentence.
fn format_duration(time: Duration) -> String {
    match time.as_secs_f64() {
        seconds if seconds < 1.0 => format!("{} ms", seconds * 1000.0),
        seconds if seconds >= 120.0 && seconds % 60.0 == 0.0 => format!("{} min", seconds / 60.0),
        seconds => format!("{seconds} s"),
    }
}

const fn ten() -> u32 {
    10
}

const fn one() -> usize {
    1
}

const fn minute() -> Span {
    Span::seconds(60)
}

/// A stretch of time in which the level changes linearly.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Stage {
    from: f64,
    to: f64,
    lasts: Duration,
    counted: bool,
}

/// The course of a load over time.
#[derive(Clone, Debug, PartialEq)]
pub struct LoadCurve {
    stages: Vec<Stage>,
}

impl Load {
    /// Describes the load in words, for reports.
    pub fn describe(&self) -> String {
        let (model, what) = match self.model {
            Model::Closed => ("closed", if self.most_users() == 1 { "user" } else { "users" }),
            Model::Open => ("open", "operations each second"),
        };
        let counted = self.course().steps();
        let levels = match &counted[..] {
            [(.., first), .., (.., last)] if counted.len() > MAX_LISTED => {
                format!("{} steps from {first} to {last}", counted.len())
            }
            few => few.iter().map(|(.., level)| level.to_string()).collect::<Vec<_>>().join(", "),
        };
        let manner = match (self.model, self.pace) {
            (Model::Open, _) => format!(", at most {} at once", self.users),
            (Model::Closed, Some(pace)) => format!(", each with an operation every {}", format_duration(pace.0)),
            (Model::Closed, None) if self.think.0.is_zero() => " without pauses".to_owned(),
            (Model::Closed, None) => format!(" with pauses of {}", format_duration(self.think.0)),
        };
        let holds: Vec<Duration> = self.steps.iter().map(|step| step.hold.0).collect();
        let holds = match &holds[..] {
            [] => String::new(),
            [first, others @ ..] if others.iter().all(|hold| hold == first) => {
                format!(", {} each", format_duration(*first))
            }
            _ => ", not all for the same time".to_owned(),
        };
        let whole: Duration = counted.iter().map(|(from, to, _)| *to - *from).sum();
        let times = [(self.ramp.0, "ramp"), (self.warmup.0, "warm-up"), (whole, "counted")];
        let times = times.iter().filter(|(time, _)| !time.is_zero());
        let times: Vec<String> = times.map(|(time, what)| format!("{} {what}", format_duration(*time))).collect();
        let fresh = if self.fresh { "; each operation by somebody new" } else { "" };
        format!("{model} model, {levels} {what}{manner}{holds}; {}{fresh}", times.join(", "))
    }

    /// Number of users of the whole run. In the closed model, the highest step may exceed `users`.
    pub fn most_users(&self) -> u32 {
        match self.model {
            Model::Closed => self.course().peak().ceil() as u32,
            Model::Open => self.users,
        }
    }

    /// Changes the number of users. With steps of users, the highest step gets this number, and the others change in
    /// proportion.
    pub fn set_users(&mut self, users: u32) {
        self.users = users;
        let highest = self.steps.iter().map(|step| step.level).fold(0.0, f64::max);
        if self.model == Model::Closed && highest > 0.0 {
            for step in &mut self.steps {
                step.level = (step.level * f64::from(users) / highest).round();
            }
        }
    }

    /// Changes the counted seconds; steps share them in proportion. Ramp and warm-up are each limited to half of them.
    ///
    /// # Errors
    /// If there are too few or too many seconds.
    pub fn set_seconds(&mut self, seconds: u64) -> Result<()> {
        let least = self.steps.len().max(1) as u64;
        if !(least..=MAX_SECONDS).contains(&seconds) {
            return Err(Error::new(format!(
                "{seconds} s cannot be counted: this plan allows {least} to {MAX_SECONDS} seconds"
            )));
        }
        self.duration = Span::seconds(seconds);
        let all: f64 = self.steps.iter().map(|step| step.hold.0.as_secs_f64()).sum();
        for step in &mut self.steps {
            let share = step.hold.0.as_secs_f64() / all;
            step.hold = Span::seconds(((seconds as f64 * share).round() as u64).max(1));
        }
        // A short run has no use for a long ramp.
        let most = Span::seconds(seconds / 2);
        self.ramp = if self.ramp > most { most } else { self.ramp };
        self.warmup = if self.warmup > most { most } else { self.warmup };
        Ok(())
    }

    /// Refuses times that are not whole seconds, because figures are kept for each second.
    ///
    /// # Errors
    /// If a time is not made of whole seconds; the message names it.
    pub fn check_seconds(&self) -> Result<()> {
        let steps = self.steps.iter().map(|step| ("\"for\" of a step", step.hold));
        let times = [("ramp", self.ramp), ("warmup", self.warmup), ("duration", self.duration)];
        match times.into_iter().chain(steps).find(|(_, time)| time.0.subsec_nanos() != 0) {
            None => Ok(()),
            Some((name, time)) => Err(Error::new(format!(
                "{name} is {time}: ramp, warmup, duration and steps must last whole seconds, because figures are kept \
                 per second"
            ))),
        }
    }

    /// Returns the course of this load.
    pub fn course(&self) -> LoadCurve {
        let full = match self.model {
            Model::Closed => f64::from(self.users),
            Model::Open => self.rate.unwrap_or_default(),
        };
        let first = self.steps.first().map_or(full, |step| step.level);
        let mut stages = vec![
            Stage { from: 0.0, to: first, lasts: self.ramp.0, counted: false },
            Stage { from: first, to: first, lasts: self.warmup.0, counted: false },
        ];
        if self.steps.is_empty() {
            stages.push(Stage { from: full, to: full, lasts: self.duration.0, counted: true });
        }
        for step in &self.steps {
            stages.push(Stage { from: step.level, to: step.level, lasts: step.hold.0, counted: true });
        }
        stages.retain(|stage| !stage.lasts.is_zero());
        LoadCurve { stages }
    }
}

impl LoadCurve {
    /// Returns the level at a time after the start; `None` after the end.
    pub fn level(&self, at: Duration) -> Option<f64> {
        let (stage, begun) = self.stage(at)?;
        let share = (at - begun).as_secs_f64() / stage.lasts.as_secs_f64();
        Some(stage.from + (stage.to - stage.from) * share)
    }

    /// Returns the first time, from `after` on, at which the level is above `bound`; `None` if there is none.
    pub fn next_above(&self, bound: f64, after: Duration) -> Option<Duration> {
        let mut begun = Duration::ZERO;
        for stage in &self.stages {
            let ends = begun + stage.lasts;
            let from = after.max(begun);
            if from < ends {
                let at = |time: Duration| {
                    stage.from + (stage.to - stage.from) * ((time - begun).as_secs_f64() / stage.lasts.as_secs_f64())
                };
                if at(from) > bound {
                    return Some(from);
                }
                if stage.to > bound {
                    let share = (bound - stage.from) / (stage.to - stage.from);
                    // One millisecond later, because the level must be above the bound, not at it.
                    let time = begun + stage.lasts.mul_f64(share.clamp(0.0, 1.0)) + Duration::from_millis(1);
                    return Some(time.clamp(from, ends));
                }
            }
            begun = ends;
        }
        None
    }

    /// Returns whether operations that end at this time are counted: the time is in neither the ramp nor the warm-up.
    pub fn is_counted(&self, at: Duration) -> bool {
        self.stage(at).is_some_and(|(stage, _)| stage.counted)
    }

    /// Total duration.
    pub fn lasts(&self) -> Duration {
        self.stages.iter().map(|stage| stage.lasts).sum()
    }

    /// The highest level.
    pub fn peak(&self) -> f64 {
        self.stages.iter().map(|stage| stage.from.max(stage.to)).fold(0.0, f64::max)
    }

    /// Beginning, end and level of each counted stage.
    pub fn steps(&self) -> Vec<(Duration, Duration, f64)> {
        let mut begun = Duration::ZERO;
        let mut found = Vec::new();
        for stage in &self.stages {
            if stage.counted {
                found.push((begun, begun + stage.lasts, stage.to));
            }
            begun += stage.lasts;
        }
        found
    }

    /// Scales the levels of the course by a factor.
    #[must_use]
    pub fn scaled(mut self, share: f64) -> Self {
        for stage in &mut self.stages {
            stage.from *= share;
            stage.to *= share;
        }
        self
    }

    fn stage(&self, at: Duration) -> Option<(&Stage, Duration)> {
        let mut begun = Duration::ZERO;
        for stage in &self.stages {
            if at < begun + stage.lasts {
                return Some((stage, begun));
            }
            begun += stage.lasts;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn course(text: &str) -> LoadCurve {
        toml::from_str::<Load>(text).unwrap().course()
    }

    #[test]
    fn a_ramp_rises_evenly_and_is_not_counted() {
        let course = course("users = 100\nramp = '10s'\nwarmup = '5s'\nduration = '20s'");
        assert_eq!(course.level(Duration::from_secs(5)), Some(50.0));
        assert_eq!(course.level(Duration::from_secs(12)), Some(100.0));
        assert!(!course.is_counted(Duration::from_secs(14)));
        assert!(course.is_counted(Duration::from_secs(15)));
        assert_eq!(course.level(Duration::from_secs(35)), None);
        assert_eq!(course.lasts(), Duration::from_secs(35));
    }

    #[test]
    fn the_time_at_which_a_user_begins_is_known() {
        let course = course("users = 100\nramp = '10s'\nduration = '20s'");
        let at = course.next_above(50.0, Duration::ZERO).unwrap();
        assert!(course.level(at).unwrap() > 50.0, "{at:?}");
        assert!(at < Duration::from_millis(5010), "{at:?}");
        assert_eq!(course.next_above(0.0, Duration::from_secs(12)), Some(Duration::from_secs(12)));
        assert_eq!(course.next_above(100.0, Duration::ZERO), None);
    }

    #[test]
    fn a_load_is_told_in_words() {
        let words = |text: &str| toml::from_str::<Load>(text).unwrap().describe();
        assert_eq!(
            words("users = 20\nthink = '200ms'\nramp = '5s'\nwarmup = '5s'\nduration = '50s'"),
            "closed model, 20 users with pauses of 200 ms; 5 s ramp, 5 s warm-up, 50 s counted"
        );
        assert_eq!(
            words("model = 'open'\nrate = 100.0\nusers = 50\nduration = '5m'\nfresh = true"),
            "open model, 100 operations each second, at most 50 at once; 5 min counted; each operation by somebody new"
        );
        assert_eq!(
            words("pace = '1.5s'\nsteps = [{ level = 10, for = '15s' }, { level = 40, for = '15s' }]"),
            "closed model, 10, 40 users, each with an operation every 1.5 s, 15 s each; 30 s counted"
        );
        assert_eq!(words("users = 1\nduration = '2s'"), "closed model, 1 user without pauses; 2 s counted");
        let many: Vec<String> = (1..=40).map(|level| format!("{{ level = {level}, for = '{level}s' }}")).collect();
        assert_eq!(
            words(&format!("steps = [{}]", many.join(", "))),
            "closed model, 40 steps from 1 to 40 users without pauses, not all for the same time; 820 s counted"
        );
    }

    #[test]
    fn steps_keep_their_proportions_when_users_and_seconds_change() {
        let text = "steps = [{ level = 10, for = '20s' }, { level = 40, for = '60s' }]\nramp = '9s'";
        let mut load: Load = toml::from_str(text).unwrap();
        load.set_users(20);
        load.set_seconds(8).unwrap();
        let levels: Vec<_> = load.steps.iter().map(|step| (step.level, step.hold)).collect();
        assert_eq!(levels, [(5.0, Span::seconds(2)), (20.0, Span::seconds(6))]);
        assert_eq!(load.ramp, Span::seconds(4));
        assert!(load.set_seconds(1).is_err());
        assert!(load.set_seconds(u64::MAX).is_err());
    }

    #[test]
    fn steps_follow_each_other() {
        let course = course("steps = [{ level = 10, for = '5s' }, { level = 40, for = '5s' }]");
        assert_eq!(course.level(Duration::from_secs(4)), Some(10.0));
        assert_eq!(course.level(Duration::from_secs(6)), Some(40.0));
        assert_eq!(course.peak(), 40.0);
        assert_eq!(course.steps().len(), 2);
        assert_eq!(course.scaled(0.5).level(Duration::from_secs(6)), Some(20.0));
    }
}
