//! Prints how many transactions of five statements and how many point reads each engine serves per second, for several
//! numbers of concurrent callers. Needs feature `testing` and Debian's PostgreSQL: `cargo run --release -p database
//! --features testing --example throughput [sqlite|postgres]`

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant};

use database::testing::fresh_database;
use database::{Database, Engine, Options, Schema, Sql, Value, params};
use model::Result;

const TABLES: [Sql; 5] = [
    Sql::new("CREATE TABLE bench_blob (id BIGINT NOT NULL PRIMARY KEY, size BIGINT NOT NULL)"),
    Sql::new(
        "CREATE TABLE bench_node (id BIGINT NOT NULL PRIMARY KEY, parent BIGINT NOT NULL, name TEXT NOT NULL, UNIQUE \
        (parent, name))",
    ),
    Sql::new("CREATE TABLE bench_version (id BIGINT NOT NULL PRIMARY KEY, node BIGINT NOT NULL, blob BIGINT NOT NULL)"),
    Sql::new("CREATE TABLE bench_usage (slot BIGINT NOT NULL PRIMARY KEY, bytes BIGINT NOT NULL)"),
    Sql::new("CREATE TABLE bench_event (id BIGINT NOT NULL PRIMARY KEY, what TEXT NOT NULL)"),
];
const BLOB: Sql = Sql::new("INSERT INTO bench_blob (id, size) VALUES ($1, $2)");
const NODE: Sql = Sql::new("INSERT INTO bench_node (id, parent, name) VALUES ($1, $2, $3)");
const VERSION: Sql = Sql::new("INSERT INTO bench_version (id, node, blob) VALUES ($1, $2, $3)");
const USAGE: Sql = Sql::new(
    "INSERT INTO bench_usage (slot, bytes) VALUES ($1, $2) ON CONFLICT (slot) DO UPDATE SET bytes = bench_usage.bytes \
    + $2",
);
const EVENT: Sql = Sql::new("INSERT INTO bench_event (id, what) VALUES ($1, $2)");
const FIND: Sql = Sql::new("SELECT name FROM bench_node WHERE id = $1");

#[tokio::main]
async fn main() -> Result<()> {
    let only = std::env::args().nth(1);
    for engine in [Engine::Sqlite, Engine::Postgres] {
        if only.as_deref().is_some_and(|only| only != engine.as_str()) {
            continue;
        }
        let fresh = fresh_database(engine).await;
        let db = Database::make(&fresh.location, Schema::Content, &Options::default()).await?;
        db.write(|t| TABLES.iter().try_for_each(|sql| t.execute(*sql, &[]).map(drop))).await?;
        let next = Arc::new(AtomicI64::new(1));
        for callers in [1, 16, 64] {
            for pipelined in [false, true] {
                let (own, ids) = (db.clone(), Arc::clone(&next));
                let rate = measure(callers, move || insert(own.clone(), Arc::clone(&ids), pipelined)).await?;
                let how = if pipelined { "in one batch" } else { "one by one" };
                println!("{:>8} {callers:>3} callers: {rate:>8.0} transactions/s, statements {how}", engine.as_str());
            }
        }
        let last = next.load(Ordering::Relaxed);
        for callers in [1, 16, 64] {
            let (own, cursor) = (db.clone(), Arc::new(AtomicI64::new(1)));
            let rate = measure(callers, move || find(own.clone(), Arc::clone(&cursor), last)).await?;
            println!("{:>8} {callers:>3} callers: {rate:>8.0} point reads/s", engine.as_str());
        }
        println!("{:>8} {} bytes", engine.as_str(), db.size_bytes().await?);
        db.close().await;
    }
    Ok(())
}

async fn insert(db: Database, next: Arc<AtomicI64>, pipelined: bool) -> Result<()> {
    let id = next.fetch_add(1, Ordering::Relaxed);
    db.write(move |t| {
        let name = format!("document {id}.pdf");
        let blob = params![id, 100_000i64];
        let node = params![id, id % 97, &name];
        let version = params![id, id, id];
        let usage = params![id % 16, 100_000i64];
        let event = params![id, "uploaded"];
        let all: [(Sql, &[Value<'_>]); 5] =
            [(BLOB, &blob), (NODE, &node), (VERSION, &version), (USAGE, &usage), (EVENT, &event)];
        if pipelined {
            return all.iter().try_for_each(|(sql, params)| t.execute_deferred(*sql, params));
        }
        all.iter().try_for_each(|(sql, params)| t.execute(*sql, params).map(drop))
    })
    .await
}

async fn find(db: Database, cursor: Arc<AtomicI64>, last: i64) -> Result<()> {
    let id = cursor.fetch_add(7919, Ordering::Relaxed) % last;
    db.read(move |r| r.find(FIND, &params![id], |row| row.get::<String>(0))).await.map(drop)
}

/// Calls `work` from `callers` concurrent tasks for some seconds and returns the rate. The first half second does not
/// count.
async fn measure<F, Fut>(callers: usize, work: F) -> Result<f64>
where
    F: Fn() -> Fut + Clone + Send + 'static,
    Fut: Future<Output = Result<()>> + Send + 'static,
{
    let warm = Instant::now() + Duration::from_millis(500);
    let end = warm + Duration::from_secs(3);
    let mut tasks = tokio::task::JoinSet::new();
    for _ in 0..callers {
        let work = work.clone();
        tasks.spawn(async move {
            let mut count = 0u64;
            while Instant::now() < end {
                work().await?;
                count += u64::from(Instant::now() >= warm);
            }
            Ok::<_, model::Error>(count)
        });
    }
    let mut total = 0;
    for count in tasks.join_all().await {
        total += count?;
    }
    Ok(total as f64 / 3.0)
}
