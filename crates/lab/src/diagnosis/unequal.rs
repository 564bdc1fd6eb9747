//! Unequal twins: of several servers or agents that should be equal, one is slower, carries less or fails more than the
//! best.

use super::stretch::LEAST;
use crate::measure::{Window, WindowPart};
use crate::result::{Finding, PartResult, Problem, RunResult};
use crate::stats::{median, same_distribution};

/// Slower: factor by which the median latency exceeds that of the best one.
const LONGER: f64 = 1.5;
/// Milliseconds by which it must exceed the best one as well.
const LONGER_BY: f64 = 1.0;
/// Carries less: limit on the rate per user, as a share of that of the best one.
const LESS: f64 = 0.75;
/// Fails more: minimum share of failed operations.
const FAILS: f64 = 0.02;
/// Factor by which this share must exceed that of the one that fails least as well.
const MORE: f64 = 5.0;
/// Significance level: the p-value must be below this.
const CHANCE: f64 = 0.001;

pub fn examine(result: &RunResult) -> Vec<Finding> {
    let servers = of(result, "servers", &result.servers, |window| &window.servers);
    let agents = of(result, "agents", &result.agents, |window| &window.agents);
    servers.into_iter().chain(agents).collect()
}

/// Measurements of one server or agent, second by second. Rates are per user.
struct PartCourse {
    latency: Vec<f64>,
    rate: Vec<f64>,
    failed: f64,
}

fn of(
    result: &RunResult,
    what: &str,
    parts: &[PartResult],
    pick: impl Fn(&Window) -> &Vec<Option<WindowPart>>,
) -> Vec<Finding> {
    // Only seconds in which every part was measured: a lost agent has already been reported.
    let whole = |window: &&Window| window.counted && pick(window).iter().flatten().count() == parts.len();
    let seconds: Vec<&Window> = result.windows.iter().filter(whole).collect();
    if parts.len() < 2 || seconds.len() < LEAST {
        return Vec::new();
    }
    let highest = seconds.iter().map(|window| window.level).fold(0.0, f64::max);
    let course = |place: usize| {
        let own = || seconds.iter().filter_map(|window| pick(window)[place].as_ref());
        let all: u64 = own().map(|part| part.done + part.failed).sum();
        // At lower levels, a difference of one user would matter.
        let full = seconds.iter().filter(|window| window.level >= highest);
        let rates = full.filter_map(|window| pick(window)[place].as_ref()).map(|part| part.done as f64);
        PartCourse {
            latency: own().filter(|part| part.done > 0).map(|part| part.p50).collect(),
            rate: rates.map(|rate| rate / f64::from(parts[place].users.max(1))).collect(),
            failed: own().map(|part| part.failed).sum::<u64>() as f64 / (all as f64).max(1.0),
        }
    };
    let courses: Vec<PartCourse> = (0..parts.len()).map(course).collect();
    let least = |figure: &dyn Fn(&PartCourse) -> f64| {
        (0..courses.len()).min_by(|a, b| figure(&courses[*a]).total_cmp(&figure(&courses[*b]))).unwrap_or(0)
    };
    // A part without responses is not the fastest.
    let quickest = least(&|course| if course.latency.is_empty() { f64::INFINITY } else { median(&course.latency) });
    let strongest = least(&|course| -median(&course.rate));
    let soundest = least(&|course| course.failed);
    let mut found = Vec::new();
    for (place, own) in courses.iter().enumerate() {
        let mut said = Vec::new();
        let (here, best) = (median(&own.latency), median(&courses[quickest].latency));
        let surely = |a: &[f64], b: &[f64]| same_distribution(a, b) < CHANCE;
        if here > best * LONGER && here > best + LONGER_BY && surely(&own.latency, &courses[quickest].latency) {
            let name = &parts[quickest].name;
            said.push(format!("its median latency is {here:.1} ms, that of {name} {best:.1} ms"));
        }
        let (here, best) = (median(&own.rate), median(&courses[strongest].rate));
        let enough = own.rate.len() >= LEAST;
        if enough && here < best * LESS && surely(&own.rate, &courses[strongest].rate) {
            let name = &parts[strongest].name;
            said.push(format!("it gives {here:.2} responses per second and user, {name} {best:.2}"));
        }
        let best = courses[soundest].failed;
        if own.failed > FAILS && own.failed > best * MORE {
            let name = &parts[soundest].name;
            said.push(format!("{:.1} % fail there, {:.1} % on {name}", own.failed * 100.0, best * 100.0));
        }
        if said.is_empty() {
            continue;
        }
        found.push(Finding {
            trouble: Problem::Unequal,
            text: format!("{what} that should be equal are not: {}: {}", parts[place].name, said.join("; ")),
            operation: None,
            seconds: None,
        });
    }
    found
}
