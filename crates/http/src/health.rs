//! Liveness and readiness of the process, and its metrics for Prometheus.

use std::time::Duration;

use axum::extract::{Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use model::{Code, Error};

use http_core::protocol::credentials::{self, Credentials};
use http_core::server::error::Problem;
use http_core::server::state::AppState;
use http_core::{figures, identity};

/// Time limit for the databases to answer the readiness check.
const DATABASES: Duration = Duration::from_secs(4);

/// Reports that the process responds.
pub async fn alive() -> &'static str {
    "ok\n"
}

/// Reports whether the process can do its work. Responds with 503 during shutdown, so that a load balancer redirects
/// traffic in time, and while its databases do not work. The response is public: it names the failing databases with a
/// short reason. Locations and addresses appear only in the log.
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
        (true, false) => format!("ready, except for\n{troubles}\n").into_response(),
        (false, _) => (StatusCode::SERVICE_UNAVAILABLE, format!("not ready\n{troubles}\n")).into_response(),
    }
}

/// All metrics in the Prometheus text format. Requires the token from the settings; if none is set, only requests from
/// this machine are allowed.
pub async fn metrics(State(state): State<AppState>, request: Request) -> Response {
    let (parts, _) = request.into_parts();
    let allowed = match state.metrics_token() {
        Some(token) => presents_token(&parts.headers, token),
        None => is_of_this_machine(&parts),
    };
    if !allowed {
        let error = Error::forbidden(
            "metrics are given on the server's own machine or, if the setting metrics_token is set, to those who send \
             it as a bearer token",
        );
        return Problem::from(error.with_code(Code::MetricsToken)).into_response();
    }
    let kind = (header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8");
    match figures::recorder() {
        Some(handle) => ([kind], handle.render()).into_response(),
        None => (StatusCode::SERVICE_UNAVAILABLE, "another recorder of metrics is installed\n").into_response(),
    }
}

fn presents_token(headers: &HeaderMap, token: &str) -> bool {
    let shown = headers.get(header::AUTHORIZATION).and_then(|field| credentials::parse(field.as_bytes()).ok());
    // Compares digests, so that the timing does not reveal how much of the token is right.
    let Some(Credentials::Bearer(shown)) = shown else { return false };
    blake3::hash(shown.as_bytes()) == blake3::hash(token.as_bytes())
}

/// Returns whether the request comes from a program on this machine and was not forwarded by a proxy.
fn is_of_this_machine(parts: &Parts) -> bool {
    let address = identity::client(parts).address;
    let forwarded = ["forwarded", "x-forwarded-for", "x-real-ip"].iter().any(|name| parts.headers.contains_key(*name));
    // The address is unspecified only when the router is called directly, without a connection.
    (address.is_loopback() || address.is_unspecified()) && !forwarded
}
