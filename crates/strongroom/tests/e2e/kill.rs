//! The kill loop: SIGKILL at random points under load and during recovery. No acknowledged change is lost.
//!
//! Runs 50 rounds, or as many as `RIG_KILL_ROUNDS` says.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use database::Engine;

use crate::support::{Farm, Ledger, Random};

/// Document sizes: inline, in segments, and in separate files.
const SIZES: &[usize] = &[0, 300, 20_000, 150_000, 3_000_000];
/// The kill comes after a random number of acknowledged changes, below this limit.
const CHANGES: u64 = 30;
/// The crash is then delayed by a random time, below this many microseconds.
const MOMENT: u64 = 5_000;
/// In every fourth round a second kill comes at a random time after the restart, below this many microseconds.
const RECOVERY: u64 = 120_000;

fn rounds(usual: usize) -> usize {
    std::env::var("RIG_KILL_ROUNDS").map_or(usual, |rounds| rounds.parse().unwrap())
}

async fn kill_again_and_again(engine: Engine, rounds: usize) {
    let mut random = Random::fresh();
    let farm = Farm::on(engine).await;
    let ledger = Ledger::new(8, 6, SIZES);
    let mut server = farm.start();
    let token = farm.token();
    for round in 0..rounds {
        let client = server.client(&token);
        let stop = Arc::new(AtomicBool::new(false));
        let load = ledger.load(&client, &mut random, &stop);
        ledger.wait_for(random.below(CHANGES)).await;
        // sleep: the kill must come at a random moment, not right after a response
        tokio::time::sleep(Duration::from_micros(random.below(MOMENT))).await;
        server.kill();
        load.join_all().await;
        if round % 4 == 3 {
            let recovering = farm.spawn();
            // sleep: as above
            tokio::time::sleep(Duration::from_micros(random.below(RECOVERY))).await;
            recovering.kill();
        }
        server = farm.start();
        ledger.verify(&server.client(&token), true).await;
        let refused = ledger.refused();
        assert!(refused.is_empty(), "round {round}: the server refused what it must take: {refused:#?}");
    }
    println!("{} changes were acknowledged in {rounds} rounds", ledger.acknowledged());
    assert!(ledger.acknowledged() as usize > rounds, "the load did nothing");
    farm.check_blobs();
    assert!(server.stop().success());
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_acknowledged_is_lost_by_kills_on_sqlite() {
    kill_again_and_again(Engine::Sqlite, rounds(50)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_acknowledged_is_lost_by_kills_on_postgres() {
    kill_again_and_again(Engine::Postgres, rounds(25)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_is_asked_to_stop_finishes_what_it_began() {
    let mut random = Random::fresh();
    let farm = Farm::on(Engine::Sqlite).await;
    let ledger = Ledger::new(4, 4, SIZES);
    let server = farm.start();
    let token = farm.token();
    let stop = Arc::new(AtomicBool::new(false));
    let load = ledger.load(&server.client(&token), &mut random, &stop);
    ledger.wait_for(20).await;
    assert!(server.stop().success(), "a stop is no fault");
    stop.store(true, Ordering::Relaxed);
    load.join_all().await;
    let server = farm.start();
    ledger.verify(&server.client(&token), true).await;
}
