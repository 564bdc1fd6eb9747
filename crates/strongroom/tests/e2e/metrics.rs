//! Metrics of changes, and of a SQLite database, as a database server would report them: cache, WAL, size, and waits
//! for its lock.

use std::time::{Duration, Instant};

use database::Engine;
use reqwest::Method;
use serde_json::json;

use crate::support::{Client, Farm};

/// Sum of all values of a metric for the content database `main`.
async fn figure(client: &Client, name: &str) -> f64 {
    let text = client.send(Method::GET, "/metrics", Vec::new()).await.unwrap().text();
    let lines = text.lines().filter(|line| line.starts_with(&format!("{name}{{database=\"main\"")));
    let values: Vec<f64> = lines.map(|line| line.rsplit(' ').next().unwrap().parse().unwrap()).collect();
    assert!(!values.is_empty(), "{name} is missing:\n{text}");
    values.iter().sum()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_file_tells_of_its_cache_log_size_and_lock() {
    let farm = Farm::on(Engine::Sqlite).await;
    let server = farm.start();
    let client = server.client(&farm.token());
    let names = ["database_cache_hits_total", "database_log_bytes_total", "database_lock_seconds_count"];
    let mut before = Vec::new();
    for name in names {
        before.push(figure(&client, name).await);
    }
    let misses = figure(&client, "database_cache_misses_total").await;
    for number in 0..20 {
        assert!(client.put(&format!("{number}.txt"), b"text".to_vec()).await.unwrap().status.is_success());
    }
    for (name, before) in names.into_iter().zip(before) {
        let now = figure(&client, name).await;
        let least = if name == "database_log_bytes_total" { 20.0 * 4096.0 } else { 20.0 };
        assert!(now - before >= least, "{name} went from {before} to {now}");
    }
    assert!(figure(&client, "database_cache_misses_total").await >= misses);
    let file = farm.data.join("databases/main.sqlite");
    let size = figure(&client, "database_size_bytes").await;
    // Pages that are only in the WAL count towards the database's size.
    assert!(size >= std::fs::metadata(&file).unwrap().len() as f64, "{size}");

    // Another process holds the write lock. An upload waits for it, and the metric shows the wait.
    let waited = figure(&client, "database_lock_seconds_sum").await;
    let other = database::testing::open_file(&file);
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let begun = Instant::now();
    let upload = client.put("waits.txt", b"text".to_vec());
    let release = async {
        // sleep: the time for which the other connection holds the lock
        tokio::time::sleep(Duration::from_secs(2)).await;
        other.execute_batch("COMMIT").unwrap();
    };
    let (answer, ()) = tokio::join!(upload, release);
    assert!(answer.unwrap().status.is_success());
    let waited = figure(&client, "database_lock_seconds_sum").await - waited;
    assert!(waited > 0.3, "{waited} s");
    assert!(waited <= begun.elapsed().as_secs_f64(), "{waited} s");
}

#[tokio::test(flavor = "multi_thread")]
async fn changes_are_counted_once_they_are_made() {
    for engine in [Engine::Sqlite, Engine::Postgres] {
        let farm = Farm::on(engine).await;
        let server = farm.start();
        let client = server.client(&farm.token());
        let site = client.send(Method::GET, "/api/v1/items/by-path?path=", Vec::new()).await.unwrap().json();
        let lists = format!("/api/v1/items/{}/lists", site["id"].as_str().unwrap());
        let new = json!({"name": "Tasks", "title_column": "Title"});
        let list = client.send_json(Method::POST, &lists, &new).await.unwrap().json();
        let changes = format!("/api/v1/items/{}/changes", list["id"].as_str().unwrap());
        let good = json!({"set": {"Title": "good"}});
        for body in [
            json!({"atomic": true, "changes": [good, good, good]}),
            json!({"atomic": true, "changes": [good, {"set": {"Unknown": "x"}}]}),
        ] {
            client.send_json(Method::POST, &changes, &body).await.unwrap();
        }
        let text = client.send(Method::GET, "/metrics", Vec::new()).await.unwrap().text();
        for line in ["{action=\"list.create\"} 1", "{action=\"row.create\"} 3"] {
            assert!(text.contains(&format!("strongroom_audit_events_total{line}\n")), "{engine:?}: {line}\n{text}");
        }
    }
}
