//! All streams are complete: at sizes around each internal limit, for clients that are fast, slow or stop, on HTTP/1.1
//! and HTTP/2.

use std::collections::BTreeMap;

use bytes::Bytes;
use database::Engine;
use http_body_util::BodyExt;
use hyper::Response;
use hyper::body::Incoming;

use crate::support::wire::{Http, Pace, RawClient, read_body};
use crate::support::{Farm, Server, bytes};

/// Sizes around the limits between the ways of storing and sending content.
pub const SIZES: [usize; 20] = [
    0, 1, 4_095, 4_096, 16_383, 16_385, 65_535, 65_536, 65_537, 262_143, 262_144, 262_145, 524_287, 524_288, 524_289,
    786_433, 1_048_575, 1_048_577, 1_500_000, 20_000_000,
];

/// A server with a document of each size in Documents/sizes, and the documents' contents.
pub async fn with_documents() -> (Farm, Server, BTreeMap<String, Bytes>) {
    let farm = Farm::on(Engine::Sqlite).await;
    let server = farm.start();
    let client = server.client(&farm.token());
    let mut all = BTreeMap::new();
    for size in SIZES {
        let (name, content) = (format!("{size}.bin"), Bytes::from(bytes(7, size)));
        let stored = client.put(&format!("sizes/{name}"), content.to_vec()).await.unwrap();
        assert_eq!(stored.status.as_u16(), 201, "{}", stored.text());
        all.insert(name, content);
    }
    (farm, server, all)
}

pub async fn id(wire: &RawClient, path: &str) -> String {
    let item = wire.get(&format!("/api/v1/items/by-path?path={path}")).await;
    let item: serde_json::Value = serde_json::from_slice(&item).unwrap();
    item["id"].as_str().unwrap().to_owned()
}

fn number(bytes: &[u8], at: usize, count: usize) -> usize {
    bytes[at..at + count].iter().rev().fold(0, |number, byte| number << 8 | usize::from(*byte))
}

/// The files of an archive, read by its central directory. Asserts that each file has the recorded checksum.
pub fn unpacked(archive: &[u8]) -> BTreeMap<String, Bytes> {
    let end = archive.len().checked_sub(22).expect("a directory");
    assert_eq!(&archive[end..end + 4], b"PK\x05\x06", "the archive has no end");
    let (count, mut at) = (number(archive, end + 10, 2), number(archive, end + 16, 4));
    let mut files = BTreeMap::new();
    for _ in 0..count {
        assert_eq!(&archive[at..at + 4], b"PK\x01\x02");
        let (crc, size) = (number(archive, at + 16, 4), number(archive, at + 24, 4));
        let (name, extra, start) =
            (number(archive, at + 28, 2), number(archive, at + 30, 2), number(archive, at + 42, 4));
        let path = String::from_utf8(archive[at + 46..at + 46 + name].to_vec()).unwrap();
        at += 46 + name + extra;
        let from = start + 30 + number(archive, start + 26, 2) + number(archive, start + 28, 2);
        let content = Bytes::copy_from_slice(&archive[from..from + size]);
        assert_eq!(crc32fast::hash(&content) as usize, crc, "{path}");
        if !path.ends_with('/') {
            files.insert(path, content);
        }
    }
    files
}

pub fn same(found: &[u8], expected: &[u8], what: &str) {
    assert_eq!(found.len(), expected.len(), "{what}");
    assert!(found == expected, "{what} has other bytes");
}

async fn downloads(http: Http) {
    let (farm, server, all) = with_documents().await;
    let wire = RawClient::with_token(&server, http, &farm.token_named("wire"));
    let browser = RawClient::signed_in(&server, http).await;
    for (name, content) in &all {
        let document = id(&wire, &format!("Documents/sizes/{name}")).await;
        for (client, path) in [
            (&wire, format!("/api/v1/content/Documents/sizes/{name}")),
            (&wire, format!("/dav/Documents/sizes/{name}")),
            (&browser, format!("/download/{document}/{name}")),
        ] {
            for pace in [Pace::Fast, Pace::Slow] {
                let answer = client.send("GET", &path, &[], RawClient::nothing()).await;
                same(&read_body(answer, pace).await, content, &format!("{path} {pace:?}"));
            }
        }
        for edge in SIZES.into_iter().filter(|edge| *edge > 1 && *edge < content.len()) {
            for (from, to) in [(edge - 1, edge), (edge, content.len() - 1), (0, edge)] {
                let range = format!("bytes={from}-{to}");
                let path = format!("/api/v1/content/Documents/sizes/{name}");
                let answer = wire.send("GET", &path, &[("range", &range)], RawClient::nothing()).await;
                assert_eq!(answer.status().as_u16(), 206);
                same(&read_body(answer, Pace::Fast).await, &content[from..=to], &format!("{range} of {name}"));
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn downloads_and_ranges_are_whole_on_http_1() {
    downloads(Http::One).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn downloads_and_ranges_are_whole_on_http_2() {
    downloads(Http::Two).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn archives_are_whole() {
    let (farm, server, all) = with_documents().await;
    let token = farm.token_named("wire");
    for http in [Http::One, Http::Two] {
        let wire = RawClient::with_token(&server, http, &token);
        let folder = id(&wire, "Documents/sizes").await;
        let path = format!("/api/v1/archive?ids={folder}");
        for pace in [Pace::Fast, Pace::Slow] {
            let answer = wire.send("GET", &path, &[], RawClient::nothing()).await;
            let found = unpacked(&read_body(answer, pace).await);
            assert_eq!(found.len(), all.len(), "{http:?} {pace:?}");
            for (name, content) in &all {
                same(&found[&format!("sizes/{name}")], content, &format!("{name} {http:?} {pace:?}"));
            }
        }
        for name in all.keys() {
            let document = id(&wire, &format!("Documents/sizes/{name}")).await;
            let found = unpacked(&wire.get(&format!("/api/v1/archive?ids={document}")).await);
            same(&found[name], &all[name], &format!("{name} alone, {http:?}"));
        }
        let browser = RawClient::signed_in(&server, http).await;
        let form = format!("form_token={}&ids={folder}", browser.form_token().await);
        let kind = ("content-type", "application/x-www-form-urlencoded");
        let answer = browser.send("POST", "/selection/archive", &[kind], RawClient::bytes(form)).await;
        assert_eq!(unpacked(&read_body(answer, Pace::Fast).await).len(), all.len());
    }
    assert!(!server.output().contains("a response was aborted"), "{}", server.output());
}

async fn uploads(http: Http) {
    let farm = Farm::on(Engine::Sqlite).await;
    let server = farm.start();
    let wire = RawClient::with_token(&server, http, &farm.token());
    let browser = RawClient::signed_in(&server, http).await;
    let library = id(&wire, "Documents").await;
    for (count, size) in SIZES.into_iter().enumerate() {
        let content = Bytes::from(bytes(count as u64, size));
        let pace = if count % 2 == 0 { Pace::Fast } else { Pace::Slow };
        let place = |way: &str| format!("/api/v1/content/Documents/{way}/{size}.bin");
        for (path, body) in [
            (place("announced"), RawClient::bytes(content.clone())),
            (place("pieces"), RawClient::pieces(content.clone(), 50_000, pace)),
            (format!("/dav/Documents/{size}.bin"), RawClient::pieces(content.clone(), 70_001, pace)),
        ] {
            let answer = wire.send("PUT", &path, &[], body).await;
            assert_eq!(answer.status().as_u16(), 201, "{path}");
            same(&wire.get(&path).await, &content, &path);
        }
        by_tus(&wire, &content, pace).await;
        same(&wire.get("/api/v1/content/Documents/big.bin").await, &content, &format!("{size} by tus"));
        by_form(&browser, &library, &format!("form{size}.bin"), &content, pace).await;
        same(&wire.get(&format!("/dav/Documents/form{size}.bin")).await, &content, &format!("{size} by a form"));
    }
    farm.check_blobs();
}

/// Replaces Documents/big.bin by a tus upload in two parts.
async fn by_tus(wire: &RawClient, content: &Bytes, pace: Pace) {
    let version = ("tus-resumable", "1.0.0");
    let length = content.len().to_string();
    // Base64 of `Documents/big.bin` and of `replace`.
    let said = ("upload-metadata", "path RG9jdW1lbnRzL2JpZy5iaW4=,on_conflict cmVwbGFjZQ==");
    let fields = [version, ("upload-length", length.as_str()), said];
    let begun = wire.send("POST", "/api/v1/uploads", &fields, RawClient::nothing()).await;
    assert_eq!(begun.status().as_u16(), 201);
    let path = begun.headers()["location"].to_str().unwrap().to_owned();
    let half = content.len() / 2;
    for (offset, part) in [(0, content.slice(..half)), (half, content.slice(half..))] {
        if part.is_empty() {
            continue;
        }
        let offset = offset.to_string();
        let kind = ("content-type", "application/offset+octet-stream");
        let fields = [version, kind, ("upload-offset", offset.as_str())];
        let answer = wire.send("PATCH", &path, &fields, RawClient::pieces(part, 30_000, pace)).await;
        assert_eq!(answer.status().as_u16(), 204);
    }
}

/// Uploads through the form of a page.
async fn by_form(browser: &RawClient, library: &str, name: &str, content: &Bytes, pace: Pace) {
    let token = browser.form_token().await;
    let head = format!(
        "--cut\r\nContent-Disposition: form-data; name=\"form_token\"\r\n\r\n{token}\r\n--cut\r\n\
         Content-Disposition: form-data; name=\"file\"; filename=\"{name}\"\r\n\r\n"
    );
    let body = [head.as_bytes(), content, b"\r\n--cut--\r\n"].concat();
    let kind = ("content-type", "multipart/form-data; boundary=cut");
    let path = format!("/items/{library}/upload");
    let answer = browser.send("POST", &path, &[kind], RawClient::pieces(body.into(), 40_000, pace)).await;
    assert_eq!(answer.status().as_u16(), 303, "{name}");
}

#[tokio::test(flavor = "multi_thread")]
async fn uploads_are_whole_on_http_1() {
    uploads(Http::One).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn uploads_are_whole_on_http_2() {
    uploads(Http::Two).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn clients_that_stop_leave_nothing_behind_and_harm_nobody() {
    let (farm, server, all) = with_documents().await;
    let token = farm.token_named("wire");
    for http in [Http::One, Http::Two] {
        let wire = RawClient::with_token(&server, http, &token);
        let folder = id(&wire, "Documents/sizes").await;
        for path in [
            "/api/v1/content/Documents/sizes/20000000.bin".to_owned(),
            "/dav/Documents/sizes/20000000.bin".to_owned(),
            format!("/api/v1/archive?ids={folder}"),
        ] {
            let mut answer = wire.send("GET", &path, &[], RawClient::nothing()).await.into_body();
            assert!(answer.frame().await.unwrap().is_ok(), "{path}");
            // The client disconnects in the middle.
            drop(answer);
            wire.hang_up();
        }
        wire.send_and_disconnect("/api/v1/content/Documents/cut.bin", 1 << 20).await;
        let gone = wire.send("GET", "/api/v1/content/Documents/cut.bin", &[], RawClient::nothing()).await;
        assert_eq!(gone.status().as_u16(), 404, "half a body is no document");
        same(&wire.get("/api/v1/content/Documents/sizes/1500000.bin").await, &all["1500000.bin"], "afterwards");
    }
    // Neither counts as an error of the server.
    assert!(!server.output().contains("a response was aborted"), "{}", server.output());
}

/// The checksum of `count` bytes of a response from `start`, the total length, and the last 64 KiB.
pub async fn summed(answer: Response<Incoming>, start: u64, count: u64) -> (u32, u64, Vec<u8>) {
    let (mut body, mut sum, mut at, mut last) = (answer.into_body(), crc32fast::Hasher::new(), 0_u64, Vec::new());
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame.unwrap().into_data() else { continue };
        let from = start.saturating_sub(at).min(data.len() as u64) as usize;
        let to = (start + count).saturating_sub(at).min(data.len() as u64) as usize;
        sum.update(&data[from..to]);
        at += data.len() as u64;
        last.extend_from_slice(&data);
        let long = last.len().saturating_sub(64 << 10);
        last.drain(..long);
    }
    (sum.finalize(), at, last)
}

#[tokio::test(flavor = "multi_thread")]
async fn three_gigabytes_pass_whole() {
    const PIECES: u64 = 3 << 10;
    let farm = Farm::on(Engine::Sqlite).await;
    let server = farm.start();
    let piece = Bytes::from(bytes(3, 1 << 20));
    let size = PIECES << 20;
    let mut sum = crc32fast::Hasher::new();
    (0..PIECES).for_each(|_| sum.update(&piece));
    let expected = sum.finalize();
    let one = RawClient::with_token(&server, Http::One, &farm.token());
    let two = RawClient::with_token(&server, Http::Two, &farm.token_named("two"));
    let stored = one.send("PUT", "/dav/Documents/three.bin", &[], RawClient::repeated(piece, PIECES)).await;
    assert_eq!(stored.status().as_u16(), 201);
    let answer = two.send("GET", "/api/v1/content/Documents/three.bin", &[], RawClient::nothing()).await;
    let (found, length, _) = summed(answer, 0, size).await;
    assert_eq!((found, length), (expected, size));
    let document = id(&one, "Documents/three.bin").await;
    let answer = one.send("GET", &format!("/api/v1/archive?ids={document}"), &[], RawClient::nothing()).await;
    let (found, _, last) = summed(answer, 30 + "three.bin".len() as u64, size).await;
    assert_eq!(found, expected);
    let listed = last.windows(4).rposition(|four| four == b"PK\x01\x02").expect("the directory");
    assert_eq!(number(&last, listed + 16, 4), expected as usize);
    assert_eq!(number(&last, listed + 24, 4) as u64, size);
}
