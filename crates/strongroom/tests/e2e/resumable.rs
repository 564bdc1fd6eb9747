//! Resumable uploads to a server that is killed repeatedly. Acknowledged parts of an upload survive, and the document
//! is complete in the end.

use std::time::Duration;

use database::Engine;
use reqwest::{Method, StatusCode};

use crate::support::{Farm, Random, bytes};

/// Size of the document in bytes.
const SIZE: usize = 6_000_000;
/// Maximum size of a part in bytes.
const PART: u64 = 700_000;
/// The kill comes a random time after a part was started, below this many microseconds.
const MOMENT: u64 = 20_000;

/// A client of the tus protocol for one server.
struct Tus {
    http: reqwest::Client,
    address: String,
    token: String,
}

impl Tus {
    fn request(&self, method: Method, path: &str) -> reqwest::RequestBuilder {
        let request = self.http.request(method, format!("{}{path}", self.address));
        request.bearer_auth(&self.token).header("tus-resumable", "1.0.0")
    }

    async fn begin(&self, length: usize) -> String {
        // Base64 of `Documents/big.bin`.
        let begun = self
            .request(Method::POST, "/api/v1/uploads")
            .header("upload-length", length)
            .header("upload-metadata", "path RG9jdW1lbnRzL2JpZy5iaW4=");
        let begun = begun.send().await.unwrap();
        assert_eq!(begun.status(), StatusCode::CREATED);
        begun.headers()["location"].to_str().unwrap().to_owned()
    }

    async fn offset(&self, path: &str) -> usize {
        let state = self.request(Method::HEAD, path).send().await.unwrap();
        assert_eq!(state.status(), StatusCode::OK);
        state.headers()["upload-offset"].to_str().unwrap().parse().unwrap()
    }

    /// Sends a part. Returns `None` if no complete response arrived.
    async fn append(&self, path: &str, offset: usize, part: Vec<u8>) -> Option<StatusCode> {
        let part = self
            .request(Method::PATCH, path)
            .header("upload-offset", offset)
            .header("content-type", "application/offset+octet-stream")
            .body(part);
        part.send().await.ok().map(|answer| answer.status())
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_upload_goes_on_after_every_kill() {
    let mut random = Random::fresh();
    let farm = Farm::on(Engine::Sqlite).await;
    let content = bytes(7, SIZE);
    let mut server = farm.start();
    let mut tus = Tus { http: reqwest::Client::new(), address: server.address.clone(), token: farm.token() };
    let path = tus.begin(SIZE).await;
    let (mut acknowledged, mut kills) = (0, 0);
    while acknowledged < SIZE {
        let end = SIZE.min(acknowledged + random.below(PART) as usize + 1);
        let sending = tus.append(&path, acknowledged, content[acknowledged..end].to_vec());
        if random.below(2) == 0 {
            let moment = Duration::from_micros(random.below(MOMENT));
            let (status, ()) = tokio::join!(sending, async {
                // sleep: the kill must come at a random moment
                tokio::time::sleep(moment).await;
                server.kill();
            });
            kills += 1;
            server = farm.start();
            tus.address = server.address.clone();
            let offset = tus.offset(&path).await;
            let least = if status == Some(StatusCode::NO_CONTENT) { end } else { acknowledged };
            assert!((least..=end).contains(&offset), "at least {least} and at most {end} are stored, not {offset}");
            acknowledged = offset;
        } else {
            assert_eq!(sending.await, Some(StatusCode::NO_CONTENT));
            acknowledged = end;
        }
    }
    assert_eq!(tus.offset(&path).await, SIZE);
    assert!(kills > 0, "no round was killed");
    let client = server.client(&tus.token);
    let stored = client.get("big.bin").await.unwrap();
    assert!(stored.status == StatusCode::OK, "{} with {} bytes", stored.status, stored.body.len());
    assert!(stored.body == content, "{} with {} bytes", stored.status, stored.body.len());
    let look = client.send(Method::GET, "/api/v1/items/by-path?path=Documents/big.bin", vec![]).await.unwrap();
    let item: serde_json::Value = serde_json::from_slice(&look.body).unwrap();
    assert_eq!(item["version"], "1.0", "it was stored once");
    assert!(server.stop().success());
    assert_eq!(std::fs::read_dir(farm.data.join("uploads")).unwrap().count(), 0);
    farm.check_blobs();
}
