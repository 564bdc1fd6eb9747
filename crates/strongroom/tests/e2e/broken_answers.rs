//! Responses that break off. The client never takes the partial content for the whole, and the log names the request,
//! the document and the reason. A client that disconnects is not an error.

use std::time::{Duration, Instant};

use database::Engine;
use http_body_util::BodyExt;

use crate::streams::unpacked;
use crate::support::wire::{Http, RawClient};
use crate::support::{Farm, Server, bytes, damage};

/// More than the socket buffers of both sides hold.
const BIG: usize = 20_000_000;

/// Waits for the log line about a request that contains `words`.
async fn logged(server: &Server, request: &str, words: &str) -> String {
    let deadline = Instant::now() + Duration::from_secs(30);
    loop {
        let said = server.output();
        if let Some(line) = said.lines().find(|line| line.contains(request) && line.contains(words)) {
            return line.to_owned();
        }
        assert!(Instant::now() < deadline, "nothing says \"{words}\" of {request}:\n{said}");
        // sleep: polled, since log lines arrive without a notification
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn damage_in_the_middle_ends_a_download_and_an_archive_early_and_is_logged() {
    let farm = Farm::on(Engine::Sqlite).await;
    let server = farm.start();
    let token = farm.token();
    let client = server.client(&token);
    // Once damage is recorded, the document is refused as a whole. Each download therefore has its own document.
    let own = ["one-rest.bin", "one-dav.bin", "two-rest.bin", "two-dav.bin"];
    let names = ["some/first.bin", "some/second.bin", "some/third.bin"].map(str::to_owned);
    let names: Vec<String> = names.into_iter().chain(own.map(|name| format!("alone/{name}"))).collect();
    for (seed, name) in names.iter().enumerate() {
        let stored = client.put(name, bytes(seed as u64, BIG)).await.unwrap();
        assert_eq!(stored.status.as_u16(), 201, "{}", stored.text());
    }
    let item =
        client.send(reqwest::Method::GET, "/api/v1/items/by-path?path=Documents/some", Vec::new()).await.unwrap();
    let folder = item.json()["id"].as_str().unwrap().to_owned();
    for seed in [1, 3, 4, 5, 6] {
        damage(&farm.data.join("blobs"), &bytes(seed, BIG));
    }
    for http in [Http::One, Http::Two] {
        let wire = RawClient::with_token(&server, http, &token);
        let archive = format!("/api/v1/archive?ids={folder}");
        // Once the damage is recorded, archives are made without the document.
        let first = (http == Http::One).then(|| archive.clone());
        let number = if http == Http::One { "one" } else { "two" };
        let downloads = [("/api/v1/content", "rest"), ("/dav", "dav")];
        let downloads = downloads.map(|(at, kind)| format!("{at}/Documents/alone/{number}-{kind}.bin"));
        let least = BIG / 4;
        for path in first.into_iter().chain(downloads) {
            let name = if path == archive { "second.bin" } else { path.rsplit('/').next().unwrap() };
            let answer = wire.send("GET", &path, &[], RawClient::nothing()).await;
            assert_eq!(answer.status().as_u16(), 200, "{path}");
            let request = answer.headers()["x-request-id"].to_str().unwrap().to_owned();
            let (mut body, mut taken) = (answer.into_body(), 0);
            let end = loop {
                match body.frame().await {
                    Some(Ok(frame)) => taken += frame.data_ref().map_or(0, bytes::Bytes::len),
                    Some(Err(error)) => break error,
                    None => panic!("{path}: {taken} bytes look like all of it, {http:?}"),
                }
            };
            assert!(taken >= least, "{path}: {taken} bytes came before {end}");
            assert!(taken < 3 * BIG, "{path}: {taken} bytes came before {end}");
            let line = logged(&server, &request, "a response was aborted").await;
            assert!(line.contains("ERROR"), "{line}");
            assert!(line.contains(name), "{line}");
            assert!(line.contains("content_damaged"), "{line}");
            assert!(line.contains("damaged"), "{line}");
        }
        let whole = wire.get("/api/v1/content/Documents/some/third.bin").await;
        assert!(whole == bytes(2, BIG), "the others are whole");
        let deadline = Instant::now() + Duration::from_secs(30);
        while wire.send("GET", "/api/v1/content/Documents/some/second.bin", &[], RawClient::nothing()).await.status()
            != 503
        {
            assert!(Instant::now() < deadline, "the damage is not on record");
        }
        let files = unpacked(&wire.get(&archive).await);
        assert!(files["some/first.bin"] == bytes(0, BIG));
        assert!(files["some/third.bin"] == bytes(2, BIG));
        assert!(!files.contains_key("some/second.bin"));
        assert_eq!(files["_not in this archive.txt"], "some/second.bin\r\n".as_bytes());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_goes_away_is_told_of_in_detailed_logs_and_is_no_fault() {
    let mut farm = Farm::on(Engine::Sqlite).await;
    farm.command_prefix = ["env", "STRONGROOM_LOG=info,http=debug"].map(str::to_owned).into();
    let server = farm.start();
    let token = farm.token();
    let client = server.client(&token);
    assert_eq!(client.put("big.bin", bytes(1, BIG)).await.unwrap().status.as_u16(), 201);
    for http in [Http::One, Http::Two] {
        let wire = RawClient::with_token(&server, http, &token);
        let answer = wire.send("GET", "/api/v1/content/Documents/big.bin", &[], RawClient::nothing()).await;
        let request = answer.headers()["x-request-id"].to_str().unwrap().to_owned();
        let mut body = answer.into_body();
        assert!(body.frame().await.unwrap().is_ok());
        drop(body);
        wire.hang_up();
        let line = logged(&server, &request, "did not read a response to its end").await;
        assert!(line.contains("DEBUG"), "{line}");
        let said = server.output();
        let faults: Vec<_> = said.lines().filter(|line| line.contains(&request) && line.contains("ERROR")).collect();
        assert!(faults.is_empty(), "{faults:#?}");
    }
}
