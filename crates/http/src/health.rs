//! Whether the process lives and can work, and its figures for Prometheus.

use std::sync::OnceLock;
use std::time::Duration;

use axum::extract::{Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};
use model::Error;

use crate::error::Problem;
use crate::identity;
use crate::protocol::credentials::{self, Credentials};
use crate::state::AppState;

/// Name of the histogram of request durations, in seconds.
pub const REQUESTS: &str = "strongroom_http_request_seconds";

/// Upper bounds of the buckets, in seconds: from a cached page to a large upload.
const BUCKETS: &[f64] =
    &[0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0, 60.0, 600.0];

/// How long databases may take to show that they are there.
const DATABASES: Duration = Duration::from_secs(4);

/// The process answers.
pub async fn alive() -> &'static str {
    "ok\n"
}

/// The process can do its work; 503 while it is shutting down, so that a load balancer turns away in time, and while its databases do not
/// work. Which ones, and in a few words why, anybody may read; places and addresses are in the log.
pub async fn ready(State(state): State<AppState>) -> Response {
    if state.is_shutting_down() {
        return (StatusCode::SERVICE_UNAVAILABLE, "shutting down\n").into_response();
    }
    let Ok(found) = tokio::time::timeout(DATABASES, state.repository().readiness()).await else {
        return (StatusCode::SERVICE_UNAVAILABLE, "not ready: the databases of the farm do not answer\n")
            .into_response();
    };
    let troubles = found.troubles.join("\n");
    match (found.is_ready, troubles.is_empty()) {
        (true, true) => "ready\n".into_response(),
        (true, false) => format!("ready, but for\n{troubles}\n").into_response(),
        (false, _) => (StatusCode::SERVICE_UNAVAILABLE, format!("not ready\n{troubles}\n")).into_response(),
    }
}

/// All metrics in Prometheus' text format: for whoever shows the token of the settings; where there is none, for this
/// very machine.
pub async fn figures(State(state): State<AppState>, request: Request) -> Response {
    let (parts, _) = request.into_parts();
    let allowed = match state.metrics_token() {
        Some(token) => shows(&parts.headers, token),
        None => is_of_this_machine(&parts),
    };
    if !allowed {
        let error = Error::forbidden(
            "metrics are told to programs on the server's machine, or with the metrics_token of its settings as a bearer token",
        );
        return Problem::from(error.with_code("metrics_token")).into_response();
    }
    let kind = (header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8");
    match recorder() {
        Some(handle) => ([kind], handle.render()).into_response(),
        None => (StatusCode::SERVICE_UNAVAILABLE, "another recorder of metrics is installed\n").into_response(),
    }
}

fn shows(headers: &HeaderMap, token: &str) -> bool {
    let shown = headers.get(header::AUTHORIZATION).and_then(|field| credentials::parse(field.as_bytes()).ok());
    // By their digests, so that the time tells nothing of how much of it is right.
    let Some(Credentials::Bearer(shown)) = shown else { return false };
    blake3::hash(shown.as_bytes()) == blake3::hash(token.as_bytes())
}

/// Whether nobody but a program on this machine asks; a proxy says for whom it asks.
fn is_of_this_machine(parts: &Parts) -> bool {
    let address = identity::client(parts).address;
    let forwarded = ["forwarded", "x-forwarded-for", "x-real-ip"].iter().any(|name| parts.headers.contains_key(*name));
    // Only a router that is called directly has no address.
    (address.is_loopback() || address.is_unspecified()) && !forwarded
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
