//! Addresses of agents, and which of them may be asked. Sends nothing.

use crate::error::{Error, Result};
use crate::wire::{Target, TargetPlan};

/// An agent that watches for a plan. A plan may come from anybody, and with an order goes the agents' word: what the
/// plan alone names gets it where load might be sent, too.
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
pub async fn order_to(address: &str) -> Result<Target> {
    let url = url_of(address);
    let place = TargetPlan { hosts: vec![url.clone()], ..TargetPlan::default() };
    Target::new(&place, Some(&url), None, true).await
}

fn url_of(address: &str) -> String {
    if address.contains("://") { address.to_owned() } else { format!("http://{address}") }
}
