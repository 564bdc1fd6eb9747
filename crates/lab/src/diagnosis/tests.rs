//! Tests of the diagnosis on synthetic runs: each problem is found and named, and noise is not reported.

use super::*;
use crate::measure::{Distribution, Window, WindowOperation, WindowPart};
use crate::monitor::{MEMORY, Series};
use crate::result::{OperationResult, PartResult, sample};

/// A run with one operation. `of` gives the rate and median latency at each second; noise is added to both.
fn run(levels: &[f64], of: impl Fn(usize) -> (f64, f64), seed: u64) -> RunResult {
    let mut random = fastrand::Rng::with_seed(seed);
    let mut all = Distribution::default();
    let mut noise = || 1.0 + (random.f64() + random.f64() + random.f64() - 1.5) * 0.2;
    let windows = levels.iter().enumerate().map(|(second, level)| {
        let (rate, latency) = of(second);
        let (done, p50) = ((rate * noise()).round(), latency * noise());
        // A latency tail like that of real servers.
        for place in (0..done as u32).step_by(4) {
            let share = f64::from(place) / done;
            all.record(std::time::Duration::from_secs_f64(p50 / 1000.0 * (0.5 + share + 0.15 / (1.02 - share))));
        }
        let operation =
            WindowOperation { operation: 0, done: done as u64, failed: 0, p50, p95: p50 * 3.0, max: p50 * 8.0 };
        Window {
            second: second as u64,
            counted: true,
            level: *level,
            done: done as u64,
            p50,
            p95: p50 * 3.0,
            p99: p50 * 5.0,
            max: p50 * 8.0,
            operations: vec![operation],
            ..Window::default()
        }
    });
    let windows: Vec<Window> = windows.collect();
    let done = windows.iter().map(|window| window.done).sum();
    let p50 = all.percentile(50.0);
    let operation =
        OperationResult { label: "download".to_owned(), done, p50, latency: all, ..OperationResult::default() };
    RunResult { windows, operations: vec![operation.clone()], total: operation, ..sample() }
}

fn found(result: &RunResult) -> Vec<Problem> {
    examine(result).into_iter().map(|finding| finding.trouble).collect()
}

#[test]
fn clean_runs_raise_no_alarm() {
    for seed in 0..30 {
        let steady = run(&[50.0; 60], |_| (400.0, 12.0), seed);
        assert_eq!(examine(&steady), [], "seed {seed}");
        let steps: Vec<f64> = [10.0, 20.0, 40.0, 10.0].into_iter().flat_map(|level| [level; 10]).collect();
        let scales = run(&steps, |second| (steps[second] * 30.0, 12.0), seed);
        assert_eq!(examine(&scales), [], "seed {seed}");
        // Large documents that take a minute: some seconds have no response, but no user waits longer than usual.
        let mut large = run(&[300.0; 60], |second| if second % 9 == 4 { (0.0, 0.0) } else { (12.0, 60_000.0) }, seed);
        large.windows.iter_mut().flat_map(|window| &mut window.operations).for_each(|of| of.max = of.p50 * 1.5);
        assert!(!found(&large).contains(&Problem::Stall), "seed {seed}");
        // A hundred users with pauses of 15 s arrive in waves. Responses take no longer in any wave.
        let waves = run(&[100.0; 120], |at| (7.0 + 5.0 * (at as f64 * std::f64::consts::TAU / 15.0).sin(), 3.0), seed);
        assert_eq!(examine(&waves), [], "seed {seed}");
        // A shared machine: a latency of about one millisecond rises by 0.6 ms towards the end.
        let drifts = run(&[20.0; 50], |at| (98.0, 1.1 + at as f64 * 0.016), seed);
        assert_eq!(examine(&drifts), [], "seed {seed}");
    }
}

#[test]
fn troubles_are_found_and_named() {
    for seed in 0..5 {
        let mut stall = run(&[50.0; 40], |at| if (20..22).contains(&at) { (0.0, 0.0) } else { (400.0, 12.0) }, seed);
        stall.windows[22].operations[0].max = 2_000.0;
        assert_eq!(found(&stall), [Problem::Stall]);
        assert_eq!(examine(&stall)[0].seconds, Some((20, 22)));
        let decay = run(&[50.0; 60], |at| (400.0 - at as f64 * 3.0, 12.0 + at as f64 * 0.5), seed);
        assert_eq!(found(&decay), [Problem::Decay]);
        let wave = |at: usize| 400.0 + 250.0 * (at as f64 * std::f64::consts::TAU / 8.0).sin();
        // Fifty users without pauses: while fewer responses arrive, they wait longer.
        let swings = run(&[50.0; 60], |at| (wave(at), 50_000.0 / wave(at)), seed);
        assert_eq!(found(&swings), [Problem::Oscillation]);
        let steps: Vec<f64> = [10.0, 20.0, 40.0].into_iter().flat_map(|level| [level; 10]).collect();
        let lock = run(&steps, |at| (200.0, steps[at] * 5.0), seed);
        assert_eq!(found(&lock), [Problem::Scaling]);
        let steps: Vec<f64> = [10.0, 40.0, 10.0].into_iter().flat_map(|level| [level; 10]).collect();
        let outlives = run(&steps, |at| if at < 20 { (steps[at] * 20.0, 12.0) } else { (120.0, 30.0) }, seed);
        assert_eq!(found(&outlives), [Problem::Outlives]);
    }
}

#[test]
fn the_period_of_an_oscillation_is_none_of_its_multiples() {
    for seed in 0..20 {
        let wave = |at: usize| 400.0 + 250.0 * (at as f64 * std::f64::consts::TAU / 8.0).sin();
        let swings = run(&[50.0; 60], |at| (wave(at), 50_000.0 / wave(at)), seed);
        let text = &examine(&swings)[0].text;
        assert!(text.ends_with("about every 8 s"), "seed {seed}: {text}");
    }
}

#[test]
fn memory_that_grows_without_end_is_found_and_a_cache_that_fills_is_not() {
    let with = |of: &dyn Fn(f64) -> f64| {
        let points = (0..60).map(|at| (f64::from(at), of(f64::from(at)))).collect();
        let mut result = run(&[50.0; 60], |_| (400.0, 12.0), 1);
        result.monitors.push(Series { name: format!("server 1: {MEMORY}"), points });
        found(&result)
    };
    assert_eq!(with(&|at| 100e6 + at * 2e6), [Problem::Growth]);
    let with_end = |end: f64| {
        let mut result = run(&[50.0; 60], |_| (400.0, 12.0), 1);
        let mut points: Vec<_> = (0..60).map(|at| (f64::from(at), 100e6 + f64::from(at) * 2e6)).collect();
        points.extend([(61.0, 218e6), (70.0, end)]);
        result.monitors.push(Series { name: format!("server 1: {MEMORY}"), points });
        found(&result)
    };
    assert_eq!(with_end(217e6), [Problem::Growth], "it stays when the load has ended");
    assert_eq!(with_end(150e6), [], "what requests on their way took came back");
    let begins = |at: f64| 100e6 + at * 2e6;
    let mut short = run(&[50.0; 30], |_| (400.0, 12.0), 1);
    let points = (0..30).map(|at| (f64::from(at), begins(f64::from(at)))).collect();
    short.monitors.push(Series { name: format!("server 1: {MEMORY}"), points });
    assert_eq!(found(&short), [], "half of a minute is a server that begins");
    assert_eq!(with(&|at| 100e6 + 80e6 * (1.0 - (-at / 10.0).exp())), []);
    assert_eq!(with(&|_| 100e6), []);
}

/// Rate, median latency and failures of one agent. All agents have the same number of users.
type AgentSecond = (f64, f64, u64);

fn with_agents(parts: &[AgentSecond], seed: u64) -> RunResult {
    let mut random = fastrand::Rng::with_seed(seed ^ 77);
    let mut result = run(&[50.0; 30], |_| (400.0, 12.0), seed);
    result.agents = (0..parts.len())
        .map(|place| PartResult { name: format!("agent-{place}"), users: 10, ..PartResult::default() })
        .collect();
    for window in &mut result.windows {
        let mut noise = || 1.0 + (random.f64() + random.f64() + random.f64() - 1.5) * 0.2;
        let of = |(rate, p50, failed): &AgentSecond| {
            Some(WindowPart { done: (rate * noise()) as u64, failed: *failed, p50: p50 * noise() })
        };
        window.agents = parts.iter().map(of).collect();
    }
    result
}

#[test]
fn twins_that_differ_are_named_and_twins_that_do_not_are_not() {
    for seed in 0..30 {
        assert_eq!(found(&with_agents(&[(130.0, 12.0, 0); 3], seed)), [], "seed {seed}");
        for odd in [(130.0, 20.0, 0), (80.0, 12.0, 0), (130.0, 12.0, 9)] {
            let result = with_agents(&[(130.0, 12.0, 0), odd, (130.0, 12.0, 0)], seed);
            assert_eq!(found(&result), [Problem::Unequal], "{odd:?} with seed {seed}");
            assert!(examine(&result)[0].text.contains("not: agent-1: "), "{:?}", examine(&result));
        }
    }
    let mut lost = with_agents(&[(130.0, 12.0, 0), (10.0, 90.0, 5)], 1);
    for window in &mut lost.windows[5..] {
        window.agents[1] = None;
    }
    assert_eq!(found(&lost), [], "what an agent did before it was lost says little");
}
