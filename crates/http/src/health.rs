//! Whether the process lives and can work, and its figures for Prometheus.

use std::sync::OnceLock;
use std::time::Duration;

use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};

use crate::state::AppState;

/// Name of the histogram of request durations, in seconds.
pub const REQUESTS: &str = "strongroom_http_request_seconds";

/// Upper bounds of the buckets, in seconds: from a cached page to a large upload.
const BUCKETS: &[f64] =
    &[0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0, 60.0, 600.0];

/// How long databases may take to show that they are there.
const DATABASES: Duration = Duration::from_secs(2);

/// The process answers.
pub async fn alive() -> &'static str {
    "ok\n"
}

/// The process can do its work; 503 while it is shutting down, so that a load balancer turns away in time, and while its databases give no
/// answer.
pub async fn ready(State(state): State<AppState>) -> Response {
    let refuse = |why: &'static str| (StatusCode::SERVICE_UNAVAILABLE, why).into_response();
    if state.is_shutting_down() {
        return refuse("shutting down\n");
    }
    match tokio::time::timeout(DATABASES, state.repository().databases_answer()).await {
        Ok(true) => "ready\n".into_response(),
        // Anybody may ask: which one, and why, is in the log of requests that need it.
        Ok(false) | Err(_) => refuse("not ready: the databases of the farm do not answer\n"),
    }
}

/// All metrics in Prometheus' text format.
pub async fn figures() -> Response {
    let kind = (header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8");
    match recorder() {
        Some(handle) => ([kind], handle.render()).into_response(),
        None => (StatusCode::SERVICE_UNAVAILABLE, "another recorder of metrics is installed\n").into_response(),
    }
}

/// Folds what was recorded since the last call into the histograms, so that samples do not pile up unread.
pub fn fold_samples() {
    if let Some(handle) = recorder() {
        handle.run_upkeep();
    }
}

/// Begins to record metrics. What was made before, such as an open database, counts nowhere: call this first.
pub fn record_metrics() {
    recorder();
}

/// Name of the gauge of the memory that this process holds, in bytes, as exporters of other programs call it.
pub const MEMORY: &str = "process_resident_memory_bytes";

/// Puts how much memory this process holds into the metrics, where the system tells.
pub fn note_memory() {
    let Ok(status) = std::fs::read_to_string("/proc/self/status") else { return };
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    if let Some(kilobytes) = line.and_then(|rest| rest.trim().trim_end_matches(" kB").parse::<u32>().ok()) {
        metrics::gauge!(MEMORY).set(f64::from(kilobytes) * 1024.0);
    }
}

/// The process-wide recorder, installed at the first call; `None` when the process has another one.
pub fn recorder() -> Option<&'static PrometheusHandle> {
    static RECORDER: OnceLock<Option<PrometheusHandle>> = OnceLock::new();
    RECORDER
        .get_or_init(|| {
            PrometheusBuilder::new()
                .set_buckets_for_metric(Matcher::Full(REQUESTS.to_owned()), BUCKETS)
                .ok()
                .and_then(|builder| builder.install_recorder().ok())
        })
        .as_ref()
}
