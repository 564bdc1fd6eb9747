//! Threads with a low priority for work in the background of a server.

use std::future::Future;

use tokio::sync::oneshot;

/// Niceness of background threads, relative to request threads.
pub(crate) const NICE: i32 = 10;

/// Runs a future on a thread with a low priority until dropped.
pub(crate) async fn run_in_background<F: Future<Output = ()>>(
    name: &'static str,
    begin: impl FnOnce() -> F + Send + 'static,
) {
    let (stopped, stop) = oneshot::channel::<()>();
    let handle = std::thread::Builder::new().name(name.to_owned()).spawn(move || {
        // Threads started by this one inherit the priority.
        if let Err(error) = rustix::process::nice(NICE) {
            tracing::debug!(name, %error, "the priority of a thread in the background cannot be lowered");
        }
        match tokio::runtime::Builder::new_current_thread().enable_all().max_blocking_threads(8).build() {
            Ok(runtime) => runtime.block_on(async {
                tokio::select! {
                    () = begin() => {}
                    _ = stop => {}
                }
            }),
            Err(error) => tracing::error!(name, %error, "a thread in the background cannot be run"),
        }
    });
    if let Err(error) = &handle {
        tracing::error!(name, %error, "a thread in the background cannot be run");
    }
    // Dropping this future drops `stopped`, which ends the thread.
    std::future::pending::<()>().await;
    drop(stopped);
}
