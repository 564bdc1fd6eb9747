//! Messages between an agent and whoever leads it. Sends none of them.

use serde::{Deserialize, Serialize};

use crate::measure::Flush;
use crate::monitor::Reading;
use crate::wishes::Changes;

/// An order for an agent.
#[derive(Serialize, Deserialize)]
pub struct AgentOrder {
    /// The plan.
    pub plan: String,
    /// The target's address.
    pub target: String,
    /// Addresses of the servers that should be equal to it.
    pub twins: Vec<String>,
    /// What is different from the plan.
    pub changes: Changes,
    /// Login and password.
    pub login: Option<(String, String)>,
    /// Logins and passwords of users who open pages.
    pub people: Vec<(String, String)>,
    /// Whether somebody said that the target may be put under load.
    pub confirmed: bool,
    /// A word that no other run uses in names.
    pub run: String,
    /// Which of how many agents this is.
    pub part: (u32, u32),
}

/// A line of an agent's answer.
#[derive(Serialize, Deserialize)]
pub enum AgentLine {
    /// What a thread measured.
    Flush(Box<Flush>),
    /// What is to be seen where it is.
    Seen(Vec<Reading>),
    /// It is alive.
    Alive,
    /// It could not do it, and why.
    Failed(String),
    /// Everything has ended.
    End,
}
