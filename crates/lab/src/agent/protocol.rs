//! Messages between an agent and its leader. Only the types; nothing is sent here.

use serde::{Deserialize, Serialize};

use crate::corpus::SearchableTexts;
use crate::measure::Flush;
use crate::monitor::Reading;
use crate::options::PlanOverrides;

/// An order for an agent.
#[derive(Serialize, Deserialize)]
pub struct AgentOrder {
    /// The plan.
    pub plan: String,
    /// The target's URL.
    pub target: String,
    /// URLs of the servers that should be equal to the target.
    pub twins: Vec<String>,
    /// Deviations from the plan.
    pub changes: PlanOverrides,
    /// Login and password for the target.
    pub login: Option<(String, String)>,
    /// Logins and passwords of the users who open pages.
    pub people: Vec<(String, String)>,
    /// True if the user confirmed that the target may be put under load.
    pub confirmed: bool,
    /// Identifier of this run, unique among runs, that is part of the names it creates.
    pub run: String,
    /// Texts of the corpus that a search must find.
    #[serde(default)]
    pub searchable: SearchableTexts,
    /// Index of this agent, from 0, and the number of agents.
    pub part: (u32, u32),
}

/// A line of an agent's response.
#[derive(Serialize, Deserialize)]
pub enum AgentLine {
    /// Measurements of one thread.
    Flush(Box<Flush>),
    /// Monitor readings from the agent's machine.
    Seen(Vec<Reading>),
    /// Keep-alive.
    Alive,
    /// The order failed, with the reason.
    Failed(String),
    /// The order is complete and all threads have ended.
    End,
}
