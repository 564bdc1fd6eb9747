//! Leads agents: gives them their parts, merges what they measured, and notices when one is gone.

use hyper::Method;
use hyper::header::AUTHORIZATION;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

use super::{Line, Order, order_to};
use crate::engine::{Setup, on_own_thread};
use crate::error::{Error, Result};
use crate::measure::{Collector, Totals, Window};
use crate::run::{Event, Wishes};
use crate::wire::{Ask, Client, Fault, FaultKind, Target};

enum News {
    Line(usize, Line),
    Gone(usize, String),
}

/// Runs a plan on agents; each gets an equal part of the users or of the rate.
///
/// # Errors
/// When no agent does its part, or one is lost and the run is to stop then.
pub async fn lead(
    setup: &Setup,
    plan_text: &str,
    wishes: &Wishes,
    mut collector: Collector,
    tell: &mut dyn FnMut(Event),
) -> Result<(Vec<Window>, Totals)> {
    let (to, mut from) = unbounded_channel();
    let count = u32::try_from(wishes.agents.len()).unwrap_or(u32::MAX);
    for (at, address) in wishes.agents.iter().enumerate() {
        let agent = order_to(address).await?;
        let login = setup.target.login.clone().map(|login| (login.user, login.password));
        let order = Order {
            plan: plan_text.to_owned(),
            target: setup.target.url.clone(),
            twins: setup.twins.iter().map(|twin| twin.url.clone()).collect(),
            changes: wishes.changes.clone(),
            login,
            people: setup.people.iter().map(|login| (login.user.clone(), login.password.clone())).collect(),
            confirmed: wishes.confirmed,
            run: setup.run.clone(),
            part: (u32::try_from(at).unwrap_or(0), count),
        };
        let (token, to) = (wishes.agent_token.clone(), to.clone());
        tokio::spawn(async move {
            let news = to.clone();
            let done = on_own_thread(move || follow(agent, order, token, at, news)).await;
            let why = match done {
                Ok(Ok(())) => None,
                Ok(Err(fault)) => Some(fault.message),
                Err(error) => Some(error.to_string()),
            };
            if let Some(why) = why {
                let _ = to.send(News::Gone(at, why));
            }
        });
    }
    drop(to);
    let threads = u32::try_from(setup.plan.load.threads).unwrap_or(1);
    let mut left = wishes.agents.len();
    let mut lost = Vec::new();
    while let Some(news) = from.recv().await {
        match news {
            News::Line(at, Line::Flush(flush)) => {
                for window in collector.take(Some(at), *flush) {
                    tell(Event::Second(Box::new(window)));
                }
            }
            News::Line(..) => {}
            News::Gone(at, why) => {
                let name = &wishes.agents[at];
                let said = format!("the agent {name} is lost: {why}");
                if wishes.stop_without_agent {
                    return Err(Error::new(said));
                }
                tell(Event::Lost(said.clone()));
                lost.push(said);
                left -= 1;
                collector.lost(threads);
            }
        }
    }
    if left == 0 {
        return Err(Error::new(format!("no agent did its part: {}", lost.join("; "))));
    }
    Ok(collector.end())
}

async fn follow(agent: Target, order: Order, token: String, at: usize, to: UnboundedSender<News>) -> Result<(), Fault> {
    let mut client = Client::new(std::sync::Arc::new(agent));
    let order = serde_json::to_value(&order).map_err(|error| Fault::new(FaultKind::Protocol, error.to_string()))?;
    let ask = Ask::new(Method::POST, "/run").json(&order).with(AUTHORIZATION, &format!("Bearer {token}"));
    let mut ended = false;
    client
        .lines(ask, |line| {
            let line = serde_json::from_slice(line)
                .map_err(|_| Fault::new(FaultKind::Protocol, "it does not speak this version of the lab"))?;
            match line {
                Line::Failed(why) => return Err(Fault::new(FaultKind::Status, why)),
                Line::End => ended = true,
                line => {
                    // Whoever leads may have given up.
                    let _ = to.send(News::Line(at, line));
                }
            }
            Ok(())
        })
        .await?;
    if ended { Ok(()) } else { Err(Fault::new(FaultKind::Closed, "its answer ended before its part did")) }
}
