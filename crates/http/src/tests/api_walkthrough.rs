//! A walk through the REST interface, as a client program uses it.

use serde_json::{Value, json};

use super::{Farm, PASSWORD};

async fn root(farm: &Farm) -> String {
    farm.id("").await
}

#[tokio::test]
async fn libraries_folders_and_sites_are_made_once_for_each_key() {
    let farm = Farm::new().await;
    let root = root(&farm).await;
    for (what, body) in [
        ("sites", json!({"name": "Sales"})),
        ("libraries", json!({"name": "Drafts", "settings": {"versioning": "major-minor"}})),
    ] {
        let url = format!("/api/v1/items/{root}/{what}");
        let fields = [("content-type", "application/json"), ("idempotency-key", what)];
        let first = farm.send("POST", &url, &fields, body.to_string()).await.expect(201);
        let again = farm.send("POST", &url, &fields, body.to_string()).await.expect(201);
        assert_eq!(first.json()["id"], again.json()["id"], "{what}");
        assert_eq!(farm.json("POST", &url, body).await.expect(409).code(), "name_taken");
        let other = farm.send("POST", &url, &fields, json!({"name": "Other"}).to_string()).await;
        assert_eq!(other.expect(400).code(), "idempotency_key_reused");
    }
    let library = farm.id("Drafts").await;
    let folder =
        farm.json("POST", &format!("/api/v1/items/{library}/folders"), json!({"name": "In"})).await.expect(201);
    assert_eq!(folder.json()["path"], "Drafts/In");
    let settings = farm.get(&format!("/api/v1/items/{library}/settings")).await.expect(200).json();
    assert_eq!(settings["versioning"], "major-minor");
    let changed =
        farm.json("PATCH", &format!("/api/v1/items/{library}/settings"), json!({"major_limit": 3})).await.expect(200);
    assert_eq!(
        (changed.json()["versioning"].clone(), changed.json()["major_limit"].clone()),
        (json!("major-minor"), json!(3))
    );
    let way = farm.get(&format!("/api/v1/items/{}/ancestors", folder.json()["id"].as_str().unwrap())).await.json();
    assert_eq!(way["items"].as_array().unwrap().len(), 3);
}

#[tokio::test]
async fn pages_hold_everything_once_in_both_orders() {
    let farm = Farm::new().await;
    let library = farm.id("Documents").await;
    farm.json("POST", &format!("/api/v1/items/{library}/folders"), json!({"name": "Folder"})).await.expect(201);
    for i in 0..7 {
        farm.put(&format!("Documents/{i}.txt"), format!("{i}")).await.expect(201);
    }
    for sort in ["sort=name", "sort=name&order=descending", "sort=modified", "sort=modified&order=descending"] {
        let mut names = Vec::new();
        let mut cursor = String::new();
        loop {
            let url = format!("/api/v1/items/by-path/children?path=Documents&limit=3&{sort}{cursor}");
            let page = farm.get(&url).await.expect(200).json();
            assert!(page["items"].as_array().unwrap().len() <= 3);
            names
                .extend(page["items"].as_array().unwrap().iter().map(|item| item["name"].as_str().unwrap().to_owned()));
            match page["next"].as_str() {
                Some(next) => cursor = format!("&cursor={next}"),
                None => break,
            }
        }
        assert_eq!(names.len(), 8, "{sort}: {names:?}");
        names.sort();
        names.dedup();
        assert_eq!(names.len(), 8, "{sort}: {names:?}");
    }
    let by_name = farm.get(&format!("/api/v1/items/{library}/children?limit=3")).await.json();
    let cursor = by_name["next"].as_str().unwrap().to_owned();
    for bad in [
        "cursor=rubbish".to_owned(),
        format!("sort=modified&cursor={cursor}"),
        "limit=0".into(),
        "limit=1001".into(),
        "sort=colour".into(),
        "order=up".into(),
        "page=2".into(),
        format!("cursor={}", "A".repeat(5_000)),
    ] {
        farm.get(&format!("/api/v1/items/{library}/children?{bad}")).await.expect(400);
    }
}

#[tokio::test]
async fn versions_are_listed_restored_published_and_deleted() {
    let farm = Farm::new().await;
    let root = root(&farm).await;
    let body = json!({"name": "Drafts", "settings": {"versioning": "major-minor"}});
    farm.json("POST", &format!("/api/v1/items/{root}/libraries"), body).await.expect(201);
    for text in ["one", "two", "three"] {
        farm.put("Drafts/a.txt", text).await;
    }
    let id = farm.id("Drafts/a.txt").await;
    let url = |tail: &str| format!("/api/v1/items/{id}/{tail}");
    let numbers = |list: Value| -> Vec<String> {
        list["items"].as_array().unwrap().iter().map(|v| v["number"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(numbers(farm.get(&url("versions")).await.expect(200).json()), ["0.3", "0.2", "0.1"]);
    let page = farm.get(&url("versions?limit=2")).await.json();
    let rest = farm.get(&url(&format!("versions?limit=2&cursor={}", page["next"].as_str().unwrap()))).await.json();
    assert_eq!(numbers(rest), ["0.1"]);
    let published = farm.json("POST", &url("publish"), json!({"comment": "ready"})).await.expect(200);
    assert_eq!(published.json()["version"], "1.0");
    assert_eq!(farm.json("POST", &url("publish"), json!({})).await.expect(409).code(), "no_draft");
    let restored = farm.json("POST", &url("versions/0.1/restore"), json!({})).await.expect(200);
    assert_eq!(restored.json()["version"], "1.1");
    assert_eq!(farm.get(&url("content")).await.text(), "one");
    assert_eq!(farm.get(&url("versions/0.2/content")).await.text(), "two");
    farm.send("DELETE", &url("versions/0.2"), &[], "").await.expect(204);
    farm.get(&url("versions/0.2/content")).await.expect(404);
    assert_eq!(farm.send("DELETE", &url("versions/1.1"), &[], "").await.expect(409).code(), "version_in_use");
    farm.send("DELETE", &url("versions/x"), &[], "").await.expect(400);
}

#[tokio::test]
async fn a_check_out_keeps_others_out_and_names_the_holder() {
    let farm = Farm::new().await;
    let ben = farm.account("ben").await;
    let root = root(&farm).await;
    let grant = json!({"principal": ben, "role": "3"});
    farm.json("POST", &format!("/api/v1/items/{root}/permissions/grants"), grant).await.expect(204);
    farm.put("Documents/a.txt", "one").await.expect(201);
    let id = farm.id("Documents/a.txt").await;
    let url = |tail: &str| format!("/api/v1/items/{id}/{tail}");
    farm.send_as("ben", "PUT", &url("check-out"), &[], "").await.expect(204);
    let refused = farm.put("Documents/a.txt", "two").await.expect(423);
    assert_eq!(refused.code(), "checked_out");
    assert!(refused.text().contains("ben"), "{}", refused.text());
    farm.send_as("ben", "PUT", &url("content"), &[], "mine").await.expect(200);
    assert_eq!(farm.get(&url("content")).await.text(), "one");
    assert_eq!(farm.send_as("ben", "GET", &url("content"), &[], "").await.text(), "mine");
    let fields = [("content-type", "application/json")];
    farm.send_as("ben", "POST", &url("check-in"), &fields, json!({"comment": "done"}).to_string()).await.expect(200);
    assert_eq!(farm.get(&url("content")).await.text(), "mine");
    farm.send("PUT", &url("check-out"), &[], "").await.expect(204);
    assert_eq!(
        farm.item("Documents/a.txt").await["check_out"]["by"]["name"].as_str().unwrap().to_lowercase(),
        "administrator"
    );
    farm.send("DELETE", &url("check-out"), &[], "").await.expect(204);
    assert_eq!(farm.send("DELETE", &url("check-out"), &[], "").await.expect(409).code(), "not_checked_out");
}

#[tokio::test]
async fn items_move_copy_and_are_deleted_and_restored_one_by_one_and_in_bulk() {
    let farm = Farm::new().await;
    for name in ["a", "b", "c"] {
        farm.put(&format!("Documents/In/{name}.txt"), name).await.expect(201);
    }
    farm.put("Documents/Out/x.txt", "x").await.expect(201);
    let (a, b, c) =
        (farm.id("Documents/In/a.txt").await, farm.id("Documents/In/b.txt").await, farm.id("Documents/In/c.txt").await);
    let out = farm.id("Documents/Out").await;
    let moved =
        farm.json("POST", &format!("/api/v1/items/{a}/move"), json!({"to": out, "name": "A.txt"})).await.expect(200);
    assert_eq!(moved.json()["path"], "Documents/Out/A.txt");
    let copy = farm.json("POST", &format!("/api/v1/items/{b}/copy"), json!({"to": out})).await.expect(201);
    assert_ne!(copy.json()["id"], b);
    let renamed = farm.json("PATCH", &format!("/api/v1/items/{c}"), json!({"name": "C.txt"})).await.expect(200);
    assert_eq!(renamed.json()["name"], "C.txt");
    let bulk =
        farm.json("POST", "/api/v1/bulk/move", json!({"ids": [b, c, "999"], "to": out})).await.expect(207).json();
    let statuses: Vec<u64> = bulk["items"].as_array().unwrap().iter().map(|o| o["status"].as_u64().unwrap()).collect();
    assert_eq!(statuses, [409, 200, 404], "{bulk}");
    let copied = farm.json("POST", "/api/v1/bulk/copy", json!({"ids": [c], "to": out})).await.expect(207);
    assert_eq!(copied.json()["items"][0]["status"], 200);
    let deleted = farm.json("POST", "/api/v1/bulk/delete", json!({"ids": [c, "999"]})).await.expect(207).json();
    assert_eq!(
        (deleted["items"][0]["status"].clone(), deleted["items"][1]["code"].clone()),
        (json!(200), json!("not_found"))
    );
    let collection = farm.item("").await["site_collection"].as_str().unwrap().to_owned();
    let bin = format!("/api/v1/site-collections/{collection}/recycle-bin");
    let entry = farm.get(&bin).await.expect(200).json()["items"][0]["id"].as_str().unwrap().to_owned();
    let restored = farm.send("POST", &format!("{bin}/{entry}/restore"), &[], "").await.expect(200);
    assert_eq!(restored.json()["path"], "Documents/Out/C.txt");
    farm.send("DELETE", &format!("/api/v1/items/{c}"), &[], "").await.expect(200);
    assert_eq!(farm.send("DELETE", &bin, &[], "").await.expect(200).json()["entries"], 1);
    let site = farm.get(&format!("{bin}?bin=site")).await.json();
    assert_eq!(site["items"][0]["second_stage"], true);
    let entry = site["items"][0]["id"].as_str().unwrap().to_owned();
    farm.send("DELETE", &format!("{bin}/{entry}"), &[], "").await.expect(204);
    assert_eq!(farm.get(&format!("{bin}?bin=site")).await.json()["items"], json!([]));
    farm.get(&format!("{bin}?bin=all")).await.expect(400);
}

#[tokio::test]
async fn columns_hold_values_of_their_kind() {
    let farm = Farm::new().await;
    farm.put("Documents/a.txt", "x").await.expect(201);
    let (library, id) = (farm.id("Documents").await, farm.id("Documents/a.txt").await);
    let eva = farm.account("eva").await;
    let columns = format!("/api/v1/items/{library}/columns");
    let values = format!("/api/v1/items/{id}/values");
    let kinds = [
        ("text", json!("words"), json!(7)),
        ("number", json!(1.5), json!("1.5")),
        ("date", json!("2026-01-02T03:04:05Z"), json!("tomorrow")),
        ("choice", json!("red"), json!("blue")),
        ("yes-no", json!(true), json!("yes")),
        ("person", json!(eva), json!("4711")),
        ("link", json!("https://example.org/"), json!("javascript:alert(1)")),
    ];
    for (kind, good, bad) in kinds {
        let form =
            json!({"name": kind, "kind": kind, "choices": if kind == "choice" { json!(["red"]) } else { json!([]) }});
        let column = farm.json("POST", &columns, form).await.expect(201).json()["id"].as_str().unwrap().to_owned();
        farm.json("PATCH", &values, json!({"values": {column.clone(): bad}})).await.expect(400);
        let set = farm.json("PATCH", &values, json!({"values": {column.clone(): good}})).await.expect(200).json();
        assert_eq!(set["values"][&column], good, "{kind}");
    }
    let list = farm.get(&columns).await.expect(200).json();
    assert_eq!(list["items"].as_array().unwrap().len(), 7);
    let date = list["items"].as_array().unwrap().iter().find(|column| column["kind"] == "date").unwrap()["id"].clone();
    let date = date.as_str().unwrap();
    let day = farm.json("PATCH", &values, json!({"values": {date: "2026-02-28"}})).await.expect(200).json();
    assert_eq!(day["values"][date], "2026-02-28T00:00:00Z");
    let first = list["items"][0]["id"].as_str().unwrap().to_owned();
    let emptied = farm.json("PATCH", &values, json!({"values": {first.clone(): null}})).await.expect(200).json();
    assert!(emptied["values"].get(&first).is_none());
    farm.json("PUT", &format!("{columns}/{first}"), json!({"name": "Words", "kind": "text"})).await.expect(204);
    farm.send("DELETE", &format!("{columns}/{first}"), &[], "").await.expect(204);
    farm.json("PATCH", &values, json!({"values": {first: "x"}})).await.expect(404);
    let types = format!("/api/v1/items/{library}/content-types");
    let made =
        farm.json("POST", &types, json!({"name": "Offer"})).await.expect(201).json()["id"].as_str().unwrap().to_owned();
    let set = farm.json("PATCH", &values, json!({"content_type": made})).await.expect(200).json();
    assert_eq!(set["content_type"], json!(made));
    let taken = farm.json("PATCH", &values, json!({"content_type": null})).await.expect(200).json();
    assert_eq!(taken["content_type"], Value::Null);
    assert_eq!(farm.get(&types).await.json()["items"][0]["name"], "Offer");
    farm.send("DELETE", &format!("{types}/{made}"), &[], "").await.expect(204);
}

#[tokio::test]
async fn permissions_are_shown_changed_and_explained() {
    let farm = Farm::new().await;
    let eva = farm.account("eva").await;
    farm.put("Documents/Secret/a.txt", "x").await.expect(201);
    let folder = farm.id("Documents/Secret").await;
    let url = |tail: &str| format!("/api/v1/items/{folder}/permissions{tail}");
    assert_eq!(farm.get(&url("")).await.expect(200).json()["own"], false);
    let grant = json!({"principal": eva, "role": "4"});
    assert_eq!(farm.json("POST", &url("/grants"), grant.clone()).await.expect(409).code(), "inherits");
    farm.json("POST", &url("/break"), json!({"copy": false})).await.expect(204);
    farm.json("POST", &url("/grants"), grant).await.expect(204);
    let read = "/api/v1/content/Documents/Secret/a.txt";
    farm.send_as("eva", "GET", read, &[], "").await.expect(200);
    farm.send_as("eva", "PUT", read, &[], "y").await.expect(403);
    let why = farm.send_as("eva", "GET", &url("/explanation"), &[], "").await.expect(200).json();
    assert_eq!(
        (why["rights"].clone(), why["grants"][0]["role_name"].clone()),
        (json!(["view", "view-versions"]), json!("Read"))
    );
    assert_eq!(
        farm.get(&url(&format!("/explanation?user={eva}"))).await.expect(200).json()["from_path"],
        "Documents/Secret"
    );
    farm.send("DELETE", &url(&format!("/grants/{eva}/4")), &[], "").await.expect(204);
    farm.send_as("eva", "GET", read, &[], "").await.expect(404);
    farm.send("POST", &url("/restore"), &[], "").await.expect(204);
    assert_eq!(farm.get(&url("")).await.json()["own"], false);
}

#[tokio::test]
async fn people_groups_roles_and_tokens_are_kept() {
    let farm = Farm::new().await;
    let ida = farm.account("ida").await;
    let fields = [("content-type", "application/json"), ("idempotency-key", "g")];
    let group =
        farm.send("POST", "/api/v1/groups", &fields, json!({"name": "Sales"}).to_string()).await.expect(201).json();
    let again =
        farm.send("POST", "/api/v1/groups", &fields, json!({"name": "Sales"}).to_string()).await.expect(201).json();
    assert_eq!(group, again);
    let group = group["id"].as_str().unwrap().to_owned();
    farm.send("PUT", &format!("/api/v1/groups/{group}/members/{ida}"), &[], "").await.expect(204);
    let members = farm.get(&format!("/api/v1/groups/{group}/members")).await.expect(200).json();
    assert_eq!(members["items"][0]["login"], "ida");
    let role = farm.json("POST", "/api/v1/roles", json!({"name": "Look", "rights": ["view"]})).await.expect(201).json();
    farm.json("POST", "/api/v1/roles", json!({"name": "Bad", "rights": ["fly"]})).await.expect(400);
    let role_url = format!("/api/v1/roles/{}", role["id"].as_str().unwrap());
    farm.json("PATCH", &role_url, json!({"rights": ["view", "add"]})).await.expect(200);
    assert_eq!(farm.get(&role_url).await.json()["rights"], json!(["view", "add"]));
    farm.send("DELETE", &role_url, &[], "").await.expect(204);
    let form = json!({"name": "script"}).to_string();
    let url = format!("/api/v1/users/{ida}/tokens");
    let made =
        farm.send_as("ida", "POST", &url, &[("content-type", "application/json")], form).await.expect(201).json();
    let bearer = format!("Bearer {}", made["secret"].as_str().unwrap());
    let me = farm.send_as("", "GET", "/api/v1/me", &[("authorization", &bearer)], "").await.expect(200).json();
    assert_eq!((me["user"]["login"].clone(), me["credential"].clone()), (json!("ida"), json!("token")));
    let token = made["token"]["id"].as_str().unwrap();
    farm.send("DELETE", &format!("{url}/{token}"), &[], "").await.expect(204);
    farm.send_as("", "GET", "/api/v1/me", &[("authorization", &bearer)], "").await.expect(401);
    let found = farm.get("/api/v1/principals?search=sal").await.expect(200).json();
    assert_eq!((found["items"][0]["kind"].clone(), found["items"][0]["id"].clone()), (json!("group"), json!(group)));
    let page = farm.get("/api/v1/users?limit=1").await.expect(200).json();
    let rest = farm.get(&format!("/api/v1/users?limit=1&cursor={}", page["next"].as_str().unwrap())).await.json();
    assert_eq!(
        (page["items"][0]["login"].clone(), rest["items"][0]["login"].clone(), rest["next"].clone()),
        (json!("admin"), json!("ida"), Value::Null)
    );
    farm.json("PUT", &format!("/api/v1/users/{ida}/password"), json!({"password": "another long password"}))
        .await
        .expect(204);
    farm.send_as("ida", "GET", "/api/v1/me", &[], "").await.expect(401);
    farm.json("PATCH", &format!("/api/v1/users/{ida}"), json!({"disabled": true})).await.expect(200);
    farm.send("DELETE", &format!("/api/v1/users/{ida}"), &[], "").await.expect(204);
    farm.send("DELETE", &format!("/api/v1/groups/{group}"), &[], "").await.expect(204);
    farm.json("PUT", "/api/v1/me/preferences", json!({"language": "de", "theme": "dark"})).await.expect(204);
    assert_eq!(farm.get("/api/v1/me").await.json()["preferences"]["theme"], "dark");
    farm.json("PUT", "/api/v1/me/password", json!({"old": "wrong", "new": "yet another long one"})).await.expect(403);
    farm.json("PUT", "/api/v1/me/password", json!({"old": PASSWORD, "new": "yet another long one"})).await.expect(204);
    farm.get("/api/v1/me").await.expect(401);
}

#[tokio::test]
async fn site_collections_have_quotas_and_logs() {
    let farm = Farm::new().await;
    let fields = [("content-type", "application/json"), ("idempotency-key", "s")];
    let body = json!({"path": "sites/legal", "title": "Legal"}).to_string();
    let made = farm.send("POST", "/api/v1/site-collections", &fields, body.clone()).await.expect(201).json();
    let again = farm.send("POST", "/api/v1/site-collections", &fields, body).await.expect(201).json();
    assert_eq!(made["id"], again["id"]);
    let id = made["id"].as_str().unwrap();
    let library =
        farm.json("POST", &format!("/api/v1/items/{id}/libraries"), json!({"name": "Files"})).await.expect(201);
    assert_eq!(library.json()["path"], "sites/legal/Files");
    let url = format!("/api/v1/site-collections/{id}");
    let changed = farm.json("PATCH", &url, json!({"quota_bytes": 10, "audit_reads": true})).await.expect(200).json();
    assert_eq!((changed["quota_bytes"].clone(), changed["audit_reads"].clone()), (json!(10), json!(true)));
    assert_eq!(farm.put("sites/legal/Files/a.txt", "0123456789+").await.expect(507).code(), "quota_exceeded");
    farm.json("PATCH", &url, json!({"quota_bytes": null})).await.expect(200);
    farm.put("sites/legal/Files/a.txt", "0123456789+").await.expect(201);
    farm.get("/api/v1/content/sites/legal/Files/a.txt").await.expect(200);
    let log = farm.get(&format!("{url}/audit-log?limit=2")).await.expect(200).json();
    assert_eq!(
        (log["items"][0]["action"].clone(), log["items"][1]["action"].clone()),
        (json!("document.read"), json!("document.create"))
    );
    let more = farm.get(&format!("{url}/audit-log?cursor={}", log["next"].as_str().unwrap())).await.expect(200).json();
    assert!(!more["items"].as_array().unwrap().is_empty());
    assert!(more["next"].is_null());
    let created = farm.get(&format!("{url}/audit-log?action=document.create")).await.expect(200).json();
    assert_eq!(created["items"].as_array().unwrap().len(), 1, "{created}");
    let nobody = farm.get(&format!("{url}/audit-log?actor={id}")).await.expect(200).json();
    assert!(nobody["items"].as_array().unwrap().is_empty());
    assert_eq!(farm.get(&format!("{url}/audit-log?action=no.such")).await.expect(400).code(), "invalid_query");
    let document = farm.id("sites/legal/Files/a.txt").await;
    let activity = farm.get(&format!("/api/v1/items/{document}/activity")).await.expect(200).json();
    assert_eq!(activity["items"][0]["actor"]["name"].as_str().unwrap().to_lowercase(), "administrator");
    assert_eq!(farm.get("/api/v1/site-collections").await.json()["items"].as_array().unwrap().len(), 2);
    let status = farm.get("/api/v1/farm/status").await.expect(200).json();
    assert_eq!(status["databases"][0]["name"], "main");
    let events = farm.get("/api/v1/farm/audit-log?limit=1").await.expect(200).json();
    assert_eq!(events["items"].as_array().unwrap().len(), 1);
    let url = "/api/v1/farm/audit-log";
    let first = farm.get(&format!("{url}?action=account.create")).await.expect(200).json();
    assert_eq!(
        (first["items"][0]["detail"].clone(), first["next"].clone()),
        (json!("admin, with the farm"), json!(null))
    );
    let account = first["items"][0]["subject"].as_str().unwrap().rsplit(' ').next().unwrap().to_owned();
    let about = farm.get(&format!("{url}?about={account}&from=2020-01-01&to=2020-01-02")).await.expect(200).json();
    assert!(about["items"].as_array().unwrap().is_empty());
    assert!(about["next"].is_null());
    let about = farm.get(&format!("{url}?about={account}&actor={account}&text=x")).await.expect(200).json();
    assert!(about["items"].as_array().unwrap().iter().all(|event| event["actor"]["id"] == account.as_str()), "{about}");
    for (limit, why) in [
        ("ten", "it must be a whole number, 0 or more"),
        ("-1", "it must be a whole number, 0 or more"),
        ("", "it must be a whole number, 0 or more"),
        ("99999999999999999999999", "the number is too large"),
    ] {
        let refused = farm.get(&format!("{url}?limit={limit}")).await.expect(400).text();
        assert!(refused.contains(why), "{limit}: {refused}");
    }
    assert_eq!(farm.get(&format!("{url}?action=none")).await.expect(400).code(), "invalid_query");
    assert_eq!(farm.get(&format!("{url}?from=today")).await.expect(400).code(), "invalid_time");
}

#[tokio::test]
async fn bodies_that_are_wrong_get_a_4xx_that_says_why() {
    let farm = Farm::new().await;
    let library = farm.id("Documents").await;
    let url = format!("/api/v1/items/{library}/folders");
    let named = farm.json("POST", &url, json!({"name": "x", "colour": "red"})).await.expect(400);
    assert!(named.text().contains("colour"), "{}", named.text());
    assert!(named.code() == "invalid_json", "{}", named.text());
    let number = farm.send("POST", &url, &[("content-type", "application/json")], "7").await.expect(400);
    assert!(number.text().contains("expected an object"), "{}", number.text());
    assert!(!number.text().contains("struct"), "{}", number.text());
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let huge = format!("{{\"name\":\"{}\"}}", "n".repeat(3_000_000));
    let long = json!({"name": "n".repeat(5_000)}).to_string();
    for (body, status) in [
        ("", 400),
        ("{", 400),
        ("[]", 400),
        ("null", 400),
        ("{\"name\":1}", 400),
        ("{\"name\":\"a\",\"name\":\"b\"}", 400),
        ("{\"name\":\"a/b\"}", 400),
        ("{\"name\":\"..\"}", 400),
        ("{\"name\":\"\\u0000\"}", 400),
        ("{\"name\":\"\\ud800\"}", 400),
        (&deep, 400),
        (&long, 400),
        (&huge, 413),
    ] {
        let reply = farm.send("POST", &url, &[("content-type", "application/json")], body.to_owned()).await;
        assert_eq!(reply.status.as_u16(), status, "{} -> {}", &body[..body.len().min(40)], reply.text());
    }
    farm.send("POST", &url, &[("content-type", "text/plain")], "{}").await.expect(415);
    let in_order = json!({"name": "L", "settings": ["none", 1, 1, false]});
    for (method, url, body) in [
        ("POST", "/api/v1/groups".to_owned(), json!(["A group", "Its fields in their order"])),
        ("POST", format!("/api/v1/items/{}/libraries", root(&farm).await), in_order),
        ("PUT", "/api/v1/farm/storage-policies/database/main".to_owned(), json!({"tiers": [["age", 3, "files"]]})),
    ] {
        let reply = farm.json(method, &url, body).await.expect(400);
        assert!(reply.text().contains("expected an object"), "{}", reply.text());
    }
    let broken = farm.send("POST", &url, &[("content-type", "application/json")], &b"{\"name\":\"\xff\"}"[..]).await;
    broken.expect(400);
    for id in ["0", "-1", "x", "99999999999999999999", "%ff", "1%2f2", "+5"] {
        let reply = farm.get(&format!("/api/v1/items/{id}")).await;
        assert!(reply.status.is_client_error(), "{id}: {}", reply.text());
    }
    farm.get("/api/v1/items/by-path?path=%ff").await.expect(400);
    farm.get("/api/v1/items/by-path").await.expect(400);
    farm.get("/api/v1/nothing").await.expect(404);
    farm.send("DELETE", "/api/v1/me", &[], "").await.expect(405);
}
