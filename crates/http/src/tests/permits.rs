//! Expensive operations hold one of a few permits of their user until they end.

use axum::response::Response;
use futures_util::{StreamExt, stream};
use serde_json::json;
use tokio::sync::oneshot;

use super::*;

const SEARCH: &str = "<D:searchrequest xmlns:D='DAV:'><D:basicsearch>\
    <D:select><D:prop><D:displayname/></D:prop></D:select>\
    <D:from><D:scope><D:href>/dav/Documents/</D:href><D:depth>1</D:depth></D:scope></D:from>\
    </D:basicsearch></D:searchrequest>";
/// Number of permits per user.
const MAX_PERMITS: usize = 4;

/// Starts a farm with a document and two users who may read it. Also returns the path of an archive of the document.
async fn ready() -> (Farm, String) {
    let farm = Farm::new().await;
    farm.put("Documents/a.txt", "a").await.expect(201);
    let grants = format!("/api/v1/items/{}/permissions/grants", farm.id("").await);
    for login in ["anna", "bert"] {
        let body = json!({"principal": farm.account(login).await, "role": "4"});
        farm.json("POST", &grants, body).await.expect(204);
    }
    let archive = format!("/api/v1/archive?ids={}", farm.id("Documents/a.txt").await);
    (farm, archive)
}

/// Returns a response whose body has not been read.
async fn begun(farm: &Farm, login: &str, path: &str) -> Response {
    let credential = format!("Basic {}", STANDARD.encode(format!("{login}:{PASSWORD}")));
    let request = Request::builder().uri(path).header("authorization", credential).body(Body::empty()).unwrap();
    let response = farm.router.clone().oneshot(request).await.unwrap();
    assert_eq!(response.status(), StatusCode::OK);
    response
}

/// Requests one more archive and one more search, and returns both statuses.
async fn further(farm: &Farm, login: &str, archive: &str) -> [u16; 2] {
    let archive = farm.send_as(login, "GET", archive, &[], "").await;
    let search = farm.send_as(login, "SEARCH", "/dav/Documents/", &[], SEARCH).await;
    [archive, search].map(|reply| reply.status.as_u16())
}

#[tokio::test]
async fn an_archive_has_a_place_until_it_was_sent() {
    let (farm, archive) = ready().await;
    let mut under_way = Vec::new();
    for _ in 0..MAX_PERMITS {
        under_way.push(begun(&farm, "anna", &archive).await);
    }
    let refused = farm.send_as("anna", "GET", &archive, &[], "").await.expect(429);
    assert_eq!(refused.code(), "too_many_requests");
    assert_eq!(further(&farm, "anna", &archive).await, [429, 429]);
    assert_eq!(further(&farm, "bert", &archive).await, [200, 207], "somebody else is not held up");
    // One response is read to its end; the others are dropped.
    let last = under_way.pop().unwrap().into_body();
    assert!(axum::body::to_bytes(last, usize::MAX).await.unwrap().starts_with(b"PK"));
    assert_eq!(further(&farm, "anna", &archive).await, [200, 207]);
    under_way.push(begun(&farm, "anna", &archive).await);
    assert_eq!(further(&farm, "anna", &archive).await, [429, 429]);
    under_way.clear();
    assert_eq!(further(&farm, "anna", &archive).await, [200, 207]);
}

/// Returns an incomplete query body, a receiver that fires when the server waits for the rest, and a sender that
/// completes the body.
fn unfinished() -> (Body, oneshot::Receiver<()>, oneshot::Sender<()>) {
    let (wait, waited_for) = oneshot::channel();
    let (end, ended) = oneshot::channel::<()>();
    let (first, last) = SEARCH.split_at(SEARCH.len() / 2);
    let last = stream::once(async move {
        let _ = wait.send(());
        let _ = ended.await;
        Ok(Bytes::from_static(last.as_bytes()))
    });
    let first = stream::iter([Ok::<_, std::io::Error>(Bytes::from_static(first.as_bytes()))]);
    (Body::from_stream(first.chain(last)), waited_for, end)
}

#[tokio::test]
async fn a_search_through_webdav_has_a_place_until_it_was_answered() {
    let (farm, archive) = ready().await;
    let farm = std::sync::Arc::new(farm);
    let mut under_way = Vec::new();
    for _ in 0..MAX_PERMITS {
        let (body, waited_for, end) = unfinished();
        let farm = farm.clone();
        let search =
            tokio::spawn(async move { farm.send_as("anna", "SEARCH", "/dav/Documents/", &[], body).await.status });
        waited_for.await.unwrap();
        under_way.push((search, end));
    }
    assert_eq!(further(&farm, "anna", &archive).await, [429, 429]);
    assert_eq!(further(&farm, "bert", &archive).await, [200, 207], "somebody else is not held up");
    for (search, end) in under_way {
        end.send(()).unwrap();
        assert_eq!(search.await.unwrap(), StatusCode::MULTI_STATUS);
    }
    assert_eq!(further(&farm, "anna", &archive).await, [200, 207]);
}
