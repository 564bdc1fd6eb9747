//! Generators on other machines: an agent waits for plans and sends what it measured second by second; whoever leads them merges
//! that as if its own threads had measured it.

mod lead;
mod serve;

use serde::{Deserialize, Serialize};

use crate::measure::Flush;

pub use lead::lead;
pub use serve::serve;

/// What an agent is asked to do.
#[derive(Serialize, Deserialize)]
struct Order {
    /// The plan.
    plan: String,
    /// The target's address.
    target: String,
    /// Addresses of the servers that should be equal to it.
    twins: Vec<String>,
    /// What is different from the plan.
    changes: crate::run::Changes,
    /// Login and password.
    login: Option<(String, String)>,
    /// Whether somebody said that the target may be put under load.
    confirmed: bool,
    /// A word that no other run uses in names.
    run: String,
    /// Which of how many agents this is.
    part: (u32, u32),
}

/// A line of an agent's answer.
#[derive(Serialize, Deserialize)]
enum Line {
    /// What a thread measured.
    Flush(Box<Flush>),
    /// It is alive.
    Alive,
    /// It could not do it, and why.
    Failed(String),
    /// Everything has ended.
    End,
}
