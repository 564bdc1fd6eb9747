//! Backups of databases only, which hold BLOBs back from deletion. The holds are shown, and a backup whose destination
//! is gone can be forgotten.

use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use database::Engine;
use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::{Value, json};

use crate::support::backups::{Place, filled, sets};
use crate::support::{Client, Farm, PASSWORD, Server, bytes, keep_no_versions};

/// Collects without a window. Returns the number of deleted BLOBs.
fn collect(farm: &Farm) -> u64 {
    let done = farm.json(&["blobs", "collect", "--immediate", "--share", "100"]);
    assert_eq!(done["state"], "finished", "{done:#}");
    done["results"]["deleted_blobs"].as_u64().unwrap_or(0)
}

/// Replaces a document whose BLOB is in a store.
async fn replace(client: &Client, number: usize, seed: u64) {
    let answer = client.put(&format!("kept/{number}.bin"), bytes(seed, 50_000)).await.unwrap();
    assert!(answer.status.is_success(), "{}", answer.text());
}

/// The backups that hold BLOBs back, with the number of BLOBs each.
fn holds(farm: &Farm) -> Vec<(Value, Value)> {
    let status = farm.json(&["blobs", "status"]);
    let held = status["held_by_backups"].as_array().unwrap().clone();
    held.into_iter().map(|hold| (hold["id"].clone(), hold["blobs"].clone())).collect()
}

/// Fetches a page as an administrator.
async fn page(server: &Server, path: &str) -> String {
    let browser = reqwest::Client::builder().cookie_store(true).no_proxy().build().unwrap();
    let address = |path: &str| format!("{}{path}", server.address);
    let form = browser.get(address("/sign-in")).send().await.unwrap().text().await.unwrap();
    let token = form.split_once("name=\"form_token\" value=\"").unwrap().1.split('"').next().unwrap();
    let fields = format!("form_token={token}&login=admin&password={}&next=/", PASSWORD.replace(' ', "+"));
    let request = browser.post(address("/sign-in")).header("content-type", "application/x-www-form-urlencoded");
    assert!(request.header("origin", server.address.clone()).body(fields).send().await.unwrap().status().is_success());
    browser.get(address(path)).send().await.unwrap().text().await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_backup_holds_back_is_told_and_ends_when_its_place_is_gone_and_it_is_forgotten() {
    let place = Place::new();
    let (farm, server, client) = filled(Engine::Sqlite, 12).await;
    keep_no_versions(&client).await;
    let (lost, kept) = (place.text("lost"), place.text("kept"));
    let first = farm.json(&["backup", &lost, "--databases-only"])["id"].clone();
    replace(&client, 3, 1).await;
    assert_eq!(collect(&farm), 0);
    let second = farm.json(&["backup", &kept, "--databases-only"])["id"].clone();
    replace(&client, 4, 1).await;
    replace(&client, 5, 1).await;
    assert_eq!(collect(&farm), 0);

    assert_eq!(holds(&farm), [(first.clone(), json!(3)), (second.clone(), json!(2))]);
    let said = farm.run(&["blobs", "status"]).unwrap();
    let (id, other) = (first.as_str().unwrap(), second.as_str().unwrap());
    for words in [id, other, &lost, &kept, "held by a backup", "strongroom backup forget"] {
        assert!(said.contains(words), "{words}: {said}");
    }
    let shown = page(&server, "/farm/reclaim").await;
    for words in [id, other, &lost, &kept, "strongroom backup forget"] {
        assert!(shown.contains(words), "{words}: {shown}");
    }

    // If the destination still has the backup, the error names another command. A destination that does not respond is
    // not taken for gone.
    let refused = farm.run(&["backup", "forget", id]).unwrap_err().output;
    assert!(refused.contains(&lost), "{refused}");
    assert!(refused.contains("strongroom backup prune"), "{refused}");
    std::fs::rename(place.path("lost"), place.path("away")).unwrap();
    std::fs::write(place.path("lost"), "").unwrap();
    let refused = farm.run(&["backup", "forget", id]).unwrap_err().output;
    assert!(refused.contains("it cannot be determined whether"), "{refused}");
    assert!(refused.contains("--force"), "{refused}");
    std::fs::remove_file(place.path("lost")).unwrap();
    for unknown in ["1", id] {
        let outcome = farm.run(&["backup", "forget", unknown]);
        assert_eq!(outcome.is_ok(), unknown == id, "{unknown}");
    }
    assert!(farm.run(&["backup", "forget", id]).unwrap_err().output.contains("holds nothing back"));
    assert_eq!(holds(&farm), [(second.clone(), json!(2))]);
    assert_eq!(collect(&farm), 1, "the other backup needs the rest");
    let forgotten = farm.json(&["backup", "forget", other, "--force"]);
    assert_eq!((&forgotten["held_blobs"], &forgotten["place"]), (&json!(2), &json!(kept)), "{forgotten:#}");
    assert_eq!((holds(&farm), collect(&farm)), (Vec::new(), 2));
    let audit = client.send(reqwest::Method::GET, "/api/v1/farm/audit-log?limit=100", Vec::new()).await.unwrap();
    assert!(audit.text().contains("backup.forget"), "{}", audit.text());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_restored_farm_shows_and_forgets_what_it_inherited() {
    let place = Place::new();
    let (farm, server, client) = filled(Engine::Sqlite, 6).await;
    keep_no_versions(&client).await;
    let destination = place.text("backups");
    let id = farm.json(&["backup", &destination, "--databases-only"])["id"].clone();
    assert!(server.stop().success());
    farm.json(&["restore", &destination, "--force"]);
    assert_eq!(holds(&farm), [(id.clone(), json!(0))]);
    std::fs::remove_dir_all(&destination).unwrap();
    let forgotten = farm.json(&["backup", "forget", id.as_str().unwrap()]);
    assert_eq!(forgotten["place_has_backups"], json!(false), "{forgotten:#}");
    assert_eq!(holds(&farm), []);
    let taken = farm.json(&["backup", &destination]);
    assert_eq!(sets(&farm, &destination), [taken["id"].as_str().unwrap()]);
}

/// Starts a backup and kills it as soon as the farm has recorded it. Returns its identifier.
fn cut_short(farm: &Farm, destination: &str) -> String {
    // Each fsync is delayed, so that the backup cannot finish before the kill.
    let slow = "inject=fsync,fdatasync:delay_enter=1000000";
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", "KILL", "--", "strace", "-f", "-qq", "-o", "/dev/null", "-e", slow]);
    command.arg(&farm.program).args(["backup", destination, "--data"]).arg(&farm.data);
    let mut backup = command.stdout(Stdio::null()).stderr(Stdio::null()).process_group(0).spawn().unwrap();
    let deadline = Instant::now() + Duration::from_secs(90);
    let id = loop {
        assert!(backup.try_wait().unwrap().is_none(), "the backup ended too soon");
        let status = farm.json(&["blobs", "status"]);
        let held = status["held_by_backups"].as_array().unwrap().clone();
        if let Some(hold) = held.iter().find(|hold| hold["running"] == json!(true)) {
            break hold["id"].as_str().unwrap().to_owned();
        }
        assert!(Instant::now() < deadline, "the backup does not begin");
    };
    kill_process_group(Pid::from_raw(backup.id() as i32).unwrap(), Signal::KILL).unwrap();
    backup.wait().unwrap();
    id
}

#[tokio::test(flavor = "multi_thread")]
async fn a_move_says_until_when_a_backup_that_was_killed_keeps_old_copies() {
    let place = Place::new();
    let (farm, _server, client) = filled(Engine::Sqlite, 6).await;
    for number in 0..20 {
        client.put(&format!("more/{number}.bin"), bytes(number, 500_000)).await.unwrap();
    }
    farm.json(&["blobs", "stores", "add", "second", "--kind", "directory", "--path", "second"]);
    let id = cut_short(&farm, &place.text("backups"));
    let moved = farm.json(&["blobs", "migrate", "--from", "files", "--to", "second"]);
    let said = moved["message"].as_str().unwrap();
    assert!(said.contains(&format!("the backup {id} is running or was interrupted")), "{said}");
    assert!(said.contains("without further signs of life, its hold ends at 20"), "{said}");
}
