//! Sends the load from threads with their own event loops, each with its share of the users. Independent of reports.

mod mix;
mod pace;
mod probe;
mod setup;
mod worker;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::sync::mpsc::UnboundedSender;
use tokio::sync::oneshot;

use crate::error::Result;
use crate::measure::Flush;
use crate::thread::spawn;

pub use mix::{MissingShare, Mix};
pub use probe::version;
pub use setup::{Setup, count_users};

/// A run in progress.
pub struct Running {
    stop: Arc<AtomicBool>,
    threads: Vec<oneshot::Receiver<()>>,
}

impl Running {
    /// Prevents further operations from starting.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Waits until all threads have ended. After the end of the load, this takes at most the timeout of one operation.
    pub async fn ended(self) {
        for thread in self.threads {
            // A thread that ended without reporting has ended as well.
            let _ = thread.await;
        }
    }
}

/// Starts a run. Its measurements are sent to `to`.
///
/// # Errors
/// If the threads cannot be started.
pub fn start(setup: &Setup, mix: &Mix, to: &UnboundedSender<Flush>) -> Result<Running> {
    raise_limit();
    let stop = Arc::new(AtomicBool::new(false));
    let threads = u32::try_from(setup.plan.load.threads).unwrap_or(1);
    let mut ends = Vec::new();
    let begin = std::time::Instant::now() + Duration::from_millis(20);
    for index in 0..threads {
        let (done, end) = oneshot::channel();
        let part = (setup.generator_index.0 * threads + index, setup.generator_index.1 * threads);
        let worker =
            worker::Worker { setup: setup.clone(), mix: mix.clone(), part, begin, stop: stop.clone(), to: to.clone() };
        spawn(&format!("lab-{index}"), move || worker.run(), done)?;
        ends.push(end);
    }
    Ok(Running { stop, threads: ends })
}

/// Raises the limit on open files to the maximum, because each user has a connection.
fn raise_limit() {
    use rustix::process::{Resource, getrlimit, setrlimit};
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    // If the limit cannot be raised, connections fail later and report that.
    let _ = setrlimit(Resource::Nofile, limit);
}
