//! What stands out in a result, found without being asked: one file for each kind of trouble. Looks at figures only.

mod culprit;
mod decay;
mod growth;
mod oscillation;
mod outlives;
mod scaling;
mod slow_path;
mod stall;
mod unequal;

use serde::{Deserialize, Serialize};

pub use growth::{PATIENCE, may_grow};

use crate::measure::Window;
use crate::result::RunResult;

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

/// Fewest seconds that say anything about a course over time.
const LEAST: usize = 12;

/// Looks for all kinds of trouble.
pub fn examine(result: &RunResult) -> Vec<Finding> {
    let mut found = Vec::new();
    found.extend(stall::examine(result));
    let unequal = unequal::examine(result);
    // The way that is slow is the server that is: it is named once.
    if unequal.is_empty() {
        found.extend(slow_path::examine(result));
    }
    found.extend(scaling::examine(result));
    found.extend(outlives::examine(result));
    // A stall spoils the figures that the others compare.
    if found.iter().all(|finding| finding.trouble != Trouble::Stall) {
        found.extend(decay::examine(result));
        found.extend(oscillation::examine(result));
    }
    found.extend(growth::examine(result));
    found.extend(unequal);
    found
}

/// Stretches of counted seconds with the same level, in their order.
fn stretches(result: &RunResult) -> Vec<&[Window]> {
    let counted = result.windows.split(|window| !window.counted);
    counted
        .flat_map(|windows| windows.chunk_by(|a, b| a.level == b.level))
        .filter(|windows| !windows.is_empty())
        .collect()
}

fn rates(windows: &[Window]) -> Vec<f64> {
    windows.iter().map(|window| window.done as f64).collect()
}

fn medians(windows: &[Window]) -> Vec<f64> {
    windows.iter().filter(|window| window.done > 0).map(|window| window.p50).collect()
}

#[cfg(test)]
mod tests;
