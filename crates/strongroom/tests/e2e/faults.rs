//! Failing system calls: EIO and ENOSPC at the n-th call, with n growing until no fault fires. A failed write is never
//! acknowledged, the server keeps running or logs why it ends, and after a restart everything acknowledged is there.

use database::Engine;

use crate::support::{Farm, Injector, Ledger, Random};

const SIZES: &[usize] = &[300, 20_000, 150_000, 3_000_000];
/// Number of changes made under each fault.
const CHANGES: usize = 12;
/// Upper bound on the calls that a thread makes for so few changes.
const MAX_FAULTS: usize = 2_000;

async fn fail_each(calls: &str, error: &str) {
    let mut random = Random::fresh();
    let farm = Farm::on(Engine::Sqlite).await;
    let ledger = Ledger::new(1, 6, SIZES);
    let mut server = farm.start();
    let token = farm.token();
    let log = farm.data.with_file_name("strace");
    let (mut fired, mut nth, mut loads) = (0, 0, 0);
    loop {
        // Each of the first calls, then in growing steps.
        nth += 1 + nth / 4;
        assert!(nth < MAX_FAULTS, "faults fire without an end: the load is not what this test thinks");
        let injector = Injector::attach(&server, calls, error, &nth.to_string(), &[], &log);
        ledger.changes(&server.client(&token), &mut random, CHANGES).await;
        let failed = injector.detach();
        let refused = ledger.refused();
        println!("{calls} {error} at call {nth}: {} failed, {} changes refused", failed.len(), refused.len());
        for refusal in &refused {
            let expected = refusal.contains(" 503 ") || refusal.contains(" 507 ");
            assert!(expected, "a failing disk is answered with 503 or 507, not with: {refusal}\nafter {failed:#?}");
        }
        // No response depends on the thread that prepares new segments and seals full ones.
        let in_store = failed.iter().filter(|line| line.contains("/blobs/segments/") || line.contains("/blobs/large/"));
        if in_store.filter(|line| !line.contains("<blob-segments>")).count() > 0 {
            assert!(!refused.is_empty(), "the store failed, but every change was acknowledged:\n{failed:#?}");
        }
        // The oracle reads from the server that saw the fault, and from a restarted one on the same data.
        if server.is_alive() {
            ledger.verify(&server.client(&token), false).await;
        }
        server.kill();
        server = farm.start();
        ledger.verify(&server.client(&token), true).await;
        fired += failed.len();
        if !failed.is_empty() {
            continue;
        }
        if fired > 0 {
            break;
        }
        // A random load may make no such call at all, for example if it has no large document.
        loads += 1;
        assert!(loads < 20, "no call of {calls} is made: the test does not test");
        nth = 0;
    }
    ledger.changes(&server.client(&token), &mut random, CHANGES).await;
    assert_eq!(ledger.refused(), Vec::<String>::new(), "after the faults all is well again");
    farm.check_blobs();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failing_flush_is_never_acknowledged() {
    fail_each("fsync,fdatasync,sync_file_range", "EIO").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failing_write_is_never_acknowledged() {
    fail_each("pwrite64,pwritev,pwritev2", "EIO").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_write_without_space_is_never_acknowledged() {
    fail_each("pwrite64,pwritev,pwritev2,fallocate,ftruncate", "ENOSPC").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failing_rename_is_never_acknowledged() {
    fail_each("rename,renameat,renameat2,link,linkat", "EIO").await;
}
