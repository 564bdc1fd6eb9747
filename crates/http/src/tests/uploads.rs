//! Resumable uploads.

use std::os::unix::fs::FileExt;

use axum::body::{Body, Bytes};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use futures_util::future::join_all;
use futures_util::stream;
use model::Right;
use serde_json::json;

use super::rights::person;
use super::{Farm, Reply};

const PART: (&str, &str) = ("content-type", "application/offset+octet-stream");
const TUS: (&str, &str) = ("tus-resumable", "1.0.0");

fn bytes(length: usize) -> Bytes {
    (0..length).map(|i| (i * 37 % 253) as u8).collect::<Vec<_>>().into()
}

fn metadata(pairs: &[(&str, &str)]) -> String {
    let coded = pairs.iter().map(|(key, value)| format!("{key} {}", STANDARD.encode(value)));
    coded.collect::<Vec<_>>().join(",")
}

async fn begin(farm: &Farm, login: &str, path: &str, length: usize) -> Reply {
    let (length, said) = (length.to_string(), metadata(&[("path", path)]));
    let fields = [TUS, ("upload-length", length.as_str()), ("upload-metadata", said.as_str())];
    farm.send_as(login, "POST", "/api/v1/uploads", &fields, "").await
}

async fn send(farm: &Farm, login: &str, url: &str, offset: usize, part: impl Into<Body>) -> Reply {
    let offset = offset.to_string();
    farm.send_as(login, "PATCH", url, &[TUS, PART, ("upload-offset", offset.as_str())], part).await
}

async fn offset(farm: &Farm, url: &str) -> String {
    farm.send("HEAD", url, &[TUS], "").await.expect(200).header("upload-offset").to_owned()
}

#[tokio::test]
async fn parts_survive_a_restart_and_become_one_version() {
    let farm = Farm::new().await;
    let content = bytes(2_500_000);
    let begun = begin(&farm, "admin", "Documents/New/big.bin", content.len()).await.expect(201);
    assert!(!begun.header("upload-expires").is_empty());
    let url = begun.header("location").to_owned();
    assert_eq!(offset(&farm, &url).await, "0");
    let first = send(&farm, "admin", &url, 0, content.slice(..1_200_000)).await.expect(204);
    assert_eq!(first.header("upload-offset"), "1200000");
    // Bytes that a crash leaves behind the acknowledged ones must not count.
    let file = farm.data().join("uploads").join(url.rsplit('/').next().unwrap());
    let file = std::fs::OpenOptions::new().write(true).open(file).unwrap();
    file.write_all_at(&[0xee; 50_000], 4096 + 1_200_000).unwrap();
    let farm = farm.again().await;
    assert_eq!(offset(&farm, &url).await, "1200000");
    assert_eq!(send(&farm, "admin", &url, 0, content.slice(..5)).await.expect(409).code(), "offset_mismatch");
    let last = send(&farm, "admin", &url, 1_200_000, content.slice(1_200_000..)).await.expect(204);
    assert_eq!((last.header("x-version"), last.header("upload-offset")), ("1.0", "2500000"));
    assert_eq!(farm.get("/api/v1/content/Documents/New/big.bin").await.expect(200).body, content);
    assert_eq!(offset(&farm, &url).await, "2500000");
    send(&farm, "admin", &url, 2_500_000, "").await.expect(409);
    assert_eq!(std::fs::read_dir(farm.data().join("uploads")).unwrap().count(), 0);
    farm.send("DELETE", &url, &[TUS], "").await.expect(204);
    farm.send("HEAD", &url, &[TUS], "").await.expect(404);
    farm.get("/api/v1/content/Documents/New/big.bin").await.expect(200);
}

#[tokio::test]
async fn a_first_part_can_come_with_the_creation_and_an_empty_document_needs_none() {
    let farm = Farm::new().await;
    let said = metadata(&[("path", "Documents/a.txt"), ("comment", "by parts"), ("unknown", "x")]);
    let fields = [TUS, PART, ("upload-length", "3"), ("upload-metadata", said.as_str())];
    let done = farm.send("POST", "/api/v1/uploads", &fields, "one").await.expect(201);
    assert_eq!((done.header("upload-offset"), done.header("x-version")), ("3", "1.0"));
    let library = farm.id("Documents").await;
    let said = metadata(&[("parent", &library), ("filename", "empty.txt")]);
    let fields = [TUS, ("upload-length", "0"), ("upload-metadata", said.as_str())];
    farm.send("POST", "/api/v1/uploads", &fields, "").await.expect(201);
    assert_eq!(farm.item("Documents/empty.txt").await["size"], 0);
    let document = farm.id("Documents/a.txt").await;
    let said = metadata(&[("document", &document)]);
    let fields = [TUS, PART, ("upload-length", "3"), ("upload-metadata", said.as_str())];
    farm.send("POST", "/api/v1/uploads", &fields, "two").await.expect(201);
    assert_eq!(farm.get("/api/v1/content/Documents/a.txt").await.header("x-version"), "2.0");
}

#[tokio::test]
async fn a_part_that_is_cut_counts_up_to_the_cut_unless_it_has_a_checksum() {
    let farm = Farm::new().await;
    let url = begin(&farm, "admin", "Documents/a.bin", 100_000).await.expect(201).header("location").to_owned();
    let cut = || Body::from_stream(stream::iter([Ok(bytes(40_000)), Err(std::io::Error::other("cut"))]));
    assert_eq!(send(&farm, "admin", &url, 0, cut()).await.expect(400).code(), "incomplete_body");
    assert_eq!(offset(&farm, &url).await, "40000");
    let right = STANDARD.encode(ring::digest::digest(&ring::digest::SHA1_FOR_LEGACY_USE_ONLY, &bytes(10)));
    let sum = format!("sha1 {right}");
    let fields = [TUS, PART, ("upload-offset", "40000"), ("upload-checksum", sum.as_str())];
    assert_eq!(farm.send("PATCH", &url, &fields, bytes(11)).await.expect(460).code(), "checksum_mismatch");
    farm.send("PATCH", &url, &fields, cut()).await.expect(400);
    assert_eq!(offset(&farm, &url).await, "40000");
    farm.send("PATCH", &url, &fields, bytes(10)).await.expect(204);
    let crc = [TUS, PART, ("upload-offset", "40010"), ("upload-checksum", "crc32 AAAA")];
    farm.send("PATCH", &url, &crc, bytes(10)).await.expect(400);
    assert_eq!(send(&farm, "admin", &url, 40_010, bytes(60_000)).await.expect(400).code(), "length_mismatch");
    assert_eq!(offset(&farm, &url).await, "40010");
    send(&farm, "admin", &url, 40_010, bytes(59_990)).await.expect(204);
    assert_eq!(farm.item("Documents/a.bin").await["size"], 100_000);
}

#[tokio::test]
async fn of_parts_that_come_at_once_one_is_taken() {
    let farm = Farm::new().await;
    let url = begin(&farm, "admin", "Documents/a.bin", 100_000).await.expect(201).header("location").to_owned();
    let looks = (0..6).map(|_| farm.send("HEAD", &url, &[TUS], ""));
    let parts = (0..6).map(|_| send(&farm, "admin", &url, 0, bytes(50_000)));
    let (looks, parts) = tokio::join!(join_all(looks), join_all(parts));
    assert!(looks.iter().all(|look| look.status == 200));
    let mut answers: Vec<u16> = parts.iter().map(|part| part.status.as_u16()).collect();
    answers.sort_unstable();
    assert_eq!(answers, [204, 409, 409, 409, 409, 409]);
    send(&farm, "admin", &url, 50_000, bytes(50_000)).await.expect(204);
}

#[tokio::test]
async fn rights_and_conditions_are_asked_again_at_the_end() {
    let farm = Farm::new().await;
    let ben = farm.account("ben").await;
    let root = farm.id("").await;
    assert_eq!(begin(&farm, "ben", "Documents/b.txt", 6).await.status, 404);
    let grants = format!("/api/v1/items/{root}/permissions/grants");
    farm.json("POST", &grants, json!({"principal": ben, "role": "3"})).await.expect(204);
    let url = begin(&farm, "ben", "Documents/b.txt", 6).await.expect(201).header("location").to_owned();
    send(&farm, "ben", &url, 0, "one").await.expect(204);
    // An upload is visible to its owner only, not even to an administrator.
    farm.send("HEAD", &url, &[TUS], "").await.expect(404);
    farm.send("DELETE", &url, &[TUS], "").await.expect(404);
    send(&farm, "admin", &url, 3, "two").await.expect(404);
    farm.send("DELETE", &format!("{grants}/{ben}/3"), &[], "").await.expect(204);
    send(&farm, "ben", &url, 3, "two").await.expect(404);
    farm.get("/api/v1/content/Documents/b.txt").await.expect(404);
    farm.json("POST", &grants, json!({"principal": ben, "role": "3"})).await.expect(204);
    // All bytes have arrived, so a request for the state completes the upload.
    assert_eq!(farm.send_as("ben", "HEAD", &url, &[TUS], "").await.expect(200).header("x-version"), "1.0");
    assert_eq!(farm.get("/api/v1/content/Documents/b.txt").await.text(), "onetwo");
}

#[tokio::test]
async fn to_publish_by_parts_takes_the_right_to_publish() {
    let farm = Farm::new().await;
    let site = farm.id("").await;
    let body = json!({"name": "Drafts", "settings": {"versioning": "major-minor"}});
    farm.json("POST", &format!("/api/v1/items/{site}/libraries"), body).await.expect(201);
    farm.put("Drafts/a.txt?publish=true", "one").await.expect(201);
    let edits = [Right::View, Right::ViewVersions, Right::Add, Right::Edit];
    person(&farm, "edits", "Drafts", &edits).await;
    person(&farm, "publishes", "Drafts", &[&edits[..], &[Right::Publish]].concat()).await;
    let document = farm.id("Drafts/a.txt").await;
    let create = async |login: &str, place: (&str, &str), publish: &str, length: &str, body: &str| {
        let said = metadata(&[place, ("publish", publish)]);
        let fields = [TUS, PART, ("upload-length", length), ("upload-metadata", said.as_str())];
        farm.send_as(login, "POST", "/api/v1/uploads", &fields, body.to_owned()).await
    };
    let (new, next) = (("path", "Drafts/b.txt"), ("document", document.as_str()));
    let directly = farm.send_as("edits", "PUT", "/api/v1/content/Drafts/b.txt?publish=true", &[], "two").await;
    let refusal = directly.expect(403).json();
    for place in [new, next] {
        for (length, body) in [("3", "two"), ("3", ""), ("0", "")] {
            let refused = create("edits", place, "true", length, body).await.expect(403).json();
            assert_eq!(refused["code"], refusal["code"], "{place:?} {length}: {refused}");
        }
    }
    assert_eq!(std::fs::read_dir(farm.data().join("uploads")).map_or(0, Iterator::count), 0, "refused before a byte");
    farm.get("/api/v1/content/Drafts/b.txt").await.expect(404);
    assert_eq!(farm.get("/api/v1/content/Drafts/a.txt").await.expect(200).header("x-version"), "1.0");
    // Without `publish` the version is a draft, which other users cannot see.
    assert_eq!(create("edits", new, "false", "3", "two").await.expect(201).header("x-version"), "0.1");
    assert_eq!(create("edits", next, "false", "3", "two").await.expect(201).header("x-version"), "1.1");
    assert_eq!(create("publishes", next, "true", "3", "new").await.expect(201).header("x-version"), "2.0");
    // The right is checked again at the end of the upload.
    let url = create("publishes", next, "true", "6", "one").await.expect(201).header("location").to_owned();
    let library = farm.id("Drafts").await;
    let grants = format!("/api/v1/items/{library}/permissions/grants");
    let listed = farm.get(&format!("/api/v1/items/{library}/permissions")).await.expect(200).json();
    let of = |role: &str| {
        let found = listed["grants"].as_array().unwrap().iter().find(|grant| grant["role_name"] == role);
        let found = found.unwrap_or_else(|| panic!("{listed}"));
        (found["principal"]["id"].as_str().unwrap(), found["role"].as_str().unwrap())
    };
    let (who, role) = of("publishes");
    farm.send("DELETE", &format!("{grants}/{who}/{role}"), &[], "").await.expect(204);
    farm.json("POST", &grants, json!({"principal": who, "role": of("edits").1})).await.expect(204);
    let last = send(&farm, "publishes", &url, 3, "two").await;
    assert_eq!(last.expect(403).json()["code"], refusal["code"]);
    assert_eq!(farm.get("/api/v1/content/Drafts/a.txt").await.expect(200).text(), "new");
}

#[tokio::test]
async fn one_person_has_a_bounded_number_under_way() {
    let farm = Farm::new().await;
    let refused = begin(&farm, "admin", "Documents/x", 1 << 60).await.expect(507);
    assert_eq!(refused.code(), "disk_full");
    assert!(!refused.text().contains(farm.data().to_str().unwrap()), "{}", refused.text());
    let mut last = String::new();
    for i in 0..100 {
        let begun = begin(&farm, "admin", &format!("Documents/{i}"), 1).await.expect(201);
        last = begun.header("location").to_owned();
    }
    assert_eq!(begin(&farm, "admin", "Documents/x", 1).await.expect(507).code(), "too_many_uploads");
    assert_eq!(std::fs::read_dir(farm.data().join("uploads")).unwrap().count(), 100);
    send(&farm, "admin", &last, 0, "x").await.expect(204);
    begin(&farm, "admin", "Documents/x", 1).await.expect(201);
}

#[tokio::test]
async fn what_is_not_tus_is_refused() {
    let farm = Farm::new().await;
    let ways = farm.send_as("", "OPTIONS", "/api/v1/uploads", &[], "").await.expect(204);
    assert!(ways.header("tus-extension").contains("creation"));
    assert!(ways.header("tus-version") == "1.0.0");
    let said = metadata(&[("path", "Documents/a.txt")]);
    let good = [TUS, ("upload-length", "3"), ("upload-metadata", said.as_str())];
    farm.send_as("", "POST", "/api/v1/uploads", &good, "").await.expect(401);
    let other = farm.send("POST", "/api/v1/uploads", &good[1..], "").await.expect(412);
    assert_eq!((other.code().as_str(), other.header("tus-version")), ("unsupported_version", "1.0.0"));
    for (length, said) in [
        ("-1", said.as_str()),
        ("x", said.as_str()),
        ("99999999999999999999", said.as_str()),
        ("18446744073709551615", said.as_str()),
        ("3", ""),
        ("3", "path"),
        ("3", "path !!!"),
        ("3", &metadata(&[("path", "Documents/../a")])),
        ("3", &metadata(&[("path", "Documents/a"), ("parent", "7")])),
        ("3", &metadata(&[("parent", "x"), ("filename", "a")])),
        ("3", &metadata(&[("path", "Documents/a"), ("modified_at", "yesterday")])),
    ] {
        let fields = [TUS, ("upload-length", length), ("upload-metadata", said)];
        farm.send("POST", "/api/v1/uploads", &fields, "").await.expect(400);
    }
    let url = begin(&farm, "admin", "Documents/a.txt", 3).await.expect(201).header("location").to_owned();
    farm.send("PATCH", &url, &[TUS, ("upload-offset", "0")], "one").await.expect(415);
    farm.send("PATCH", &url, &[TUS, ("upload-offset", "0"), ("content-type", "text/plain")], "one").await.expect(415);
    farm.send("PATCH", &url, &[TUS, PART], "one").await.expect(400);
    for id in ["x", "1-2", "..%2f..%2fetc", "%2e%2e", &"a".repeat(5_000), "0-00000000000000000000000000000000"] {
        farm.send("HEAD", &format!("/api/v1/uploads/{id}"), &[TUS], "").await.expect(404);
        farm.send("DELETE", &format!("/api/v1/uploads/{id}"), &[TUS], "").await.expect(404);
    }
}

#[tokio::test]
async fn unfinished_uploads_of_one_person_take_no_more_than_their_limit() {
    let farm = Farm::new().await;
    farm.repository.limit_unfinished(10_000);
    let first = begin(&farm, "admin", "Documents/a", 6_000).await.expect(201).header("location").to_owned();
    assert_eq!(begin(&farm, "admin", "Documents/b", 4_001).await.expect(507).code(), "too_much_unfinished");
    let second = begin(&farm, "admin", "Documents/b", 4_000).await.expect(201).header("location").to_owned();
    assert_eq!(begin(&farm, "admin", "Documents/c", 1).await.expect(507).code(), "too_much_unfinished");
    // A completed upload no longer counts, and neither does a cancelled one.
    send(&farm, "admin", &first, 0, bytes(6_000)).await.expect(204);
    farm.send("DELETE", &second, &[TUS], "").await.expect(204);
    // Concurrently started uploads share one limit.
    let names: Vec<String> = (0..16).map(|i| format!("Documents/many{i}")).collect();
    let begun = join_all(names.iter().map(|name| begin(&farm, "admin", name, 2_000))).await;
    let count = begun.iter().filter(|reply| reply.status == 201).count();
    assert!((1..=5).contains(&count), "{count}");
    assert!(begun.iter().all(|reply| reply.status == 201 || reply.code() == "too_much_unfinished"));
    // An upload that was just begun may count twice for a moment, which refuses others too early but none too late.
    for number in count..5 {
        begin(&farm, "admin", &format!("Documents/after{number}"), 2_000).await.expect(201);
    }
    assert_eq!(begin(&farm, "admin", "Documents/last", 2_000).await.expect(507).code(), "too_much_unfinished");
}

#[tokio::test]
async fn running_uploads_count_as_unfinished_while_they_run() {
    const MIB: usize = 1 << 20;
    let farm = Farm::new().await;
    farm.repository.limit_unfinished(200 * MIB as u64);
    let (sender, receiver) = tokio::sync::mpsc::channel::<Bytes>(1);
    let body = stream::unfold(receiver, async |mut receiver| {
        Some((Ok::<_, std::io::Error>(receiver.recv().await?), receiver))
    });
    let running = farm.put("Documents/long", Body::from_stream(body));
    let watched = async {
        // The channel holds one chunk. The third send completes only after the second chunk was taken, which happens
        // after the first was written.
        for length in [70 * MIB, 1, 1] {
            sender.send(bytes(length)).await.unwrap();
        }
        let begun = begin(&farm, "admin", "Documents/x", 80 * MIB).await;
        drop(sender);
        begun
    };
    let (saved, begun) = futures_util::future::join(running, watched).await;
    saved.expect(201);
    assert_eq!(begun.expect(507).code(), "too_much_unfinished");
    begin(&farm, "admin", "Documents/y", 200 * MIB).await.expect(201);
}
