//! Power cuts: file systems on loop devices are shut down under load without a final flush, unmounted, mounted again
//! and checked. Everything not flushed is undone, including a rename without an fsync of its directory.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use crate::support::{Disk, Farm, Ledger, Random};

const SIZES: &[usize] = &[300, 20_000, 150_000, 3_000_000];
const ROUNDS: usize = 4;
/// The power cut comes after a random number of acknowledged changes, below this limit.
const CHANGES: u64 = 30;
/// The crash is then delayed by a random time, below this many microseconds.
const MOMENT: u64 = 5_000;

async fn cut_again_and_again(kind: &str, options: &'static str) {
    let mut random = Random::fresh();
    let disk = Disk::image(kind, 1024, options);
    let farm = Farm::at(disk.path().join("data"));
    let ledger = Ledger::new(8, 6, SIZES);
    let mut server = farm.start();
    let token = farm.token();
    for round in 0..ROUNDS {
        let stop = Arc::new(AtomicBool::new(false));
        let load = ledger.load(&server.client(&token), &mut random, &stop);
        ledger.wait_for(random.below(CHANGES)).await;
        // sleep: the power cut must come at a random moment, not right after a response
        tokio::time::sleep(Duration::from_micros(random.below(MOMENT))).await;
        ledger.distrust();
        disk.cut_power();
        server.kill();
        load.join_all().await;
        // Changes refused after the cut are refused rightly. The oracle treats them as possibly applied.
        ledger.refused();
        disk.unmount();
        disk.mount();
        server = farm.start();
        println!("{kind} round {round}: {} changes acknowledged", ledger.acknowledged());
        ledger.verify(&server.client(&token), true).await;
    }
    assert!(ledger.acknowledged() as usize > ROUNDS, "the load did nothing");
    farm.check_blobs();
    assert!(server.stop().success());
    disk.unmount();
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_acknowledged_is_lost_by_power_cuts_on_ext4() {
    cut_again_and_again("ext4", "").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_acknowledged_is_lost_by_power_cuts_on_ext4_that_orders_nothing() {
    cut_again_and_again("ext4", "data=writeback,noauto_da_alloc").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_acknowledged_is_lost_by_power_cuts_on_xfs() {
    cut_again_and_again("xfs", "").await;
}
