//! Computes a result from measurements: whether its figures are valid, whether thresholds hold, and the findings.

use crate::diagnosis;
use crate::engine::{Mix, Setup, count_users};
use crate::measure::{PartFigures, Totals, Window};
use crate::monitor::Series;
use crate::plan::Plan;
use crate::result::{
    CorpusResult, CrawlResult, Environment, FaultResult, Generator, OperationResult, PartResult, RunResult, VERSION,
};
use crate::stats::mean;

/// Share of time for which the generator's threads were busy, above which the generator was the bottleneck.
const BUSY: f64 = 0.9;
/// Lateness of timers, in milliseconds, above which the latencies are distorted, unless these are far longer.
const LATE: f64 = 25.0;

/// Measurements that a result is computed from.
pub struct Measurements<'a> {
    /// Plan and targets.
    pub setup: &'a Setup,
    /// Text of the plan as it was read.
    pub plan_text: &'a str,
    /// Addresses of the agents that sent the load; empty if this process did.
    pub agents: &'a [String],
    /// Part of the plan's mix that the target offers.
    pub mix: &'a Mix,
    /// Start of the run, in seconds since 1970.
    pub started_at: u64,
    /// The corpus.
    pub corpus: CorpusResult,
    /// Measurements second by second.
    pub windows: Vec<Window>,
    /// Totals.
    pub totals: Totals,
    /// Series of the monitors.
    pub monitors: Vec<Series>,
    /// The full crawl, if the plan has one.
    pub crawl: Option<CrawlResult>,
    /// Number of threads of all generators.
    pub threads: u32,
    /// Label of the run.
    pub label: String,
    /// Version of the target; empty if it does not report one.
    pub target_version: String,
    /// True if the load ended before its last second because it had already shown what it was run for.
    pub stopped_deliberately: bool,
}

/// Returns whether the generator was the bottleneck, judged by how busy its threads were, how late its timers were, and
/// how long responses took (both in milliseconds).
pub fn is_generator_bottleneck(busy: f64, lag: f64, latency: f64) -> bool {
    busy > BUSY || lag > LATE && lag > latency / 5.0
}

/// Computes the result.
pub fn evaluate(parts: Measurements<'_>) -> RunResult {
    let Measurements { setup, mix, windows, totals, threads, .. } = parts;
    let plan = &*setup.plan;
    let steps = plan.load.course().steps();
    let planned = steps.iter().map(|(from, to, _)| (*to - *from).as_secs()).sum::<u64>();
    // The rates of a run that ended early are averaged over the seconds that it had. Without any second, all rates are
    // 0.
    let seconds = totals.seconds.max(1) as f64;
    let weights: f64 = mix.parts.iter().map(|(_, share)| share.weight).sum();
    let mut total = OperationResult { label: "all".to_owned(), share: 1.0, ..OperationResult::default() };
    let mut operations = Vec::new();
    for ((measured, (_, share)), in_time) in totals.operations.iter().zip(&mix.parts).zip(&totals.in_time) {
        let mut result = OperationResult {
            label: share.label(),
            share: share.weight / weights,
            done: measured.done,
            failed: measured.failed,
            rate: *in_time as f64 / seconds,
            requests: measured.requests,
            sent: measured.sent,
            received: measured.received,
            latency: measured.latency.clone(),
            ..OperationResult::default()
        };
        result.work_out();
        total.add(&result);
        operations.push(result);
    }
    total.work_out();
    let label = |operation: usize| operations.get(operation).map(|found| found.label.clone()).unwrap_or_default();
    let faults = totals.faults.iter().map(|fault| FaultResult {
        operation: label(fault.operation),
        kind: fault.kind,
        count: fault.count,
        first: fault.first.clone(),
    });
    let (on_servers, on_agents) = count_users(&plan.load, threads, 1 + setup.twins.len(), parts.agents.len());
    let server_names = setup.servers().map(|server| server.url.as_str()).zip(on_servers);
    let agent_names = parts.agents.iter().map(String::as_str).zip(on_agents);
    let cpu = totals.cpu as f64 / 1e6;
    // Operations that end after the counted time add to the CPU time, but not to the busy share of the threads within
    // the counted time.
    let shares: Vec<f64> = windows.iter().filter(|window| window.counted).map(|window| window.generator).collect();
    let generator = Generator {
        threads,
        cpu,
        busy: mean(&shares),
        requests_per_cpu_second: if cpu > 0.0 { total.requests as f64 / cpu } else { 0.0 },
        lag: totals.lag.percentile(99.0),
    };
    let mut result = RunResult {
        version: VERSION,
        plan: plan.name.clone(),
        description: plan.description.clone(),
        plan_text: parts.plan_text.to_owned(),
        target: setup.target.url.clone(),
        kind: setup.target.kind,
        label: parts.label,
        load: plan.load.describe(),
        target_version: parts.target_version,
        started_at: parts.started_at,
        seconds: totals.seconds,
        environment: Environment::here(),
        corpus: parts.corpus,
        faults: faults.collect(),
        missing: mix.missing.clone(),
        valid: true,
        invalid_because: Vec::new(),
        thresholds: Vec::new(),
        findings: Vec::new(),
        total,
        operations,
        generator,
        servers: each(server_names, &totals.servers, seconds),
        agents: each(agent_names, &totals.agents, seconds),
        windows,
        monitors: parts.monitors,
        crawl: parts.crawl,
    };
    if totals.seconds < planned && !parts.stopped_deliberately {
        result.invalid_because.push(format!("it ended early: {} of {planned} seconds were counted", totals.seconds));
    }
    result.invalid_because.extend(totals.lost.iter().map(|why| format!("{why}; the load was lower than the plan's")));
    apply_thresholds(&mut result, plan);
    result
}

fn apply_thresholds(result: &mut RunResult, plan: &Plan) {
    let generator = &result.generator;
    if generator.busy > BUSY {
        result.invalid_because.push(format!(
            "the generator was busy for {:.0} % of the time and was itself the limit: give it more threads or machines",
            generator.busy * 100.0
        ));
    }
    if generator.lag > LATE && generator.lag > result.total.p50 / 5.0 {
        result.invalid_because.push(format!(
            "the generator's timers were {:.0} ms late (99th percentile): its machine was overloaded",
            generator.lag
        ));
    }
    if result.total.done == 0 {
        result.invalid_because.push("nothing succeeded".to_owned());
    }
    result.valid = result.invalid_because.is_empty();
    // Thresholds are validated when the plan is read, so there is no error here.
    for threshold in plan.thresholds().unwrap_or_default() {
        let of = match &threshold.operation {
            None => Some(&result.total),
            Some(label) => result.operations.iter().find(|operation| operation.label == *label),
        };
        let of = of.filter(|operation| operation.done + operation.failed > 0);
        result.thresholds.push(threshold.judge(of.and_then(|operation| operation.figure(threshold.figure))));
    }
    result.findings = diagnosis::examine(result);
}

/// Returns the results of several parts; empty for a single part, which equals the whole.
fn each<'a>(names: impl Iterator<Item = (&'a str, u32)>, measured: &PartFigures, seconds: f64) -> Vec<PartResult> {
    let all: Vec<PartResult> = names
        .enumerate()
        .map(|(place, (name, users))| {
            let part = measured.0.get(place).cloned().flatten().unwrap_or_default();
            let percentile = |percent| part.latency.percentile(percent);
            let (p50, p95, p99) = (percentile(50.0), percentile(95.0), percentile(99.0));
            let rate = part.done as f64 / seconds;
            PartResult { name: name.to_owned(), users, done: part.done, failed: part.failed, rate, p50, p95, p99 }
        })
        .collect();
    if all.len() > 1 { all } else { Vec::new() }
}
