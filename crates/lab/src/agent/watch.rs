//! Monitors the machine that an agent runs on.

use std::sync::Arc;
use std::time::Duration;

use hyper::Method;
use hyper::header::AUTHORIZATION;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

use super::protocol::AgentLine;
use crate::error::{Error, Result};
use crate::monitor::{Monitor, Reading, WatchingTask};
use crate::thread::on_own_thread;
use crate::wire::{Client, Fault, FaultKind, RequestBuilder, Target};

/// Timeout for an agent's first reading.
const FIRST: Duration = Duration::from_secs(20);

/// Starts monitoring on an agent's machine. `place` is the agent's address, for messages.
///
/// # Errors
/// If the agent cannot be reached, refuses the order, or cannot monitor the requested object.
pub async fn watch(
    place: &str,
    agent: Target,
    token: &str,
    monitor: &Monitor,
    keep: impl Fn(Vec<Reading>) + Send + Sync + 'static,
) -> Result<WatchingTask> {
    let wrong = |why: &dyn std::fmt::Display| Error::new(format!("the agent {place} cannot watch: {why}"));
    let (to, mut from) = unbounded_channel();
    let (order, token) = (monitor.clone(), token.to_owned());
    let mut following = Box::pin(on_own_thread(move || follow(agent, order, token, to)));
    let first = tokio::select! {
        // The reason why the task ended says more than a closed channel, so a closed channel is not matched.
        Some(first) = from.recv() => first,
        ended = &mut following => return Err(match ended {
            Ok(Err(fault)) => wrong(&fault),
            _ => wrong(&"it has ended"),
        }),
        () = tokio::time::sleep(FIRST) => return Err(wrong(&"it does not answer")),
    };
    Ok(Box::pin(async move {
        keep(first);
        let taking = async {
            while let Some(readings) = from.recv().await {
                keep(readings);
            }
        };
        let _ = tokio::join!(following, taking);
    }))
}

async fn follow(
    agent: Target,
    monitor: Monitor,
    token: String,
    to: UnboundedSender<Vec<Reading>>,
) -> Result<(), Fault> {
    let order = serde_json::to_value(&monitor).map_err(|error| Fault::new(FaultKind::Protocol, error.to_string()))?;
    let ask = RequestBuilder::new(Method::POST, "/watch").json(&order).with(AUTHORIZATION, &format!("Bearer {token}"));
    let take = |line: &[u8]| {
        let line = serde_json::from_slice(line)
            .map_err(|_| Fault::new(FaultKind::Protocol, "it does not run this version of the lab"))?;
        match line {
            AgentLine::Seen(readings) => {
                to.send(readings).map_err(|_| Fault::new(FaultKind::Closed, "its figures are no longer needed"))
            }
            AgentLine::Failed(why) => Err(Fault::new(FaultKind::Status, why)),
            _ => Ok(()),
        }
    };
    Client::new(Arc::new(agent)).stream_lines(ask, take).await
}
