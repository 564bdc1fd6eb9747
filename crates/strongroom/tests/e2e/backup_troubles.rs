//! Trouble in the farm and at the destination while a backup is taken: the destination fills up or vanishes, and bytes
//! are replaced, collected, moved and damaged. A set is either complete or absent, and the next backup continues.

use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use blobs::testing::proxy::{Fault, FaultProxy, Rule};
use blobs::testing::s3::S3Server;
use database::Engine;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::support::backups::{Place, compare, document, fill, filled, restored, sets};
use crate::support::{Disk, Farm, bytes, damage, keep_no_versions};

/// Timeout for one step on a slow and busy machine.
const TIMEOUT: Duration = Duration::from_secs(90);

/// A backup process stopped by SIGSTOP after it copied the content databases and before it copied any BLOB.
struct Halted(Child);

impl Halted {
    fn start(farm: &Farm, destination: &Path) -> Self {
        for _ in 0..20 {
            let mut command = Command::new("setpriv");
            command.args(["--pdeathsig", "KILL", "--", env!("CARGO_BIN_EXE_strongroom"), "backup"]).arg(destination);
            command.arg("--data").arg(&farm.data).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
            let mut child = command.spawn().unwrap();
            let deadline = Instant::now() + TIMEOUT;
            // The configuration database is copied last.
            while !destination.join("incoming/configuration.sqlite").exists() && child.try_wait().unwrap().is_none() {
                assert!(Instant::now() < deadline, "the backup does not begin");
                std::hint::spin_loop();
            }
            let _ = kill_process(Pid::from_raw(child.id() as i32).unwrap(), Signal::STOP);
            let is_done = std::fs::read_dir(destination.join("sets")).is_ok_and(|mut sets| sets.next().is_some());
            if child.try_wait().unwrap().is_none() && !is_done {
                return Self(child);
            }
            let _ = child.kill();
            child.wait().unwrap();
            std::fs::remove_dir_all(destination).unwrap();
        }
        panic!("no backup could be stopped before its end");
    }

    /// Resumes the backup. Returns its exit status and error output.
    fn go_on(mut self) -> (ExitStatus, String) {
        use std::io::Read;
        kill_process(Pid::from_raw(self.0.id() as i32).unwrap(), Signal::CONT).unwrap();
        let mut said = String::new();
        self.0.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        (self.0.wait().unwrap(), said)
    }
}

impl Drop for Halted {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Collects without a window. Returns the number of deleted BLOBs.
fn collect(farm: &Farm) -> u64 {
    let done = farm.json(&["blobs", "collect", "--immediate", "--share", "100"]);
    assert_eq!(done["state"], "finished", "{done:#}");
    done["results"]["deleted_blobs"].as_u64().unwrap_or(0)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_place_that_fills_up_holds_no_half_set_and_the_next_backup_goes_on() {
    let place = Place::new();
    let disk = Disk::tmpfs(14);
    let (farm, _server, client) = filled(Engine::Sqlite, 24).await;
    let destination = disk.path().join("backups").to_str().unwrap().to_owned();
    let refused = farm.run(&["backup", &destination]).unwrap_err();
    assert!(refused.output.contains("space") || refused.output.contains("full"), "{}", refused.output);
    assert!(sets(&farm, &destination).is_empty());
    let nothing = Farm::at(place.path("nothing")).run(&["restore", &destination]).unwrap_err();
    assert!(nothing.output.contains("no finished backups"), "{}", nothing.output);
    compare(&client, "kept", 24).await;

    disk.remount("size=200m");
    let taken = farm.json(&["backup", &destination]);
    assert_eq!(sets(&farm, &destination).len(), 1);
    assert!(taken["new_bytes"].as_u64() < taken["bytes"].as_u64(), "it goes on from what is there: {taken:#}");
    let verified = farm.json(&["backup", "verify", &destination]);
    assert_eq!(verified["fault_count"], 0, "{verified:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_place_that_vanishes_is_named_and_serves_again_when_it_is_back() {
    let place = Place::new();
    let (farm, _server, client) = filled(Engine::Sqlite, 24).await;
    let destination = place.text("backups");
    let backup = Halted::start(&farm, &place.path("backups"));
    std::fs::rename(place.path("backups"), place.path("away")).unwrap();
    let (status, said) = backup.go_on();
    assert!(!status.success(), "{said}");
    assert!(said.contains(&destination), "{said}");
    assert!(!place.path("backups/sets").exists(), "no set without its bytes");
    compare(&client, "kept", 24).await;
    let _ = std::fs::remove_dir_all(place.path("backups"));
    std::fs::rename(place.path("away"), place.path("backups")).unwrap();
    farm.json(&["backup", &destination]);
    let verified = farm.json(&["backup", "verify", &destination]);
    assert_eq!((&verified["fault_count"], verified["sets"].as_array().unwrap().len()), (&Value::from(0), 1));
    restored(Engine::Sqlite, &place, "backups", "copy", &[]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bucket_that_refuses_in_the_middle_holds_no_half_set() {
    let place = Place::new();
    std::fs::create_dir(place.path("service")).unwrap();
    let s3 = S3Server::start(&place.path("service"));
    let proxy = FaultProxy::start(s3.address()).await;
    let (farm, _server, _client) = filled(Engine::Sqlite, 24).await;
    let run = |words: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_strongroom"));
        command.args(words).args(["s3://blobs/backups", "--json", "--data"]).arg(&farm.data).stdin(Stdio::null());
        command.env("STRONGROOM_BACKUP_S3_ENDPOINT", format!("http://{}", proxy.address()));
        let secrets = s3.secrets();
        command.env("STRONGROOM_BACKUP_S3_KEY_ID", &secrets.key_id).env("STRONGROOM_BACKUP_S3_SECRET", &secrets.secret);
        let output = command.output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
        (output.status.success(), said)
    };
    let refusal = Fault::Status(403, "ExpiredToken");
    proxy.set([Rule { skip: 15, ..Rule::always("PUT", "data/blobs/", refusal) }]);
    let (worked, said) = run(&["backup"]);
    assert!(!worked, "{said}");
    assert!(said.contains("bucket"), "{said}");
    proxy.set([]);
    let (_, listed) = run(&["backup", "list"]);
    assert_eq!(serde_json::from_str::<Value>(&listed).unwrap()["sets"], serde_json::json!([]), "{listed}");
    let (worked, said) = run(&["backup"]);
    assert!(worked, "{said}");
    let (worked, said) = run(&["backup", "verify"]);
    assert!(worked, "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_running_backup_needs_is_neither_collected_nor_lost_when_it_moves() {
    let place = Place::new();
    let (farm, _server, client) = filled(Engine::Sqlite, 24).await;
    keep_no_versions(&client).await;
    farm.json(&["blobs", "stores", "add", "second", "--kind", "directory", "--path", "second"]);
    let backup = Halted::start(&farm, &place.path("backups"));
    for number in [3, 4, 5] {
        assert!(client.put(&format!("kept/{number}.bin"), bytes(1, 50_000)).await.unwrap().status.is_success());
    }
    assert_eq!(collect(&farm), 0, "the backup needs what was replaced");
    let waiting = farm.json(&["blobs", "status"]);
    assert_eq!(waiting["pending_reclaim"][0]["blobs"], 3, "{waiting:#}");
    let moved = farm.json(&["blobs", "migrate", "--to", "second", "--min-size", "0"]);
    assert_eq!((&moved["state"], &moved["failed"]), (&Value::from("finished"), &Value::from(0)), "{moved:#}");
    assert!(moved["message"].as_str().unwrap().contains("old copies remain"), "{moved:#}");
    // If the old copy of a BLOB cannot be read any more, the backup finds the BLOB at its new location.
    damage(&farm.data.join("blobs"), &document("kept", 11));
    let (status, said) = backup.go_on();
    assert!(status.success(), "{said}");

    let copy = restored(Engine::Sqlite, &place, "backups", "copy", &[]).await;
    let server = copy.start();
    compare(&server.client(&farm_token(&copy)), "kept", 24).await;
    assert!(collect(&farm) >= 3, "the backup has bytes of its own and holds nothing any more");
    assert_eq!(farm.json(&["blobs", "status"])["pending_reclaim"], serde_json::json!([]));
    farm.check_blobs();
}

/// Creates a token for a restored farm. The farm's first token came with the backup.
fn farm_token(farm: &Farm) -> String {
    farm.token_named("restored")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_kept_backup_of_databases_alone_holds_their_blobs_until_it_is_pruned() {
    let place = Place::new();
    let (farm, server, client) = filled(Engine::Sqlite, 12).await;
    keep_no_versions(&client).await;
    let destination = place.text("backups");
    farm.json(&["backup", &destination, "--databases-only"]);
    let replace = async |client: &crate::support::Client| {
        for number in [3, 4, 5] {
            assert!(client.put(&format!("kept/{number}.bin"), bytes(1, 50_000)).await.unwrap().status.is_success());
        }
    };
    replace(&client).await;
    assert_eq!(collect(&farm), 0);
    assert_eq!(farm.json(&["blobs", "status"])["pending_reclaim"][0]["blobs"], 3);
    assert!(server.stop().success());
    for file in ["configuration.sqlite", "databases/main.sqlite"] {
        std::fs::remove_file(farm.data.join(file)).unwrap();
    }
    let back = farm.json(&["restore", &destination]);
    assert_eq!((&back["copied_blobs"], &back["missing_blobs"]), (&Value::from(0), &Value::from(0)), "{back:#}");
    let server = farm.start();
    let client = server.client(&farm_token(&farm));
    compare(&client, "kept", 12).await;

    // The restored farm knows the set that it was restored from, and still holds the BLOBs that this set needs.
    replace(&client).await;
    assert_eq!(collect(&farm), 0);
    farm.json(&["backup", &destination, "--retain", "last=1"]);
    assert_eq!(collect(&farm), 3, "nothing holds them any more");
    farm.check_blobs();
    fill(&client, "later", 6).await;
    compare(&client, "later", 6).await;
}
