//! A disk that cannot return the bytes of some documents. The server starts and names them, and never serves wrong
//! bytes or reports the documents as missing. Everything else works: uploads of the same bytes, checks, migrations,
//! backups and repairs.

use std::path::PathBuf;

use database::Engine;
use reqwest::StatusCode;

use crate::support::backups::Place;
use crate::support::{Client, Farm, bytes, file_with, recorded};

/// Makes reads of these files fail in all following commands.
fn fail_reads(farm: &mut Farm, files: &[PathBuf], error: &str) {
    let calls = "openat,read,pread64,preadv2";
    let (trace, inject) = (format!("trace={calls}"), format!("inject={calls}:error={error}"));
    // With `-D` the program stays a direct child of the process that starts it.
    let words = ["strace", "-D", "-f", "-qq", "-e", "signal=none", "-e", &trace, "-e", &inject, "-o", "/dev/null"];
    farm.command_prefix = words.map(str::to_owned).into();
    for file in files {
        farm.command_prefix.extend(["-P".to_owned(), file.display().to_string()]);
    }
}

/// The documents of the test: three that share a segment of the store, and two in separate files.
fn documents() -> Vec<(String, Vec<u8>)> {
    let sizes = [40_000, 50_000, 60_000, 1_500_000, 2_000_000];
    sizes.iter().enumerate().map(|(at, size)| (format!("d{at}.bin"), bytes(at as u64, *size))).collect()
}

async fn expect_damage(client: &Client, name: &str) {
    let answer = client.get(name).await.unwrap();
    assert_eq!(answer.status, StatusCode::SERVICE_UNAVAILABLE, "{name}");
    let text = answer.text();
    assert!(text.contains("content_damaged"), "{name}: {text}");
    assert!(text.contains(name), "{name}: {text}");
}

async fn a_disk_that_fails(error: &str) {
    let place = Place::new();
    let mut farm = Farm::on(Engine::Sqlite).await;
    let server = farm.start();
    let (client, all) = (server.client(&farm.token()), documents());
    for (name, content) in &all {
        assert!(client.put(name, content.clone()).await.unwrap().status.is_success());
    }
    let destination = place.text("backups");
    farm.json(&["backup", &destination]);
    assert!(server.stop().success());

    // The segment that the small documents share, and the first of the large files.
    let store = farm.data.join("blobs");
    let (bad, good) = (&all[..4], &all[4]);
    let failing: Vec<PathBuf> = bad.iter().map(|(_, content)| file_with(&store, content).0).collect();
    fail_reads(&mut farm, &failing, error);
    let server = farm.start();
    let client = server.client(&farm.token_named("second"));
    for (name, _) in bad {
        expect_damage(&client, name).await;
    }
    assert!(client.get(&good.0).await.unwrap().body == good.1);
    // The failed reads recorded the faults.
    assert_eq!(recorded(&farm, 4).await.as_array().unwrap().len(), 4);
    assert!(farm.run(&["blobs", "check"]).is_err(), "a check finds the same");
    assert_eq!(recorded(&farm, 4).await.as_array().unwrap().len(), 4);

    // A backup continues to the end and names the documents that it cannot read.
    let refused = farm.run(&["backup", &place.text("others")]).unwrap_err();
    for (name, _) in bad {
        assert!(refused.output.contains(name.as_str()), "{name} is not named: {}", refused.output);
    }
    assert!(!refused.output.contains(good.0.as_str()), "{}", refused.output);

    // A migration skips these documents and moves the rest.
    farm.json(&["blobs", "stores", "add", "second", "--kind", "directory", "--path", "second"]);
    let moved = farm.json_any_status(&["blobs", "migrate", "--from", "files", "--to", "second"]);
    assert!(client.get(&good.0).await.unwrap().body == good.1, "{moved:#}");
    assert!(file_with(&farm.data.join("second"), &good.1).0.exists());
    for (name, _) in bad {
        expect_damage(&client, name).await;
    }

    // An upload stores the same bytes again, and they are read from there.
    let (_, content) = &bad[0];
    let answer = client.put("again.bin", content.clone()).await.unwrap();
    assert!(answer.status.is_success(), "{}", answer.text());
    for name in ["again.bin", &bad[0].0] {
        let answer = client.get(name).await.unwrap();
        assert!(answer.status.is_success(), "{name}: {}", answer.status);
        assert!(answer.body == *content, "{name}: {}", answer.status);
    }
    // The others are repaired from the backup; documents in separate files, once the disk can write them.
    let told = farm.run(&["blobs", "repair", "--from-backup", &destination]);
    for (name, content) in &bad[1..3] {
        let answer = client.get(name).await.unwrap();
        assert!(answer.status.is_success(), "{name}: {} {told:?}", answer.status);
        assert!(answer.body == *content, "{name}: {} {told:?}", answer.status);
    }
    assert!(server.stop().success());

    // With a working disk, nothing turns out to be lost.
    farm.command_prefix.clear();
    farm.json(&["blobs", "repair", "--from-backup", &destination]);
    farm.check_blobs();
    let server = farm.start();
    let client = server.client(&farm.token_named("third"));
    for (name, content) in &all {
        assert!(client.get(name).await.unwrap().body == *content, "{name}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_disk_cannot_give_is_damage_and_everything_else_goes_on() {
    a_disk_that_fails("EIO").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_file_system_finds_damaged_is_damage_and_everything_else_goes_on() {
    a_disk_that_fails("EBADMSG").await;
}
