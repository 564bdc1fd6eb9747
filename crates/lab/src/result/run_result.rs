//! The result of a run. It is written and read as JSON.

use serde::{Deserialize, Serialize};

use super::crawl_result::CrawlResult;
use super::finding::Finding;
use crate::corpus::Loaded;
use crate::engine::MissingShare;
use crate::measure::{Distribution, Window};
use crate::monitor::Series;
use crate::plan::{Figure, Verdict};
use crate::wire::{FaultKind, TargetKind};

/// Version of the file format.
pub const VERSION: u32 = 1;

/// The result of a run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RunResult {
    /// Version of this format.
    pub version: u32,
    /// Name of the plan.
    pub plan: String,
    /// Purpose of the plan.
    pub description: String,
    /// Text of the plan as it was read.
    pub plan_text: String,
    /// The target's URL.
    pub target: String,
    /// Kind of the target.
    pub kind: TargetKind,
    /// Label of the run in comparisons.
    pub label: String,
    /// Description of the load; empty in results from before 2026-11-23.
    #[serde(default)]
    pub load: String,
    /// Version that the target reported; empty if it reported none, and in results from before 2026-11-23.
    #[serde(default)]
    pub target_version: String,
    /// Start of the run, in seconds since 1970 (UTC).
    pub started_at: u64,
    /// Number of counted seconds.
    pub seconds: u64,
    /// Machine of the generator.
    pub environment: Environment,
    /// The corpus.
    pub corpus: CorpusResult,
    /// Figures of all operations together.
    pub total: OperationResult,
    /// Figures of each operation.
    pub operations: Vec<OperationResult>,
    /// Shares of the mix that the target does not offer; the others were scaled up.
    pub missing: Vec<MissingShare>,
    /// Faults by operation and kind.
    pub faults: Vec<FaultResult>,
    /// Figures of the generator itself.
    pub generator: Generator,
    /// True if the figures say something about the target.
    pub valid: bool,
    /// Reasons why the figures are not valid.
    pub invalid_because: Vec<String>,
    /// Outcomes of the plan's thresholds.
    pub thresholds: Vec<Verdict>,
    /// Figures of servers that should be equal, if there are several.
    #[serde(default)]
    pub servers: Vec<PartResult>,
    /// Figures of agents that sent equal parts of the load, if there are several.
    #[serde(default)]
    pub agents: Vec<PartResult>,
    /// Findings of the diagnosis.
    pub findings: Vec<Finding>,
    /// Measurements second by second.
    pub windows: Vec<Window>,
    /// Series of the monitors.
    pub monitors: Vec<Series>,
    /// The full crawl after the load, if the plan has one.
    #[serde(default)]
    pub crawl: Option<CrawlResult>,
}

/// Figures of one operation, or of all together.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct OperationResult {
    /// Label.
    pub label: String,
    /// Share of the mix that was run, 0 to 1.
    pub share: f64,
    /// Number of successful operations.
    pub done: u64,
    /// Number of failed operations.
    pub failed: u64,
    /// Successful operations per second.
    pub rate: f64,
    /// Number of requests sent.
    pub requests: u64,
    /// Bytes of request bodies sent.
    pub sent: u64,
    /// Bytes of response bodies received.
    pub received: u64,
    /// Mean latency in milliseconds.
    pub mean: f64,
    /// Median latency in milliseconds; the following percentiles are also in milliseconds.
    pub p50: f64,
    /// 90th percentile of latency.
    pub p90: f64,
    /// 95th percentile of latency.
    pub p95: f64,
    /// 99th percentile of latency.
    pub p99: f64,
    /// 99.9th percentile of latency.
    pub p999: f64,
    /// Longest latency.
    pub max: f64,
    /// Histogram of all latencies.
    pub latency: Distribution,
}

/// Figures of one of several servers or agents that should be equal.
#[derive(Clone, Debug, Default, Serialize, Deserialize, PartialEq)]
pub struct PartResult {
    /// Address.
    pub name: String,
    /// Part of the load: number of users, or 1 if arrivals are spread evenly.
    pub users: u32,
    /// Operations that succeeded within the counted time.
    pub done: u64,
    /// Operations that failed within the counted time.
    pub failed: u64,
    /// Successful operations per second.
    pub rate: f64,
    /// Median latency in milliseconds; the following percentiles are also in milliseconds.
    pub p50: f64,
    /// 95th percentile of latency.
    pub p95: f64,
    /// 99th percentile of latency.
    pub p99: f64,
}

/// Faults of one kind in one operation.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
pub struct FaultResult {
    /// Label of the operation.
    pub operation: String,
    /// Kind of fault.
    pub kind: FaultKind,
    /// Number of stored bytes.
    pub count: u64,
    /// Message of the first fault.
    pub first: String,
}

/// Figures of the generator itself.
#[derive(Clone, Debug, Default, Serialize, Deserialize, PartialEq)]
pub struct Generator {
    /// Number of threads, on all machines.
    pub threads: u32,
    /// CPU time in seconds.
    pub cpu: f64,
    /// Share of the threads' time that was busy, 0 to 1, without ramp, warm-up and operations that ended after the
    /// counted time.
    pub busy: f64,
    /// Requests per second of CPU time.
    pub requests_per_cpu_second: f64,
    /// Lateness of timers: 99th percentile in milliseconds.
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
    /// Number of documents.
    pub documents: u64,
    /// Their size in bytes.
    pub bytes: u64,
    /// Cost of loading; zero if the corpus was already present.
    pub loaded: Loaded,
}

impl RunResult {
    /// Returns whether all thresholds hold and the figures are valid.
    pub fn passed(&self) -> bool {
        self.valid && self.thresholds.iter().all(|verdict| verdict.passed)
    }
}

impl OperationResult {
    /// Adds the figures of another operation. Derived figures are computed afterwards.
    pub(crate) fn add(&mut self, other: &Self) {
        self.done += other.done;
        self.failed += other.failed;
        self.rate += other.rate;
        self.requests += other.requests;
        self.sent += other.sent;
        self.received += other.received;
        self.latency.merge(&other.latency);
    }

    /// Computes the figures that are derived from the latencies.
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

    /// Returns the figure that a threshold compares; `None` if nothing was measured.
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
    /// Describes this machine.
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

/// Returns an empty result.
#[cfg(test)]
pub fn sample() -> RunResult {
    RunResult {
        version: VERSION,
        plan: String::new(),
        description: String::new(),
        plan_text: String::new(),
        target: String::new(),
        kind: TargetKind::Webdav,
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
        crawl: None,
    }
}
