//! The setup of a run, and how its users are spread over servers and agents. Sends nothing.

use std::sync::Arc;

use crate::corpus::Corpus;
use crate::plan::{Load, Model, Plan};
use crate::wire::{Login, Target};

/// The setup of a run.
#[derive(Clone)]
pub struct Setup {
    /// The plan.
    pub plan: Arc<Plan>,
    /// Where the load goes.
    pub target: Arc<Target>,
    /// Servers that should be equal to it, which take their parts of the users.
    pub twins: Vec<Arc<Target>>,
    /// What lies there.
    pub corpus: Arc<Corpus>,
    /// A word that no other run uses in names.
    pub run: String,
    /// How users sign in who open pages; empty when all do with the login of the target.
    pub people: Arc<Vec<Login>>,
    /// Which of how many generators this is, from 0: each has its share of the users or of the rate.
    pub part: (u32, u32),
}

impl Setup {
    /// All servers that load goes to.
    pub fn servers(&self) -> impl Iterator<Item = &Arc<Target>> {
        std::iter::once(&self.target).chain(&self.twins)
    }
}

/// Counts the users of each of so many servers, and of each of so many agents, when all are there.
pub fn spread(load: &Load, threads: u32, servers: usize, agents: usize) -> (Vec<u32>, Vec<u32>) {
    let (mut of_servers, mut of_agents) = (vec![0; servers], vec![0; agents]);
    let each = (threads as usize / agents.max(1)).max(1);
    for number in 0..load.most_users().max(threads) {
        of_servers[(number / threads) as usize % servers] += 1;
        if let Some(of_agent) = of_agents.get_mut((number % threads) as usize / each) {
            *of_agent += 1;
        }
    }
    if load.model == Model::Open {
        // Arrivals are dealt out evenly, whoever takes them.
        of_agents.fill(1);
    }
    (of_servers, of_agents)
}
