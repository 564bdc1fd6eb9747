//! Generators on other machines: an agent waits for plans and sends what it measured second by second; whoever leads them merges
//! that as if its own threads had measured it.

mod lead;
mod serve;
mod watch;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::measure::Flush;
use crate::monitor::Reading;
use crate::wire::{Target, TargetPlan};

pub use lead::lead;
pub use serve::serve;
pub use watch::watch;

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
    /// Logins and passwords of users who open pages.
    people: Vec<(String, String)>,
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
    /// What is to be seen where it is.
    Seen(Vec<Reading>),
    /// It is alive.
    Alive,
    /// It could not do it, and why.
    Failed(String),
    /// Everything has ended.
    End,
}

/// An agent that watches for a plan. A plan may come from anybody, and with an order goes the agents' word: what the plan alone
/// names gets it where load might be sent, too.
///
/// # Errors
/// When the agent may not be asked, or its name cannot be looked up.
pub async fn known(address: &str, agents: &[String], plan: &TargetPlan, confirmed: bool) -> Result<Target> {
    if agents.iter().any(|agent| agent == address) {
        return order_to(address).await;
    }
    let agent = Target::new(plan, Some(&url_of(address)), None, confirmed).await;
    agent.map_err(|error| {
        Error::new(format!("the agent {address} is not asked, since it would get the word of --token: {error}"))
    })
}

/// An agent that was named beside the plan, as a place to send orders to.
async fn order_to(address: &str) -> Result<Target> {
    let url = url_of(address);
    let place = TargetPlan { hosts: vec![url.clone()], ..TargetPlan::default() };
    Target::new(&place, Some(&url), None, true).await
}

fn url_of(address: &str) -> String {
    if address.contains("://") { address.to_owned() } else { format!("http://{address}") }
}
