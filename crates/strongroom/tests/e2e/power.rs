//! The power cut: file systems on loop devices are cut off under load without a last flush, unmounted, mounted and
//! checked. It undoes all that was not flushed, a rename without a flush of its directory included.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use crate::support::{Disk, Farm, Ledger, Random};

const SIZES: &[usize] = &[300, 20_000, 150_000, 3_000_000];
const ROUNDS: usize = 4;
/// The cut comes after a random number of acknowledged changes up to this,
const CHANGES: u64 = 30;
/// and a random time later, up to so many microseconds.
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
        // sleep: the cut must come at a random moment, not right after an answer
        tokio::time::sleep(Duration::from_micros(random.below(MOMENT))).await;
        ledger.distrust();
        disk.cut_power();
        server.kill();
        load.join_all().await;
        // What was refused after the cut is refused rightly; the oracle holds it for possible.
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
