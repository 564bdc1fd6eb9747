//! Compares whole answers with the files in `snapshots/`. A word in brackets replaces what differs from run to run.
//! `INSTA_UPDATE=always` writes the files anew; their difference is then what clients will notice.

use serde_json::json;

use super::{Farm, Reply};

/// Header fields that are the same in every answer, which other tests cover, or differ in each.
const LEFT_OUT: [&str; 10] = [
    "x-request-id",
    "content-length",
    "x-content-type-options",
    "x-frame-options",
    "referrer-policy",
    "cross-origin-opener-policy",
    "cross-origin-resource-policy",
    "permissions-policy",
    "strict-transport-security",
    "content-security-policy",
];

/// The status, the header fields and the body of an answer.
fn shown(reply: &Reply) -> String {
    let mut text = format!("{}\n", reply.status);
    for (name, value) in &reply.headers {
        if !LEFT_OUT.contains(&name.as_str()) {
            text.push_str(&format!("{name}: {}\n", String::from_utf8_lossy(value.as_bytes())));
        }
    }
    let body = match reply.header("content-type") {
        kind if kind.contains("json") => format!("{:#}", reply.json()),
        kind if kind.contains("xml") => reply.text().replace("><", ">\n<"),
        _ => reply.text(),
    };
    format!("{text}\n{body}\n")
}

/// Compares an answer with its snapshot.
fn assert_answer(name: &str, reply: &Reply) {
    let mut settings = insta::Settings::clone_current();
    settings.set_omit_expression(true);
    settings.set_prepend_module_to_snapshot(false);
    for (varying, word) in [
        (r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", "[id]"),
        (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", "[time]"),
        (r"[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT", "[time]"),
        (r#""instance": "\w+""#, r#""instance": "[request]""#),
        (r"\b\d{17,20}\b", "[id]"),
        (r"Second-(599|600)", "Second-[timeout]"),
        (r"\b[0-9a-f]{12,16}\b", "[etag]"),
    ] {
        settings.add_filter(varying, word);
    }
    settings.bind(|| insta::assert_snapshot!(name, shown(reply)));
}

#[tokio::test]
async fn an_item_is_described_as_before() {
    let farm = Farm::new().await;
    let uploaded = farm.put("Documents/Plans/Budget%202026.txt", "first").await.expect(201);
    assert_answer("upload", &uploaded);
    assert_answer("item", &farm.get("/api/v1/items/by-path?path=Documents/Plans/Budget%202026.txt").await);
    assert_answer("library", &farm.get("/api/v1/items/by-path?path=Documents").await);
    assert_answer("children", &farm.get("/api/v1/items/by-path/children?path=Documents/Plans").await);
    let id = uploaded.json()["id"].as_str().unwrap().to_owned();
    assert_answer("versions", &farm.get(&format!("/api/v1/items/{id}/versions")).await);
    assert_answer("ancestors", &farm.get(&format!("/api/v1/items/{id}/ancestors")).await);
    assert_answer("download", &farm.get("/api/v1/content/Documents/Plans/Budget%202026.txt").await);
}

#[tokio::test]
async fn a_refusal_says_the_same_as_before() {
    let farm = Farm::new().await;
    farm.account("guest").await;
    let library = farm.id("Documents").await;
    let folders = format!("/api/v1/items/{library}/folders");
    assert_answer("not_found", &farm.get("/api/v1/items/by-path?path=Nowhere").await);
    assert_answer("not_signed_in", &farm.send_as("", "GET", &folders, &[], "").await);
    assert_answer("hidden", &farm.send_as("guest", "GET", &format!("/api/v1/items/{library}"), &[], "").await);
    assert_answer("missing_field", &farm.json("POST", &folders, json!({})).await);
    assert_answer("unknown_field", &farm.json("POST", &folders, json!({"name": "a", "colour": "red"})).await);
    assert_answer("bad_name", &farm.json("POST", &folders, json!({"name": "a/b"})).await);
    farm.json("POST", &folders, json!({"name": "Plans"})).await.expect(201);
    assert_answer("name_taken", &farm.json("POST", &folders, json!({"name": "plans"})).await);
    let stale = farm.send("PUT", "/api/v1/content/Documents/new.txt", &[("if-match", "\"old\"")], "x").await;
    assert_answer("precondition", &stale);
}

#[tokio::test]
async fn webdav_clients_read_the_same_properties_as_before() {
    let farm = Farm::new().await;
    farm.put("Documents/a%20&%20b.txt", "one").await.expect(201);
    assert_answer("propfind", &farm.send("PROPFIND", "/dav/Documents", &[("depth", "1")], "").await);
    let lock = "<D:lockinfo xmlns:D='DAV:'><D:lockscope><D:exclusive/></D:lockscope>\
                <D:locktype><D:write/></D:locktype><D:owner>Ada</D:owner></D:lockinfo>";
    let path = "/dav/Documents/a%20&%20b.txt";
    assert_answer("lock", &farm.send("LOCK", path, &[("timeout", "Second-600")], lock).await.expect(200));
    farm.account("guest").await;
    let locked = farm.send("PUT", path, &[], "two").await.expect(423);
    assert_answer("locked", &locked);
    assert_answer("missing", &farm.send("PROPFIND", "/dav/Documents/none", &[("depth", "0")], "").await);
}
