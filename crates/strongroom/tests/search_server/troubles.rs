//! A search server that is killed, answers slowly, or is something else: names are found, searches end soon and say
//! what was not searched, and the index agrees with the database afterwards.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::time::{Duration, Instant};

use database::Engine;

use crate::opensearch::{OpenSearch, on};
use crate::shared::{put, wait_until};
use crate::support::{Client, Farm};
use crate::words::{names, search, wait_for_results, wait_until_indexed};

/// Limit on the time of a search while the search server is in trouble, on a slow and busy machine.
const LONGEST: Duration = Duration::from_secs(8);

/// Returns what a search says of the texts.
async fn texts(client: &Client, text: &str) -> String {
    let begun = Instant::now();
    let found = search(client, text).await;
    assert!(begun.elapsed() < LONGEST, "a search took {:?}", begun.elapsed());
    found["texts"].as_str().unwrap().to_owned()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_search_server_may_be_killed_in_the_middle_of_a_crawl() {
    let mut search_server = OpenSearch::start().await;
    let farm = on(&search_server.url(), "killed", Farm::on(Engine::Sqlite).await);
    let server = farm.start();
    let client = server.client(&farm.token());
    put(&client, "early.txt", "a heron in the reeds").await;
    wait_for_results(&client, "heron", &["early.txt"]).await;
    for round in 0..2 {
        for number in 0..60 {
            put(&client, &format!("{round}-{number}.txt"), &format!("round{round} of egrets")).await;
            if number == 30 {
                search_server.kill();
            }
        }
        assert_eq!(names(&client, "early").await, ["early.txt"], "names are found without the search server");
        assert_eq!(texts(&client, "reeds").await, "unavailable");
        let status = client.send(reqwest::Method::GET, "/api/v1/farm/search", Vec::new()).await.unwrap();
        assert_eq!(status.json()["items"][0]["state"], "unavailable", "{}", status.text());
        search_server.start_again().await;
        wait_until("the index is current", async || {
            let found = search(&client, &format!("round{round} egret")).await;
            (found["documents"] == 60 && found["texts"] == "complete").then_some(())
        })
        .await;
    }
    wait_until_indexed(&client).await;
    let status = client.send(reqwest::Method::GET, "/api/v1/farm/search", Vec::new()).await.unwrap().json();
    assert_eq!(status["items"][0]["entries"], 121, "{status}");
    assert_eq!(search(&client, "egret").await["documents"], 120);
}

/// Answers every request with this text after a while.
fn impostor(answer: &'static str, pause: Duration) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            std::thread::spawn(move || {
                let mut request = [0; 4_096];
                while stream.read(&mut request).is_ok_and(|length| length > 0) {
                    // sleep: it is slow
                    std::thread::sleep(pause);
                    if stream.write_all(answer.as_bytes()).is_err() {
                        return;
                    }
                }
            });
        }
    });
    address
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_no_search_server_spoils_nothing() {
    let page = "HTTP/1.1 200 OK\r\ncontent-length: 13\r\n\r\n<html></html>";
    let empty = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}";
    let refusal = "HTTP/1.1 401 Unauthorized\r\ncontent-length: 12\r\n\r\nUnauthorized";
    let error = "HTTP/1.1 500 Oh\r\ncontent-type: application/json\r\ncontent-length: 13\r\n\r\n{\"error\":[1]}";
    let cases = [page, empty, refusal, error, "\r\n\r\n", ""].map(|answer| impostor(answer, Duration::ZERO));
    let slow = impostor(page, Duration::from_secs(600));
    for url in cases.into_iter().chain([slow]) {
        let farm = on(&url, "none", Farm::on(Engine::Sqlite).await);
        let server = farm.start();
        let client = server.client(&farm.token());
        put(&client, "plan.txt", "a heron in the reeds").await;
        assert_eq!(names(&client, "plan").await, ["plan.txt"], "{url}");
        assert_eq!(texts(&client, "heron").await, "unavailable", "{url}");
        let status = client.send(reqwest::Method::GET, "/api/v1/farm/search", Vec::new()).await.unwrap();
        assert_eq!(status.json()["items"][0]["state"], "unavailable", "{}", status.text());
        let health = client.send(reqwest::Method::GET, "/api/v1/farm/health", Vec::new()).await.unwrap();
        assert!(health.status.is_success(), "{}", health.text());
    }
}
