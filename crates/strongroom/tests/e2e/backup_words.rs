//! Error messages of backups and restores: they name documents by path and stores by name, and say what to do.

use blobs::testing::s3::S3Server;
use database::Engine;

use crate::support::backups::{Place, document, filled};
use crate::support::{bytes, file_with};

#[tokio::test(flavor = "multi_thread")]
async fn documents_are_named_by_their_paths() {
    let place = Place::new();
    let (farm, _server, client) = filled(Engine::Sqlite, 6).await;
    let (site, deleted) = (bytes(8, 3_000_000), bytes(9, 3_000_000));
    farm.json(&["site", "create", "team/sales", "--title", "Sales"]);
    farm.json(&["site", "add-library", "team/sales/Offers"]);
    for (path, content) in [("/api/v1/content/team/sales/Offers/new/offer.bin", &site), ("", &deleted)] {
        let answer = match path {
            "" => client.put("gone/old.bin", content.clone()).await.unwrap(),
            path => client.send(reqwest::Method::PUT, path, content.clone()).await.unwrap(),
        };
        assert!(answer.status.is_success(), "{}", answer.text());
    }
    assert!(client.delete("gone/old.bin").await.unwrap().status.is_success());
    let destination = place.text("backups");
    farm.json(&["backup", &destination]);
    let paths =
        ["\"Documents/kept/5.bin\"", "\"team/sales/Offers/new/offer.bin\"", "\"old.bin\" (deleted, in a recycle bin)"];
    for store in [place.path("backups/data/large"), farm.data.join("blobs")] {
        for content in [&document("kept", 5), &site, &deleted] {
            std::fs::remove_file(file_with(&store, content).0).unwrap();
        }
    }
    let copy = crate::support::Farm::at(place.path("copy"));
    let restored = copy.run(&["restore", &destination]).unwrap_err().output;
    let taken = farm.run(&["backup", &place.text("other")]).unwrap_err().output;
    for said in [restored, taken] {
        assert!(paths.iter().all(|path| said.contains(&format!("needed by {path}"))), "{said}");
        assert!(said.contains("3 BLOBs that"), "{said}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_that_does_not_answer_is_named() {
    let place = Place::new();
    let (farm, server, client) = filled(Engine::Sqlite, 1).await;
    std::fs::create_dir(place.path("service")).unwrap();
    let s3 = S3Server::start(&place.path("service"));
    let endpoint = format!("endpoint=http://{}", s3.address());
    let secrets = ["--secret", "key_id=test", "--secret", "secret=testtest"];
    let add = ["blobs", "stores", "add", "cloud", "--kind", "s3", "--bucket", "blobs/farm", "--set", &endpoint];
    farm.json(&[&add[..], &secrets].concat());
    farm.json(&["blobs", "policy", "set", "--database", "main", "--active", "cloud"]);
    assert!(client.put("far.bin", bytes(1, 90_000)).await.unwrap().status.is_success());
    assert!(server.stop().success());
    drop(s3);
    let refused = farm.run(&["backup", &place.text("backups")]).unwrap_err().output;
    assert!(refused.contains("the BLOB store \"cloud\""), "{refused}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_scratch_place_or_key_file_is_told_at_once() {
    let place = Place::new();
    let (farm, _server, _client) = filled(Engine::Sqlite, 1).await;
    let destination = place.text("backups");
    farm.json(&["backup", &destination]);
    std::fs::write(place.path("file"), "x").unwrap();
    std::fs::create_dir(place.path("folder")).unwrap();
    for (scratch, why) in [("nowhere", "does not exist"), ("file", "is not a directory")] {
        let words = ["backup", "verify", &destination, "--drill", "--scratch", &place.text(scratch)];
        let refused = farm.run(&words).unwrap_err().output;
        assert!(refused.contains(&format!("{} {why}", place.text(scratch))), "{refused}");
        assert!(refused.contains("create the directory"), "{refused}");
        assert!(!refused.contains("re-read"), "before anything is read: {refused}");
    }
    farm.json(&["backup", "verify", &destination, "--drill", "--scratch", &place.text("folder")]);
    let words = ["backup", &place.text("sealed"), "--encrypt-with", &place.text("folder")];
    let refused = farm.run(&words).unwrap_err().output;
    assert!(refused.contains("folder is a directory"), "{refused}");
    assert!(refused.contains("the file that holds the key"), "{refused}");
}
