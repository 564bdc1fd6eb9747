//! Web page that follows a run in progress, served on the loopback interface only. The page polls for the measurements
//! of each second.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HOST, HeaderValue};
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use serde_json::json;
use tokio::net::TcpListener;

use crate::error::{Error, Result};
use crate::event::Event;
use crate::measure::Window;
use crate::report::live_page;

/// Timeout for receiving a request head.
const HEAD_TIMEOUT: Duration = Duration::from_secs(5);
/// Limit on the seconds in one response.
const MAX_SECONDS: usize = 2_000;

/// The live page of a run.
#[derive(Clone)]
pub struct Live {
    state: Arc<Mutex<LiveState>>,
    address: SocketAddr,
}

#[derive(Default)]
struct LiveState {
    phase: String,
    lasts: u64,
    windows: Vec<Window>,
    said: Vec<String>,
}

impl Live {
    /// Serves the live page of a run under the given title.
    ///
    /// # Errors
    /// If the address is not a loopback address, or cannot be listened on.
    pub async fn serve(listen: SocketAddr, title: &str) -> Result<Self> {
        if !listen.ip().is_loopback() {
            return Err(Error::new(format!(
                "{listen} can be reached from other machines, and the page requires no sign-in: choose a loopback \
                 address, such as 127.0.0.1"
            )));
        }
        let failed = |error: std::io::Error| Error::new(format!("cannot listen on {listen}: {error}"));
        let listener = TcpListener::bind(listen).await.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let live = Self { state: Arc::default(), address };
        let (served, page) = (live.clone(), Bytes::from(live_page(title)));
        tokio::spawn(async move {
            loop {
                let Ok((stream, _)) = listener.accept().await else {
                    // A transient failure, such as running out of file descriptors.
                    tokio::time::sleep(Duration::from_millis(100)).await;
                    continue;
                };
                let (served, page) = (served.clone(), page.clone());
                let answer = move |request: Request<Incoming>| {
                    let answer = served.answer(&request, &page);
                    async { Ok::<_, Infallible>(answer) }
                };
                let mut http = hyper::server::conn::http1::Builder::new();
                http.timer(TokioTimer::new()).header_read_timeout(HEAD_TIMEOUT);
                // An error means that the client has disconnected.
                tokio::spawn(http.serve_connection(TokioIo::new(stream), service_fn(answer)));
            }
        });
        Ok(live)
    }

    /// URL of the page.
    pub fn url(&self) -> String {
        format!("http://{}/", self.address)
    }

    /// Processes an event of the run.
    pub fn take(&self, event: &Event) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        match event {
            Event::Loading(sent, all) => state.phase = format!("loading the corpus: {sent} of {all} documents"),
            Event::Indexing(left) => state.phase = format!("waiting for the search index: {left} changes left"),
            Event::Crawling(read, all) => state.phase = format!("a full crawl: {read} of {all} documents"),
            Event::Begins(lasts) => {
                state.phase = "under load".to_owned();
                state.lasts = lasts.as_secs();
            }
            Event::Second(window) => state.windows.push((**window).clone()),
            Event::Ending => state.phase = "waiting for the last responses".to_owned(),
            Event::AgentLost(why) | Event::NotRemoved(why) | Event::MonitorUnavailable(why) => {
                state.said.push(why.clone())
            }
        }
    }

    /// Shows that the run is over.
    pub fn end(&self) {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).phase = "over".to_owned();
    }

    fn answer(&self, request: &Request<Incoming>, page: &Bytes) -> Response<Full<Bytes>> {
        // Protects against DNS rebinding: a foreign web page whose host name resolves to this machine must not read the
        // data.
        let host = request.headers().get(HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
        let own = [self.address.to_string(), format!("localhost:{}", self.address.port())];
        if !own.iter().any(|own| own == host) {
            return with(
                StatusCode::MISDIRECTED_REQUEST,
                "text/plain",
                "this page can be opened on this machine only\n".into(),
            );
        }
        match request.uri().path() {
            "/" => with(StatusCode::OK, "text/html; charset=utf-8", page.clone()),
            "/data" => {
                let query = request.uri().query().unwrap_or_default();
                let from = query.strip_prefix("from=").and_then(|number| number.parse().ok()).unwrap_or(0);
                with(StatusCode::OK, "application/json", self.since(from).to_string().into())
            }
            _ => with(StatusCode::NOT_FOUND, "text/plain", "only / and /data exist\n".into()),
        }
    }

    /// Returns the data after the first `from` seconds, which the page already has.
    fn since(&self, from: usize) -> serde_json::Value {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let seconds = state.windows.iter().skip(from).take(MAX_SECONDS).map(|window| {
            json!([
                window.second,
                window.level,
                window.done,
                window.failed,
                window.p50,
                window.p95,
                window.p99,
                window.max,
                window.sent,
                window.received,
                window.generator * 100.0,
                u8::from(window.counted),
            ])
        });
        json!({ "phase": state.phase, "lasts": state.lasts, "seconds": seconds.collect::<Vec<_>>(),
            "said": state.said })
    }
}

fn with(status: StatusCode, kind: &'static str, body: Bytes) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(body));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    let policy = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; connect-src 'self'";
    headers.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(policy));
    response
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    async fn get(address: SocketAddr, path: &str, host: &str) -> String {
        let mut stream = tokio::net::TcpStream::connect(address).await.unwrap();
        let asked = format!("GET {path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n");
        stream.write_all(asked.as_bytes()).await.unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).await.unwrap();
        text
    }

    #[tokio::test]
    async fn the_page_needs_nothing_else_and_gets_what_is_new() {
        let live = Live::serve("127.0.0.1:0".parse().unwrap(), "a run <b>").await.unwrap();
        let own = live.address.to_string();
        let page = get(live.address, "/", &own).await;
        assert!(page.contains("uPlot"));
        assert!(page.contains("a run &lt;b&gt;"));
        assert!(!page.contains("src=\"http"));
        assert!(!page.contains("href=\"http"));
        live.take(&Event::Begins(Duration::from_secs(9)));
        for second in 0..3 {
            live.take(&Event::Second(Box::new(Window { second, done: 5, ..Window::default() })));
        }
        live.take(&Event::AgentLost("the agent is lost".to_owned()));
        let data = get(live.address, "/data?from=2", &own).await;
        let value: serde_json::Value = serde_json::from_str(data.split("\r\n\r\n").nth(1).unwrap()).unwrap();
        assert_eq!(value["seconds"].as_array().unwrap().len(), 1);
        assert_eq!((&value["seconds"][0][0], &value["lasts"]), (&json!(2), &json!(9)));
        assert_eq!((&value["phase"], &value["said"][0]), (&json!("under load"), &json!("the agent is lost")));
        live.end();
        assert!(get(live.address, "/data?from=x", &own).await.contains("\"over\""));
        assert!(get(live.address, "/", "evil.example").await.starts_with("HTTP/1.1 421"));
        assert!(get(live.address, "/etc", &own).await.starts_with("HTTP/1.1 404"));
        let refused = Live::serve("0.0.0.0:0".parse().unwrap(), "x").await.err().unwrap().to_string();
        assert!(refused.contains("other machines"), "{refused}");
    }
}
