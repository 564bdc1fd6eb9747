//! Content by path.

use axum::body::{Body, Bytes};
use axum::http::Request;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use futures_util::stream;
use tower::ServiceExt;

use super::{Farm, PASSWORD};

const URL: &str = "/api/v1/content/Documents/Offers/2026/Plan%20%C3%BC.txt";

fn bytes(length: usize) -> Bytes {
    (0..length).map(|i| (i * 31 % 251) as u8).collect::<Vec<_>>().into()
}

#[tokio::test]
async fn a_condition_that_an_operation_does_not_heed_is_refused() {
    let farm = Farm::new().await;
    farm.put("Documents/a.txt", "one").await.expect(201);
    let id = farm.id("Documents/a.txt").await;
    let url = format!("/api/v1/items/{id}");
    let fields = [("content-type", "application/json"), ("if-match", "\"x\"")];
    let library = format!("/api/v1/items/{}", farm.id("Documents").await);
    for (method, url, body) in [
        ("PATCH", url.clone(), "{\"name\": \"b.txt\"}"),
        ("POST", format!("{url}/versions/1.0/restore"), ""),
        ("PUT", format!("{url}/check-out"), ""),
        ("POST", format!("{library}/documents?name=b.txt"), "b"),
    ] {
        for condition in [fields[1], ("if-none-match", "*"), ("if-unmodified-since", "Sun, 06 Nov 1994 08:49:37 GMT")] {
            let answer = farm.send(method, &url, &[fields[0], condition], body).await.expect(400);
            assert_eq!(answer.code(), "condition_not_heeded", "{method} {url} {condition:?}");
        }
    }
    farm.send("DELETE", &url, &fields, "").await.expect(412);
    // An unknown operation answers 405 before the condition matters.
    farm.send("POST", &format!("{url}/content"), &fields, "").await.expect(405);
    assert_eq!(farm.item("Documents/a.txt").await["version"], "1.0");
    farm.send("PATCH", &url, &fields[..1], "{\"name\": \"b.txt\"}").await.expect(200);
}

#[tokio::test]
async fn a_document_that_is_not_whole_or_not_described_is_refused_by_its_own_code() {
    let farm = Farm::new().await;
    let url = "/api/v1/content/Documents/a.txt";
    let metadata =
        [("tus-resumable", "1.0.0"), ("upload-length", "1"), ("upload-metadata", "path YQ==,on_conflict eA==")];
    for (method, url, fields, code) in [
        ("PUT", url, &[("content-range", "bytes 0-1/5")][..], "unexpected_range"),
        ("PUT", url, &[("content-length", "many")], "invalid_length"),
        ("PUT", "/api/v1/content/Documents/a.txt?on_conflict=x", &[], "invalid_query"),
        ("POST", "/api/v1/uploads", &metadata, "invalid_metadata"),
    ] {
        let body = if method == "PUT" { "x" } else { "" };
        assert_eq!(farm.send(method, url, fields, body).await.expect(400).code(), code, "{method} {url} {fields:?}");
    }
}

#[tokio::test]
async fn the_list_of_what_an_archive_lacks_has_a_name_that_no_document_has() {
    let farm = Farm::new().await;
    let mut ids = Vec::new();
    for name in ["_not in this archive.txt", "gone.txt"] {
        let path = format!("Documents/{name}");
        farm.put(&path.replace(' ', "%20"), "x").await.expect(201);
        ids.push(farm.id(&path).await);
    }
    let credential = format!("Basic {}", STANDARD.encode(format!("admin:{PASSWORD}")));
    let request = Request::get(format!("/api/v1/archive?ids={}", ids.join(","))).header("authorization", credential);
    let begun = farm.router.clone().oneshot(request.body(Body::empty()).unwrap()).await.unwrap();
    // The document goes after the archive has begun and before its turn.
    farm.send("DELETE", &format!("/api/v1/items/{}", ids[1]), &[], "").await.expect(200);
    let archive = axum::body::to_bytes(begun.into_body(), usize::MAX).await.unwrap();
    let archive = String::from_utf8_lossy(&archive);
    // Each name is in the header of its entry and in the central directory.
    assert_eq!(archive.matches("_not in this archive.txt").count(), 2);
    assert_eq!(archive.matches("_not in this archive (2).txt").count(), 2);
    assert!(archive.contains("gone.txt\r\n"));
}

#[tokio::test]
async fn a_comment_that_cannot_be_kept_is_refused_also_by_an_answer_from_memory() {
    let farm = Farm::new().await;
    let key = [("idempotency-key", "once")];
    let url = "/api/v1/content/Documents/a.txt";
    farm.send("PUT", url, &key, "one").await.expect(201);
    farm.send("PUT", url, &key, "one").await.expect(201);
    let long = "x".repeat(4_001);
    for comment in ["%00", "a%00b", long.as_str()] {
        let answer = farm.send("PUT", &format!("{url}?comment={comment}"), &key, "one").await.expect(400);
        assert_eq!(answer.code(), "invalid_comment", "{comment}");
    }
    let id = farm.id("Documents/a.txt").await;
    let json = [("content-type", "application/json")];
    let body = "{\"comment\": \"\\u0000\"}";
    for (method, what) in [("POST", "publish"), ("POST", "check-in")] {
        let answer = farm.send(method, &format!("/api/v1/items/{id}/{what}"), &json, body).await.expect(400);
        assert_eq!(answer.code(), "invalid_comment", "{what}");
    }
}

#[tokio::test]
async fn content_for_a_document_that_keeps_both_becomes_another_one_beside_it() {
    let farm = Farm::new().await;
    farm.put("Documents/a.txt", "one").await.expect(201);
    let id = farm.id("Documents/a.txt").await;
    let url = format!("/api/v1/items/{id}/content?on_conflict=keep-both");
    farm.send("PUT", &url, &[], "two").await.expect(201);
    assert_eq!(farm.item("Documents/a.txt").await["version"], "1.0");
    assert_eq!(farm.item("Documents/a (2).txt").await["size"], 3);
}

#[tokio::test]
async fn a_document_is_stored_with_its_folders_read_replaced_and_deleted() {
    let farm = Farm::new().await;
    for length in [0, 100, 20_000, 100_000, 3_000_000] {
        let url = format!("{URL}{length}");
        let created = farm.send("PUT", &url, &[], bytes(length)).await.expect(201);
        assert_eq!(created.header("x-version"), "1.0");
        assert_eq!(created.header("location"), url);
        assert_eq!(created.json()["path"], format!("Documents/Offers/2026/Plan ü.txt{length}"));
        let read = farm.get(&url).await.expect(200);
        assert_eq!(read.body, bytes(length));
        assert_eq!(read.header("etag"), created.header("etag"));
        assert_eq!(read.header("content-length"), length.to_string());
        assert!(read.header("content-disposition").starts_with("attachment;"), "{:?}", read.headers);
        assert!(read.header("content-security-policy").starts_with("sandbox"));
        let head = farm.send("HEAD", &url, &[], Body::empty()).await.expect(200);
        assert_eq!((head.header("content-length"), head.body.len()), (length.to_string().as_str(), 0));
        let replaced = farm.send("PUT", &url, &[], bytes(length + 1)).await.expect(200);
        assert_eq!(replaced.header("x-version"), "2.0");
        assert_ne!(replaced.header("etag"), created.header("etag"));
        assert_eq!(farm.get(&format!("{url}?version=1.0")).await.expect(200).body, bytes(length));
        assert_eq!(farm.get(&url).await.expect(200).body, bytes(length + 1));
        let deleted = farm.send("DELETE", &url, &[], Body::empty()).await.expect(200);
        assert!(deleted.json()["entry"].is_string());
        farm.get(&url).await.expect(404);
    }
}

#[tokio::test]
async fn ranges_of_any_place_are_exact() {
    let farm = Farm::new().await;
    let content = bytes(3_000_000);
    farm.send("PUT", URL, &[], content.clone()).await.expect(201);
    for (range, from, to) in
        [("bytes=0-0", 0, 1), ("bytes=262143-262145", 262_143, 262_146), ("bytes=-5", 2_999_995, 3_000_000)]
    {
        let part = farm.send("GET", URL, &[("range", range)], Body::empty()).await.expect(206);
        assert_eq!(part.body, content[from..to], "{range}");
        assert_eq!(part.header("content-range"), format!("bytes {from}-{}/3000000", to - 1));
    }
    let tail = farm.send("GET", URL, &[("range", "bytes=10-")], Body::empty()).await.expect(206);
    assert_eq!(tail.body, content[10..]);
    farm.send("GET", URL, &[("range", "bytes=3000000-")], Body::empty()).await.expect(416);
}

#[tokio::test]
async fn conditions_decide_before_and_at_the_end() {
    let farm = Farm::new().await;
    let first = farm.send("PUT", URL, &[("if-none-match", "*")], "one").await.expect(201);
    let etag = first.header("etag").to_owned();
    assert_eq!(farm.send("PUT", URL, &[("if-none-match", "*")], "two").await.expect(412).code(), "precondition_failed");
    farm.send("PUT", URL, &[("if-match", "\"other\"")], "two").await.expect(412);
    farm.send("PUT", URL, &[("if-match", "rubbish")], "two").await.expect(400);
    farm.send("DELETE", URL, &[("if-match", "\"other\"")], "").await.expect(412);
    farm.send("PUT", URL, &[("if-unmodified-since", "Sun, 06 Nov 1994 08:49:37 GMT")], "two").await.expect(412);
    assert_eq!(farm.get(URL).await.body, "one");
    farm.send("GET", URL, &[("if-none-match", &etag)], "").await.expect(304);
    farm.send("PUT", URL, &[("if-match", &etag)], "two").await.expect(200);
    farm.send("PUT", URL, &[("if-match", &etag)], "three").await.expect(412);
    let nothing = farm.send("PUT", "/api/v1/content/Documents/new.txt", &[("if-match", "*")], "x").await.expect(412);
    assert!(nothing.json()["detail"].as_str().unwrap().starts_with("there is no document here"), "{:?}", nothing.body);
    assert_eq!(farm.get(URL).await.body, "two");
}

#[tokio::test]
async fn a_body_of_another_length_or_one_that_is_cut_stores_nothing() {
    let farm = Farm::new().await;
    for length in ["2", "4", "100000", "9999999"] {
        let reply = farm.send("PUT", URL, &[("content-length", length)], Bytes::from_static(b"one")).await;
        assert_eq!(reply.expect(400).code(), "length_mismatch", "{length}");
    }
    for size in [10, 200_000, 3_000_000] {
        let cut = stream::iter([Ok(bytes(size)), Err(std::io::Error::other("cut"))]);
        let reply = farm.send("PUT", URL, &[], Body::from_stream(cut)).await;
        assert_eq!(reply.expect(400).code(), "incomplete_body");
    }
    // SHA-256 of "hello\n", sent with a different body.
    let promised = [("content-digest", "sha-256=:WJG1tSLV3whtD/CxEPvZ0hu0/HFjrzTQgoai6Eb2vgM=:")];
    let reply = farm.send("PUT", URL, &promised, "hello").await.expect(400);
    assert_eq!(reply.code(), "digest_mismatch");
    farm.get(URL).await.expect(404);
    farm.get("/api/v1/content/Documents/Offers").await.expect(404);
    farm.send("PUT", "/api/v1/content/Documents/hello.txt", &promised, "hello\n").await.expect(201);
    let chunked = Body::from_stream(stream::iter((0..10).map(|_| Ok::<_, std::io::Error>(bytes(30_000)))));
    farm.send("PUT", URL, &[], chunked).await.expect(201);
    assert_eq!(farm.get(URL).await.body.len(), 300_000);
}

#[tokio::test]
async fn a_key_stores_once() {
    let farm = Farm::new().await;
    let fields = [("idempotency-key", "k1"), ("if-none-match", "*")];
    let first = farm.send("PUT", URL, &fields, "one").await.expect(201);
    let again = farm.send("PUT", URL, &fields, "one").await.expect(201);
    assert_eq!(first.body, again.body);
    let other = farm.send("PUT", URL, &[("idempotency-key", "k1")], "two").await.expect(400);
    assert_eq!(other.code(), "idempotency_key_reused");
    farm.send("PUT", URL, &[("idempotency-key", "k2")], "two").await.expect(200);
    farm.send("PUT", URL, &[("idempotency-key", "k2")], "two").await.expect(200);
    let reply = farm.get(URL).await;
    assert_eq!((reply.header("x-version"), reply.text().as_str()), ("2.0", "two"));
    farm.send("PUT", URL, &[("idempotency-key", "")], "two").await.expect(400);
}

#[tokio::test]
async fn wishes_of_the_client_are_kept_and_others_are_named() {
    let farm = Farm::new().await;
    let url = format!("{URL}?comment=First%20draft&on_conflict=fail");
    farm.send("PUT", &url, &[("x-modified-at", "2020-01-02T03:04:05Z")], "one").await.expect(201);
    assert_eq!(farm.send("PUT", &url, &[], "two").await.expect(409).code(), "name_taken");
    let both = farm.send("PUT", &format!("{URL}?on_conflict=keep-both"), &[], "two").await.expect(201);
    assert_eq!(both.json()["name"], "Plan ü (2).txt");
    for (query, fields) in [
        ("?coment=x", &[][..]),
        ("?on_conflict=never", &[]),
        ("", &[("x-modified-at", "yesterday")]),
        ("", &[("content-range", "bytes 0-1/2")]),
        ("?comment=%ff", &[]),
    ] {
        farm.send("PUT", &format!("{URL}{query}"), fields, "x").await.expect(400);
    }
    let named = farm.send("GET", &format!("{URL}?versoin=1.0"), &[], "").await.expect(400);
    assert!(named.text().contains("versoin"), "{}", named.text());
    farm.send("PUT", URL, &[("content-encoding", "gzip")], "x").await.expect(415);
    farm.get(&format!("{URL}?version=7.0")).await.expect(404);
    farm.get(&format!("{URL}?version=seven")).await.expect(400);
}

#[tokio::test]
async fn paths_that_trick_get_a_4xx_and_change_nothing() {
    let farm = Farm::new().await;
    let long = format!("Documents/{}", "n".repeat(5_000));
    let deep = format!("Documents{}", "/a".repeat(200));
    for path in [
        "Documents/..",
        "Documents/../x",
        "Documents/%2e%2e/x",
        "Documents/%2E./x",
        "Documents/a%2fb",
        "Documents/a%5cb",
        "Documents/a%00b",
        "Documents/a%0ab",
        "Documents/%ff%fe",
        "Documents/%c0%ae%c0%ae/x",
        "Documents/a%",
        "Documents/a%zz",
        "Documents/trailing.",
        "Documents/trailing%20",
        "Documents/%20leading",
        "",
        "Documents",
        "NoSuchLibrary/x",
        "x.txt",
        &long,
        &deep,
    ] {
        let reply = farm.put(path, "x").await;
        assert!(reply.status.is_client_error(), "PUT {path}: {} {}", reply.status, reply.text());
        let reply = farm.get(&format!("/api/v1/content/{path}")).await;
        assert!(reply.status.is_client_error(), "GET {path}: {} {}", reply.status, reply.text());
        let reply = farm.send("DELETE", &format!("/api/v1/content/{path}"), &[], "").await;
        assert!(reply.status.is_client_error(), "DELETE {path}: {} {}", reply.status, reply.text());
    }
    let twice = farm.put("Documents/%252e%252e", "x").await.expect(201);
    assert_eq!(twice.json()["name"], "%2e%2e", "decoded exactly once");
}

#[tokio::test]
async fn nobody_gets_in_without_a_credential() {
    let farm = Farm::new().await;
    farm.put("Documents/a.txt", "x").await.expect(201);
    for method in ["GET", "HEAD", "PUT", "DELETE"] {
        let url = "/api/v1/content/Documents/a.txt";
        let reply = farm.send_as("", method, url, &[], "y").await.expect(401);
        assert!(reply.header("www-authenticate").starts_with("Basic"));
        farm.send_as("", method, url, &[("authorization", "Bearer srt_rubbish")], "y").await.expect(401);
    }
    assert_eq!(farm.get("/api/v1/content/Documents/a.txt").await.text(), "x");
}
