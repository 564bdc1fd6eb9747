//! Monitors of machines, databases and files on this machine, and of Prometheus endpoints, as a supplement to the
//! measured responses. Read-only.

mod files;
mod machine;
mod postgresql;
mod prometheus;
mod series;
mod spec;

use std::future::Future;
use std::pin::Pin;

use crate::error::Result;

pub use prometheus::Endpoint;
#[cfg(fuzzing)]
pub use prometheus::fuzzing::figures;
pub use series::{CPU, EVERY, MAX_NAME, MAX_SERIES, MEMORY, Reading, Series};
pub use spec::Monitor;

/// Task that runs until it is dropped.
pub type WatchingTask = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Takes readings of an object on this machine once a second, from now on.
///
/// # Errors
/// If the object cannot be monitored.
pub async fn look(monitor: &Monitor, keep: impl Fn(Vec<Reading>) + Send + 'static) -> Result<WatchingTask> {
    let mut clock = tokio::time::interval(EVERY);
    Ok(match monitor.clone() {
        Monitor::Machine { processes, .. } => {
            let mut machine = machine::Machine::new(processes);
            Box::pin(async move {
                loop {
                    clock.tick().await;
                    keep(machine.read());
                }
            })
        }
        Monitor::Files { paths, .. } => Box::pin(async move {
            loop {
                clock.tick().await;
                keep(files::read(&paths));
            }
        }),
        Monitor::Postgresql { connection, .. } => {
            let mut session = postgresql::Postgresql::open(&connection).await?;
            Box::pin(async move {
                loop {
                    clock.tick().await;
                    match session.read().await {
                        Some(readings) => keep(readings),
                        // The session has ended, as it may while the database is under load. It is opened again.
                        None => {
                            if let Ok(again) = postgresql::Postgresql::open(&connection).await {
                                session = again;
                            }
                        }
                    }
                }
            })
        }
        // Endpoints are read by the leader of the run, because the plan determines which hosts may be contacted.
        Monitor::Prometheus { .. } => Box::pin(std::future::pending()),
    })
}
