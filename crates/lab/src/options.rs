//! Options of a run, and their effect on its plan. Runs nothing.

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::plan::{Plan, Step};
use crate::quantity::Span;
use crate::stop::Stop;
use crate::wire::{Login, TargetKind};

/// Options of a run, in addition to its plan.
#[derive(Clone, Debug, Default)]
pub struct RunOptions {
    /// URL of the target, in place of the plan's.
    pub target: Option<String>,
    /// Servers that should be equal to the target, in place of the plan's.
    pub twins: Vec<String>,
    /// Deviations from the plan.
    pub changes: PlanOverrides,
    /// Login name and password.
    pub login: Option<Login>,
    /// True if the user confirmed that the target may be put under load.
    pub confirmed: bool,
    /// Label of the run in comparisons.
    pub label: Option<String>,
    /// Addresses of agents; empty if this process sends the load.
    pub agents: Vec<String>,
    /// Token that the agents require.
    pub agent_token: String,
    /// If true, the run ends when an agent is lost.
    pub stop_without_agent: bool,
    /// Stop requests, which end the run early.
    pub stop: Stop,
}

/// Deviations of a run from its plan.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct PlanOverrides {
    /// Kind of the target.
    pub kind: Option<TargetKind>,
    /// Path below which the corpus lies.
    pub root: Option<String>,
    /// Scale factor of the corpus, above 0.
    pub scale: Option<f64>,
    /// Number of virtual users. With steps, the highest step gets this number, and the others change in proportion.
    pub users: Option<u32>,
    /// Counted seconds of all steps together. Ramp and warm-up are each limited to half of them.
    pub seconds: Option<u64>,
    /// Steps that replace those of the plan: level and seconds.
    pub steps: Vec<(f64, u64)>,
}

impl PlanOverrides {
    /// Returns the plan with these changes.
    ///
    /// # Errors
    /// If the plan is invalid, before or after the changes.
    pub fn apply(&self, text: &str) -> Result<Plan> {
        let mut plan = Plan::parse(text)?;
        plan.target.kind = self.kind.unwrap_or(plan.target.kind);
        if let Some(root) = &self.root {
            plan.target.root.clone_from(root);
        }
        if let Some(scale) = self.scale {
            if !(scale > 0.0 && scale <= 1_000.0) {
                return Err(Error::new(format!("a corpus cannot be scaled by {scale}: write a number above 0")));
            }
            plan.corpus = plan.corpus.scaled(scale);
        }
        if let Some(users) = self.users {
            plan.load.set_users(users);
        }
        if let Some(seconds) = self.seconds {
            plan.load.set_seconds(seconds)?;
        }
        if !self.steps.is_empty() {
            let step = |(level, seconds): &(f64, u64)| Step { level: *level, hold: Span::seconds(*seconds) };
            plan.load.steps = self.steps.iter().map(step).collect();
        }
        plan.check()?;
        Ok(plan)
    }
}
