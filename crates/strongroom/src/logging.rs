//! Structured logs on standard error: text lines on a terminal, JSON otherwise or on request.

use std::io::IsTerminal;

use tracing_subscriber::EnvFilter;

/// Starts logging. `STRONGROOM_LOG` filters the log, in the syntax of `RUST_LOG`; the default is `info`.
pub fn start(json: bool) {
    let filter = EnvFilter::try_from_env("STRONGROOM_LOG").unwrap_or_else(|_| EnvFilter::new("info"));
    let builder = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    // A line that cannot be written, as on a full disk, is dropped. Reporting the failure on the same standard error
    // would panic.
    let builder = builder.log_internal_errors(false);
    if json || !std::io::stderr().is_terminal() {
        builder.json().flatten_event(true).init();
    } else {
        builder.with_target(false).init();
    }
}
