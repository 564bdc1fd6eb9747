//! Kills during all kinds of changes, compared with a model of the acknowledged state. In every third round an
//! administrator's command runs alongside the changes, in every fourth a second kill comes during recovery.
//!
//! Runs 30 rounds, or as many as `RIG_KILL_ROUNDS` says.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use database::Engine;
use tokio::sync::Mutex;
use tokio::task::JoinSet;

use crate::support::{BackgroundCommands, Client, Farm, Random, Trouble, Worker, WorkerContext};

/// Document sizes: inline, in segments, and in separate files.
const SIZES: &[usize] = &[0, 300, 20_000, 150_000, 3_000_000];
const WORKERS: usize = 8;
/// The kill comes after a random number of acknowledged changes, below this limit.
const CHANGES: u64 = 30;
/// The crash is then delayed by a random time, below this many microseconds.
const MOMENT: u64 = 5_000;
/// The second kill comes at a random time after the restart, below this many microseconds.
const RECOVERY: u64 = 120_000;
/// Timeout for the changes of a round.
const TIMEOUT: Duration = Duration::from_secs(60);

fn rounds(usual: usize) -> usize {
    std::env::var("RIG_KILL_ROUNDS").map_or(usual, |rounds| rounds.parse().unwrap())
}

/// Lets all workers make changes until the server stops responding.
fn work(
    workers: &[Arc<Mutex<Worker>>],
    client: &Client,
    random: &mut Random,
    acknowledged: &Arc<AtomicU64>,
) -> JoinSet<Result<(), String>> {
    let mut tasks = JoinSet::new();
    for worker in workers {
        let (worker, client, acknowledged) = (Arc::clone(worker), client.clone(), Arc::clone(acknowledged));
        let mut random = Random::seeded(random.next());
        tasks.spawn(async move {
            let mut worker = worker.lock().await;
            loop {
                match worker.random_change(&client, &mut random).await {
                    Ok(()) => _ = acknowledged.fetch_add(1, Ordering::Relaxed),
                    Err(Trouble::Retry) => {}
                    Err(Trouble::NoResponse) => return Ok(()),
                    Err(Trouble::Refusal(refusal)) => return Err(refusal),
                }
            }
        });
    }
    tasks
}

async fn kill_again_and_again(engine: Engine, rounds: usize) {
    let mut random = Random::fresh();
    let farm = Farm::on(engine).await;
    let mut server = farm.start();
    let token = farm.token();
    let client = server.client(&token);
    let ground = WorkerContext::prepare(&client).await;
    let mut workers = Vec::new();
    for number in 0..WORKERS {
        workers.push(Arc::new(Mutex::new(Worker::new(&client, &ground, number, SIZES).await)));
    }
    let mut errands = BackgroundCommands::prepare(&farm, &client).await;
    let acknowledged = Arc::new(AtomicU64::new(0));
    for round in 0..rounds {
        let errand = (round % 3 == 2).then(|| errands.begin(&farm));
        let load = work(&workers, &server.client(&token), &mut random, &acknowledged);
        let (goal, deadline) = (acknowledged.load(Ordering::Relaxed) + random.below(CHANGES), Instant::now() + TIMEOUT);
        while acknowledged.load(Ordering::Relaxed) < goal && Instant::now() < deadline && !load.is_empty() {
            // sleep: polled, since the counter changes without a notification
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        // sleep: the kill must come at a random moment, not right after a response
        tokio::time::sleep(Duration::from_micros(random.below(MOMENT))).await;
        server.kill();
        for outcome in load.join_all().await {
            assert_eq!(outcome, Ok(()), "round {round}: the server refused what it must take");
        }
        assert!(acknowledged.load(Ordering::Relaxed) >= goal, "round {round}: the load stood still");
        if let Some(errand) = errand {
            errands.end(errand, &mut random);
        }
        if round % 4 == 3 {
            let recovering = farm.spawn();
            // sleep: as above
            tokio::time::sleep(Duration::from_micros(random.below(RECOVERY))).await;
            recovering.kill();
        }
        server = farm.start();
        let client = server.client(&token);
        for worker in &workers {
            worker.lock().await.verify(&client, round % 10 == 9).await;
        }
    }
    println!("{} changes were acknowledged in {rounds} rounds", acknowledged.load(Ordering::Relaxed));
    errands.finish(&farm, &server.client(&token)).await;
    let client = server.client(&token);
    for worker in &workers {
        worker.lock().await.verify(&client, true).await;
    }
    farm.check_blobs();
    assert!(server.stop().success());
}

#[tokio::test(flavor = "multi_thread")]
async fn all_kinds_of_changes_survive_kills_on_sqlite() {
    kill_again_and_again(Engine::Sqlite, rounds(30)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn all_kinds_of_changes_survive_kills_on_postgres() {
    kill_again_and_again(Engine::Postgres, rounds(15)).await;
}
