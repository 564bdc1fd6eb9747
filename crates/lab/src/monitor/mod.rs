//! What is watched during a run besides answers: the machine of the generator, and Prometheus endpoints. Changes nothing.

mod machine;
mod prometheus;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::error::Result;
use crate::plan::{Monitor, Plan};
use crate::wire::Target;

/// Name of the series of processor time, in percent of all cores.
pub const CPU: &str = "machine: processors, %";
/// How names of series of a process's memory end.
pub const MEMORY: &str = "memory, bytes";

/// How often is looked.
const EVERY: Duration = Duration::from_secs(1);
/// Most series of a run.
const MOST_SERIES: usize = 300;

/// A figure over time.
#[derive(Clone, Debug, Default, Serialize, Deserialize, PartialEq)]
pub struct Series {
    /// What it is, with its unit.
    pub name: String,
    /// Seconds after the start, and the value.
    pub points: Vec<(f64, f64)>,
}

/// One figure at one time.
type Reading = (String, f64);

type Kept = Arc<Mutex<Vec<Series>>>;

/// Watches until it is ended.
pub struct Watch {
    kept: Kept,
    tasks: Vec<tokio::task::JoinHandle<()>>,
}

impl Watch {
    /// Begins to watch what the plan names.
    ///
    /// # Errors
    /// When a monitor's address is not one that may be asked.
    pub async fn start(plan: &Plan, target: &Target) -> Result<Self> {
        let kept = Kept::default();
        let begin = Instant::now();
        let mut tasks = Vec::new();
        for monitor in &plan.monitors {
            let kept = kept.clone();
            match monitor {
                Monitor::Machine { processes } => {
                    let mut machine = machine::Machine::new(processes.clone());
                    tasks.push(tokio::spawn(async move {
                        let mut clock = tokio::time::interval(EVERY);
                        loop {
                            clock.tick().await;
                            keep(&kept, begin, machine.read());
                        }
                    }));
                }
                Monitor::Prometheus { url, figures } => {
                    let endpoint = prometheus::Endpoint::new(plan, target, url, figures.clone()).await?;
                    tasks.push(tokio::spawn(async move {
                        endpoint.watch(move |readings| keep(&kept, begin, readings)).await
                    }));
                }
            }
        }
        Ok(Self { kept, tasks })
    }

    /// Ends watching: what was seen.
    pub async fn end(self) -> Vec<Series> {
        for task in &self.tasks {
            task.abort();
        }
        std::mem::take(&mut *self.kept.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

fn keep(kept: &Kept, begin: Instant, readings: Vec<Reading>) {
    let at = (begin.elapsed().as_secs_f64() * 10.0).round() / 10.0;
    let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
    for (name, value) in readings {
        let all = kept.len();
        match kept.iter_mut().find(|series| series.name == name) {
            Some(series) => series.points.push((at, value)),
            None if all < MOST_SERIES => kept.push(Series { name, points: vec![(at, value)] }),
            None => {}
        }
    }
}
