//! Watches what a plan names while a run goes on: here, where agents are, and Prometheus endpoints. Judges nothing.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use crate::agent;
use crate::error::Result;
use crate::monitor::{self, Endpoint, LONGEST_NAME, MOST_SERIES, Monitor, Reading, Series};
use crate::plan::Plan;
use crate::wire::Target;

type KeptSeries = Arc<Mutex<Vec<Series>>>;

/// A watch that goes on until it is dropped.
#[derive(Default)]
pub struct Watch {
    /// Of each monitor and place.
    kept: Vec<KeptSeries>,
    tasks: Vec<tokio::task::JoinHandle<()>>,
}

impl Watch {
    /// Begins to watch what the plan names, and the machines of the agents that send the load; `confirmed` is whether
    /// somebody said that the hosts of the plan are theirs. Also says what of the target is not there to be watched.
    ///
    /// # Errors
    /// When a monitor's address is not one that may be asked, or what it watches cannot be seen.
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
                        let task = endpoint.watch(watch.keeper(begin, String::new()));
                        watch.tasks.push(tokio::spawn(task));
                    }
                    // Plans are for many targets, and not each has figures of its own.
                    Err(error) if url.starts_with('/') => unwatched.push(error.to_string()),
                    Err(error) => return Err(error),
                }
                continue;
            }
            let mut places = monitor.on().to_vec();
            if places.is_empty() {
                let looking = monitor::look(monitor, watch.keeper(begin, String::new())).await?;
                watch.tasks.push(tokio::spawn(looking));
                if matches!(monitor, Monitor::Machine { .. }) {
                    // The generators' machines belong to what can spoil a run.
                    places = agents.to_vec();
                }
            }
            for place in places {
                let keep = watch.keeper(begin, format!("{place}: "));
                let watching = async {
                    let agent = agent::known(&place, agents, &plan.target, confirmed).await?;
                    agent::watch(&place, agent, token, monitor, keep).await
                };
                match watching.await {
                    Ok(looking) => watch.tasks.push(tokio::spawn(looking)),
                    // Whoever leads the run finds out, too, and says what becomes of it.
                    Err(_) if agents.contains(&place) => {}
                    Err(error) => return Err(error),
                }
            }
        }
        Ok((watch, unwatched))
    }

    /// Takes what one monitor sees; names of figures begin with `place`.
    fn keeper(&mut self, begin: Instant, place: String) -> impl Fn(Vec<Reading>) + Send + Sync + use<> {
        let kept = KeptSeries::default();
        self.kept.push(kept.clone());
        move |readings| keep(&kept, begin, &place, readings)
    }

    /// What was seen so far.
    pub fn seen(&self) -> Vec<Series> {
        let copy = |kept: &KeptSeries| kept.lock().unwrap_or_else(PoisonError::into_inner).clone();
        self.kept.iter().flat_map(copy).collect()
    }
}

impl Drop for Watch {
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
            None if all < MOST_SERIES && name.len() <= LONGEST_NAME => {
                kept.push(Series { name, points: vec![(at, value)] })
            }
            None => {}
        }
    }
}
