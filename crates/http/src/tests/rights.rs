//! Side effects of refused requests, and information that responses could leak.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use model::{Id, Right};
use repository::Session;
use serde_json::json;

use super::*;

async fn admin(farm: &Farm) -> Session {
    farm.repository.as_caller(farm.repository.farm_administrator().await.unwrap())
}

/// Gives an item unique permissions for the administrator only.
async fn hide(farm: &Farm, path: &str) {
    let id: Id = farm.id(path).await.parse().unwrap();
    admin(farm).await.break_inheritance(&id.into(), false).await.unwrap();
}

/// Creates an account with exactly these rights on an item, which then has unique permissions.
pub async fn person(farm: &Farm, login: &str, path: &str, rights: &[Right]) {
    let id: Id = farm.id(path).await.parse().unwrap();
    let account: Id = farm.account(login).await.parse().unwrap();
    let role = admin(farm).await.create_role(login, rights.iter().copied().collect()).await.unwrap().id;
    let admin = admin(farm).await;
    if !admin.item(&id.into()).await.unwrap().own_permissions {
        admin.break_inheritance(&id.into(), true).await.unwrap();
    }
    admin.grant(&id.into(), account, role).await.unwrap();
}

/// Returns the body of a response without the part that differs between requests.
fn told(reply: &Reply) -> String {
    match serde_json::from_slice::<Value>(&reply.body) {
        Ok(Value::Object(mut problem)) => {
            problem.remove("instance");
            Value::Object(problem).to_string()
        }
        _ => reply.text(),
    }
}

#[tokio::test]
async fn a_site_collection_is_changed_whole_or_not_at_all() {
    let farm = Farm::new().await;
    farm.put("Documents/f/a.txt", "a").await.expect(201);
    let (site, folder) = (farm.id("").await, farm.id("Documents/f").await);
    let at = |id: &str| format!("/api/v1/site-collections/{id}");
    let before = farm.get(&at(&site)).await.expect(200).text();
    let bad = json!({"quota_bytes": 1_000_000, "audit_reads": true, "title": ""});
    farm.json("PATCH", &at(&site), bad).await.expect(400);
    assert_eq!(farm.get(&at(&site)).await.text(), before);
    // An item that is not a site collection is treated as absent by every operation on site collections.
    for body in [
        json!({"title": "Mine"}),
        json!({"accent": "blue"}),
        json!({"quota_bytes": 1}),
        json!({"audit_reads": true}),
        json!({}),
    ] {
        let (absent, other) = (
            farm.json("PATCH", &at("42"), body.clone()).await.expect(404),
            farm.json("PATCH", &at(&folder), body).await.expect(404),
        );
        assert_eq!(told(&other), told(&absent));
    }
    let rule = json!({"most_days": 9});
    farm.json("PUT", &format!("{}/link-rule", at(&folder)), rule).await.expect(404);
    assert!(farm.get(&format!("{}/link-rule", at(&site))).await.json()["most_days"].is_null());
    assert_eq!(farm.get(&at(&site)).await.text(), before);
    let good = json!({"quota_bytes": 1_000_000, "audit_reads": true, "title": "Archive", "accent": "blue"});
    let after = farm.json("PATCH", &at(&site), good).await.expect(200).json();
    assert_eq!(
        (&after["title"], &after["quota_bytes"], &after["audit_reads"]),
        (&json!("Archive"), &json!(1_000_000), &json!(true))
    );
}

#[tokio::test]
async fn a_hidden_name_and_a_free_one_have_the_same_answer() {
    let farm = Farm::new().await;
    farm.put("Documents/f/HR/x.txt", "x").await.expect(201);
    hide(&farm, "Documents/f/HR").await;
    person(&farm, "reader", "Documents/f", &[Right::View]).await;
    for verb in ["PUT", "MKCOL", "LOCK"] {
        let ask = |name: &str| {
            let path = if verb == "PUT" {
                format!("/api/v1/content/Documents/f/{name}")
            } else {
                format!("/dav/Documents/f/{name}")
            };
            let (farm, body) = (
                &farm,
                if verb == "LOCK" {
                    "<D:lockinfo xmlns:D='DAV:'><D:lockscope><D:exclusive/></D:lockscope>\
                     <D:locktype><D:write/></D:locktype></D:lockinfo>"
                } else if verb == "PUT" {
                    "new"
                } else {
                    ""
                },
            );
            async move { farm.send_as("reader", verb, &path, &[], body).await }
        };
        let (hidden, free) = (ask("hr").await, ask("no").await);
        let fields = |reply: &Reply| {
            let mut names: Vec<String> = reply
                .headers
                .iter()
                .map(|(name, value)| format!("{name}: {}", value.to_str().unwrap()))
                .filter(|line| !line.starts_with("date") && !line.contains("request-id"))
                .collect();
            names.sort();
            names
        };
        assert_eq!((hidden.status, told(&hidden)), (free.status, told(&free).replace("/no", "/hr")), "{verb}");
        assert_eq!(fields(&hidden), fields(&free), "{verb}");
    }
}

#[tokio::test]
async fn cursors_tell_nothing_of_what_is_hidden() {
    let farm = Farm::new().await;
    for name in ["a.txt", "canary-1.txt", "canary-2.txt", "m.txt", "z.txt"] {
        farm.put(&format!("Documents/f/{name}"), "x".repeat(name.len())).await.expect(201);
    }
    farm.put("Documents/f/canary-folder/x.txt", "x").await.expect(201);
    for name in ["canary-1.txt", "canary-2.txt", "canary-folder"] {
        hide(&farm, &format!("Documents/f/{name}")).await;
    }
    person(&farm, "reader", "Documents/f", &[Right::View, Right::ViewVersions]).await;
    let folder = farm.id("Documents/f").await;
    for sort in ["name", "size", "modified", "person", "type"] {
        for order in ["ascending", "descending"] {
            let (mut cursor, mut found, mut lengths) = (String::new(), Vec::new(), std::collections::BTreeSet::new());
            loop {
                let path = format!("/api/v1/items/{folder}/children?limit=1&sort={sort}&order={order}{cursor}");
                let page = farm.send_as("reader", "GET", &path, &[], "").await.expect(200).json();
                found.extend(
                    page["items"].as_array().unwrap().iter().map(|item| item["name"].as_str().unwrap().to_owned()),
                );
                let Some(next) = page["next"].as_str() else { break };
                let plain = URL_SAFE_NO_PAD.decode(next).unwrap();
                lengths.insert(plain.len());
                let text = String::from_utf8_lossy(&plain).into_owned();
                assert!(!text.contains("canary"), "{text}");
                assert!(!text.contains(".txt"), "{text}");
                cursor = format!("&cursor={next}");
            }
            found.sort();
            assert_eq!(found, ["a.txt", "m.txt", "z.txt"], "{sort} {order}");
            assert_eq!(lengths.len(), 1, "the length tells nothing either");
        }
    }
    let forged = URL_SAFE_NO_PAD.encode("1\u{1f}n\u{1f}canary-1.txt\u{1f}");
    let path = format!("/api/v1/items/{folder}/children?cursor={forged}");
    assert_eq!(farm.get(&path).await.expect(400).code(), "invalid_cursor");
    // A cursor remains valid on another server of the farm, and after a restart.
    let path = format!("/api/v1/items/{folder}/children?limit=2");
    let next = farm.get(&path).await.json()["next"].as_str().unwrap().to_owned();
    let farm = farm.again().await;
    farm.get(&format!("{path}&cursor={next}")).await.expect(200);
}

#[tokio::test]
async fn pages_of_versions_end_with_one_that_the_reader_sees() {
    let farm = Farm::new().await;
    let site = farm.id("").await;
    let body = json!({"name": "Drafts", "settings": {"versioning": "major-minor"}});
    farm.json("POST", &format!("/api/v1/items/{site}/libraries"), body).await.expect(201);
    for publish in [true, true, false, false, false] {
        let query = if publish { "?publish=true" } else { "" };
        let status = farm.put(&format!("Drafts/a.txt{query}"), "x").await.status;
        assert!(status.is_success());
    }
    person(&farm, "reader", "Drafts", &[Right::View, Right::ViewVersions]).await;
    let id = farm.id("Drafts/a.txt").await;
    let path = format!("/api/v1/items/{id}/versions?limit=1");
    let first = farm.send_as("reader", "GET", &path, &[], "").await.expect(200).json();
    assert_eq!(first["items"][0]["number"], "2.0", "{first}");
    let next = first["next"].as_str().unwrap();
    let last = farm.send_as("reader", "GET", &format!("{path}&cursor={next}"), &[], "").await.expect(200).json();
    assert_eq!((&last["items"][0]["number"], last["next"].is_null()), (&json!("1.0"), true), "{last}");
}
