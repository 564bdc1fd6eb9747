//! Findings: anomalies in a result. Searches for nothing itself.

use serde::{Deserialize, Serialize};

/// An anomaly in a result.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
pub struct Finding {
    /// Kind of problem.
    pub trouble: Problem,
    /// Description.
    pub text: String,
    /// Operation that is affected most, if one stands out.
    pub operation: Option<String>,
    /// Start and end, in seconds after the start of the run.
    pub seconds: Option<(u64, u64)>,
}

/// Kinds of problems.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, PartialEq, Eq, Hash)]
#[serde(rename_all = "kebab-case")]
pub enum Problem {
    /// Nothing was answered for some time.
    Stall,
    /// A small share of the operations takes a slow path.
    SlowPath,
    /// Performance declines steadily.
    Decay,
    /// More load brings no more throughput although no resource is saturated.
    Scaling,
    /// Throughput rises and falls periodically.
    Oscillation,
    /// The degradation caused by a high load persists after it.
    Outlives,
    /// Memory grows without levelling off.
    Growth,
    /// One of several servers or agents that should be equal is slower, carries less or fails more.
    Unequal,
}
