//! Locks, and that every protocol respects them.

use serde_json::json;

use super::{EXCLUSIVE, dav, lock, place};
use crate::tests::Farm;

/// Starts a farm with a document and two users who may change it.
async fn two_people() -> Farm {
    let farm = Farm::new().await;
    let root = farm.id("").await;
    for login in ["anna", "bert"] {
        let id = farm.account(login).await;
        let body = json!({"principal": id, "role": model::Role::CONTRIBUTE.to_string()});
        farm.json("POST", &format!("/api/v1/items/{root}/permissions/grants"), body).await.expect(204);
    }
    farm.put("Documents/a.txt", "one").await.expect(201);
    farm
}

#[tokio::test]
async fn rest_and_check_outs_honour_locks() {
    let farm = two_people().await;
    let token = lock(&farm, "anna", "a.txt", 200).await;
    let id = farm.id("Documents/a.txt").await;
    let url = format!("/api/v1/items/{id}");
    for (method, path, body) in [
        ("PUT", "/api/v1/content/Documents/a.txt".to_owned(), "new".to_owned()),
        ("DELETE", "/api/v1/content/Documents/a.txt".to_owned(), String::new()),
        ("PUT", format!("{url}/content"), "new".to_owned()),
        ("PUT", format!("{url}/check-out"), String::new()),
        ("POST", format!("{url}/versions/1.0/restore"), String::new()),
    ] {
        for login in ["anna", "bert", "admin"] {
            let reply = farm.send_as(login, method, &path, &[], body.clone()).await.expect(423);
            assert!(reply.text().contains("open for editing by anna"), "{method} {path} by {login}: {}", reply.text());
        }
    }
    let rename = farm.json("PATCH", &url, json!({"name": "b.txt"})).await.expect(423);
    assert_eq!(rename.code(), "item_locked");
    // The token is of no use to another user.
    let shown = format!("(<{token}>)");
    let put = |login: &'static str| {
        let (farm, shown) = (&farm, shown.clone());
        async move { farm.send_as(login, "PUT", "/dav/Documents/a.txt", &[("if", &shown)], "new").await }
    };
    put("bert").await.expect(423);
    put("anna").await.expect(204);
    // Reads ignore locks.
    farm.send_as("bert", "GET", "/dav/Documents/a.txt", &[], "").await.expect(200);
}

#[tokio::test]
async fn the_token_of_a_lock_is_shown_to_those_who_may_end_it() {
    let farm = two_people().await;
    let token = lock(&farm, "anna", "a.txt", 200).await;
    let asked = "<D:propfind xmlns:D='DAV:'><D:prop><D:lockdiscovery/></D:prop></D:propfind>";
    for (login, shown) in [("anna", true), ("bert", false), ("admin", true)] {
        for (path, depth) in [("a.txt", "0"), ("", "1")] {
            let url = format!("/dav/Documents/{path}");
            let found = farm.send_as(login, "PROPFIND", &url, &[("depth", depth)], asked).await.expect(207).text();
            assert!(found.contains("activelock"), "{login}: {found}");
            assert_eq!(found.contains(&token), shown, "{login}: {found}");
        }
    }
}

#[tokio::test]
async fn a_check_out_keeps_locks_away() {
    let farm = two_people().await;
    let id = farm.id("Documents/a.txt").await;
    farm.send_as("bert", "PUT", &format!("/api/v1/items/{id}/check-out"), &[], "").await.expect(204);
    let reply = farm.send_as("anna", "LOCK", "/dav/Documents/a.txt", &[], EXCLUSIVE).await.expect(423);
    assert!(reply.text().contains("checked out by bert"), "{}", reply.text());
    lock(&farm, "bert", "a.txt", 200).await;
}

#[tokio::test]
async fn deep_locks_cover_what_is_below_and_shallow_ones_what_a_folder_holds() {
    let farm = two_people().await;
    farm.put("Documents/deep/in/a.txt", "one").await.expect(201);
    let token = lock(&farm, "anna", "deep", 200).await;
    let as_bert = async |method: &str, path: &str, fields: &[(&str, &str)]| {
        farm.send_as("bert", method, &format!("/dav/Documents/{path}"), fields, "").await.status.as_u16()
    };
    assert_eq!(as_bert("PUT", "deep/in/a.txt", &[]).await, 423);
    assert_eq!(as_bert("PUT", "deep/in/new.txt", &[]).await, 423);
    assert_eq!(as_bert("MKCOL", "deep/new", &[]).await, 423);
    assert_eq!(as_bert("MOVE", "a.txt", &[("destination", "/dav/Documents/deep/a.txt")]).await, 423);
    assert_eq!(as_bert("LOCK", "deep/in/a.txt", &[]).await, 400, "a refresh names a token");
    let inner = farm.send_as("bert", "LOCK", "/dav/Documents/deep/in/a.txt", &[], EXCLUSIVE).await;
    assert_eq!(inner.status, 423);
    let listed = dav(&farm, "PROPFIND", "deep/in/", &[("depth", "1")], "").await.expect(207).text();
    assert_eq!(listed.matches(&token).count(), 2, "{listed}");
    dav(&farm, "UNLOCK", "deep/in/a.txt", &[("lock-token", &format!("<{token}>"))], "").await.expect(204);
    let reply = farm.send_as("anna", "LOCK", "/dav/Documents/deep", &[("depth", "0")], EXCLUSIVE).await.expect(200);
    assert!(reply.text().contains("<D:depth>0</D:depth>"));
    assert_eq!(as_bert("PUT", "deep/new.txt", &[]).await, 423);
    assert_eq!(as_bert("PUT", "deep/in/a.txt", &[]).await, 204);
}

#[tokio::test]
async fn listings_say_who_has_what_open() {
    let farm = two_people().await;
    for path in ["b.txt", "deep/in/c.txt"] {
        farm.put(&format!("Documents/{path}"), "one").await.expect(201);
    }
    let open_in = async |path: &str| {
        let listed = farm.get(&format!("/api/v1/items/by-path/children?path={path}")).await.expect(200).json();
        let items = listed["items"].as_array().unwrap().iter();
        items.map(|item| item["locked_by"]["name"].as_str().unwrap_or("nobody").to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(open_in("Documents").await, ["nobody", "nobody", "nobody"], "deep, a.txt, b.txt");
    lock(&farm, "bert", "b.txt", 200).await;
    lock(&farm, "anna", "deep", 200).await;
    assert_eq!(open_in("Documents").await, ["anna", "nobody", "bert"], "deep, a.txt, b.txt");
    assert_eq!(open_in("Documents/deep/in").await, ["anna"], "the lock reaches down to c.txt");
}

#[tokio::test]
async fn a_lock_lasts_a_while_and_ends_with_its_item() {
    let farm = two_people().await;
    let short = farm.send("LOCK", "/dav/Documents/a.txt", &[("timeout", "Second-0")], EXCLUSIVE).await.expect(200);
    assert!(["Second-30", "Second-29"].iter().any(|left| short.text().contains(left)), "{}", short.text());
    farm.send_as("bert", "PUT", "/dav/Documents/a.txt", &[], "x").await.expect(423);
    dav(&farm, "UNLOCK", "a.txt", &[("lock-token", short.header("lock-token"))], "").await.expect(204);
    let token = lock(&farm, "admin", "a.txt", 200).await;
    let shown = format!("(<{token}>)");
    place(&farm, "MOVE", "a.txt", "b.txt", &[("if", &shown)]).await.expect(201);
    farm.send_as("bert", "PUT", "/dav/Documents/b.txt", &[], "x").await.expect(204);
    let gone = dav(&farm, "UNLOCK", "b.txt", &[("lock-token", &format!("<{token}>"))], "").await.expect(409);
    assert!(gone.text().contains("lock-token-matches-request-uri"), "{}", gone.text());
}

#[tokio::test]
async fn a_refresh_gives_more_time_and_the_field_if_is_judged() {
    let farm = two_people().await;
    let token = lock(&farm, "admin", "a.txt", 200).await;
    let shown = format!("(<{token}>)");
    let more = dav(&farm, "LOCK", "a.txt", &[("if", &shown), ("timeout", "Second-7200")], "").await.expect(200).text();
    assert!(more.contains("Second-7199") || more.contains("Second-7200"), "{more}");
    dav(&farm, "LOCK", "a.txt", &[("if", "(<urn:uuid:none>)")], "").await.expect(412);
    let etag = dav(&farm, "HEAD", "a.txt", &[], "").await.header("etag").to_owned();
    dav(&farm, "PUT", "a.txt", &[("if", &format!("(<{token}> [\"wrong\"])"))], "x").await.expect(412);
    dav(&farm, "PUT", "a.txt", &[("if", &format!("(<{token}> [{etag}])"))], "x").await.expect(204);
    dav(&farm, "PUT", "a.txt", &[("if", "rubbish")], "x").await.expect(400);
}
