//! The result of a run. It is written and read as JSON.

use serde::{Deserialize, Serialize};

use super::finding::Finding;
use crate::corpus::Loaded;
use crate::engine::MissingShare;
use crate::measure::{Distribution, Window};
use crate::monitor::Series;
use crate::plan::{Figure, Verdict};
use crate::wire::{FaultKind, Kind};

/// Version of the file.
pub const VERSION: u32 = 1;

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
    pub kind: Kind,
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
    pub missing: Vec<MissingShare>,
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
    /// Title.
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
    /// Number of stored bytes.
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
    /// Their size in bytes.
    pub bytes: u64,
    /// What loading took; nothing when it was there.
    pub loaded: Loaded,
}

impl RunResult {
    /// Whether all thresholds hold and the figures say something about the target.
    pub fn passed(&self) -> bool {
        self.valid && self.thresholds.iter().all(|verdict| verdict.passed)
    }
}

impl OperationResult {
    /// Adds what another operation did; what follows from it is worked out afterwards.
    pub(crate) fn add(&mut self, other: &Self) {
        self.done += other.done;
        self.failed += other.failed;
        self.rate += other.rate;
        self.requests += other.requests;
        self.sent += other.sent;
        self.received += other.received;
        self.latency.merge(&other.latency);
    }

    /// Works out what follows from the latencies.
    pub(crate) fn work_out(&mut self) {
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

    /// The figure that a threshold asks for; none when nothing was measured.
    pub(crate) fn figure(&self, figure: Figure) -> Option<f64> {
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

/// A result without anything in it.
#[cfg(test)]
pub fn sample() -> RunResult {
    RunResult {
        version: VERSION,
        plan: String::new(),
        description: String::new(),
        plan_text: String::new(),
        target: String::new(),
        kind: Kind::Webdav,
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
