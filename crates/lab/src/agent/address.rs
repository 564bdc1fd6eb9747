//! Addresses of agents, and the check of which agents an order may be sent to. Sends no requests itself.

use crate::error::{Error, Result};
use crate::wire::{Target, TargetPlan};

/// Resolves the agent that is to monitor a host for a plan. An order carries the agent token, and a plan may come from
/// an untrusted source. An agent that only the plan names therefore gets the token only if load could be sent to the
/// same address.
///
/// # Errors
/// If the agent must not be contacted, or its name cannot be resolved.
pub async fn resolve_monitor_agent(
    address: &str,
    agents: &[String],
    plan: &TargetPlan,
    confirmed: bool,
) -> Result<Target> {
    if agents.iter().any(|agent| agent == address) {
        return resolve_agent(address).await;
    }
    let agent = Target::new(plan, Some(&url_of(address)), None, confirmed).await;
    agent.map_err(|error| {
        Error::new(format!(
            "the agent {address} is not contacted, because it would receive the token of --token: {error}"
        ))
    })
}

/// Resolves an agent that was named outside the plan and may therefore receive orders.
pub async fn resolve_agent(address: &str) -> Result<Target> {
    let url = url_of(address);
    let place = TargetPlan { hosts: vec![url.clone()], ..TargetPlan::default() };
    Target::new(&place, Some(&url), None, true).await
}

fn url_of(address: &str) -> String {
    if address.contains("://") { address.to_owned() } else { format!("http://{address}") }
}
