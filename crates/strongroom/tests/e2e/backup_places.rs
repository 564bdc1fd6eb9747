//! Locations that are refused as backup destinations: BLOB stores, other backup destinations, and everything within or
//! around them.

use std::process::Command;

use blobs::testing::proxy::{Fault, FaultProxy, Rule};
use blobs::testing::s3::S3Server;
use database::Engine;
use serde_json::Value;

use crate::support::backups::{Place, filled};
use crate::support::{Farm, files_below};

/// Runs `strongroom backup` into a bucket of an S3 service reached by `address`. Returns the error output on failure.
fn backup(farm: &Farm, s3: &S3Server, address: &str, destination: &str) -> Result<Value, String> {
    let (mut command, secrets) = (Command::new(env!("CARGO_BIN_EXE_strongroom")), s3.secrets());
    command.args(["backup", destination, "--json", "--data"]).arg(&farm.data);
    command.args(["--s3-endpoint", &format!("http://{address}"), "--s3-key-id", &secrets.key_id]);
    let output = command.env("STRONGROOM_BACKUP_S3_SECRET", &secrets.secret).output().unwrap();
    match output.status.success() {
        true => Ok(serde_json::from_slice(&output.stdout).unwrap()),
        false => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bucket_that_holds_a_store_has_no_backups_in_or_around_it() {
    let place = Place::new();
    std::fs::create_dir(place.path("service")).unwrap();
    let s3 = S3Server::start(&place.path("service"));
    let (farm, _server, _client) = filled(Engine::Sqlite, 3).await;
    let add = |name: &str, bucket: &str| {
        let (endpoint, secrets) = (format!("endpoint=http://{}", s3.address()), s3.secrets());
        let words = ["blobs", "stores", "add", name, "--kind", "s3", "--bucket", bucket, "--set", &endpoint];
        let id = format!("key_id={}", secrets.key_id);
        let secret = format!("secret={}", secrets.secret);
        farm.json(&[&words[..], &["--secret", &id, "--secret", &secret]].concat());
    };
    add("cloud", "blobs/farm/documents");
    let objects = || {
        let mut files = files_below(&s3.bucket());
        files.sort();
        files
    };
    let before = objects();
    // The same service by an address other than the store's.
    let other = s3.address().replace("127.0.0.1", "localhost");
    for address in [&s3.address(), &other] {
        for prefix in ["/farm/documents", "/farm/documents/backups", "/farm/documents/data", "/farm", "", "/"] {
            let refused = backup(&farm, &s3, address, &format!("s3://blobs{prefix}")).unwrap_err();
            assert!(refused.contains("the BLOB store \"cloud\""), "{refused}");
            assert!(refused.contains("choose a prefix"), "{refused}");
        }
    }
    assert_eq!(objects(), before, "nothing was left in the place of the store");

    // A credential that gives access to the destination only. The surroundings are then judged by their names.
    let proxy = FaultProxy::start(s3.address()).await;
    let denied = |path| Rule::always("GET", path, Fault::Status(403, "AccessDenied"));
    proxy.set([
        denied("/blobs/store.toml"),
        denied("/blobs/farm/store.toml"),
        denied("/blobs/farm/documents/store.toml"),
    ]);
    backup(&farm, &s3, proxy.address(), "s3://blobs/alone/backups").unwrap();
    let refused = backup(&farm, &s3, proxy.address(), "s3://blobs/farm/documents/backups").unwrap_err();
    assert!(refused.contains("the BLOB store \"cloud\""), "{refused}");
    backup(&farm, &s3, &other, "s3://blobs/farm/backups").unwrap();
    backup(&farm, &s3, &s3.address(), "s3://blobs/farm/backups").unwrap();
    for (inner, why) in
        [("backups/inner", "another backup destination"), ("backups/data", "it belongs to a BLOB store, at ")]
    {
        let refused = backup(&farm, &s3, &other, &format!("s3://blobs/farm/{inner}")).unwrap_err();
        assert!(refused.contains(why), "{refused}");
        assert!(refused.contains("s3://blobs/farm/backups"), "{refused}");
    }
    let strange = Farm::on(Engine::Sqlite).await;
    drop(strange.start());
    let refused = backup(&strange, &s3, &other, "s3://blobs/farm/backups").unwrap_err();
    assert!(refused.contains("another farm"), "{refused}");
    // The refused farm leaves nothing behind that would exclude others.
    backup(&farm, &s3, &other, "s3://blobs/farm/backups").unwrap();
    backup(&strange, &s3, &other, "s3://blobs/strange/backups").unwrap();
    let refused = backup(&strange, &s3, &other, "s3://blobs/strange").unwrap_err();
    assert!(refused.contains("holds other data, such as \"backups/"), "{refused}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_directory_that_holds_a_store_or_backups_has_no_others_in_or_around_it() {
    let place = Place::new();
    let (farm, _server, _client) = filled(Engine::Sqlite, 1).await;
    let (far, destination) = (place.text("far"), place.text("backups"));
    farm.json(&["blobs", "stores", "add", "far", "--kind", "directory", "--path", &far]);
    farm.json(&["backup", &destination]);
    let strange = Farm::on(Engine::Sqlite).await;
    drop(strange.start());
    std::os::unix::fs::symlink(&far, place.path("link")).unwrap();
    let strangers = strange.data.join("blobs/new");
    for (path, why) in [
        (far.as_str(), "the BLOB store \"far\""),
        (&place.text("far/inner"), "the BLOB store \"far\""),
        (&place.text("link/inner"), "the BLOB store \"far\""),
        (farm.data.join("blobs/inner").to_str().unwrap(), "the BLOB store \"files\""),
        (strangers.to_str().unwrap(), "it belongs to a BLOB store, at "),
        (&place.text(""), "the BLOB store \"far\""),
        (&place.text("backups/inner"), "another backup destination"),
        (&place.text("backups/sets"), "another backup destination"),
        (&place.text("backups/data"), "it belongs to a BLOB store, at "),
    ] {
        let refused = farm.run(&["backup", path]).unwrap_err().output;
        assert!(refused.contains(why), "{path}: {refused}");
        assert!(refused.contains("choose a "), "{path}: {refused}");
    }
    assert!(!place.path("backups/inner").exists());
    assert!(!strangers.exists());
    farm.json(&["backup", &destination]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_has_no_place_among_backups() {
    let place = Place::new();
    std::fs::create_dir(place.path("service")).unwrap();
    let s3 = S3Server::start(&place.path("service"));
    let (farm, _server, _client) = filled(Engine::Sqlite, 3).await;
    farm.json(&["backup", &place.text("backups")]);
    backup(&farm, &s3, &s3.address(), "s3://blobs/kept/backups").unwrap();
    let (endpoint, secrets) = (format!("endpoint=http://{}", s3.address()), s3.secrets());
    let (id, secret) = (format!("key_id={}", secrets.key_id), format!("secret={}", secrets.secret));
    let add = |bucket: &str| {
        let words = ["blobs", "stores", "add", "cloud", "--kind", "s3", "--bucket", bucket, "--set", &endpoint];
        farm.run(&[&words[..], &["--secret", &id, "--secret", &secret]].concat())
    };
    for bucket in ["blobs/kept/backups", "blobs/kept/backups/within"] {
        let refused = add(bucket).unwrap_err();
        assert!(refused.output.contains("a backup destination: choose"), "{}", refused.output);
    }
    // The farm's records name the destination below these prefixes.
    let before = files_below(&s3.bucket());
    for bucket in ["blobs/kept", "blobs"] {
        let refused = add(bucket).unwrap_err();
        let said = format!("blobs/kept/backups, a backup destination, lies within {bucket}: choose a location beside");
        assert!(refused.output.contains(&said), "{}", refused.output);
    }
    assert_eq!(files_below(&s3.bucket()), before, "nothing was left around the backups");
    for path in [place.text("backups"), place.text("backups/within")] {
        let refused =
            farm.run(&["blobs", "stores", "add", "near", "--kind", "directory", "--path", &path]).unwrap_err();
        assert!(refused.output.contains("a backup destination: choose"), "{}", refused.output);
    }
    assert!(!place.path("backups/within").exists());
    add("blobs/kept/store").unwrap();
}
