//! What a restoration leaves behind is named to whoever may remove it.

use database::Engine;
use serde_json::Value;

use crate::support::backups::{Place, compare, fill, filled};

#[tokio::test(flavor = "multi_thread")]
async fn a_forced_restoration_names_what_it_left() {
    let place = Place::new();
    let (farm, server, client) = filled(Engine::Sqlite, 3).await;
    let (far, destination) = (place.text("far"), place.text("backups"));
    farm.json(&["blobs", "stores", "add", "far", "--kind", "directory", "--path", &far]);
    farm.json(&["blobs", "policy", "set", "--database", "main", "--active", "far"]);
    fill(&client, "away", 6).await;
    farm.json(&["backup", &destination]);
    farm.json(&["blobs", "stores", "add", "later", "--kind", "directory", "--path", "later"]);
    assert!(server.stop().success());
    let notes = |back: &Value| -> Vec<String> {
        back["notes"].as_array().unwrap().iter().map(|note| note.as_str().unwrap().to_owned()).collect()
    };
    let back = farm.json(&["restore", &destination, "--force"]);
    let told = notes(&back);
    let says = |told: &[String], words: &[&str]| told.iter().any(|note| words.iter().all(|word| note.contains(word)));
    assert!(says(&told, &["\"far\"", &far, "left as it was", "--use-stores"]), "{told:#?}");
    assert!(
        says(&told, &["set aside", "configuration.sqlite.before-restore-", "main.sqlite.before-restore-"]),
        "{told:#?}"
    );
    assert!(says(&told, &["does not know", farm.data.join("later").to_str().unwrap()]), "{told:#?}");
    assert!(!told.iter().any(|note| note.contains(farm.data.join("blobs").to_str().unwrap())), "{told:#?}");
    assert!(back["copied_blobs"].as_u64() > Some(0), "{back:#}");

    // Where nothing was left, nothing is said.
    let again = crate::support::Farm::at(place.path("copy"));
    let told = notes(&again.json(&["restore", &destination, "--use-stores"]));
    assert!(!says(&told, &["left as it was"]) && !says(&told, &["set aside"]), "{told:#?}");
    let server = again.start();
    compare(&server.client(&again.token_named("restored")), "away", 6).await;
}
