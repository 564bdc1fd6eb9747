//! What a run found: one value that is kept as JSON and that every report is drawn from.

use serde::{Deserialize, Serialize};

use crate::corpus::Loaded;
use crate::diagnosis::Finding;
use crate::engine::{Missing, Mix, Setup, spread};
use crate::measure::{Distribution, Parts as Measured, Totals, Window};
use crate::monitor::Series;
use crate::plan::{Figure, Plan, Verdict};
use crate::stats::mean;
use crate::wire::FaultKind;

/// Version of the file.
pub const VERSION: u32 = 1;
/// A generator whose threads were busy for more than this share of the time was the limit.
const BUSY: f64 = 0.9;
/// Timers that were later than this, in milliseconds, have spoilt the latencies, unless those are far longer.
const LATE: f64 = 25.0;

/// Whether a generator was itself the limit, by how busy its threads were, how late its timers, and how long answers took
/// (both in milliseconds).
pub fn is_limit(busy: f64, lag: f64, latency: f64) -> bool {
    busy > BUSY || lag > LATE && lag > latency / 5.0
}

/// The result of a run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RunResult {
    /// Version of this format.
    pub version: u32,
    /// Name of the plan.
    pub plan: String,
    /// What the plan shows.
    pub description: String,
    /// The plan as it was read.
    pub plan_text: String,
    /// The target's address.
    pub target: String,
    /// What it speaks.
    pub kind: crate::wire::Kind,
    /// What the run is called in comparisons.
    pub label: String,
    /// The load that was applied, in words; empty in results made before 2026-11-23.
    #[serde(default)]
    pub load: String,
    /// The version of the target, as it said itself; empty when it did not, and in results made before 2026-11-23.
    #[serde(default)]
    pub target_version: String,
    /// When it began, in seconds since 1970 (UTC).
    pub started_at: u64,
    /// Seconds that counted.
    pub seconds: u64,
    /// Where it ran.
    pub environment: Environment,
    /// The corpus.
    pub corpus: CorpusResult,
    /// All operations together.
    pub total: OperationResult,
    /// Each operation.
    pub operations: Vec<OperationResult>,
    /// Parts of the mix that the target does not offer; the rest was scaled up.
    pub missing: Vec<Missing>,
    /// Faults by operation and kind.
    pub faults: Vec<FaultResult>,
    /// The generator itself.
    pub generator: Generator,
    /// Whether the figures say something about the target.
    pub valid: bool,
    /// Why not.
    pub invalid_because: Vec<String>,
    /// Thresholds of the plan.
    pub thresholds: Vec<Verdict>,
    /// Servers that should be equal, when there are several.
    #[serde(default)]
    pub servers: Vec<PartResult>,
    /// Agents that sent equal parts of the load, when there are several.
    #[serde(default)]
    pub agents: Vec<PartResult>,
    /// What stands out.
    pub findings: Vec<Finding>,
    /// Second by second.
    pub windows: Vec<Window>,
    /// What was watched besides.
    pub monitors: Vec<Series>,
}

/// One operation, or all together.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct OperationResult {
    /// What it is called.
    pub label: String,
    /// Its share of the mix that was run, 0 to 1.
    pub share: f64,
    /// Those that succeeded.
    pub done: u64,
    /// Those that failed.
    pub failed: u64,
    /// Those that succeeded, each second.
    pub rate: f64,
    /// Requests that were sent.
    pub requests: u64,
    /// Bytes of bodies that were sent.
    pub sent: u64,
    /// Bytes of bodies that came.
    pub received: u64,
    /// Mean latency in milliseconds.
    pub mean: f64,
    /// Percentiles of latency in milliseconds.
    pub p50: f64,
    /// 90th percentile.
    pub p90: f64,
    /// 95th percentile.
    pub p95: f64,
    /// 99th percentile.
    pub p99: f64,
    /// 99.9th percentile.
    pub p999: f64,
    /// Longest.
    pub max: f64,
    /// All latencies.
    pub latency: Distribution,
}

/// One of several servers or agents that should be equal.
#[derive(Clone, Debug, Default, Serialize, Deserialize, PartialEq)]
pub struct PartResult {
    /// Its address.
    pub name: String,
    /// Its part of the load: users, or 1 where arrivals are dealt out evenly.
    pub users: u32,
    /// Operations that succeeded within the counted time.
    pub done: u64,
    /// Operations that failed within it.
    pub failed: u64,
    /// Those that succeeded, each second.
    pub rate: f64,
    /// Percentiles of latency in milliseconds.
    pub p50: f64,
    /// 95th percentile.
    pub p95: f64,
    /// 99th percentile.
    pub p99: f64,
}

/// Faults of one kind in one operation.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
pub struct FaultResult {
    /// The operation.
    pub operation: String,
    /// What kind.
    pub kind: FaultKind,
    /// How many.
    pub count: u64,
    /// What the first one said.
    pub first: String,
}

/// How the generator itself did.
#[derive(Clone, Debug, Default, Serialize, Deserialize, PartialEq)]
pub struct Generator {
    /// Its threads, on all machines.
    pub threads: u32,
    /// Processor time in seconds.
    pub cpu: f64,
    /// Its share of its threads' time, 0 to 1, without ramp, warm-up and what ends after the counted time.
    pub busy: f64,
    /// Requests for each second of processor time.
    pub requests_per_cpu_second: f64,
    /// How late timers were: 99th percentile in milliseconds.
    pub lag: f64,
}

/// The machine of the generator.
#[derive(Clone, Debug, Default, Serialize, Deserialize, PartialEq)]
pub struct Environment {
    /// Version of the program.
    pub version: String,
    /// Processor and number of cores.
    pub processor: String,
    /// Memory in bytes.
    pub memory: u64,
    /// Operating system.
    pub system: String,
}

/// The corpus of a run.
#[derive(Clone, Debug, Default, Serialize, Deserialize, PartialEq)]
pub struct CorpusResult {
    /// Documents.
    pub documents: u64,
    /// Their bytes.
    pub bytes: u64,
    /// What loading took; nothing when it was there.
    pub loaded: Loaded,
}

/// What a result is made from.
pub struct Parts<'a> {
    /// Plan and targets.
    pub setup: &'a Setup,
    /// The plan as it was read.
    pub plan_text: &'a str,
    /// Addresses of the agents that sent the load; none when this process did.
    pub agents: &'a [String],
    /// What of the plan it offers.
    pub mix: &'a Mix,
    /// When the run began, in seconds since 1970.
    pub started_at: u64,
    /// The corpus.
    pub corpus: CorpusResult,
    /// Second by second.
    pub windows: Vec<Window>,
    /// Everything.
    pub totals: Totals,
    /// What was watched.
    pub monitors: Vec<Series>,
    /// Threads of all generators.
    pub threads: u32,
    /// What the run is called.
    pub label: String,
    /// The version of the target; empty when it does not say.
    pub target_version: String,
    /// Whether the load ended before its last second because it had shown what it was to show.
    pub enough: bool,
}

impl RunResult {
    /// Works the result out.
    pub fn new(parts: Parts<'_>) -> Self {
        let Parts { setup, mix, windows, totals, threads, .. } = parts;
        let plan = &*setup.plan;
        let steps = plan.load.course().steps();
        let planned = steps.iter().map(|(from, to, _)| (*to - *from).as_secs()).sum::<u64>();
        // A run that ended early is divided by what it had; without any second, all rates are 0.
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
        let (on_servers, on_agents) = spread(&plan.load, threads, 1 + setup.twins.len(), parts.agents.len());
        let server_names = setup.servers().map(|server| server.url.as_str()).zip(on_servers);
        let agent_names = parts.agents.iter().map(String::as_str).zip(on_agents);
        let cpu = totals.cpu as f64 / 1e6;
        // What still ends after the counted time is in the processor time, and not in how busy the threads were within it.
        let shares: Vec<f64> = windows.iter().filter(|window| window.counted).map(|window| window.generator).collect();
        let generator = Generator {
            threads,
            cpu,
            busy: mean(&shares),
            requests_per_cpu_second: if cpu > 0.0 { total.requests as f64 / cpu } else { 0.0 },
            lag: totals.lag.percentile(99.0),
        };
        let mut result = Self {
            version: VERSION,
            plan: plan.name.clone(),
            description: plan.description.clone(),
            plan_text: parts.plan_text.to_owned(),
            target: setup.target.url.clone(),
            kind: setup.target.kind,
            label: parts.label,
            load: plan.load.words(),
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
        };
        if totals.seconds < planned && !parts.enough {
            result
                .invalid_because
                .push(format!("it ended early: {} of {planned} seconds were counted", totals.seconds));
        }
        result
            .invalid_because
            .extend(totals.lost.iter().map(|why| format!("{why}; the load was lower than the plan's")));
        result.judge(plan);
        result
    }

    /// Whether all thresholds hold and the figures say something about the target.
    pub fn passed(&self) -> bool {
        self.valid && self.thresholds.iter().all(|verdict| verdict.passed)
    }

    fn judge(&mut self, plan: &Plan) {
        let generator = &self.generator;
        if generator.busy > BUSY {
            self.invalid_because.push(format!(
                "the generator was busy for {:.0} % of the time and was itself the limit: give it more threads or machines",
                generator.busy * 100.0
            ));
        }
        if generator.lag > LATE && generator.lag > self.total.p50 / 5.0 {
            self.invalid_because.push(format!(
                "the generator's timers were {:.0} ms late (99th percentile): its machine had no time for it",
                generator.lag
            ));
        }
        if self.total.done == 0 {
            self.invalid_because.push("nothing succeeded".to_owned());
        }
        self.valid = self.invalid_because.is_empty();
        // Plans are checked when they are read.
        for threshold in plan.thresholds().unwrap_or_default() {
            let of = match &threshold.operation {
                None => Some(&self.total),
                Some(label) => self.operations.iter().find(|operation| operation.label == *label),
            };
            let of = of.filter(|operation| operation.done + operation.failed > 0);
            self.thresholds.push(threshold.judge(of.and_then(|operation| operation.figure(threshold.figure))));
        }
        self.findings = crate::diagnosis::examine(self);
    }
}

impl OperationResult {
    fn add(&mut self, other: &Self) {
        self.done += other.done;
        self.failed += other.failed;
        self.rate += other.rate;
        self.requests += other.requests;
        self.sent += other.sent;
        self.received += other.received;
        self.latency.merge(&other.latency);
    }

    fn work_out(&mut self) {
        let latency = &self.latency;
        let percentile = |percent| latency.percentile(percent);
        (self.p50, self.p90, self.p95) = (percentile(50.0), percentile(90.0), percentile(95.0));
        (self.p99, self.p999, self.max) = (percentile(99.0), percentile(99.9), latency.max());
        self.mean = latency.mean();
    }

    /// Share of operations that failed, 0 to 1.
    pub fn errors(&self) -> f64 {
        let all = self.done + self.failed;
        if all == 0 { 0.0 } else { self.failed as f64 / all as f64 }
    }

    fn figure(&self, figure: Figure) -> Option<f64> {
        match figure {
            Figure::Errors => Some(self.errors()),
            Figure::Rate => Some(self.rate),
            _ if self.done == 0 => None,
            Figure::Percentile(percent) => Some(self.latency.percentile(percent)),
            Figure::Mean => Some(self.mean),
            Figure::Maximum => Some(self.max),
        }
    }
}

impl Environment {
    /// This machine.
    pub fn here() -> Self {
        let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
        let cpu = read("/proc/cpuinfo");
        let model =
            cpu.lines().find_map(|line| line.strip_prefix("model name")).and_then(|line| line.split(": ").nth(1));
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let memory = read("/proc/meminfo");
        let kilobytes = memory.split_whitespace().nth(1).and_then(|number| number.parse::<u64>().ok());
        Self {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            processor: format!("{cores} cores, {}", model.unwrap_or("unknown processor")),
            memory: kilobytes.unwrap_or_default() * 1024,
            system: format!("Linux {}", read("/proc/sys/kernel/osrelease").trim()),
        }
    }
}

/// Each of several parts; a single one is the whole.
fn each<'a>(names: impl Iterator<Item = (&'a str, u32)>, measured: &Measured, seconds: f64) -> Vec<PartResult> {
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

/// A result without anything in it.
#[cfg(test)]
pub fn sample() -> RunResult {
    RunResult {
        version: VERSION,
        plan: String::new(),
        description: String::new(),
        plan_text: String::new(),
        target: String::new(),
        kind: crate::wire::Kind::Webdav,
        label: String::new(),
        load: String::new(),
        target_version: String::new(),
        started_at: 0,
        seconds: 0,
        environment: Environment::default(),
        corpus: CorpusResult::default(),
        total: OperationResult::default(),
        operations: Vec::new(),
        missing: Vec::new(),
        faults: Vec::new(),
        generator: Generator::default(),
        valid: true,
        invalid_because: Vec::new(),
        thresholds: Vec::new(),
        servers: Vec::new(),
        agents: Vec::new(),
        findings: Vec::new(),
        windows: Vec::new(),
        monitors: Vec::new(),
    }
}
