//! A database or store that was reset to an older state behind the server's back. Missing data is reported, and no
//! collection deletes a BLOB that a document needs.

use std::path::Path;

use database::Engine;
use reqwest::StatusCode;
use serde_json::Value;

use crate::support::backups::{Place, compare, fill, filled};
use crate::support::{Farm, bytes, keep_no_versions};

fn copy(from: &Path, to: &Path) {
    let status = std::process::Command::new("cp").arg("-a").arg(from).arg(to).status().unwrap();
    assert!(status.success());
}

/// Paths of the documents whose BLOBs a check reports as missing.
fn faulty(farm: &Farm) -> Vec<String> {
    let report = farm.json_any_status(&["blobs", "check"]);
    let mut paths: Vec<String> = Vec::new();
    for fault in report["faults"].as_array().unwrap() {
        assert_eq!(fault["state"], "missing", "{report:#}");
        paths.extend(fault["documents"].as_array().unwrap().iter().map(|d| d["path"].as_str().unwrap().to_owned()));
    }
    paths.sort();
    paths
}

fn collect(farm: &Farm) -> Value {
    let done = farm.json(&["blobs", "collect", "--immediate", "--share", "100"]);
    assert_eq!(done["state"], "finished", "{done:#}");
    done["results"].clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_older_database_is_told_what_was_collected_since_and_loses_nothing_more() {
    let place = Place::new();
    let (farm, server, client) = filled(Engine::Sqlite, 12).await;
    keep_no_versions(&client).await;
    assert!(server.stop().success());
    copy(&farm.data.join("databases"), &place.path("older"));

    let server = farm.start();
    let client = server.client(&farm.token_named("second"));
    for number in [3, 5] {
        assert!(client.put(&format!("kept/{number}.bin"), bytes(1, 60_000)).await.unwrap().status.is_success());
    }
    fill(&client, "later", 6).await;
    let collected = collect(&farm);
    assert_eq!(collected["deleted_blobs"], 2, "{collected:#}");
    assert!(server.stop().success());
    std::fs::remove_dir_all(farm.data.join("databases")).unwrap();
    copy(&place.path("older"), &farm.data.join("databases"));

    let lost = ["Documents/kept/3.bin", "Documents/kept/5.bin"];
    assert_eq!(faulty(&farm), lost);
    let refused = farm.run(&["backup", &place.text("backups")]).unwrap_err();
    assert!(refused.output.contains("3.bin"), "{}", refused.output);
    assert!(refused.output.contains("5.bin"), "{}", refused.output);
    let collected = collect(&farm);
    assert_eq!(collected["deleted_blobs"], Value::Null, "{collected:#}");
    assert_eq!(faulty(&farm), lost, "a collection makes nothing worse");
    let server = farm.start();
    let client = server.client(&farm.token_named("third"));
    for number in 0..12 {
        let answer = client.get(&format!("kept/{number}.bin")).await.unwrap();
        match number {
            3 | 5 => assert_eq!(answer.status, StatusCode::SERVICE_UNAVAILABLE, "{number}"),
            _ => assert_eq!(answer.status, StatusCode::OK, "{number}"),
        }
    }
    assert_eq!(client.get("later/2.bin").await.unwrap().status, StatusCode::NOT_FOUND);
    // These uploads contain the same bytes as BLOBs that are unreferenced now.
    fill(&client, "later", 6).await;
    fill(&client, "kept", 12).await;
    collect(&farm);
    farm.check_blobs();
    compare(&client, "later", 6).await;
    compare(&client, "kept", 12).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_an_older_store_lacks_is_named_and_comes_back_from_a_backup() {
    let place = Place::new();
    let (farm, server, _client) = filled(Engine::Sqlite, 12).await;
    assert!(server.stop().success());
    copy(&farm.data.join("blobs"), &place.path("older"));
    let server = farm.start();
    let client = server.client(&farm.token_named("second"));
    fill(&client, "later", 6).await;
    let destination = place.text("backups");
    farm.json(&["backup", &destination]);
    assert!(server.stop().success());
    std::fs::remove_dir_all(farm.data.join("blobs")).unwrap();
    copy(&place.path("older"), &farm.data.join("blobs"));

    // The small documents are in the database.
    let lost = [2, 3, 4, 5].map(|number| format!("Documents/later/{number}.bin"));
    assert_eq!(faulty(&farm), lost);
    let collected = collect(&farm);
    assert_eq!(collected["deleted_blobs"], Value::Null, "{collected:#}");
    assert_eq!(faulty(&farm), lost);
    let server = farm.start();
    let client = server.client(&farm.token_named("third"));
    compare(&client, "kept", 12).await;
    let answer = client.get("later/3.bin").await.unwrap();
    assert!(answer.status.is_server_error(), "missing bytes are no empty document: {}", answer.status);
    let repaired = farm.json(&["blobs", "repair", "--from-backup", &destination]);
    assert_eq!(repaired["repaired"].as_array().unwrap().len(), 4, "{repaired:#}");
    compare(&client, "later", 6).await;
    farm.check_blobs();
}
