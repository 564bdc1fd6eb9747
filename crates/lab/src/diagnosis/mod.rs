//! What stands out in a result, found without being asked: one file for each kind of trouble. Looks at figures only.

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

pub use growth::{PATIENCE, may_grow};

use crate::result::{Finding, RunResult, Trouble};

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

#[cfg(test)]
mod tests;
