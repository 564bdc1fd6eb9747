//! Wishes of whoever runs a plan, and what they make of it. Runs nothing.

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::plan::{Plan, Step};
use crate::quantity::Span;
use crate::stop::Stop;
use crate::wire::{Kind, Login};

/// Wishes for a run besides its plan.
#[derive(Clone, Debug, Default)]
pub struct Wishes {
    /// The target's address, instead of the plan's.
    pub target: Option<String>,
    /// Servers that should be equal to it, instead of the plan's.
    pub twins: Vec<String>,
    /// What is different from the plan.
    pub changes: Changes,
    /// Who signs in.
    pub login: Option<Login>,
    /// Whether somebody said that the target may be put under load.
    pub confirmed: bool,
    /// What the run is called in comparisons.
    pub label: Option<String>,
    /// Addresses of agents; this process when there are none.
    pub agents: Vec<String>,
    /// The word that agents ask for.
    pub agent_token: String,
    /// End the run when an agent is lost.
    pub stop_without_agent: bool,
    /// Ends the run early when somebody asks for it.
    pub stop: Stop,
}

/// Differences of a run from its plan.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Changes {
    /// What the target speaks.
    pub kind: Option<Kind>,
    /// Below which path the corpus lies.
    pub root: Option<String>,
    /// The share of the corpus, above 0.
    pub scale: Option<f64>,
    /// Virtual users; of a load with steps, those of the highest, and the others in proportion.
    pub users: Option<u32>,
    /// Seconds that are counted, all steps together; ramp and warm-up last at most half as long each.
    pub seconds: Option<u64>,
    /// Other steps: level and seconds.
    pub steps: Vec<(f64, u64)>,
}

impl Changes {
    /// A plan with these changes.
    ///
    /// # Errors
    /// What is wrong with the plan or with what becomes of it.
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
