//! Automatic diagnosis of a result, with one file for each kind of problem. Works on the figures alone.

mod culprit;
mod decay;
mod growth;
mod oscillation;
mod outlives;
mod scaling;
mod slow_path;
mod stall;
mod stretch;
mod unequal;

pub use growth::{WATCH_TIME, may_grow};

use crate::result::{Finding, Problem, RunResult};

/// Looks for all kinds of problems.
pub fn examine(result: &RunResult) -> Vec<Finding> {
    let mut found = Vec::new();
    found.extend(stall::examine(result));
    let unequal = unequal::examine(result);
    // If the servers or agents are unequal, the slow path is the slow one of them, which is already reported.
    if unequal.is_empty() {
        found.extend(slow_path::examine(result));
    }
    found.extend(scaling::examine(result));
    found.extend(outlives::examine(result));
    // A stall distorts the figures that these two checks compare.
    if found.iter().all(|finding| finding.trouble != Problem::Stall) {
        found.extend(decay::examine(result));
        found.extend(oscillation::examine(result));
    }
    found.extend(growth::examine(result));
    found.extend(unequal);
    found
}

#[cfg(test)]
mod tests;
