//! Merges the measurements of threads and machines, second by second.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::flush::{Distribution, FaultCount, Flush, FlushOperation};
use super::parts::{PartFigures, WindowPart, sum_operations};
use crate::plan::LoadCurve;

/// Limit on the kinds of faults that are recorded; faults of further kinds are dropped.
const MAX_FAULTS: usize = 200;

/// Measurements of one second of a run.
#[derive(Clone, Debug, Default, Serialize, Deserialize, PartialEq)]
pub struct Window {
    /// Second since the start, from 0.
    pub second: u64,
    /// True if the second counts: it belongs to neither the ramp nor the warm-up.
    pub counted: bool,
    /// Number of users, or the requested rate in the open model.
    pub level: f64,
    /// Operations that succeeded.
    pub done: u64,
    /// Operations that failed.
    pub failed: u64,
    /// Number of requests.
    pub requests: u64,
    /// Bytes of request bodies sent.
    pub sent: u64,
    /// Bytes of response bodies received.
    pub received: u64,
    /// Median latency in milliseconds; the following percentiles and the maximum are also in milliseconds.
    pub p50: f64,
    /// 95th percentile of latency.
    pub p95: f64,
    /// 99th percentile of latency.
    pub p99: f64,
    /// Longest latency.
    pub max: f64,
    /// CPU time of the generator as a share of the time of its threads.
    pub generator: f64,
    /// Lateness of the generator's timers: 99th percentile in milliseconds; 0 in results from before 2026-11-23.
    #[serde(default)]
    pub lag: f64,
    /// Measurements of each operation that ended.
    pub operations: Vec<WindowOperation>,
    /// Measurements of each server, if several should be equal.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub servers: Vec<Option<WindowPart>>,
    /// Measurements of each agent, if there are several; `None` for a lost agent.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub agents: Vec<Option<WindowPart>>,
}

/// Measurements of one operation in one second.
#[derive(Clone, Debug, Default, Serialize, Deserialize, PartialEq)]
pub struct WindowOperation {
    /// Index in the mix.
    pub operation: usize,
    /// Number of successful operations.
    pub done: u64,
    /// Number of failed operations.
    pub failed: u64,
    /// Median latency in milliseconds.
    pub p50: f64,
    /// 95th percentile of latency in milliseconds.
    pub p95: f64,
    /// Longest latency in milliseconds; 0 in results from before 2026-11-23.
    #[serde(default)]
    pub max: f64,
}

/// Totals of a run, without ramp and warm-up.
#[derive(Clone, Debug, Default)]
pub struct Totals {
    /// Totals of each operation of the mix.
    pub operations: Vec<FlushOperation>,
    /// Number of operations of each kind that ended within the counted time, for rates.
    pub in_time: Vec<u64>,
    /// Faults, including those during ramp and warm-up.
    pub faults: Vec<FaultCount>,
    /// CPU time of the generator in microseconds.
    pub cpu: u64,
    /// Lateness of the generator's timers.
    pub lag: Distribution,
    /// Number of counted seconds.
    pub seconds: u64,
    /// Agents that were lost, with the reasons.
    pub lost: Vec<String>,
    /// Figures of each server, if there are several, for operations that ended within the counted time.
    pub servers: PartFigures,
    /// Figures of each agent, for operations that ended within the counted time.
    pub agents: PartFigures,
}

#[derive(Default)]
struct OpenSecond {
    operations: BTreeMap<usize, FlushOperation>,
    servers: PartFigures,
    agents: PartFigures,
    cpu: u64,
    lag: Distribution,
    /// Number of flushes from this machine, or from each agent.
    flushes: BTreeMap<Option<usize>, u32>,
}

/// Merges flushes into windows and totals.
pub struct Collector {
    course: LoadCurve,
    /// Number of threads of the generators that are not lost.
    threads: u32,
    lost: BTreeSet<usize>,
    open: BTreeMap<u64, OpenSecond>,
    /// True once a counted second has been measured.
    counts: bool,
    windows: Vec<Window>,
    totals: Totals,
}

impl Collector {
    /// Creates a collector for a mix of `operations` operations, fed by `threads` threads on all machines together.
    pub fn new(operations: usize, course: LoadCurve, threads: u32) -> Self {
        let operation = |operation| FlushOperation { operation, ..FlushOperation::default() };
        let totals = Totals {
            operations: (0..operations).map(operation).collect(),
            in_time: vec![0; operations],
            ..Totals::default()
        };
        Self {
            course,
            threads: threads.max(1),
            lost: BTreeSet::new(),
            open: BTreeMap::new(),
            counts: false,
            windows: Vec::new(),
            totals,
        }
    }

    /// Adds a flush from this machine, or from the agent with the given index. Returns the windows that are complete
    /// with it.
    pub fn take(&mut self, agent: Option<usize>, flush: Flush) -> Vec<Window> {
        let (of_agent, servers) = (agent.map(|place| (place, sum_operations(&flush))), flush.servers);
        self.take_faults(flush.faults);
        // Operations that end after the load count if a second of the load counted.
        let counted = flush.second.map_or(self.counts, |second| self.is_counted(second));
        self.counts |= counted;
        if counted {
            self.totals.cpu += flush.cpu;
            self.totals.lag.merge(&flush.lag);
            for measured in &flush.operations {
                if flush.second.is_some()
                    && let Some(in_time) = self.totals.in_time.get_mut(measured.operation)
                {
                    *in_time += measured.done;
                }
                if let Some(total) = self.totals.operations.get_mut(measured.operation) {
                    add(total, measured);
                }
            }
        }
        let Some(second) = flush.second else { return Vec::new() };
        let open = self.open.entry(second).or_default();
        for (place, part) in servers.iter().enumerate() {
            open.servers.add(place, part);
            if counted {
                self.totals.servers.add(place, part);
            }
        }
        if let Some((place, part)) = &of_agent {
            open.agents.add(*place, part);
            if counted {
                self.totals.agents.add(*place, part);
            }
        }
        open.cpu += flush.cpu;
        open.lag.merge(&flush.lag);
        *open.flushes.entry(agent).or_default() += 1;
        for measured in flush.operations {
            let at = measured.operation;
            add(
                open.operations
                    .entry(at)
                    .or_insert_with(|| FlushOperation { operation: at, ..FlushOperation::default() }),
                &measured,
            );
        }
        let mut complete = Vec::new();
        while self.open.first_key_value().is_some_and(|(_, open)| self.is_complete(open)) {
            let first = self.open.pop_first();
            complete.extend(first.map(|entry| self.close(entry)));
        }
        complete
    }

    /// Records that an agent with this many threads is lost, and why. From now on, windows are complete without it.
    pub fn lost(&mut self, agent: usize, threads: u32, why: String) {
        self.threads = self.threads.saturating_sub(threads).max(1);
        self.lost.insert(agent);
        self.totals.lost.push(why);
    }

    /// Returns whether every thread that is not lost has flushed a second. Flushes of a lost agent do not count, since
    /// they would stand for those of others.
    fn is_complete(&self, open: &OpenSecond) -> bool {
        let is_lost = |agent: &Option<usize>| agent.is_some_and(|agent| self.lost.contains(&agent));
        let flushes: u32 = open.flushes.iter().filter(|(agent, _)| !is_lost(agent)).map(|(_, count)| count).sum();
        flushes >= self.threads
    }

    /// Ends the collection; returns all windows and the totals.
    pub fn end(mut self) -> (Vec<Window>, Totals) {
        while let Some(entry) = self.open.pop_first() {
            self.close(entry);
        }
        self.totals.seconds = self.windows.iter().filter(|window| window.counted).count() as u64;
        (self.windows, self.totals)
    }

    fn is_counted(&self, second: u64) -> bool {
        self.course.is_counted(std::time::Duration::from_secs(second))
    }

    fn close(&mut self, (second, open): (u64, OpenSecond)) -> Window {
        let mut all = Distribution::default();
        let mut window = Window {
            second,
            counted: self.is_counted(second),
            level: self.course.level(std::time::Duration::from_secs(second)).unwrap_or_default(),
            generator: open.cpu as f64 / 1e6 / f64::from(self.threads),
            lag: open.lag.percentile(99.0),
            servers: open.servers.to_window_parts(),
            agents: open.agents.to_window_parts(),
            ..Window::default()
        };
        for measured in open.operations.values() {
            all.merge(&measured.latency);
            window.done += measured.done;
            window.failed += measured.failed;
            window.requests += measured.requests;
            window.sent += measured.sent;
            window.received += measured.received;
            window.operations.push(WindowOperation {
                operation: measured.operation,
                done: measured.done,
                failed: measured.failed,
                p50: measured.latency.percentile(50.0),
                p95: measured.latency.percentile(95.0),
                max: measured.latency.max(),
            });
        }
        (window.p50, window.p95) = (all.percentile(50.0), all.percentile(95.0));
        (window.p99, window.max) = (all.percentile(99.0), all.max());
        self.windows.push(window.clone());
        window
    }

    fn take_faults(&mut self, faults: Vec<FaultCount>) {
        for fault in faults {
            let same = |known: &&mut FaultCount| known.operation == fault.operation && known.kind == fault.kind;
            let all = self.totals.faults.len();
            match self.totals.faults.iter_mut().find(same) {
                Some(known) => known.count += fault.count,
                None if all < MAX_FAULTS => self.totals.faults.push(fault),
                None => {}
            }
        }
    }
}

fn add(total: &mut FlushOperation, measured: &FlushOperation) {
    total.done += measured.done;
    total.failed += measured.failed;
    total.requests += measured.requests;
    total.sent += measured.sent;
    total.received += measured.received;
    total.latency.merge(&measured.latency);
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::measure::Recorder;
    use crate::wire::WireCounts;

    fn course() -> LoadCurve {
        toml::from_str::<crate::plan::Load>("duration = '5s'").unwrap().course()
    }

    #[test]
    fn what_machines_measured_is_merged_exactly() {
        let mut random = fastrand::Rng::with_seed(1);
        let (mut all, mut parts) =
            (Recorder::new(1, 1), [Recorder::new(1, 1), Recorder::new(1, 1), Recorder::new(1, 1)]);
        for number in 0..3000 {
            let latency = Duration::from_micros(random.u64(50..9_000_000));
            all.ended(0, 0, latency, Ok(()), WireCounts::default());
            parts[number % 3].ended(0, 0, latency, Ok(()), WireCounts::default());
        }
        let (mut one, mut merged) = (Collector::new(1, course(), 1), Collector::new(1, course(), 3));
        assert_eq!(one.take(None, all.flush(Some(0), 1)).len(), 1);
        for part in &mut parts {
            // Serialised, as it is sent over the network.
            let text = serde_json::to_string(&part.flush(Some(0), 1)).unwrap();
            merged.take(None, serde_json::from_str(&text).unwrap());
        }
        let ((one_windows, one), (merged_windows, merged)) = (one.end(), merged.end());
        assert_eq!(one.operations[0].latency, merged.operations[0].latency);
        assert_eq!((one_windows[0].p99, one_windows[0].done), (merged_windows[0].p99, merged_windows[0].done));
    }

    #[test]
    fn what_ends_after_the_load_counts_for_latency_and_not_for_the_rate() {
        let (mut collector, mut recorder) = (Collector::new(1, course(), 1), Recorder::new(1, 1));
        recorder.ended(0, 0, Duration::from_millis(5), Ok(()), WireCounts::default());
        collector.take(None, recorder.flush(Some(4), 1));
        recorder.ended(0, 0, Duration::from_secs(5), Ok(()), WireCounts::default());
        collector.take(None, recorder.flush(None, 1));
        let (_, totals) = collector.end();
        assert_eq!(totals.in_time, [1]);
        assert!(totals.operations[0].latency.max() > 4900.0);
    }

    #[test]
    fn what_ends_after_a_load_that_never_counted_does_not_count() {
        let load: crate::plan::Load = toml::from_str("warmup = '5s'\nduration = '5s'").unwrap();
        let (mut collector, mut recorder) = (Collector::new(1, load.course(), 1), Recorder::new(1, 1));
        for second in [Some(0), None] {
            recorder.ended(0, 0, Duration::from_millis(5), Ok(()), WireCounts::default());
            collector.take(None, recorder.flush(second, 1));
        }
        let (_, totals) = collector.end();
        assert_eq!((totals.operations[0].done, totals.seconds), (0, 0));
    }

    #[test]
    fn a_second_that_a_lost_agent_measured_waits_for_the_others() {
        let (mut collector, mut recorder) = (Collector::new(1, course(), 3), Recorder::new(1, 1));
        let mut seconds = |collector: &mut Collector, agent, second| {
            recorder.ended(0, 0, Duration::from_millis(5), Ok(()), WireCounts::default());
            let windows = collector.take(Some(agent), recorder.flush(Some(second), 1));
            windows.iter().map(|window| (window.second, window.done)).collect::<Vec<_>>()
        };
        assert_eq!(seconds(&mut collector, 0, 0), []);
        collector.lost(0, 1, "gone".to_owned());
        assert_eq!(seconds(&mut collector, 1, 0), [], "agent 2 has not flushed yet");
        assert_eq!(seconds(&mut collector, 2, 0), [(0, 3)]);
        assert_eq!(seconds(&mut collector, 1, 1), []);
        assert_eq!(seconds(&mut collector, 2, 1), [(1, 2)]);
        assert_eq!(collector.end().0.len(), 2);
    }
}
