//! A farm and its copy on the same store. One of them owns the store, and the other can neither write to it nor delete
//! from it.

use blobs::testing::s3::S3Server;
use database::Engine;
use reqwest::StatusCode;

use crate::cloud::use_cloud;
use crate::support::backups::{Place, compare, document, fill, filled};
use crate::support::{Client, Farm, damage, files_below, keep_no_versions};

async fn is_refused(client: &Client, name: &str) {
    let answer = client.put(name, document("refused", 4)).await.unwrap();
    assert_eq!(answer.status, StatusCode::SERVICE_UNAVAILABLE, "{}", answer.text());
    assert!(answer.text().contains("taken over"), "{}", answer.text());
}

async fn one_holds_the_store(living: &Farm, client: &Client, place: &Place, store: &str) {
    keep_no_versions(client).await;
    let destination = place.text("backups");
    living.json(&["backup", &destination]);
    fill(client, "later", 6).await;
    // Contents that the copy needs and the original farm does not.
    for number in [2, 3] {
        assert!(client.put(&format!("kept/{number}.bin"), document("new", number)).await.unwrap().status.is_success());
    }

    let copy = Farm::at(place.path("copy"));
    let restored = copy.json(&["restore", &destination, "--use-stores"]);
    assert_eq!(restored["copied_blobs"], 0, "{restored:#}");
    let notes = restored["notes"].to_string();
    assert!(notes.contains(store), "{notes}");
    assert!(notes.contains("belongs to this farm from now on"), "{notes}");

    is_refused(client, "more/1.bin").await;
    compare(client, "later", 6).await;
    let health = living.json_any_status(&["blobs", "health"]);
    let found = health["findings"].as_array().unwrap().iter().find(|found| found["rule"] == "store-taken-over");
    assert!(found.is_some_and(|found| found["message"].as_str().unwrap().contains("take-over")), "{health:#}");
    let collected = living.json_any_status(&["blobs", "collect", "--immediate", "--share", "100"]);
    assert_eq!((&collected["state"], &collected["results"]["deleted_blobs"]), (&"incomplete".into(), &0.into()));
    assert!(collected["errors"][0]["message"].as_str().unwrap().contains("taken over"), "{collected:#}");

    let server = copy.start();
    let token = copy.token_named("of the copy");
    let copied = server.client(&token);
    compare(&copied, "kept", 12).await;
    fill(&copied, "mine", 6).await;
    copy.check_blobs();

    // After the take-over, the copy can no longer write to the store.
    living.json(&["blobs", "stores", "take-over", store]);
    assert!(
        living
            .run(&["blobs", "stores", "take-over", store])
            .unwrap_err()
            .output
            .contains("no other restoration of this farm holds")
    );
    assert!(client.put("more/2.bin", document("more", 4)).await.unwrap().status.is_success());
    is_refused(&server.client(&token), "mine/refused.bin").await;
    assert_eq!(living.json(&["blobs", "collect", "--immediate", "--share", "100"])["state"], "finished");
    living.check_blobs();
    compare(client, "later", 6).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_directory_serves_the_farm_or_its_copy_and_never_both() {
    let place = Place::new();
    let (farm, _server, client) = filled(Engine::Sqlite, 12).await;
    farm.json(&["blobs", "stores", "add", "shared", "--kind", "directory", "--location", &place.text("shared")]);
    farm.json(&["blobs", "policy", "set", "--database", "main", "--active", "shared"]);
    farm.json(&["blobs", "migrate", "--to", "shared", "--from", "files"]);
    one_holds_the_store(&farm, &client, &place, "shared").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bucket_serves_the_farm_or_its_copy_and_never_both() {
    let place = Place::new();
    std::fs::create_dir(place.path("service")).unwrap();
    let s3 = S3Server::start(&place.path("service"));
    let (farm, _server, client) = filled(Engine::Sqlite, 12).await;
    use_cloud(&farm, &s3.address());
    farm.json(&["blobs", "migrate", "--to", "cloud", "--from", "files"]);
    one_holds_the_store(&farm, &client, &place, "cloud").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_restoration_that_fails_gives_the_store_back() {
    let place = Place::new();
    let (farm, _server, client) = filled(Engine::Sqlite, 12).await;
    farm.json(&["blobs", "stores", "add", "shared", "--kind", "directory", "--location", &place.text("shared")]);
    farm.json(&["blobs", "policy", "set", "--database", "main", "--active", "shared"]);
    farm.json(&["blobs", "migrate", "--to", "shared", "--from", "files"]);
    let destination = place.text("backups");
    farm.json(&["backup", &destination, "--databases-only"]);
    damage(&place.path("shared"), &document("kept", 3));
    let copy = Farm::at(place.path("copy"));
    let refused = copy.run(&["restore", &destination, "--use-stores"]).unwrap_err();
    assert!(refused.output.contains("kept/3.bin"), "{}", refused.output);
    assert!(client.put("more/1.bin", document("more", 4)).await.unwrap().status.is_success());
    let mark = std::fs::read_to_string(place.path("shared").join("store.toml")).unwrap();
    assert!(!mark.contains("holder"), "{mark}");
    assert!(!files_below(&place.path("shared")).is_empty());
}
