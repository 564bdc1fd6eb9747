//! Full crawls build a new search index beside the one in use. They can be paused and ended, and survive the server.
//! Whenever the server is killed, the index agrees with the database afterwards.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use database::{Database, Engine, Location, Options, Schema, Sql};
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::{Client, Farm, Random, Server};
use crate::words::{Rig, names, wait_for_results, wait_until_indexed};

/// Time after which a state that is not reached counts as missed.
const SOON: Duration = Duration::from_secs(60);

async fn get(client: &Client, path: &str) -> Value {
    let answer = client.send(Method::GET, path, Vec::new()).await.unwrap();
    assert!(answer.status.is_success(), "{path}: {}", answer.text());
    answer.json()
}

/// Starts a full crawl. At one byte a second, it reads the first documents and then rests.
async fn start_crawl(client: &Client, rate: Option<u64>) -> String {
    let work = json!({ "kind": "crawl", "rate": rate });
    let answer = client.send_json(Method::POST, "/api/v1/farm/jobs", &work).await.unwrap();
    assert!(answer.status.is_success(), "{}", answer.text());
    answer.json()["id"].as_str().unwrap().to_owned()
}

async fn wait_until<T>(what: &str, mut look: impl AsyncFnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + SOON;
    loop {
        if let Some(found) = look().await {
            return found;
        }
        assert!(Instant::now() < deadline, "{what} did not happen");
        // sleep: polled, since the server works by itself
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

async fn wait_for_job(client: &Client, job: &str, state: &str) -> Value {
    let path = format!("/api/v1/farm/jobs/{job}");
    wait_until(state, async || Some(get(client, &path).await).filter(|job| job["state"] == state)).await
}

/// The directories of the indexes of the only content database.
fn generations(farm: &Farm) -> BTreeSet<String> {
    let databases = std::fs::read_dir(farm.data.join("search")).unwrap();
    let directories: Vec<PathBuf> = databases.map(|entry| entry.unwrap().path()).collect();
    assert_eq!(directories.len(), 1, "{directories:?}");
    let names = std::fs::read_dir(&directories[0]).unwrap();
    names.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

async fn a_full_crawl_replaces_the_index_while_searches_go_on(engine: Engine) {
    let rig = Rig::new(engine).await;
    rig.put("pipes.txt", "Der Plan der Rohre").await;
    rig.put("broken.docx", "PK\u{3}\u{4} and nothing more").await;
    wait_for_results(&rig.admin, "plan rohre", &["pipes.txt"]).await;
    let current = async || {
        let status = get(&rig.admin, "/api/v1/farm/search").await["items"][0].clone();
        (status["state"] == "current" && status["unreadable"] == 1).then_some(status)
    };
    let status = wait_until("the index is current", current).await;
    assert_eq!((&status["entries"], &status["events_behind"]), (&json!(2), &json!(0)), "{status}");
    let faults = get(&rig.admin, "/api/v1/farm/search/faults").await["items"].clone();
    assert_eq!(faults.as_array().unwrap().len(), 1, "{faults}");
    assert_eq!((&faults[0]["path"], &faults[0]["code"]), (&json!("Documents/broken.docx"), &json!("not_readable")));
    let text = rig.farm.run(&["crawl", "faults"]).unwrap();
    assert!(text.contains("Documents/broken.docx"), "{text}");
    let status = rig.farm.json(&["crawl", "status"]);
    assert_eq!((&status["indexes"][0]["state"], &status["indexes"][0]["unreadable"]), (&json!("current"), &json!(1)));

    let slow = start_crawl(&rig.admin, Some(1)).await;
    wait_until("documents are read", async || {
        let job = get(&rig.admin, &format!("/api/v1/farm/jobs/{slow}")).await;
        (job["items"] == 2 && job["total_items"] == 2).then_some(())
    })
    .await;
    assert_eq!(generations(&rig.farm), BTreeSet::from(["1".to_owned(), format!("building-{slow}")]));
    rig.put("during.txt", "Schiefer").await;
    wait_for_results(&rig.admin, "schiefer", &["during.txt"]).await;
    rig.farm.run(&["crawl", "pause"]).unwrap();
    wait_for_job(&rig.admin, &slow, "paused").await;
    rig.farm.run(&["crawl", "resume"]).unwrap();
    wait_for_job(&rig.admin, &slow, "running").await;
    rig.farm.run(&["crawl", "stop"]).unwrap();
    wait_for_job(&rig.admin, &slow, "aborted").await;
    wait_until("what was built is removed", async || {
        (generations(&rig.farm) == BTreeSet::from(["1".to_owned()])).then_some(())
    })
    .await;
    let refused = rig.farm.run(&["crawl", "pause"]).unwrap_err();
    assert!(refused.output.contains("no full crawl is running"), "{}", refused.output);

    let text = rig.farm.run(&["crawl", "full"]).unwrap();
    assert!(text.contains("3 items read, 2 with text, 1 whose text cannot be read"), "{text}");
    let replaced = async || (generations(&rig.farm) == BTreeSet::from(["2".to_owned()])).then_some(());
    wait_until("the index is replaced", replaced).await;
    assert_eq!(names(&rig.admin, "schiefer").await, ["during.txt"]);
    rig.put("after.txt", "Dachrinne").await;
    wait_for_results(&rig.admin, "dachrinne", &["after.txt"]).await;
    wait_for_results(&rig.admin, "plan rohre", &["pipes.txt"]).await;
    let status = rig.farm.json(&["crawl", "status"]);
    assert_eq!(status["indexes"][0]["unreadable"], 1, "{status}");
    // Somebody removes the index.
    std::fs::remove_dir_all(rig.farm.data.join("search")).unwrap();
    rig.put("last.txt", "Giebel").await;
    wait_for_results(&rig.admin, "giebel", &["last.txt"]).await;
    wait_for_results(&rig.admin, "dachrinne", &["after.txt"]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_crawl_replaces_the_index_while_searches_go_on_on_sqlite() {
    a_full_crawl_replaces_the_index_while_searches_go_on(Engine::Sqlite).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_crawl_replaces_the_index_while_searches_go_on_on_postgresql() {
    a_full_crawl_replaces_the_index_while_searches_go_on(Engine::Postgres).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_index_that_is_ahead_of_its_database_is_rebuilt_though_new_events_follow() {
    const LOSE: Sql = Sql::new("DELETE FROM event WHERE sequence = (SELECT max(sequence) - 1 FROM event)");
    const ADD: Sql = Sql::new(
        "INSERT INTO event (at, actor_id, collection_id, node_id, action, detail)
         SELECT at, actor_id, collection_id, node_id, action, detail FROM event ORDER BY sequence DESC LIMIT 1",
    );
    let rig = Rig::new(Engine::Sqlite).await;
    for name in ["a", "b"] {
        rig.put(&format!("{name}.txt"), &format!("lapwing {name}")).await;
    }
    wait_until_indexed(&rig.admin).await;
    let before = generations(&rig.farm);
    // As if another database server had taken over that lacks the last commit, and has another.
    let place = Location::Sqlite(rig.farm.data.join("databases/main.sqlite"));
    let database = Database::open(&place, Schema::Content, &Options::default()).await.unwrap();
    database.write(|t| t.execute(ADD, &[]).and_then(|_| t.execute(LOSE, &[]))).await.unwrap();
    database.close().await;
    wait_until("a new index", async || Some(()).filter(|()| generations(&rig.farm).is_disjoint(&before))).await;
    wait_for_results(&rig.admin, "lapwing b", &["b.txt"]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_administrator_chooses_whether_texts_of_encrypting_stores_are_indexed() {
    let rig = Rig::new(Engine::Sqlite).await;
    rig.farm.json(&["blobs", "stores", "add", "sealed", "--kind", "directory", "--path", "sealed", "--encrypt"]);
    rig.farm.json(&["blobs", "policy", "set", "--database", "main", "--active", "sealed", "--minimum-size", "0"]);
    rig.put("secret.txt", "Geheimplan").await;
    wait_for_results(&rig.admin, "secret", &["secret.txt"]).await;
    let current = async || (rig.farm.json(&["crawl", "status"])["indexes"][0]["state"] == "current").then_some(());
    wait_until("the index is current", current).await;
    assert_eq!(names(&rig.admin, "geheimplan").await, Vec::<String>::new());
    let text = rig.farm.run(&["crawl", "status"]).unwrap();
    assert!(text.contains("Texts from stores that encrypt (sealed) are not indexed"), "{text}");
    rig.farm.run(&["crawl", "settings", "--encrypted-texts", "yes", "--full-every", "30"]).unwrap();
    wait_for_results(&rig.admin, "geheimplan", &["secret.txt"]).await;
    let text = rig.farm.run(&["crawl", "settings", "--encrypted-texts", "no"]).unwrap();
    assert!(
        text.contains("A full crawl starts every 30 days. Texts from stores that encrypt are not indexed."),
        "{text}"
    );
    wait_for_results(&rig.admin, "geheimplan", &[]).await;
    wait_until("the index is current", current).await;
    assert_eq!(names(&rig.admin, "secret").await, ["secret.txt"]);
    let refused = rig.farm.run(&["crawl", "settings", "--full-every", "9999"]).unwrap_err();
    assert!(refused.output.contains("from 1 to 3650"), "{}", refused.output);
}

/// Number of documents in the kill loop.
const DOCUMENTS: u64 = 20;
/// The kill comes after a random time, below this many microseconds.
const MOMENT: u64 = 700_000;

fn rounds(usual: usize) -> usize {
    std::env::var("RIG_KILL_ROUNDS").map_or(usual, |rounds| rounds.parse().unwrap())
}

/// Changes documents until a request fails. Each text is a word that no other text has.
async fn change(client: &Client, mut random: Random, writer: &str) {
    for number in 0.. {
        let name = format!("{}.txt", random.below(DOCUMENTS));
        let changed = match random.below(5) {
            0 => client.delete(&name).await,
            _ => client.put(&name, format!("{writer}x{number}z").into_bytes()).await,
        };
        if changed.is_err() {
            return;
        }
    }
}

/// Number of rows up to which more are added in the kill loop.
const ROWS: usize = 20;

async fn rows_of(client: &Client, list: &str) -> Option<Vec<Value>> {
    let answer = client.send(Method::GET, &format!("/api/v1/items/{list}/rows?limit=100"), Vec::new()).await.ok()?;
    answer.status.is_success().then(|| answer.json()["items"].as_array().unwrap().clone())
}

/// Changes rows of a list until a request fails. Each title is a word that no other has.
async fn change_rows(client: &Client, list: &str, mut random: Random, writer: &str) {
    for number in 0.. {
        let Some(rows) = rows_of(client, list).await else { return };
        let values = json!({ "Title": format!("{writer}r{number}z") });
        let row = rows.get(random.below(ROWS as u64) as usize);
        let change = match (row, random.below(3)) {
            (None, _) => json!({ "set": values }),
            (Some(row), 0) => json!({ "id": row["id"], "delete": true }),
            (Some(row), _) => json!({ "id": row["id"], "set": values }),
        };
        let path = format!("/api/v1/items/{list}/changes");
        if client.send_json(Method::POST, &path, &json!({ "changes": [change] })).await.is_err() {
            return;
        }
    }
}

/// Waits until the index is current and no crawl runs, and compares what is found with what is stored.
async fn compare(farm: &Farm, client: &Client, list: &str, round: usize) {
    let jobs = async || {
        let jobs = get(client, "/api/v1/farm/jobs").await["items"].clone();
        jobs.as_array().unwrap().iter().all(|job| job["state"] == "finished").then_some(())
    };
    wait_until("all crawls end", jobs).await;
    let mut stored = Vec::new();
    for number in 0..DOCUMENTS {
        let answer = client.get(&format!("{number}.txt")).await.unwrap();
        if answer.status.is_success() {
            stored.push((format!("{number}.txt"), answer.text()));
        }
    }
    let rows = rows_of(client, list).await.unwrap();
    for row in &rows {
        stored.push((row["number"].as_str().unwrap().to_owned(), row["title"].as_str().unwrap().to_owned()));
    }
    for (name, word) in &stored {
        wait_for_results(client, word, &[name]).await;
    }
    let entries = async || {
        let status = farm.json(&["crawl", "status"])["indexes"][0].clone();
        (status["entries"] == stored.len() && status["state"] == "current").then_some(())
    };
    wait_until(&format!("round {round}: the index has {} entries", stored.len()), entries).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_index_agrees_with_the_database_after_kills() {
    let mut random = Random::fresh();
    let farm = Farm::on(Engine::Sqlite).await;
    let mut server: Server = farm.start();
    let token = farm.token();
    let client = server.client(&token);
    let site = get(&client, "/api/v1/items/by-path?path=").await["id"].as_str().unwrap().to_owned();
    let made = json!({ "name": "Tasks" });
    let list = client.send_json(Method::POST, &format!("/api/v1/items/{site}/lists"), &made).await.unwrap().json();
    let list = list["id"].as_str().unwrap().to_owned();
    let rounds = rounds(6);
    for round in 0..rounds {
        let client = server.client(&token);
        start_crawl(&client, None).await;
        let load = ["a", "b"].map(|writer| {
            let (client, random) = (server.client(&token), Random::seeded(random.next()));
            tokio::spawn(async move { change(&client, random, &format!("{writer}{round}")).await })
        });
        let (client, own, of) = (server.client(&token), Random::seeded(random.next()), list.clone());
        let rows = tokio::spawn(async move { change_rows(&client, &of, own, &format!("c{round}")).await });
        // sleep: the kill must come at a random moment
        tokio::time::sleep(Duration::from_micros(random.below(MOMENT))).await;
        server.kill();
        for changes in load {
            changes.await.unwrap();
        }
        rows.await.unwrap();
        server = farm.start();
        if round % 3 == 2 || round + 1 == rounds {
            compare(&farm, &server.client(&token), &list, round).await;
        }
    }
    assert!(server.stop().success());
}
