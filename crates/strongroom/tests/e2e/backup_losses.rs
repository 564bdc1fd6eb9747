//! Documents whose bytes are permanently lost. Once the loss is accepted, backups, drills and restores continue without
//! them and report it. Missing bytes without an accepted loss stop them.

use database::Engine;
use reqwest::StatusCode;
use serde_json::Value;

use crate::support::backups::{Place, document, filled};
use crate::support::{Farm, file_with};

/// Deletes the BLOB of a long document behind the server's back, and lets a check find the loss. Returns the digest.
fn lose(farm: &Farm, content: &[u8]) -> String {
    std::fs::remove_file(file_with(&farm.data.join("blobs"), content).0).unwrap();
    assert!(farm.run(&["blobs", "check"]).is_err());
    blobs::digest_of(content).to_string()
}

async fn accepted_losses_stop_nothing(engine: Engine) {
    let place = Place::new();
    let (farm, _server, client) = filled(engine, 12).await;
    let destination = place.text("backups");
    let digest = lose(&farm, &document("kept", 5));
    let refused = farm.run(&["backup", &destination]).unwrap_err();
    assert!(refused.output.contains("5.bin"), "{}", refused.output);
    farm.json(&["blobs", "accept-loss", &digest]);
    let taken = farm.json(&["backup", &destination]);
    assert_eq!(taken["lost"], 1, "{taken:#}");

    let verified = farm.json(&["backup", "verify", &destination]);
    assert_eq!((&verified["fault_count"], &verified["lost"]), (&Value::from(0), &Value::from(1)), "{verified:#}");
    let on = async |words: &mut Vec<String>| {
        for database in ["main", "configuration"].into_iter().filter(|_| engine == Engine::Postgres) {
            let url = database::testing::fresh_postgres().await;
            words.extend(["--database-url".to_owned(), format!("{database}={url}")]);
        }
    };
    let mut drill: Vec<String> = ["backup", "verify", &destination, "--drill"].map(str::to_owned).into();
    on(&mut drill).await;
    let drilled =
        farm.run(&drill.iter().map(String::as_str).collect::<Vec<_>>()).map_err(|refusal| refusal.output).unwrap();
    assert!(drilled.contains("1 BLOB whose loss was accepted is not in the backup"), "{drilled}");
    assert!(drilled.contains("1 version without bytes"), "{drilled}");

    let copy = Farm::at(place.path("copy"));
    let mut restore: Vec<String> = ["restore", &destination].map(str::to_owned).into();
    on(&mut restore).await;
    let back = copy.json(&restore.iter().map(String::as_str).collect::<Vec<_>>());
    assert_eq!((&back["missing_blobs"], &back["lost_blobs"]), (&Value::from(0), &Value::from(1)), "{back:#}");
    // The accepted loss is recorded in the restored farm too, so its next backup succeeds.
    copy.json(&["blobs", "faults"]);
    copy.json(&["backup", &place.text("later")]);
    let server = copy.start();
    let there = server.client(&copy.token());
    assert!(there.get("kept/11.bin").await.unwrap().body == document("kept", 11));
    assert_ne!(there.get("kept/5.bin").await.unwrap().status, StatusCode::OK);

    // Loss within the backup itself was never accepted.
    drop(client);
    std::fs::remove_file(file_with(&place.path("backups/data/large"), &document("kept", 11)).0).unwrap();
    let found = farm.json_any_status(&["backup", "verify", &destination]);
    assert_eq!((&found["fault_count"], &found["lost"]), (&Value::from(1), &Value::from(1)), "{found:#}");
    let mut again: Vec<String> = ["restore", &destination].map(str::to_owned).into();
    on(&mut again).await;
    let refused = Farm::at(place.path("again")).run(&again.iter().map(String::as_str).collect::<Vec<_>>()).unwrap_err();
    assert!(refused.output.contains("11.bin"), "{}", refused.output);
    assert!(!refused.output.contains("5.bin"), "{}", refused.output);
}

#[tokio::test(flavor = "multi_thread")]
async fn accepted_losses_stop_nothing_on_sqlite() {
    accepted_losses_stop_nothing(Engine::Sqlite).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn accepted_losses_stop_nothing_on_postgres() {
    accepted_losses_stop_nothing(Engine::Postgres).await;
}
