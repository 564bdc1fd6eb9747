//! Restore drills: the comparisons in a drill of a databases-only backup, and several drills at once in one scratch
//! directory.

use database::Engine;
use serde_json::{Value, json};

use crate::support::backups::{Place, document, filled};
use crate::support::{Farm, Refusal, file_with};

/// Runs a drill. Returns the exit status and the findings.
fn drill(farm: &Farm, destination: &str) -> (i32, Value) {
    match farm.run(&["backup", "verify", destination, "--drill", "--json"]) {
        Ok(said) => (0, serde_json::from_str(&said).unwrap()),
        Err(Refusal { status, output: said }) => (status.code().unwrap(), serde_json::from_str(&said).unwrap()),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_drill_of_databases_alone_says_what_it_compared_and_looks_for_the_rest_in_the_stores() {
    let place = Place::new();
    let (farm, _server, _client) = filled(Engine::Sqlite, 12).await;
    let destination = place.text("backups");
    farm.json(&["backup", &destination, "--databases-only"]);
    let (status, found) = drill(&farm, &destination);
    let drilled = &found["drill"];
    assert_eq!((status, &drilled["versions"]), (0, &json!(4)), "{found:#}");
    let stores = &drilled["in_stores"];
    assert_eq!((&stores["versions"], &stores["present"], &stores["missing"]), (&json!(8), &json!(8), &json!(0)));
    let said = farm.run(&["backup", "verify", &destination, "--drill"]).unwrap();
    for words in ["Databases only", "4 versions of documents", "8 other versions", "were not read"] {
        assert!(said.contains(words), "{words}: {said}");
    }

    // Without the farm, the BLOBs in its stores cannot be checked.
    let nowhere = Farm::at(place.path("nowhere"));
    let (status, found) = drill(&nowhere, &destination);
    assert_eq!((status, &found["drill"]["in_stores"]["present"]), (3, &json!(0)), "{found:#}");
    let said = nowhere.run(&["backup", "verify", &destination, "--drill"]).unwrap_err().output;
    assert!(said.contains("no farm in"), "{said}");
    assert!(said.contains("It was not checked whether the bytes of 8 versions are there"), "{said}");
    let other = Farm::on(Engine::Sqlite).await;
    drop(other.start());
    let said = other.run(&["backup", "verify", &destination, "--drill"]).unwrap_err().output;
    assert!(said.contains("is not the one of this backup"), "{said}");

    std::fs::remove_file(file_with(&farm.data.join("blobs"), &document("kept", 5)).0).unwrap();
    let (status, found) = drill(&farm, &destination);
    let stores = &found["drill"]["in_stores"];
    assert_eq!((status, &stores["present"], &stores["missing"]), (1, &json!(7), &json!(1)), "{found:#}");
    assert!(stores["faults"][0].as_str().unwrap().contains("kept/5.bin"), "{found:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn several_drills_at_once_keep_apart_and_clear_what_a_dead_one_left() {
    let place = Place::new();
    let (farm, _server, _client) = filled(Engine::Sqlite, 12).await;
    let (destination, scratch) = (place.text("backups"), place.text("scratch"));
    farm.json(&["backup", &destination]);
    std::fs::create_dir_all(place.path("scratch/strongroom-drill-1/farm")).unwrap();
    let words = ["backup", "verify", &destination, "--drill", "--scratch", &scratch];
    std::thread::scope(|scope| {
        let drills: Vec<_> = (0..3).map(|_| scope.spawn(|| farm.json(&words))).collect();
        for drill in drills {
            let found = drill.join().unwrap();
            assert_eq!((&found["drill"]["versions"], &found["drill"]["in_stores"]), (&json!(12), &Value::Null));
        }
    });
    assert_eq!(std::fs::read_dir(place.path("scratch")).unwrap().count(), 0, "nothing is left behind");
}
