//! Disk reads on a small pool of threads with lower CPU priority than those that answer requests. Otherwise many
//! concurrent disk reads would take CPU time from users who open a page.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use model::{Error, Result};
use tokio::sync::oneshot;

/// The pool threads' niceness (Unix nice value).
const NICE: i32 = 5;

type Work = Box<dyn FnOnce() + Send>;

struct Pool {
    queue: Mutex<Sender<Work>>,
}

/// Runs work that reads from the disk on the pool and returns its result.
pub(super) async fn cold<T: Send + 'static>(work: impl FnOnce() -> Result<T> + Send + 'static) -> Result<T> {
    let (answer, answered) = oneshot::channel();
    let task: Work = Box::new(move || {
        // Skips work whose caller no longer waits.
        if !answer.is_closed() {
            let _ = answer.send(work());
        }
    });
    let sent = pool().queue.lock().unwrap_or_else(PoisonError::into_inner).send(task);
    sent.map_err(|_| Error::unavailable("the threads that read from the disk have ended: restart the program"))?;
    answered.await.map_err(|error| Error::unavailable("a read from the disk was interrupted").with_source(error))?
}

fn pool() -> &'static Pool {
    static POOL: OnceLock<Pool> = OnceLock::new();
    POOL.get_or_init(|| {
        let (sender, receiver) = channel::<Work>();
        let receiver = Arc::new(Mutex::new(receiver));
        // A disk serves several reads at once; more threads would only queue.
        let threads = std::thread::available_parallelism().map_or(4, |cores| (2 * cores.get()).clamp(4, 16));
        for number in 0..threads {
            let receiver = receiver.clone();
            let thread = std::thread::Builder::new().name(format!("blob-read-{number}"));
            if let Err(error) = thread.spawn(move || serve(&receiver)) {
                tracing::error!(%error, "a thread that reads from the disk cannot be started");
            }
        }
        Pool { queue: Mutex::new(sender) }
    })
}

fn serve(queue: &Mutex<Receiver<Work>>) {
    if let Err(error) = rustix::process::nice(NICE) {
        tracing::debug!(%error, "the priority of the threads that read from the disk cannot be lowered");
    }
    loop {
        let next = queue.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(work) = next else { return };
        // A panic in a read must not end the thread. The caller gets an "interrupted" error.
        if std::panic::catch_unwind(std::panic::AssertUnwindSafe(work)).is_err() {
            tracing::error!("a read from the disk panicked");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn work_is_answered_and_a_panic_harms_only_itself() {
        for _ in 0..40 {
            assert!(cold::<()>(|| panic!("as a test")).await.is_err());
        }
        let all = (0..100).map(|n| cold(move || Ok(n)));
        let sum: i32 = futures_util::future::try_join_all(all).await.unwrap().iter().sum();
        assert_eq!(sum, 4950);
    }
}
