//! Stores, policies, jobs and damaged BLOBs over REST.

use std::time::{Duration, Instant};

use axum::http::StatusCode;
use repository::{LinkRule, NewLink, Target};
use serde_json::{Value, json};

use super::Farm;

const JSON: (&str, &str) = ("content-type", "application/json");

async fn add_store(farm: &Farm, name: &str) -> Value {
    let body = json!({"name": name, "kind": "directory", "location": format!("stores/{name}")});
    farm.json("POST", "/api/v1/farm/stores", body).await.expect(201).json()
}

#[tokio::test]
async fn a_store_is_added_once_for_each_key_used_closed_and_removed() {
    let farm = Farm::new().await;
    let body = r#"{"name":"archive","kind":"directory","location":"archive"}"#;
    let fields = [JSON, ("idempotency-key", "one")];
    let added = farm.send("POST", "/api/v1/farm/stores", &fields, body).await.expect(201).json();
    let again = farm.send("POST", "/api/v1/farm/stores", &fields, body).await.expect(201).json();
    assert_eq!((&added["id"], &added["state"]), (&again["id"], &json!("active")));
    let taken = farm.send("POST", "/api/v1/farm/stores", &[JSON], body).await.expect(409);
    assert_eq!(taken.code(), "name_taken");

    let library = farm.id("Documents").await;
    let policy = format!("/api/v1/farm/storage-policies/library/{library}");
    farm.json("PUT", &policy, json!({"active_store": "archive", "minimum_size": 0})).await.expect(200);
    farm.put("Documents/a.bin", vec![7; 40_000]).await.expect(201);
    let stores = farm.get("/api/v1/farm/stores").await.expect(200).json();
    let archive = stores["items"].as_array().unwrap().iter().find(|store| store["name"] == "archive").unwrap();
    assert_eq!((&archive["blobs"], &archive["content_bytes"]), (&json!(1), &json!(40_000)));

    let url = "/api/v1/farm/stores/archive";
    let both = json!({"state": "draining", "settings": {"x": "y"}});
    assert_eq!(farm.json("PATCH", url, both).await.expect(400).code(), "too_much_at_once");
    assert_eq!(farm.json("PATCH", url, json!({"state": "open"})).await.expect(400).code(), "invalid_json");
    assert_eq!(farm.json("PATCH", url, json!({"state": "read-only"})).await.expect(409).code(), "store_in_use");
    farm.json("PUT", &policy, json!({})).await.expect(200);
    let closed = farm.json("PATCH", url, json!({"state": "read-only"})).await.expect(200).json();
    assert_eq!(closed["state"], "read-only");
    assert_eq!(farm.send("DELETE", url, &[], "").await.expect(409).code(), "store_in_use");
    add_store(&farm, "empty").await;
    farm.json("PATCH", "/api/v1/farm/stores/empty", json!({"state": "read-only"})).await.expect(200);
    farm.send("DELETE", "/api/v1/farm/stores/empty", &[], "").await.expect(204);
    farm.json("PATCH", "/api/v1/farm/stores/empty", json!({"state": "active"})).await.expect(404);
    let probe = farm.send("POST", "/api/v1/farm/stores/files/test", &[], "").await.expect(200).json();
    assert!(probe["good"] == true, "{probe}");
    assert!(probe["steps"].as_array().unwrap().len() > 5, "{probe}");
}

#[tokio::test]
async fn a_policy_says_what_is_its_own_and_what_comes_from_above() {
    let farm = Farm::new().await;
    add_store(&farm, "archive").await;
    let library = farm.id("Documents").await;
    let url = format!("/api/v1/farm/storage-policies/library/{library}");
    let own = json!({"types": ["PDF", ".tiff"], "tiers": [{"basis": "access", "days": 90, "store": "archive"}]});
    let set = farm.json("PUT", &url, own).await.expect(200).json();
    assert_eq!((&set["types"], &set["active_store"]), (&json!(["pdf", "tiff"]), &json!("files")));
    assert_eq!((&set["own"]["types"], &set["own"]["active_store"]), (&json!(["pdf", "tiff"]), &Value::Null));
    assert_eq!(set["own"]["tiers"], json!([{"basis": "access", "days": 90, "store": "archive"}]));
    let all = farm.get("/api/v1/farm/storage-policies").await.expect(200).json();
    assert_eq!(all["items"].as_array().unwrap().len(), 2);
    assert_eq!(farm.json("PUT", &url, json!({"active_store": "nowhere"})).await.expect(404).code(), "not_found");
    assert_eq!(farm.get(&url).await.expect(200).json(), set, "a refusal changes nothing");
    farm.json("PUT", &url, json!({"typs": []})).await.expect(400);
    let site = farm.id("").await;
    let above = format!("/api/v1/farm/storage-policies/collection/{site}");
    farm.json("PUT", &above, json!({"minimum_size": 5})).await.expect(200);
    let now = farm.json("PUT", &url, json!({})).await.expect(200).json();
    assert_eq!((&now["minimum_size"], &now["types"]), (&json!(5), &json!([])));
    assert_eq!(now["own"], json!({"active_store": null, "minimum_size": null, "types": null, "tiers": null}));
    farm.get("/api/v1/farm/storage-policies/planet/earth").await.expect(404);
}

#[tokio::test]
async fn a_job_is_started_once_for_each_key_and_asked_to_pause_go_on_and_end() {
    let farm = Farm::new().await;
    let url = "/api/v1/farm/jobs";
    let fields = [JSON, ("idempotency-key", "once")];
    let body = r#"{"kind":"migrate","to":"database","minimum_size":10,"rate":5000}"#;
    let job = farm.send("POST", url, &fields, body).await.expect(201).json();
    let again = farm.send("POST", url, &fields, body).await.expect(201).json();
    assert_eq!(job["id"], again["id"]);
    assert_eq!((&job["work"]["kind"], &job["work"]["rate"]), (&json!("migrate"), &json!(5_000)));
    assert_eq!((&job["state"], &job["created_by"]["name"]), (&json!("waiting"), &json!("Administrator")));
    let at = format!("{url}/{}", job["id"].as_str().unwrap());
    let ask = |what: &'static str| {
        let (farm, at) = (&farm, &at);
        async move { farm.send("POST", &format!("{at}/{what}"), &[], "").await }
    };
    assert_eq!(ask("resume").await.expect(409).code(), "job_state");
    assert_eq!(ask("pause").await.expect(200).json()["state"], "paused");
    assert_eq!(ask("resume").await.expect(200).json()["state"], "waiting");
    assert_eq!(ask("abort").await.expect(200).json()["state"], "aborted");
    for late in ["pause", "resume"] {
        assert_eq!(ask(late).await.expect(409).code(), "job_state");
    }
    for bad in [
        json!({"kind": "burn"}),
        json!({"kind": "check", "speed": 1}),
        json!({"kind": "migrate", "from": "files", "to": "files"}),
        json!({"kind": "collect", "share": 101}),
        json!({"kind": "collect", "orphan_hours": 0}),
        json!({"kind": "collect", "time_limit": 0}),
    ] {
        farm.json("POST", url, bad).await.expect(400);
    }
    farm.json("POST", url, json!({"kind": "check", "store": "nowhere"})).await.expect(404);
    for _ in 0..2 {
        farm.json("POST", url, json!({"kind": "check"})).await.expect(201);
    }
    let first = farm.get(&format!("{url}?limit=2")).await.expect(200).json();
    let next = first["next"].as_str().unwrap();
    let second = farm.get(&format!("{url}?limit=2&cursor={next}")).await.expect(200).json();
    assert_eq!((second["items"].as_array().unwrap().len(), &second["next"]), (1, &Value::Null));
    assert_eq!(second["items"][0]["id"], job["id"]);
}

#[tokio::test]
async fn a_document_on_record_as_damaged_is_refused_as_a_whole_until_it_is_found_to_be_intact() {
    let farm = Farm::new().await;
    farm.put("Documents/a.bin", vec![7; 3_000_000]).await.expect(201);
    let url = "/api/v1/content/Documents/a.bin";
    let (root, id) = (farm.id("").await, farm.id("Documents/a.bin").await);
    let admin = farm.repository.as_caller(farm.repository.farm_administrator().await.unwrap());
    admin.set_link_rule(root.parse().unwrap(), Some(LinkRule { most_days: 30 })).await.unwrap();
    let new = NewLink { days: 7, most_downloads: Some(1), ..NewLink::default() };
    let (link, secret) = admin.share(&Target::Id(id.parse().unwrap()), new).await.unwrap();
    let link = format!("/s/{}/{secret}", link.id);
    let download = async || {
        let form = [("content-type", "application/x-www-form-urlencoded")];
        farm.send_as("", "POST", &link, &form, "").await.status
    };

    assert_eq!(super::damage::find(&admin).await, 1);
    assert_eq!(download().await, StatusCode::SERVICE_UNAVAILABLE);
    let part = farm.send("GET", url, &[("range", "bytes=1000000-1999999")], "").await.expect(206);
    assert_eq!(part.body, vec![7; 1_000_000]);
    let deadline = Instant::now() + Duration::from_secs(30);
    while farm.send("HEAD", url, &[], "").await.status != StatusCode::OK {
        assert!(Instant::now() < deadline, "it stays on record");
        // sleep: the BLOB is verified in the background, and nothing signals the end
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert!(farm.get("/api/v1/farm/faults").await.expect(200).json()["items"].as_array().unwrap().is_empty());
    // The failed download did not use up the link's single download.
    assert_eq!(download().await, StatusCode::OK);
    assert_eq!(download().await, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn damaged_blobs_are_listed_by_pages_and_resolved() {
    let farm = Farm::new().await;
    for n in 1..=5_u8 {
        farm.put(&format!("Documents/{n}.bin"), vec![n; 40_000]).await.expect(201);
    }
    let farm = farm.damaged().await;
    let admin = farm.repository.as_caller(farm.repository.farm_administrator().await.unwrap());
    assert_eq!(super::damage::find(&admin).await, 5);
    let (mut found, mut cursor) = (Vec::new(), String::new());
    loop {
        let page = farm.get(&format!("/api/v1/farm/faults?limit=2{cursor}")).await.expect(200).json();
        found.extend(page["items"].as_array().unwrap().clone());
        match page["next"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => break,
        }
    }
    assert_eq!(found.len(), 5, "{found:?}");
    assert!(found.is_sorted_by_key(|fault| fault["digest"].as_str().unwrap().to_owned()));
    let one = &found[0];
    assert!(one["documents"][0]["path"].as_str().unwrap().starts_with("Documents/"), "{one}");
    assert!(one["documents"][0]["name"].as_str().unwrap().ends_with(".bin"), "{one}");
    assert!(one["accepted_at"].is_null(), "{one}");
    let at = format!("/api/v1/farm/faults/{}", one["digest"].as_str().unwrap());
    farm.send("POST", &format!("{at}/repair"), &[], "").await.expect(404);
    farm.send("POST", &format!("{at}/accept"), &[], "").await.expect(204);
    let accepted = &farm.get("/api/v1/farm/faults?limit=1").await.expect(200).json()["items"][0];
    assert_eq!(accepted["accepted_by"]["name"], "Administrator");
    let odd = farm.send("POST", "/api/v1/farm/faults/xyz/accept", &[], "").await.expect(400);
    assert_eq!(odd.code(), "invalid_digest");
}
