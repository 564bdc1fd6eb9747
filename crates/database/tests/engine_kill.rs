//! When the process is killed, no acknowledged transaction is lost and none is applied partially.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail the test")]

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use database::testing::fresh_database;
use database::{Database, Engine, Location, Options, Schema, Sql, params};

const CREATE: Sql = Sql::new("CREATE TABLE thing (id BIGINT NOT NULL PRIMARY KEY, half BIGINT NOT NULL)");
const INSERT: Sql = Sql::new("INSERT INTO thing (id, half) VALUES ($1, $2)");
const IDS: Sql = Sql::new("SELECT id FROM thing ORDER BY id");
const ROUNDS: i64 = 4;

/// Address of a location, including the password that its displayed form hides. Only this test reads it.
fn address(location: &Location) -> String {
    match location {
        Location::Sqlite(path) => path.display().to_string(),
        Location::Postgres(address) => address.clone(),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_acknowledged_survives_a_kill() {
    if let Ok(address) = std::env::var("DATABASE_TEST_LOCATION") {
        return write_until_killed(&address).await;
    }
    for engine in [Engine::Sqlite, Engine::Postgres] {
        let fresh = fresh_database(engine).await;
        let db = Database::make(&fresh.location, Schema::Content, &Options::default()).await.unwrap();
        db.write(|t| t.execute(CREATE, &[])).await.unwrap();
        db.close().await;
        let mut acknowledged = BTreeSet::new();
        for round in 0..ROUNDS {
            acknowledged.extend(kill_after(100 + 150 * round as usize, round, &address(&fresh.location)));
            let db = Database::make(&fresh.location, Schema::Content, &Options::default()).await.unwrap();
            let present = db.read_long(|r| r.query(IDS, &[], |row| row.get::<i64>(0))).await.unwrap();
            db.close().await;
            let present: BTreeSet<i64> = present.into_iter().collect();
            assert!(acknowledged.is_subset(&present), "lost: {:?}", acknowledged.difference(&present));
            // Each transaction writes a number and its negative: both are present or neither is.
            assert!(present.iter().all(|id| present.contains(&-id)));
        }
        assert!(acknowledged.len() >= 100 * ROUNDS as usize);
    }
}

/// Starts a process that writes, kills it after `count` acknowledgements, and returns everything that it acknowledged.
fn kill_after(count: usize, round: i64, address: &str) -> Vec<i64> {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "what_was_acknowledged_survives_a_kill", "--nocapture"]);
    command.env("DATABASE_TEST_LOCATION", address).env("DATABASE_TEST_ROUND", round.to_string());
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut acknowledged = Vec::new();
    while acknowledged.len() < count {
        let line = lines.next().unwrap().unwrap();
        acknowledged.extend(parse(&line));
    }
    child.kill().unwrap();
    // Output from before the kill counts as well; the last line may be truncated.
    let rest = lines.map_while(Result::ok);
    acknowledged.extend(rest.filter_map(|line| parse(&line)));
    child.wait().unwrap();
    acknowledged
}

async fn write_until_killed(address: &str) {
    let round: i64 = std::env::var("DATABASE_TEST_ROUND").unwrap().parse().unwrap();
    let location = Location::parse(address).unwrap();
    let db = Database::make(&location, Schema::Content, &Options::default()).await.unwrap();
    let mut tasks = tokio::task::JoinSet::new();
    for task in 0..8i64 {
        let db = db.clone();
        tasks.spawn(async move {
            // Ends when the process is killed. The bound applies only if that never happens.
            for n in 0..20_000i64 {
                let id = 1 + round * 1_000_000 + task * 100_000 + n;
                db.write(move |t| {
                    t.execute(INSERT, &params![id, 1i64])?;
                    t.execute(INSERT, &params![-id, 2i64])
                })
                .await
                .unwrap();
                println!("acknowledged {id}.");
            }
        });
    }
    tasks.join_all().await;
}

fn parse(line: &str) -> Option<i64> {
    line.strip_prefix("acknowledged ")?.strip_suffix('.')?.parse().ok()
}
