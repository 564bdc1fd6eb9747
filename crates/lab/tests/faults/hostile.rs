//! Misbehaving targets and endpoints: they are reported before the load where that is possible, and never waited for
//! without a timeout.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use lab::{Event, RunOptions, RunResult};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use crate::server::{ELSEWHERE, Misbehaviour, Server};
use crate::{plan, run, webdav};

const SHORT: &str = "users = 2\nthink = '5ms'\nduration = '2s'";
/// Number of concurrent uploads of a corpus.
const CONNECTIONS: u64 = 16;

/// Starts a server that answers every request with status 200 and the body that `body` makes.
async fn answering(body: impl Fn() -> String + Send + Sync + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let body = Arc::new(body);
    tokio::spawn(async move {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            let body = body.clone();
            tokio::spawn(async move {
                let mut request = [0; 8192];
                // One read returns one request, because requests are small.
                while stream.read(&mut request).await.is_ok_and(|read| read > 0) {
                    let body = body();
                    let answer = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{body}", body.len());
                    if stream.write_all(answer.as_bytes()).await.is_err() {
                        return;
                    }
                }
            });
        }
    });
    address
}

async fn refused(text: &str, target: String) -> String {
    let wishes = RunOptions { target: Some(target), changes: webdav(), ..RunOptions::default() };
    lab::run(text, &wishes, |_| {}).await.map(drop).unwrap_err().to_string()
}

#[tokio::test]
async fn an_upload_that_is_refused_for_now_is_tried_again_and_no_other() {
    let result = run(Misbehaviour::Busy, SHORT).await;
    assert_eq!(result.corpus.loaded.documents, 40);
    let server = Server::start(Misbehaviour::Refuses).await;
    let said = refused(&plan(SHORT), server.url()).await;
    assert!(said.contains("the corpus cannot be loaded: PUT /Lab"), "{said}");
    assert!(said.contains("403"), "{said}");
    assert!(server.uploads() <= CONNECTIONS, "{}", server.uploads());
}

#[tokio::test]
async fn an_upload_that_is_not_answered_is_given_up_after_a_minute() {
    let server = Server::start(Misbehaviour::Swallows).await;
    let begun = Instant::now();
    let said = refused(&plan(SHORT), server.url()).await;
    assert!(said.contains("PUT /Lab%201-1/"), "{said}");
    assert!(said.contains("was not answered within 60 s"), "{said}");
    assert!(begun.elapsed().as_secs() < 90, "{:?}", begun.elapsed());
    assert!(server.uploads() <= CONNECTIONS, "{:?}", begun.elapsed());
}

#[tokio::test]
async fn a_server_that_has_everything_is_not_taken_for_one_with_another_corpus() {
    let address = answering(|| "<html>Welcome</html>".to_owned()).await;
    let said = refused(&plan(SHORT), format!("http://{address}")).await;
    assert!(said.contains("answers 200 with other content"), "{said}");
    assert!(said.contains("--kind and --root"), "{said}");
    let other = answering(|| "lab corpus 1; seed 1; 7 x 7;".to_owned()).await;
    let said = refused(&plan(SHORT), format!("http://{other}")).await;
    assert!(said.contains("another corpus with the seed 1"), "{said}");
}

#[tokio::test]
async fn a_server_that_speaks_no_tls_is_said() {
    let server = Server::start(Misbehaviour::None).await;
    let said = refused(&plan(SHORT), server.url().replace("http://", "https://")).await;
    assert!(said.contains("no connection to https://"), "{said}");
    assert!(said.contains("write http://"), "{said}");
}

#[tokio::test]
async fn a_redirect_says_where_it_leads() {
    let result = run(Misbehaviour::Redirects, SHORT).await;
    let fault = result.faults.iter().find(|fault| fault.operation == "download").unwrap();
    assert!(fault.first.contains("302"), "{}", fault.first);
    assert!(fault.first.contains(&format!("a redirect to {ELSEWHERE}")), "{}", fault.first);
}

#[test]
fn a_file_without_end_is_no_plan() {
    let said = lab::read_plan("/dev/zero").unwrap_err().to_string();
    assert!(said.contains("/dev/zero cannot be read: it is larger than 1 MB"), "{said}");
}

fn watching(url: &str, figures: &str) -> String {
    plan(SHORT) + &format!("[[monitors]]\nkind = 'prometheus'\nurl = '{url}'\nfigures = [{figures}]\n")
}

#[tokio::test]
async fn an_endpoint_that_shows_nothing_is_said_before_the_load() {
    let server = Server::start(Misbehaviour::None).await;
    let refused = async |url: &str, figures: &str| refused(&watching(url, figures), server.url()).await;
    let said = refused("http://127.0.0.1:1/metrics", "").await;
    assert!(said.contains("http://127.0.0.1:1/metrics has no figures: no connection"), "{said}");
    let said = refused(&format!("{}/metrics", server.url()), "").await;
    assert!(said.contains("/metrics has no figures: GET /metrics answered 404"), "{said}");
    let page = answering(|| "<html>Welcome</html>".to_owned()).await;
    let said = refused(&format!("http://{page}/metrics"), "").await;
    assert!(said.contains("its response has no metrics with types"), "{said}");
    let other = answering(|| "# TYPE requests_open gauge\nrequests_open 1\n".to_owned()).await;
    let said = refused(&format!("http://{other}/metrics"), "'database_', 'cache_'").await;
    assert!(said.contains("no name begins with database_ or cache_; it has requests_open"), "{said}");
    let huge = answering(|| "# TYPE a gauge\na 1\n".repeat(400_000)).await;
    let said = refused(&format!("http://{huge}/metrics"), "").await;
    assert!(said.contains("larger than 4 MB"), "{said}");
}

async fn watched(text: &str, server: &Server) -> (RunResult, Vec<String>) {
    let wishes = RunOptions { target: Some(server.url()), changes: webdav(), ..RunOptions::default() };
    let mut told = Vec::new();
    let result = lab::run(text, &wishes, |event| {
        if let Event::MonitorUnavailable(why) = event {
            told.push(why);
        }
    });
    let result = result.await.unwrap();
    (result, told)
}

#[tokio::test]
async fn a_target_without_figures_of_its_own_is_run_and_that_is_told() {
    let server = Server::start(Misbehaviour::None).await;
    let (result, told) = watched(&watching("/metrics", "'database_'"), &server).await;
    assert!(result.total.done > 0, "{:?}", result.monitors);
    assert!(result.monitors.is_empty(), "{:?}", result.monitors);
    assert!(told.len() == 1, "{told:?}");
    assert!(told[0].contains("/metrics has no figures"), "{told:?}");
}

#[tokio::test]
async fn an_endpoint_with_names_that_are_always_new_fills_neither_memory_nor_report() {
    let looks = AtomicU64::new(0);
    let endpoint = answering(move || {
        let look = looks.fetch_add(1, Ordering::Relaxed);
        let gauge = |number| format!("# TYPE new_{look}_{number} gauge\nnew_{look}_{number} 1\n");
        (0..2_000).map(gauge).collect()
    });
    let text = watching(&format!("http://{}/metrics", endpoint.await), "") + "[[monitors]]\nkind = 'machine'\n";
    let server = Server::start(Misbehaviour::None).await;
    let (result, told) = watched(&text, &server).await;
    let (new, others): (Vec<_>, Vec<_>) = result.monitors.iter().partition(|series| series.name.starts_with("new_"));
    assert_eq!((new.len(), told.len()), (500, 0));
    assert!(others.iter().any(|series| series.name.starts_with("machine: ")), "what else is watched has its own room");
}
