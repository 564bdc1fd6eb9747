//! The process-wide metrics recorder.

use std::sync::OnceLock;

use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};

use super::names::{MEMORY, REQUESTS};

/// Upper bounds of the request-duration buckets, in seconds: from a cached page to a large upload.
const BUCKETS: &[f64] =
    &[0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0, 60.0, 600.0];

/// Drains the samples recorded since the last call into the histograms. Otherwise unread samples accumulate.
pub fn fold_samples() {
    if let Some(handle) = recorder() {
        handle.run_upkeep();
    }
}

/// Starts recording metrics. Call this first: objects created earlier, such as an open database, are not counted.
pub fn record_metrics() {
    recorder();
}

/// Records this process's memory, where the operating system reports it.
pub fn note_memory() {
    let Ok(status) = std::fs::read_to_string("/proc/self/status") else { return };
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    if let Some(kilobytes) = line.and_then(|rest| rest.trim().trim_end_matches(" kB").parse::<u32>().ok()) {
        metrics::gauge!(MEMORY).set(f64::from(kilobytes) * 1024.0);
    }
}

/// Returns the process-wide recorder, which the first call installs. `None` when the process already has another one.
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
