//! Counts the operations that end on one thread.

use std::collections::HashMap;
use std::time::Duration;

use super::flush::{Distribution, FaultCount, Flush, FlushOperation, FlushPart};
use crate::wire::{Fault, FaultKind, WireCounts};

/// Limit on the characters of a fault message that are kept.
const MAX_TEXT: usize = 300;

/// Counters of the operations that end on one thread, until they are handed over.
pub struct Recorder {
    operations: Vec<FlushOperation>,
    /// Figures of each server, if there are several.
    servers: Vec<FlushPart>,
    faults: HashMap<(usize, FaultKind), (u64, String)>,
    lag: Distribution,
    cpu_before: Duration,
}

impl Recorder {
    /// Creates a recorder for a mix of `operations` operations on `servers` servers. Must be called on the thread that
    /// it belongs to, because it measures that thread's CPU time.
    pub fn new(operations: usize, servers: usize) -> Self {
        let operation = |operation| FlushOperation { operation, ..FlushOperation::default() };
        Self {
            operations: (0..operations).map(operation).collect(),
            servers: parts(servers),
            faults: HashMap::new(),
            lag: Distribution::default(),
            cpu_before: cpu(),
        }
    }

    /// Records an operation that ended on one of the servers.
    pub fn ended(
        &mut self,
        operation: usize,
        server: usize,
        latency: Duration,
        outcome: Result<(), Fault>,
        wire: WireCounts,
    ) {
        let Some(counted) = self.operations.get_mut(operation) else { return };
        counted.requests += wire.requests;
        counted.sent += wire.sent;
        counted.received += wire.received;
        if let Some(part) = self.servers.get_mut(server) {
            part.done += u64::from(outcome.is_ok());
            part.failed += u64::from(outcome.is_err());
            if outcome.is_ok() {
                part.latency.record(latency);
            }
        }
        match outcome {
            Ok(()) => {
                counted.done += 1;
                counted.latency.record(latency);
            }
            Err(fault) => {
                counted.failed += 1;
                let shorten = |text: String| text.chars().take(MAX_TEXT).collect();
                self.faults.entry((operation, fault.kind)).or_insert_with(|| (0, shorten(fault.message))).0 += 1;
            }
        }
    }

    /// Records the lateness of a timer.
    pub fn late(&mut self, by: Duration) {
        self.lag.record(by);
    }

    /// Hands over the counts and starts again from zero.
    pub fn flush(&mut self, second: Option<u64>, users: u32) -> Flush {
        let now = cpu();
        let spent = now.saturating_sub(self.cpu_before);
        self.cpu_before = now;
        let mut operations = Vec::new();
        for counted in &mut self.operations {
            if counted.done + counted.failed > 0 {
                let fresh = FlushOperation { operation: counted.operation, ..FlushOperation::default() };
                operations.push(std::mem::replace(counted, fresh));
            }
        }
        let fresh = parts(self.servers.len());
        let servers = std::mem::replace(&mut self.servers, fresh);
        let faults = self.faults.drain();
        let faults = faults.map(|((operation, kind), (count, first))| FaultCount { operation, kind, count, first });
        Flush {
            second,
            users,
            operations,
            servers,
            faults: faults.collect(),
            cpu: u64::try_from(spent.as_micros()).unwrap_or(u64::MAX),
            lag: std::mem::take(&mut self.lag),
        }
    }
}

/// Returns empty figures for each server. A single server needs none beside the overall figures.
fn parts(servers: usize) -> Vec<FlushPart> {
    if servers < 2 { Vec::new() } else { vec![FlushPart::default(); servers] }
}

/// Returns the CPU time used by this thread so far.
fn cpu() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or_default())
}
