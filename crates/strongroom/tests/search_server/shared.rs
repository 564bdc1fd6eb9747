//! Servers of a farm share one index: one of them writes it, all of them find the same, and another one takes over.

use std::time::{Duration, Instant};

use database::testing::fresh_postgres;
use reqwest::Method;
use serde_json::{Value, json};

use crate::opensearch::{ask, indexes, on, shared};
use crate::support::{Client, Farm};
use crate::words::{names, wait_for_results, wait_until_indexed};

/// Time after which a state that is not reached counts as missed.
pub const SOON: Duration = Duration::from_secs(60);

pub async fn wait_until<T>(what: &str, mut look: impl AsyncFnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + SOON;
    loop {
        if let Some(found) = look().await {
            return found;
        }
        assert!(Instant::now() < deadline, "{what} did not happen");
        // sleep: polled, since the servers work by themselves
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

pub async fn until(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    wait_until(what, async || holds().await.then_some(())).await;
}

pub async fn put(client: &Client, path: &str, text: &str) {
    let answer = client.put(path, text.as_bytes().to_vec()).await.unwrap();
    assert!(answer.status.is_success(), "{path}: {}", answer.text());
}

/// Returns a beginning of index names that no earlier run has used.
fn unique(name: &str) -> String {
    format!("{name}-{}", std::process::id())
}

async fn id(client: &Client, path: &str) -> String {
    let path = format!("/api/v1/items/by-path?path={path}");
    client.send(Method::GET, &path, Vec::new()).await.unwrap().json()["id"].as_str().unwrap().to_owned()
}

async fn call(client: &Client, method: Method, path: &str, body: Value) {
    let answer = client.prove_json(method, path, &body).await.unwrap();
    assert!(answer.status.is_success(), "{path}: {} {}", answer.status, answer.text());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_servers_share_one_index_and_each_takes_over_from_the_other() {
    let (content, configuration) = (fresh_postgres().await, fresh_postgres().await);
    let prefix = unique("two");
    let farm = || on(&shared(), &prefix, Farm::with_databases(&content, &configuration));
    let (one, other) = (farm(), farm());
    let first = one.start();
    let token = one.token();
    // The store in the data directory of the first server is not there for the second.
    one.json(&["blobs", "policy", "set", "--database", "main", "--active", "database"]);
    let second = other.start();
    let (left, right) = (first.client(&token), second.client(&token));
    put(&left, "open/a.txt", "canary in the open").await;
    put(&right, "shut/b.txt", "canary in the dark").await;
    for client in [&left, &right] {
        wait_for_results(client, "canary", &["b.txt", "a.txt"]).await;
        wait_until_indexed(client).await;
    }
    assert_eq!(indexes(&shared(), &prefix).await.len(), 1, "there is one index for both");
    for farm in [&one, &other] {
        assert!(!farm.data.join("search").exists(), "none is in a data directory");
    }

    // A right that is taken away on one server is gone on the other.
    one.json(&["user", "add", "rita", "--without-password"]);
    let secret = one.json(&["user", "token", "create", "rita", "reading"])["secret"].as_str().unwrap().to_owned();
    let reader = second.client(&secret);
    let roles = left.send(Method::GET, "/api/v1/roles", Vec::new()).await.unwrap().json()["items"].clone();
    let role = roles.as_array().unwrap().iter().find(|known| known["name"] == "Read").unwrap()["id"].clone();
    let rita = one.json(&["user", "show", "rita"])["id"].clone();
    let grants = format!("/api/v1/items/{}/permissions/grants", id(&left, "").await);
    call(&left, Method::POST, &grants, json!({ "principal": rita, "role": role })).await;
    wait_for_results(&reader, "canary", &["b.txt", "a.txt"]).await;
    let shut = id(&left, "Documents/shut").await;
    call(&left, Method::POST, &format!("/api/v1/items/{shut}/permissions/break"), json!({ "copy": false })).await;
    assert_eq!(names(&reader, "canary").await, ["a.txt"]);
    let found = reader.send(Method::GET, "/api/v1/search?q=canary", Vec::new()).await.unwrap().json();
    assert_eq!(found["documents"], 1, "what is hidden is not counted: {found}");
    call(&left, Method::POST, &format!("/api/v1/items/{shut}/permissions/restore"), Value::Null).await;
    assert_eq!(names(&reader, "canary").await, ["b.txt", "a.txt"]);

    // Whichever server writes the index, the other one goes on when it is gone.
    first.kill();
    put(&right, "c.txt", "egret after the first").await;
    wait_for_results(&right, "egret", &["c.txt"]).await;
    wait_until_indexed(&right).await;
    let first = one.start();
    let left = first.client(&token);
    second.kill();
    put(&left, "d.txt", "heron after the second").await;
    wait_for_results(&left, "heron", &["d.txt"]).await;
    wait_until_indexed(&left).await;
    wait_for_results(&left, "canary", &["b.txt", "a.txt"]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_crawl_replaces_the_index_while_searches_go_on() {
    let prefix = unique("full");
    let farm = on(&shared(), &prefix, Farm::on(database::Engine::Sqlite).await);
    let server = farm.start();
    let client = server.client(&farm.token());
    put(&client, "pipes.txt", "Der Plan der Rohre").await;
    put(&client, "broken.docx", "PK\u{3}\u{4} and nothing more").await;
    wait_for_results(&client, "plan rohre", &["pipes.txt"]).await;
    wait_until_indexed(&client).await;
    let before = indexes(&shared(), &prefix).await;
    let text = farm.run(&["crawl", "full"]).unwrap();
    assert!(text.contains("2 items read, 1 with text, 1 whose text cannot be read"), "{text}");
    let replaced = wait_until("the index is replaced", async || {
        let now = indexes(&shared(), &prefix).await;
        (now.len() == 1 && now != before).then_some(now)
    });
    assert!(replaced.await[0].contains("-building-"));
    assert_eq!(names(&client, "plan rohre").await, ["pipes.txt"]);
    put(&client, "after.txt", "Dachrinne").await;
    wait_for_results(&client, "dachrinne", &["after.txt"]).await;
    wait_until_indexed(&client).await;
    let status = farm.json(&["crawl", "status"]);
    let index = &status["indexes"][0];
    assert_eq!((&index["state"], &index["unreadable"], &index["entries"]), (&json!("current"), &json!(1), &json!(3)));
    let found = farm.json(&["search", "dachrinne"]);
    assert_eq!(found["items"][0]["path"], "Documents/after.txt", "{found}");

    // Somebody removes the index.
    let index = indexes(&shared(), &prefix).await.remove(0);
    assert_eq!(ask(&shared(), "DELETE", &format!("/{index}")).await.unwrap()["acknowledged"], true);
    put(&client, "last.txt", "Giebel").await;
    assert_eq!(names(&client, "last").await, ["last.txt"], "names are found without an index");
    wait_for_results(&client, "giebel", &["last.txt"]).await;
    wait_for_results(&client, "dachrinne", &["after.txt"]).await;
}
