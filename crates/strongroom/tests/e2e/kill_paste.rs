//! SIGKILL while rows are pasted into lists: a paste of 1,000 rows is there with all of its rows or not at all, an
//! acknowledged one is there, and lists sorted by any column have the same rows.
//!
//! Runs 12 rounds, or as many as `RIG_KILL_ROUNDS` says.

use std::collections::{BTreeMap, HashSet};
use std::time::{Duration, Instant};

use database::Engine;
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::{Client, Farm, Random};

/// Rows of a paste.
const ROWS: usize = 1_000;
/// Pastes that are sent at the same time, each into a list of its own.
const LISTS: usize = 2;
/// The kill comes at a random time after the pastes were sent, below this many times what the first paste took.
const PASTES_BEFORE_KILL: u64 = 3;

async fn call(client: &Client, method: Method, path: &str, body: &Value) -> Value {
    let answer = client.send_json(method, path, body).await.unwrap();
    assert!(answer.status.is_success(), "{path}: {} {}", answer.status, answer.text());
    answer.json()
}

/// Creates a list and returns its identifier and those of its columns.
async fn make_list(client: &Client, number: usize) -> (String, Vec<String>) {
    let site = call(client, Method::GET, "/api/v1/items/by-path?path=", &Value::Null).await;
    let path = format!("/api/v1/items/{}/lists", site["id"].as_str().unwrap());
    let body = json!({"name": format!("List {number}"), "title_column": "Title"});
    let list = call(client, Method::POST, &path, &body).await["id"].as_str().unwrap().to_owned();
    let columns = format!("/api/v1/items/{list}/columns");
    for column in [json!({"name": "Paste", "kind": "number"}), json!({"name": "Due", "kind": "date"})] {
        call(client, Method::POST, &columns, &column).await;
    }
    let found = call(client, Method::GET, &columns, &Value::Null).await;
    let ids = found["items"].as_array().unwrap().iter().map(|column| column["id"].as_str().unwrap().to_owned());
    (list, ids.collect())
}

/// Sends a paste; returns whether it was acknowledged. Otherwise the connection was cut.
async fn paste(client: &Client, list: &str, number: usize) -> bool {
    let changes: Vec<Value> = (0..ROWS)
        .map(|row| json!({"set": {"Title": format!("{row} of {number}"), "Paste": number, "Due": "2026-03-04"}}))
        .collect();
    let body = json!({"atomic": true, "changes": changes});
    match client.send_json(Method::POST, &format!("/api/v1/items/{list}/changes"), &body).await {
        Ok(answer) => {
            assert!(answer.status.is_success(), "{} {}", answer.status, answer.text());
            true
        }
        Err(_) => false,
    }
}

/// Returns the identifiers of all rows, in an order, and how many each paste has, by the column with its number.
async fn rows(client: &Client, list: &str, column: &str, sort: &str) -> (HashSet<String>, BTreeMap<u64, usize>) {
    let (mut ids, mut pastes) = (HashSet::new(), BTreeMap::new());
    let mut cursor = String::new();
    loop {
        let path = format!("/api/v1/items/{list}/rows?limit=1000&sort={sort}{cursor}");
        let page = call(client, Method::GET, &path, &Value::Null).await;
        for row in page["items"].as_array().unwrap() {
            assert!(ids.insert(row["id"].as_str().unwrap().to_owned()), "a row stands twice in the order of {sort}");
            *pastes.entry(row["values"][column].as_f64().unwrap() as u64).or_default() += 1;
        }
        match page["next"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => return (ids, pastes),
        }
    }
}

async fn kill_pastes(engine: Engine) {
    let rounds = std::env::var("RIG_KILL_ROUNDS").map_or(12, |rounds| rounds.parse().unwrap());
    let mut random = Random::fresh();
    let farm = Farm::on(engine).await;
    let mut server = farm.start();
    let token = farm.token();
    let client = server.client(&token);
    let mut lists = Vec::new();
    for number in 0..LISTS {
        lists.push(make_list(&client, number).await);
    }
    let (mut sent, mut acknowledged) = (1, vec![HashSet::new(); LISTS]);
    let begin = Instant::now();
    assert!(paste(&client, &lists[0].0, 0).await, "the first paste failed");
    let longest = PASTES_BEFORE_KILL * begin.elapsed().as_micros() as u64;
    acknowledged[0].insert(0);
    for _ in 0..rounds {
        let client = server.client(&token);
        let mut pastes = tokio::task::JoinSet::new();
        for (at, (list, _)) in lists.iter().enumerate() {
            let (client, list, first) = (client.clone(), list.clone(), sent);
            // Pastes follow each other until the server is gone.
            pastes.spawn(async move {
                let mut number = first;
                while paste(&client, &list, number).await {
                    number += 1;
                }
                (at, first..number)
            });
        }
        // sleep: the kill must come at a random moment
        tokio::time::sleep(Duration::from_micros(random.below(longest))).await;
        server.kill();
        for (at, numbers) in pastes.join_all().await {
            sent = sent.max(numbers.end + 1);
            acknowledged[at].extend(numbers.map(|number| number as u64));
        }
        server = farm.start();
        let client = server.client(&token);
        for (at, (list, columns)) in lists.iter().enumerate() {
            let (ids, pastes) = rows(&client, list, &columns[1], "added").await;
            for (paste, count) in &pastes {
                assert_eq!(*count, ROWS, "paste {paste} is there in parts");
            }
            for paste in &acknowledged[at] {
                assert!(pastes.contains_key(paste), "paste {paste} was acknowledged and is lost");
            }
            for column in columns {
                assert_eq!(
                    rows(&client, list, &columns[1], column).await.0,
                    ids,
                    "the order of {column} has other rows"
                );
            }
        }
    }
    let kept: usize = acknowledged.iter().map(HashSet::len).sum();
    println!("{kept} pastes were acknowledged in {rounds} rounds");
    assert!(kept > 1, "the load did nothing");
    assert!(server.stop().success());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_paste_is_whole_or_absent_after_a_kill_on_sqlite() {
    kill_pastes(Engine::Sqlite).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_paste_is_whole_or_absent_after_a_kill_on_postgres() {
    kill_pastes(Engine::Postgres).await;
}
