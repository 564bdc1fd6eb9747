//! Runs the monitors of a plan during a run: on this machine, on the machines of agents, and at Prometheus endpoints.
//! Evaluates nothing.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use crate::agent;
use crate::error::Result;
use crate::monitor::{self, Endpoint, MAX_NAME, MAX_SERIES, Monitor, Reading, Series};
use crate::plan::Plan;
use crate::wire::Target;

type KeptSeries = Arc<Mutex<Vec<Series>>>;

/// Running monitors, which end when this is dropped.
#[derive(Default)]
pub struct Monitors {
    /// Series of each monitor on each machine.
    recorded: Vec<KeptSeries>,
    tasks: Vec<tokio::task::JoinHandle<()>>,
}

impl Monitors {
    /// Starts the monitors of the plan, also on the machines of the agents that send the load. `confirmed` is true if
    /// the user confirmed that the hosts of the plan are their own. Also returns messages about figures of the target
    /// that are unavailable.
    ///
    /// # Errors
    /// If a monitor's address must not be contacted, or its object cannot be monitored.
    pub async fn start(
        plan: &Plan,
        target: &Target,
        agents: &[String],
        token: &str,
        confirmed: bool,
    ) -> Result<(Self, Vec<String>)> {
        let begin = Instant::now();
        let (mut watch, mut unwatched) = (Self::default(), Vec::new());
        for monitor in &plan.monitors {
            if let Monitor::Prometheus { url, figures } = monitor {
                let endpoint = Endpoint::new(&plan.target, target, url, figures.clone()).await?;
                match endpoint.look().await {
                    Ok(()) => {
                        let task = endpoint.watch(watch.recorder(begin, String::new()));
                        watch.tasks.push(tokio::spawn(task));
                    }
                    // Plans are made for many targets, and not every target has figures of its own.
                    Err(error) if url.starts_with('/') => unwatched.push(error.to_string()),
                    Err(error) => return Err(error),
                }
                continue;
            }
            let mut places = monitor.on().to_vec();
            if places.is_empty() {
                let looking = monitor::look(monitor, watch.recorder(begin, String::new())).await?;
                watch.tasks.push(tokio::spawn(looking));
                if matches!(monitor, Monitor::Machine { .. }) {
                    // The machines of the generators can distort a run as well.
                    places = agents.to_vec();
                }
            }
            for place in places {
                let keep = watch.recorder(begin, format!("{place}: "));
                let watching = async {
                    let agent = agent::resolve_monitor_agent(&place, agents, &plan.target, confirmed).await?;
                    agent::watch(&place, agent, token, monitor, keep).await
                };
                match watching.await {
                    Ok(looking) => watch.tasks.push(tokio::spawn(looking)),
                    // The leader of the run will also find that the agent is unreachable, and reports it.
                    Err(_) if agents.contains(&place) => {}
                    Err(error) => return Err(error),
                }
            }
        }
        Ok((watch, unwatched))
    }

    /// Returns a function that stores the readings of one monitor. The names of its figures begin with `place`.
    fn recorder(&mut self, begin: Instant, place: String) -> impl Fn(Vec<Reading>) + Send + Sync + use<> {
        let kept = KeptSeries::default();
        self.recorded.push(kept.clone());
        move |readings| keep(&kept, begin, &place, readings)
    }

    /// Returns the series recorded so far.
    pub fn series(&self) -> Vec<Series> {
        let copy = |kept: &KeptSeries| kept.lock().unwrap_or_else(PoisonError::into_inner).clone();
        self.recorded.iter().flat_map(copy).collect()
    }
}

impl Drop for Monitors {
    fn drop(&mut self) {
        self.tasks.iter().for_each(tokio::task::JoinHandle::abort);
    }
}

fn keep(kept: &KeptSeries, begin: Instant, place: &str, readings: Vec<Reading>) {
    let at = (begin.elapsed().as_secs_f64() * 10.0).round() / 10.0;
    let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
    for (name, value) in readings {
        let name = format!("{place}{name}");
        let all = kept.len();
        match kept.iter_mut().find(|series| series.name == name) {
            Some(series) => series.points.push((at, value)),
            None if all < MAX_SERIES && name.len() <= MAX_NAME => kept.push(Series { name, points: vec![(at, value)] }),
            None => {}
        }
    }
}
