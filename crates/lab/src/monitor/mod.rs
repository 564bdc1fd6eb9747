//! Looks at what is to be seen besides answers: machines, databases and files of this machine, and Prometheus
//! endpoints. Changes nothing.

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
pub use series::{CPU, EVERY, LONGEST_NAME, MEMORY, MOST_SERIES, Reading, Series};
pub use spec::Monitor;

/// Work that goes on until it is dropped.
pub type WatchingTask = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Looks at something of this machine once a second, from now on.
///
/// # Errors
/// When it cannot be seen.
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
                        // The database has gone, as it may while it is put under load: it is asked again.
                        None => {
                            if let Ok(again) = postgresql::Postgresql::open(&connection).await {
                                session = again;
                            }
                        }
                    }
                }
            })
        }
        // An endpoint is asked by whoever leads the run, since the plan says what may be asked.
        Monitor::Prometheus { .. } => Box::pin(std::future::pending()),
    })
}
