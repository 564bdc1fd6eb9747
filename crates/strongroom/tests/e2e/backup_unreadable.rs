//! Unreadable backup descriptions. The other backups are listed, kept and pruned as before, and nothing is removed that
//! the damaged one may need.

use std::path::PathBuf;

use database::Engine;
use serde_json::{Value, json};

use crate::support::backups::{Place, filled, restored, sets};
use crate::support::{Farm, bytes, files_below, keep_no_versions};

/// Truncates the description of a set.
fn tear(place: &Place, set: &str) -> PathBuf {
    let files = files_below(&place.path("backups/sets"));
    let file = files.into_iter().find(|file| file.to_str().unwrap().contains(&format!("/{set}-"))).unwrap();
    let content = std::fs::read(&file).unwrap();
    std::fs::write(&file, &content[..content.len() / 2]).unwrap();
    file
}

/// Runs a command that completes and reports faults (exit status 1). Returns its JSON.
fn faulty(farm: &Farm, words: &[&str]) -> Value {
    let refused = farm.run(&[words, &["--json"]].concat()).unwrap_err();
    assert_eq!(refused.status.code(), Some(1), "{words:?}: {}", refused.output);
    serde_json::from_str(&refused.output).unwrap()
}

/// Number of large files in the destination.
fn stored(place: &Place) -> usize {
    files_below(&place.path("backups/data/large")).len()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_damaged_description_hides_no_other_and_holds_what_it_may_need() {
    let place = Place::new();
    let (farm, _server, client) = filled(Engine::Sqlite, 12).await;
    keep_no_versions(&client).await;
    let destination = place.text("backups");
    let mut ids = Vec::new();
    for seed in 0..3 {
        client.put("kept/5.bin", bytes(seed, 5_000_000)).await.unwrap();
        ids.push(farm.json(&["backup", &destination])["id"].as_str().unwrap().to_owned());
    }
    let description = tear(&place, &ids[1]);
    let before = stored(&place);

    let listed = faulty(&farm, &["backup", "list", &destination]);
    let of = |value: &Value| -> Vec<String> {
        value.as_array().unwrap().iter().map(|set| set["id"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(of(&listed["sets"]), [ids[0].clone(), ids[2].clone()], "{listed:#}");
    assert_eq!(of(&listed["unreadable"]), [ids[1].clone()], "{listed:#}");
    let said = farm.run(&["backup", "list", &destination]).unwrap_err().output;
    assert!(said.contains(&ids[2]), "{said}");
    assert!(said.contains("backup remove"), "{said}");

    // Retention rules remove the sets, but their data stays, since the needs of the damaged set are unknown.
    let pruned = faulty(&farm, &["backup", "prune", &destination, "--retain", "last=1"]);
    assert_eq!((&pruned["removed"], &pruned["things"]), (&json!([ids[0]]), &json!(0)), "{pruned:#}");
    assert_eq!((of(&pruned["unreadable"]), stored(&place)), (vec![ids[1].clone()], before));
    let taken = faulty(&farm, &["backup", &destination, "--retain", "last=1"]);
    assert_eq!(taken["pruned"]["removed"], json!([ids[2]]), "{taken:#}");
    let said = farm.run(&["backup", &destination, "--retain", "last=1"]).unwrap_err().output;
    assert!(said.contains("is complete"), "{said}");
    assert!(said.contains("cannot be read"), "{said}");
    // The damaged set does not prevent the restore of another one.
    restored(Engine::Sqlite, &place, "backups", "copy", &[]).await;

    let refused = farm.run(&["backup", "remove", &destination, "17"]).unwrap_err();
    assert!(refused.status.code() == Some(2), "{}", refused.output);
    assert!(refused.output.contains("no set 17"), "{}", refused.output);
    let removed = farm.json(&["backup", "remove", &destination, &ids[1]]);
    assert_eq!((&removed["removed"], &removed["unreadable"]), (&json!([ids[1]]), &json!([])), "{removed:#}");
    assert!(removed["things"].as_u64().unwrap() > 0, "{removed:#}");
    assert!(stored(&place) < before, "{removed:#}");
    assert!(!description.exists());
    assert_eq!(sets(&farm, &destination).len(), 1);
    let verified = farm.json(&["backup", "verify", &destination, "--drill"]);
    assert_eq!(verified["fault_count"], 0, "{verified:#}");
    let audit = client.send(reqwest::Method::GET, "/api/v1/farm/audit-log?limit=100", Vec::new()).await.unwrap();
    assert!(audit.text().contains("backup.remove"), "{}", audit.text());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_latest_one_that_cannot_be_read_names_a_way_to_the_others() {
    let place = Place::new();
    let (farm, _server, _client) = filled(Engine::Sqlite, 3).await;
    let destination = place.text("backups");
    farm.json(&["backup", &destination]);
    let latest = farm.json(&["backup", &destination])["id"].as_str().unwrap().to_owned();
    tear(&place, &latest);
    let refused = Farm::at(place.path("copy")).run(&["restore", &destination]).unwrap_err().output;
    assert!(refused.contains(&latest), "{refused}");
    assert!(refused.contains("--set"), "{refused}");
    let found = faulty(&farm, &["backup", "verify", &destination]);
    assert_eq!((&found["fault_count"], found["sets"].as_array().unwrap().len()), (&json!(1), 2), "{found:#}");
}
