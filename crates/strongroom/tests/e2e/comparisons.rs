//! The nightly comparison of a search index with its content database mends what differs, reports it, and takes no
//! change that is yet to be indexed for a difference.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use database::Engine;
use model::Id;
use reqwest::Method;
use search::index::{Audience, Checkpoint, Entry, EntryKind, IndexWriter, SearchIndex};
use serde_json::Value;

use crate::support::{Client, Farm};
use crate::words::{names, wait_until_indexed};

/// Time after which a comparison that did not end is missing.
const SOON: Duration = Duration::from_secs(60);

fn index_of(farm: &Farm) -> Arc<SearchIndex> {
    let directories = |path: PathBuf| path.read_dir().unwrap().map(|entry| entry.unwrap().path());
    let mut found = directories(farm.data.join("search")).flat_map(directories);
    let path = found.find(|path| path.join("meta.json").exists()).unwrap();
    Arc::new(SearchIndex::open(&path).unwrap())
}

/// Changes an index while no server runs. A comparison is due afterwards.
fn change_index(farm: &Farm, change: impl FnOnce(&mut IndexWriter)) {
    let index = index_of(farm);
    let mut checkpoint: Checkpoint = index.view().checkpoint().clone();
    checkpoint.comparison.due = Some(0);
    let mut writer = IndexWriter::open(index).unwrap();
    change(&mut writer);
    writer.commit(&checkpoint).unwrap();
    writer.close().unwrap();
}

/// Returns an entry of a version that is not there.
fn stale(node: i64) -> Entry {
    let at = model::Timestamp::now();
    Entry {
        kind: EntryKind::Document,
        node: Id::new(node),
        version: Id::new(1),
        collection: Id::new(1),
        place: Id::new(1),
        audience: Audience::All,
        author: Id::new(1),
        editor: Id::new(1),
        holder: Id::NONE,
        checked_out_by: Id::NONE,
        created: at,
        modified: at,
        size: 1,
        name: "stale.txt".to_owned(),
        title: String::new(),
        stated_author: String::new(),
        text: "nothing".to_owned(),
        library: Id::NONE,
        values: Vec::new(),
        fault: None,
    }
}

async fn id_of(client: &Client, name: &str) -> i64 {
    let path = format!("/api/v1/items/by-path?path=Documents/{name}");
    let item = client.send(Method::GET, &path, Vec::new()).await.unwrap().json();
    item["id"].as_str().unwrap().parse().unwrap()
}

/// Waits until a comparison has ended after `since`, and returns it.
async fn compared(client: &Client, since: &Value) -> Value {
    let deadline = Instant::now() + SOON;
    loop {
        let answer = client.send(Method::GET, "/api/v1/farm/search", Vec::new()).await.unwrap().json();
        let comparison = answer["items"][0]["comparison"].clone();
        if !comparison.is_null() && comparison["at"] != since["at"] {
            return comparison;
        }
        assert!(Instant::now() < deadline, "no comparison ended: {answer}");
        // sleep: polled, since the server compares by itself
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

async fn rules(client: &Client) -> Vec<String> {
    let found = client.send(Method::GET, "/api/v1/farm/health", Vec::new()).await.unwrap().json();
    found["items"].as_array().unwrap().iter().map(|finding| finding["rule"].as_str().unwrap().to_owned()).collect()
}

async fn differences_are_repaired_and_reported(engine: Engine) {
    let farm = Farm::on(engine).await;
    let server = farm.start();
    let token = farm.token();
    let admin = server.client(&token);
    for (name, text) in [
        ("lost.txt", "heron"),
        ("old.txt", "egret"),
        ("binned.txt", "owl"),
        ("good.txt", "wren"),
        ("other.txt", "robin"),
    ] {
        assert!(admin.put(name, text.as_bytes().to_vec()).await.unwrap().status.is_success());
    }
    let (lost, old, binned) =
        (id_of(&admin, "lost.txt").await, id_of(&admin, "old.txt").await, id_of(&admin, "binned.txt").await);
    admin.delete("binned.txt").await.unwrap();
    wait_until_indexed(&admin).await;
    let other = id_of(&admin, "other.txt").await;
    server.stop();
    let indexed = index_of(&farm).view().entries_between(Id::new(other), Id::new(other)).unwrap();
    let [indexed] = indexed[&Id::new(other)].as_slice() else { panic!("{indexed:?}") };
    change_index(&farm, |writer| {
        writer.replace(Id::new(lost), &[]).unwrap();
        // The entry of the present version, without what an event changed.
        let (version, place, name) = (indexed.version, indexed.place, "other.txt".to_owned());
        writer.replace(Id::new(other), &[Entry { version, place, name, ..stale(other) }]).unwrap();
        for node in [old, binned, 77] {
            writer.replace(Id::new(node), &[stale(node)]).unwrap();
        }
    });

    let server = farm.start();
    let admin = server.client(&token);
    let comparison = compared(&admin, &Value::Null).await;
    assert_eq!((&comparison["repaired"], &comparison["documents"]), (&5.into(), &5.into()), "{comparison}");
    assert_eq!(names(&admin, "heron").await, ["lost.txt"]);
    assert_eq!(names(&admin, "egret").await, ["old.txt"]);
    assert_eq!(names(&admin, "robin").await, ["other.txt"]);
    assert_eq!(names(&admin, "nothing").await, Vec::<String>::new());
    assert!(rules(&admin).await.contains(&"search-repaired".to_owned()));
    assert_eq!(farm.json(&["crawl", "status"])["indexes"][0]["comparison"]["repaired"], 5);
    let metrics = admin.send(Method::GET, "/metrics", Vec::new()).await.unwrap().text();
    assert!(metrics.contains("strongroom_search_repaired_total 5"), "{metrics}");
    server.stop();

    // The next one begins while documents change, which is no difference.
    change_index(&farm, |_| {});
    let server = farm.start();
    let admin = server.client(&token);
    let changing = server.client(&token);
    let writing = tokio::spawn(async move {
        for number in 0_u32.. {
            let name = format!("{}.txt", number % 7);
            let done = match number % 3 {
                0 => changing.delete(&name).await,
                _ => changing.put(&name, format!("text {number}").into_bytes()).await,
            };
            if done.is_err() {
                return;
            }
        }
    });
    let again = compared(&admin, &comparison).await;
    writing.abort();
    assert_eq!(again["repaired"], 0, "{again}");
    assert!(!rules(&admin).await.contains(&"search-repaired".to_owned()));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn differences_are_repaired_and_reported_on_sqlite() {
    differences_are_repaired_and_reported(Engine::Sqlite).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn differences_are_repaired_and_reported_on_postgres() {
    differences_are_repaired_and_reported(Engine::Postgres).await;
}
