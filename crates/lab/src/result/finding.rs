//! Findings: what stands out in a result. Looks for nothing.

use serde::{Deserialize, Serialize};

/// Something that stands out.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
pub struct Finding {
    /// What kind of trouble.
    pub trouble: Trouble,
    /// What was seen, in words.
    pub text: String,
    /// The operation that it concerns most, when one does.
    pub operation: Option<String>,
    /// Seconds after the start, from and to.
    pub seconds: Option<(u64, u64)>,
}

/// Kinds of trouble.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, PartialEq, Eq, Hash)]
#[serde(rename_all = "kebab-case")]
pub enum Trouble {
    /// Nothing was answered for a while.
    Stall,
    /// A small part takes another, slow way.
    SlowPath,
    /// It becomes slower all the time.
    Decay,
    /// More load brings no more throughput while nothing is busy.
    Scaling,
    /// Throughput rises and falls in a rhythm.
    Oscillation,
    /// What a high load spoilt stays spoilt after it.
    Outlives,
    /// Memory grows and does not stop.
    Growth,
    /// One of several servers or agents that should be equal is slower, carries less or fails more.
    Unequal,
}
