//! The search index of a Strongroom server: waiting until it contains the corpus, and a full crawl as a measured part
//! of a run. Both need the login of a farm administrator.

use std::sync::Arc;
use std::time::Duration;

use hyper::{Method, StatusCode};
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::error::{Error, Result};
use crate::event::Event;
use crate::result::CrawlResult;
use crate::stop::Stop;
use crate::wire::{Client, Fault, FaultKind, ReadResponse, RequestBuilder, Target};

/// Timeout for one request.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(20);
/// Time between two questions about the state of an index or a job.
const PAUSE: Duration = Duration::from_millis(200);
/// Time without any progress after which an index or a crawl is not waited for any more.
const WITHOUT_PROGRESS: Duration = Duration::from_secs(120);
/// Limit on the bytes of a message that is kept.
const MAX_MESSAGE: usize = 300;

/// Waits until the search index of a server contains all changes. Returns false if its state may not be read, or if it
/// made no progress for two minutes.
///
/// # Errors
/// If the server does not answer, or the run is interrupted.
pub async fn wait_for_index(target: &Arc<Target>, stop: &Stop, tell: &mut dyn FnMut(Event)) -> Result<bool> {
    let mut client = Client::new(target.clone());
    let (mut last, mut since) = (None, Instant::now());
    loop {
        let answer = send(&mut client, RequestBuilder::get("/api/v1/farm/search"));
        let answer = stop.unless_requested(async { answer.await.map_err(failed) }).await?;
        if answer.status != StatusCode::OK {
            return Ok(false);
        }
        let state = answer.json().map_err(failed)?;
        let left = changes_left(&state);
        match left {
            None => return Ok(false),
            Some(0) => return Ok(true),
            Some(left) => tell(Event::Indexing(left)),
        }
        if left != last {
            (last, since) = (left, Instant::now());
        } else if since.elapsed() > WITHOUT_PROGRESS {
            return Ok(false);
        }
        // sleep: the index follows the database by itself, so its state is asked for again
        let pause = async {
            tokio::time::sleep(PAUSE).await;
            Ok(())
        };
        stop.unless_requested(pause).await?;
    }
}

/// Returns how much the indexes still lack, in documents and changes; `None` if one of them cannot be used.
fn changes_left(state: &Value) -> Option<u64> {
    let mut left = 0;
    for index in state["items"].as_array()? {
        let unread =
            index["documents"].as_u64().unwrap_or(0).saturating_sub(index["documents_read"].as_u64().unwrap_or(0));
        let building = u64::from(index["state"] == "building");
        left += index["events_behind"].as_u64()? + unread.max(building);
        if index["state"] == "unavailable" {
            return None;
        }
    }
    Some(left)
}

/// Starts a full crawl of a server and waits for its end. The result holds the reason if it could not be measured.
pub async fn crawl(target: &Arc<Target>, stop: &Stop, tell: &mut dyn FnMut(Event)) -> CrawlResult {
    let mut client = Client::new(target.clone());
    match follow(&mut client, stop, tell).await {
        Ok(result) => result,
        Err(fault) => CrawlResult::failed(fault.message),
    }
}

async fn follow(
    client: &mut Client,
    stop: &Stop,
    tell: &mut dyn FnMut(Event),
) -> std::result::Result<CrawlResult, Fault> {
    let start = RequestBuilder::new(Method::POST, "/api/v1/farm/jobs").json(&json!({ "kind": "crawl" }));
    let begun = Instant::now();
    let job = send(client, start).await?.expect(&[201])?.json()?;
    let id =
        job["id"].as_str().filter(|id| !id.is_empty() && id.chars().all(|c| c.is_ascii_alphanumeric() || c == '-'));
    let path = format!("/api/v1/farm/jobs/{}", id.ok_or_else(|| Fault::content("the crawl has no id"))?);
    let ended = wait(client, &path, begun, stop, tell).await;
    if ended.is_err() {
        // Nobody waits for the crawl any more. The first fault is the one to report.
        let _ = send(client, RequestBuilder::new(Method::POST, format!("{path}/abort"))).await;
    }
    ended
}

/// Waits until the job at `path` has ended.
async fn wait(
    client: &mut Client,
    path: &str,
    begun: Instant,
    stop: &Stop,
    tell: &mut dyn FnMut(Event),
) -> std::result::Result<CrawlResult, Fault> {
    let (mut last, mut since) = (None, Instant::now());
    loop {
        let job = send(client, RequestBuilder::get(path)).await?.expect(&[200])?.json()?;
        let number = |name: &str| job[name].as_u64().unwrap_or(0);
        match job["state"].as_str().unwrap_or_default() {
            "finished" | "incomplete" => {
                let unreadable = job["results"]["texts_unreadable"].as_u64().unwrap_or(0);
                return Ok(CrawlResult {
                    documents: number("items"),
                    unreadable,
                    bytes: number("bytes"),
                    seconds: begun.elapsed().as_secs_f64(),
                    problem: None,
                });
            }
            "waiting" | "running" => tell(Event::Crawling(number("items"), number("total_items"))),
            state => {
                let message: String = job["message"].as_str().unwrap_or_default().chars().take(MAX_MESSAGE).collect();
                return Err(Fault::content(format!("the crawl is {state}: {message}")));
            }
        }
        let progress = Some((number("items"), number("bytes"), job["phase"].clone()));
        if progress != last {
            (last, since) = (progress, Instant::now());
        }
        let is_stuck = since.elapsed() > WITHOUT_PROGRESS;
        // sleep: a job is asked for its state again and again
        let is_interrupted = tokio::select! {
            () = tokio::time::sleep(PAUSE) => false,
            () = stop.first_request() => true,
        };
        if is_interrupted || is_stuck {
            let why = if is_interrupted { "interrupted" } else { "it made no progress for two minutes" };
            return Err(Fault::content(format!("the crawl was ended: {why}")));
        }
    }
}

/// Sends one request, with a timeout.
async fn send(client: &mut Client, ask: RequestBuilder) -> std::result::Result<ReadResponse, Fault> {
    let late = |_| Fault::new(FaultKind::Timeout, format!("no answer within {} s", REQUEST_TIMEOUT.as_secs()));
    tokio::time::timeout(REQUEST_TIMEOUT, client.send(ask)).await.map_err(late)?
}

fn failed(fault: Fault) -> Error {
    Error::new(format!("the state of the search index cannot be read: {fault}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_index_is_waited_for_until_it_lacks_nothing() {
        let left = |indexes: Value| changes_left(&json!({ "items": indexes }));
        let current = json!({ "state": "current", "events_behind": 0, "documents": null, "documents_read": null });
        let behind = json!({ "state": "behind", "events_behind": 3, "documents": null, "documents_read": null });
        let building = json!({ "state": "building", "events_behind": 0, "documents": 9, "documents_read": 4 });
        let begun = json!({ "state": "building", "events_behind": 0, "documents": 0, "documents_read": 0 });
        let unusable = json!({ "state": "unavailable", "events_behind": 0 });
        assert_eq!(left(json!([current])), Some(0));
        assert_eq!(left(json!([current, behind, building])), Some(8));
        assert_eq!(left(json!([begun])), Some(1));
        assert_eq!(left(json!([current, unusable])), None);
        assert_eq!(left(json!("no list")), None);
    }
}
