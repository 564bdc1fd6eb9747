//! The setup of a run, and the distribution of its users over servers and agents. Sends nothing.

use std::sync::Arc;

use crate::corpus::{Corpus, SearchableTexts};
use crate::plan::{Load, Model, Plan};
use crate::wire::{Login, Target};

/// The setup of a run.
#[derive(Clone)]
pub struct Setup {
    /// The plan.
    pub plan: Arc<Plan>,
    /// Target of the load.
    pub target: Arc<Target>,
    /// Servers that should be equal to the target. They take their share of the users.
    pub twins: Vec<Arc<Target>>,
    /// Corpus on the target.
    pub corpus: Arc<Corpus>,
    /// Identifier of this run, unique among runs, that is part of the names it creates.
    pub run: String,
    /// Logins of the users who open pages; empty if all use the target's login.
    pub people: Arc<Vec<Login>>,
    /// Texts of the corpus that a search must find.
    pub searchable: SearchableTexts,
    /// Index of this generator, from 0, and the number of generators. Each has its share of the users or of the rate.
    pub generator_index: (u32, u32),
}

impl Setup {
    /// All servers that receive load.
    pub fn servers(&self) -> impl Iterator<Item = &Arc<Target>> {
        std::iter::once(&self.target).chain(&self.twins)
    }
}

/// Counts the users on each server and on each agent, when all users are active.
pub fn count_users(load: &Load, threads: u32, servers: usize, agents: usize) -> (Vec<u32>, Vec<u32>) {
    let (mut of_servers, mut of_agents) = (vec![0; servers], vec![0; agents]);
    let each = (threads as usize / agents.max(1)).max(1);
    for number in 0..load.most_users().max(threads) {
        of_servers[(number / threads) as usize % servers] += 1;
        if let Some(of_agent) = of_agents.get_mut((number % threads) as usize / each) {
            *of_agent += 1;
        }
    }
    if load.model == Model::Open {
        // In the open model, arrivals are spread evenly over the agents, whichever user takes them, so all agents have
        // the same weight.
        of_agents.fill(1);
    }
    (of_servers, of_agents)
}
