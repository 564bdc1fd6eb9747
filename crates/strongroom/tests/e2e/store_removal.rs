//! Removal of stores that another process uses meanwhile, and references into stores that are no longer registered in
//! the farm.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use blobs::testing::proxy::{Fault, FaultProxy, Rule};
use blobs::testing::s3::S3Server;
use database::Engine;
use serde_json::{Value, json};

use crate::support::{Farm, bytes, file_with};

/// Timeout for a command on a slow and busy machine.
const TIMEOUT: Duration = Duration::from_secs(90);

/// Starts to remove the store "cloud", and waits until the removal lists the store's contents. The store does not
/// respond.
async fn begin_to_remove(farm: &Farm, proxy: &FaultProxy) -> Child {
    proxy.set([Rule::always("GET", "list-type=2", Fault::Silence)]);
    let before = proxy.spoilt();
    let mut command = Command::new(&farm.program);
    command.args(["blobs", "stores", "remove", "cloud", "--data"]).arg(&farm.data);
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let deadline = Instant::now() + TIMEOUT;
    while proxy.spoilt() == before {
        assert!(child.try_wait().unwrap().is_none(), "the removal does not ask the store");
        assert!(Instant::now() < deadline, "the removal does not ask the store");
        // sleep: polled, since the proxy's counter changes without a notification
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    child
}

async fn remove_and_activate(engine: Engine) {
    let scratch = tempfile::tempdir().unwrap();
    let s3 = S3Server::start(scratch.path());
    let proxy = FaultProxy::start(s3.address()).await;
    let farm = Farm::on(engine).await;
    let server = farm.start();
    let client = server.client(&farm.token());
    let endpoint = format!("endpoint=http://{}", proxy.address());
    let add = ["blobs", "stores", "add", "cloud", "--kind", "s3", "--bucket", "blobs/farm", "--set", &endpoint];
    farm.json(
        &[&add[..], &["--set", "cache_bytes=0", "--secret", "key_id=test", "--secret", "secret=testtest"]].concat(),
    );
    farm.json(&["blobs", "stores", "read-only", "cloud"]);

    // While a removal waits for the response, the store can neither be activated nor removed a second time.
    let mut removal = begin_to_remove(&farm, &proxy).await;
    for words in [&["activate", "cloud"], &["remove", "cloud"]] {
        let refused = farm.run(&[&["blobs", "stores"], &words[..]].concat()).unwrap_err();
        assert!(refused.output.contains("try again when that is done"), "{words:?}: {}", refused.output);
    }
    let policy = ["blobs", "policy", "set", "--database", "main", "--active", "cloud"];
    assert!(farm.run(&policy).is_err(), "no policy leads there meanwhile");

    // After the removal was killed, the store can be activated again.
    removal.kill().unwrap();
    removal.wait().unwrap();
    proxy.set([]);
    farm.json(&["blobs", "stores", "activate", "cloud"]);
    farm.json(&policy);
    let stored = client.put("there.bin", bytes(1, 100_000)).await.unwrap();
    assert!(stored.status.is_success(), "{}", stored.text());
    farm.json(&["blobs", "policy", "set", "--database", "main", "--active", "files"]);
    farm.json(&["blobs", "stores", "read-only", "cloud"]);
    let refused = farm.run(&["blobs", "stores", "remove", "cloud"]).unwrap_err();
    assert!(refused.output.contains("drain it first"), "{}", refused.output);
    assert_eq!(client.get("there.bin").await.unwrap().body, bytes(1, 100_000));
    farm.json(&["blobs", "stores", "drain", "cloud"]);

    // After another removal was killed, a new one completes it.
    let mut removal = begin_to_remove(&farm, &proxy).await;
    removal.kill().unwrap();
    removal.wait().unwrap();
    proxy.set([]);
    farm.json(&["blobs", "stores", "remove", "cloud"]);
    assert_eq!(client.get("there.bin").await.unwrap().body, bytes(1, 100_000));
    farm.check_blobs();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_that_is_being_removed_is_not_activated_meanwhile_on_sqlite() {
    remove_and_activate(Engine::Sqlite).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_that_is_being_removed_is_not_activated_meanwhile_on_postgres() {
    remove_and_activate(Engine::Postgres).await;
}

/// Changes the time of storage in the file of a single BLOB to the distant past: in the footer of 128 bytes, with a new
/// checksum.
fn age(file: &Path) {
    let mut bytes = std::fs::read(file).unwrap();
    let at = bytes.len() - 128;
    let footer = &mut bytes[at..];
    footer[48..56].copy_from_slice(&1_i64.to_le_bytes());
    let sum = crc32fast::hash(&footer[..124]);
    footer[124..].copy_from_slice(&sum.to_le_bytes());
    std::fs::write(file, bytes).unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn what_lies_in_a_store_that_the_farm_forgot_is_missed_and_kept() {
    let farm = Farm::on(Engine::Sqlite).await;
    let server = farm.start();
    let token = farm.token();
    farm.json(&["blobs", "stores", "add", "lost", "--kind", "directory", "--path", "lost"]);
    farm.json(&["blobs", "policy", "set", "--database", "main", "--active", "lost"]);
    let content = bytes(1, 3_000_000);
    assert!(server.client(&token).put("lost.bin", content.clone()).await.unwrap().status.is_success());
    farm.json(&["blobs", "policy", "set", "--database", "main", "--active", "files"]);
    assert_eq!(farm.json_any_status(&["blobs", "check"])["faults"], json!([]));
    assert!(server.stop().success());
    let configuration = database::testing::open_file(&farm.data.join("configuration.sqlite"));
    assert_eq!(configuration.execute("DELETE FROM blob_store WHERE name = 'lost'", []).unwrap(), 1);
    configuration.close().unwrap();

    let told = || {
        let health = farm.json_any_status(&["blobs", "health"]);
        assert_eq!(health["partly"], json!([]), "{health:#}");
        let mut found = health["findings"].as_array().unwrap().clone();
        found.retain(|finding| finding["rule"] == "blobs-damaged");
        found
    };
    let [found] = &told()[..] else { panic!("{:#?}", told()) };
    assert_eq!(found["severity"], "critical", "{found:#}");
    assert!(found["message"].as_str().unwrap().contains("does not know"), "{found:#}");
    let refusal = farm.run(&["blobs", "check", "--json"]).unwrap_err();
    let report: Value = serde_json::from_str(&refusal.output).unwrap();
    assert_eq!(refusal.status.code(), Some(1), "{report:#}");
    assert_eq!(report["results"]["faults"], 1, "{report:#}");
    let fault = &report["faults"][0];
    assert_eq!(
        (&fault["state"], &fault["documents"][0]["name"]),
        (&json!("missing"), &json!("lost.bin")),
        "{report:#}"
    );
    let [found] = &told()[..] else { panic!("it is told once: {:#?}", told()) };
    assert!(found["message"].as_str().unwrap().contains("accept the loss"), "{found:#}");

    // The directory returns as another store. Its BLOB is needed, so it is kept regardless of its age.
    farm.json(&["blobs", "stores", "add", "found", "--kind", "directory", "--path", "lost"]);
    age(&file_with(&farm.data.join("lost"), &content).0);
    let collect = || {
        let collected = farm.json(&["blobs", "collect", "--immediate", "--share", "100"]);
        let count = |name: &str| collected["results"][name].as_u64().unwrap_or(0);
        (count("quarantined_blobs"), count("deleted_blobs"))
    };
    assert_eq!(collect(), (0, 0));
    file_with(&farm.data.join("lost"), &content);

    // Once the loss is accepted, it is no longer reported.
    farm.json(&["blobs", "accept-loss", fault["digest"].as_str().unwrap()]);
    assert!(told().is_empty(), "{:#?}", told());
    // The same file is deleted as soon as no document needs its bytes.
    let main = database::testing::open_file(&farm.data.join("databases/main.sqlite"));
    let digest = blobs::digest_of(&content);
    let other = "UPDATE blob SET digest = zeroblob(32) WHERE digest = ?1";
    assert_eq!(main.execute(other, [&digest.as_bytes()[..]]).unwrap(), 1);
    main.close().unwrap();
    assert_eq!(collect(), (1, 1));
}
