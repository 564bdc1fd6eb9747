//! An OpenSearch server of a test's own.

use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::support::Farm;

/// Names the directory with the libraries of OpenSearch.
const LIBRARIES: &str = "RIG_OPENSEARCH_LIBRARIES";
/// Names the server that other tests use, too.
const SHARED: &str = "RIG_OPENSEARCH";
/// Ports of which one is free. The program accepts no others.
const PORTS: std::ops::Range<u16> = 9_220..9_299;
/// Time for the start of a server on a slow and busy machine.
const START: Duration = Duration::from_secs(180);

/// A running OpenSearch server, killed when dropped.
pub struct OpenSearch {
    child: Option<Child>,
    place: tempfile::TempDir,
    port: u16,
}

impl OpenSearch {
    /// Starts a server with a directory of its own.
    pub async fn start() -> Self {
        let is_free = |port: &u16| TcpListener::bind(("127.0.0.1", *port)).is_ok();
        let port = PORTS.rev().find(is_free).unwrap();
        let mut server = Self { child: None, place: tempfile::tempdir().unwrap(), port };
        server.start_again().await;
        server
    }

    /// Starts it with what it has stored.
    pub async fn start_again(&mut self) {
        let libraries = std::env::var(LIBRARIES);
        let libraries = libraries.unwrap_or_else(|_| panic!("{LIBRARIES} is not set: run ./check search-server"));
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "KILL", "--", "java", "-Xmx512m", "-cp", &format!("{libraries}/*")]);
        command.args(["org.codelibs.opensearch.runner.OpenSearchRunner", "-numOfNode", "1", "-clusterName", "test"]);
        command.args(["-baseHttpPort", &(self.port - 1).to_string(), "-basePath"]).arg(self.place.path());
        let quiet = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        self.child = Some(quiet.spawn().unwrap());
        let deadline = Instant::now() + START;
        // The indexes are there some time after the server.
        let health = "/_cluster/health?wait_for_status=yellow&timeout=1s";
        while ask(&self.url(), "GET", health).await.is_none_or(|health| health["timed_out"] != false) {
            assert!(Instant::now() < deadline, "OpenSearch does not start");
            // sleep: polled, since it starts without a notification
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    }

    /// Kills it.
    pub fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }

    /// Its address.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }
}

impl Drop for OpenSearch {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Returns the address of the server that other tests use, too.
pub fn shared() -> String {
    std::env::var(SHARED).unwrap_or_else(|_| panic!("{SHARED} is not set: run ./check search-server"))
}

/// Has a farm use a search server, with indexes whose names begin with `prefix`.
pub fn on(url: &str, prefix: &str, mut farm: Farm) -> Farm {
    let settings = [format!("STRONGROOM_SEARCH_SERVER={url}"), format!("STRONGROOM_SEARCH_INDEX_PREFIX={prefix}")];
    farm.command_prefix = std::iter::once("env".to_owned()).chain(settings).collect();
    farm
}

/// Returns the answer of a search server; `None` without one.
pub async fn ask(url: &str, method: &str, path: &str) -> Option<Value> {
    let method = reqwest::Method::from_bytes(method.as_bytes()).unwrap();
    let answer = reqwest::Client::new().request(method, format!("{url}{path}")).send().await.ok()?;
    answer.json().await.ok()
}

/// Returns the names of the indexes with a prefix.
pub async fn indexes(url: &str, prefix: &str) -> Vec<String> {
    let known = ask(url, "GET", &format!("/_alias/{prefix}-*-write")).await.unwrap();
    known.as_object().unwrap().keys().filter(|name| name.starts_with(prefix)).cloned().collect()
}
