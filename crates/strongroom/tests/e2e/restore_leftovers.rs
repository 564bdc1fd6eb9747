//! Files that a restore leaves behind are reported to the administrator, who may remove them.

use database::Engine;
use serde_json::Value;

use blobs::testing::s3::S3Server;

use crate::cloud::use_cloud;
use crate::support::backups::{Place, compare, fill, filled};
use crate::support::{Farm, files_below};

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
    assert!(says(&told, &["\"far\"", &far, "left unchanged", "--use-stores"]), "{told:#?}");
    assert!(
        says(&told, &["set aside", "configuration.sqlite.before-restore-", "main.sqlite.before-restore-"]),
        "{told:#?}"
    );
    assert!(says(&told, &["does not know", farm.data.join("later").to_str().unwrap()]), "{told:#?}");
    assert!(!told.iter().any(|note| note.contains(farm.data.join("blobs").to_str().unwrap())), "{told:#?}");
    assert!(back["copied_blobs"].as_u64() > Some(0), "{back:#}");

    // If nothing was left behind, nothing is reported.
    let again = crate::support::Farm::at(place.path("copy"));
    let told = notes(&again.json(&["restore", &destination, "--use-stores"]));
    assert!(!says(&told, &["left unchanged"]), "{told:#?}");
    assert!(!says(&told, &["set aside"]), "{told:#?}");
    let server = again.start();
    compare(&server.client(&again.token_named("restored")), "away", 6).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn databases_of_a_farm_at_work_are_not_replaced() {
    let place = Place::new();
    let (content, configuration) =
        (database::testing::fresh_postgres().await, database::testing::fresh_postgres().await);
    let farm = Farm::with_databases(&content, &configuration);
    let server = farm.start();
    let client = server.client(&farm.token());
    fill(&client, "kept", 6).await;
    let destination = place.text("backups");
    farm.json(&["backup", &destination]);
    assert!(client.put("new.txt", b"new".to_vec()).await.unwrap().status.is_success());
    let copy = Farm::at(place.path("copy"));
    let (main, settings) = (format!("main={content}"), format!("configuration={configuration}"));
    let words = ["restore", &destination, "--database-url", &main, "--database-url", &settings];
    let refused = copy.run(&words).unwrap_err();
    assert!(refused.output.contains("new, empty database"), "{}", refused.output);
    let refused = copy.run(&[&words[..], &["--force"]].concat()).unwrap_err();
    assert!(refused.output.contains("in use by"), "{}", refused.output);
    assert!(refused.output.contains("stop that server"), "{}", refused.output);
    assert_eq!(client.get("new.txt").await.unwrap().text(), "new");
    compare(&client, "kept", 6).await;
    assert!(server.stop().success());
    copy.json(&[&words[..], &["--force"]].concat());
    copy.check_blobs();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bucket_that_comes_back_as_a_directory_stays_encrypted() {
    let place = Place::new();
    std::fs::create_dir(place.path("service")).unwrap();
    let s3 = S3Server::start(&place.path("service"));
    let farm = Farm::on(Engine::Sqlite).await;
    let server = farm.start();
    use_cloud(&farm, &s3.address());
    let client = server.client(&farm.token());
    let secret = b"nobody else may read this line. ".repeat(4_000);
    assert!(client.put("secret.txt", secret.clone()).await.unwrap().status.is_success());
    let destination = place.text("backups");
    farm.json(&["backup", &destination]);
    let copy = Farm::at(place.path("copy"));
    copy.json(&["restore", &destination]);
    copy.check_blobs();
    let server = copy.start();
    let copied = server.client(&copy.token_named("copy"));
    assert!(copied.get("secret.txt").await.unwrap().body == secret);
    let second = b"nor may anybody else read this. ".repeat(4_000);
    assert!(copied.put("second.txt", second.clone()).await.unwrap().status.is_success());
    let lies_open = |words: &[u8]| {
        let holds = |path: &std::path::PathBuf| {
            std::fs::read(path).unwrap_or_default().windows(words.len()).any(|part| part == words)
        };
        files_below(&copy.data).iter().any(holds)
    };
    assert!(!lies_open(&secret[..32]), "a document lies open");
    assert!(!lies_open(&second[..32]), "a document lies open");
}
