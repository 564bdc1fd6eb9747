//! Leads agents: assigns their parts of the load, merges their measurements and notices when an agent is lost.

use std::collections::BTreeSet;
use std::time::Duration;

use hyper::Method;
use hyper::header::AUTHORIZATION;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

use super::address::resolve_agent;
use super::protocol::{AgentLine, AgentOrder};
use crate::engine::Setup;
use crate::error::{Error, Result};
use crate::event::Event;
use crate::measure::{Collector, Totals, Window};
use crate::options::RunOptions;
use crate::thread::on_own_thread;
use crate::wire::{Client, Fault, FaultKind, RequestBuilder, Target};

/// Time allowed to an agent beyond its load and its last operation: it probes the target first.
const GRACE: Duration = Duration::from_secs(60);

enum AgentMessage {
    AgentLine(usize, AgentLine),
    Done(usize),
    Gone(usize, String),
}

/// Runs a plan on agents. Each agent gets an equal part of the users or of the rate.
///
/// # Errors
/// If no agent does its part.
pub async fn run_on_agents(
    setup: &Setup,
    plan_text: &str,
    wishes: &RunOptions,
    mut collector: Collector,
    tell: &mut dyn FnMut(Event),
) -> Result<(Vec<Window>, Totals)> {
    let (to, mut from) = unbounded_channel();
    let count = u32::try_from(wishes.agents.len()).unwrap_or(u32::MAX);
    for (at, address) in wishes.agents.iter().enumerate() {
        let agent = resolve_agent(address).await?;
        let login = setup.target.login.clone().map(|login| (login.user, login.password));
        let order = AgentOrder {
            plan: plan_text.to_owned(),
            target: setup.target.url.clone(),
            twins: setup.twins.iter().map(|twin| twin.url.clone()).collect(),
            changes: wishes.changes.clone(),
            login,
            people: setup.people.iter().map(|login| (login.user.clone(), login.password.clone())).collect(),
            confirmed: wishes.confirmed,
            run: setup.run.clone(),
            searchable: setup.searchable,
            part: (u32::try_from(at).unwrap_or(0), count),
        };
        let (token, to) = (wishes.agent_token.clone(), to.clone());
        tokio::spawn(async move {
            let news = to.clone();
            let done = on_own_thread(move || follow_agent(agent, order, token, at, news)).await;
            let _ = to.send(match done {
                Ok(Ok(())) => AgentMessage::Done(at),
                Ok(Err(fault)) => AgentMessage::Gone(at, fault.message),
                Err(error) => AgentMessage::Gone(at, error.to_string()),
            });
        });
    }
    drop(to);
    let threads = u32::try_from(setup.plan.load.threads).unwrap_or(1);
    let load = &setup.plan.load;
    let lasts = load.course().lasts();
    let deadline = tokio::time::Instant::now() + lasts + load.timeout.0 + GRACE;
    let mut working: BTreeSet<usize> = (0..wishes.agents.len()).collect();
    let (mut second, mut lost) = (0, Vec::new());
    while !working.is_empty() {
        let news = tokio::select! {
            news = from.recv() => news,
            () = tokio::time::sleep_until(deadline) => None,
            () = wishes.stop.first_request() => {
                // Agents stop once their connection to the leader is closed.
                tell(Event::Ending);
                break;
            }
        };
        let gone = match news {
            Some(AgentMessage::AgentLine(at, AgentLine::Flush(flush))) => {
                for window in collector.take(Some(at), *flush) {
                    second = window.second + 1;
                    tell(Event::Second(Box::new(window)));
                    if second == lasts.as_secs() {
                        tell(Event::Ending);
                    }
                }
                continue;
            }
            Some(AgentMessage::AgentLine(..)) => continue,
            Some(AgentMessage::Done(at)) => {
                working.remove(&at);
                continue;
            }
            Some(AgentMessage::Gone(at, why)) => vec![(at, why)],
            None => working.iter().map(|at| (*at, "it did not finish".to_owned())).collect(),
        };
        for (at, why) in gone {
            working.remove(&at);
            let said = format!("the agent {} is lost after {second} s: {why}", wishes.agents[at]);
            tell(Event::AgentLost(said.clone()));
            collector.lost(at, threads, said.clone());
            lost.push(said);
        }
        if wishes.stop_without_agent && lost.len() < wishes.agents.len() {
            break;
        }
    }
    if lost.len() == wishes.agents.len() {
        return Err(Error::new(format!("no agent completed its part: {}", lost.join("; "))));
    }
    Ok(collector.end())
}

async fn follow_agent(
    agent: Target,
    order: AgentOrder,
    token: String,
    at: usize,
    to: UnboundedSender<AgentMessage>,
) -> Result<(), Fault> {
    let mut client = Client::new(std::sync::Arc::new(agent));
    let order = serde_json::to_value(&order).map_err(|error| Fault::new(FaultKind::Protocol, error.to_string()))?;
    let ask = RequestBuilder::new(Method::POST, "/run").json(&order).with(AUTHORIZATION, &format!("Bearer {token}"));
    let mut ended = false;
    client
        .stream_lines(ask, |line| {
            let line = serde_json::from_slice(line)
                .map_err(|_| Fault::new(FaultKind::Protocol, "it does not run this version of the lab"))?;
            match line {
                AgentLine::Failed(why) => return Err(Fault::new(FaultKind::Status, why)),
                AgentLine::End => ended = true,
                line => {
                    let given_up = |_| Fault::new(FaultKind::Closed, "the run is no longer being led");
                    to.send(AgentMessage::AgentLine(at, line)).map_err(given_up)?;
                }
            }
            Ok(())
        })
        .await?;
    if ended { Ok(()) } else { Err(Fault::new(FaultKind::Closed, "its response ended before its part was complete")) }
}
