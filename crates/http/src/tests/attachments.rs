//! Attachments of rows through REST, archives and WebDAV.

use serde_json::json;

use super::Farm;

/// A list with two rows, and its identifier with theirs.
async fn list(farm: &Farm) -> (String, String, String) {
    let site = farm.id("").await;
    let made = farm.json("POST", &format!("/api/v1/items/{site}/lists"), json!({"name": "Tasks"})).await.expect(201);
    let list = made.json()["id"].as_str().unwrap().to_owned();
    let changes = json!({"changes": [{"set": {"Title": "one"}}, {"set": {"Title": "two"}}]});
    let changed = farm.json("POST", &format!("/api/v1/items/{list}/changes"), changes).await.expect(200).json();
    let row = |number: usize| changed["outcomes"][number]["id"].as_str().unwrap().to_owned();
    (list, row(0), row(1))
}

#[tokio::test]
async fn rows_take_documents_as_folders_do_and_tell_how_many() {
    let farm = Farm::new().await;
    let (list, first, second) = list(&farm).await;
    let stored = farm.send("POST", &format!("/api/v1/items/{first}/documents?name=plan.txt"), &[], "plan").await;
    let document = stored.expect(201).json()["id"].as_str().unwrap().to_owned();
    farm.put("Tasks/1/offer.txt", "offer").await.expect(201);
    let children = farm.get(&format!("/api/v1/items/{first}/children")).await.expect(200).json();
    let names: Vec<&str> = children["items"].as_array().unwrap().iter().map(|i| i["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["offer.txt", "plan.txt"]);
    assert_eq!(children["items"][1]["path"], "Tasks/1/plan.txt");
    let rows = farm.get(&format!("/api/v1/items/{list}/rows")).await.expect(200).json();
    let counts = |rows: &serde_json::Value| [0, 1].map(|at: usize| rows["items"][at]["attachments"].clone());
    assert_eq!(counts(&rows), [json!(2), json!(0)]);
    let children = farm.get(&format!("/api/v1/items/{list}/children")).await.expect(200).json();
    assert_eq!(counts(&children), [json!(2), json!(0)]);
    assert_eq!(farm.item("Tasks/1").await["attachments"], 2);
    assert_eq!(farm.item("Tasks/1/plan.txt").await["attachments"], json!(null));
    assert_eq!(farm.get("/api/v1/content/Tasks/1/plan.txt").await.expect(200).text(), "plan");
    let values = json!({"values": {"Title": "x"}});
    let refused = farm.json("PATCH", &format!("/api/v1/items/{document}/values"), values).await;
    assert_eq!(refused.expect(404).code(), "not_found");
    // Switched off.
    let settings = format!("/api/v1/items/{list}/settings");
    assert_eq!(farm.get(&settings).await.expect(200).json()["attachments"], true);
    farm.json("PATCH", &settings, json!({"attachments": false})).await.expect(200);
    let path = format!("/api/v1/items/{second}/documents?name=plan.txt");
    let refused = farm.send("POST", &path, &[], "plan").await.expect(409);
    assert_eq!(refused.code(), "attachments_off");
    let library = farm.id("Documents").await;
    let settings = format!("/api/v1/items/{library}/settings");
    let refused = farm.json("PATCH", &settings, json!({"attachments": true})).await.expect(409);
    assert_eq!(refused.code(), "wrong_kind");
}

#[tokio::test]
async fn an_archive_of_a_list_has_a_folder_for_each_row_with_attachments() {
    let farm = Farm::new().await;
    let (list, first, second) = list(&farm).await;
    farm.put("Tasks/1/plan.txt", "the plan").await.expect(201);
    let archive = farm.get(&format!("/api/v1/archive?ids={list}")).await.expect(200).text();
    assert!(archive.contains("Tasks/1/plan.txt") && archive.contains("the plan"));
    assert!(!archive.contains("Tasks/2"), "a row without attachments is left out");
    let archive = farm.get(&format!("/api/v1/archive?ids={first},{second}")).await.expect(200).text();
    assert!(archive.contains("1/plan.txt") && archive.contains("2/"));
}

#[tokio::test]
async fn programs_open_lock_and_save_attachments_at_their_address() {
    let farm = Farm::new().await;
    list(&farm).await;
    farm.send("PUT", "/dav/Tasks/1/plan.txt", &[], "one").await.expect(201);
    let found = farm.send("PROPFIND", "/dav/Tasks/1/plan.txt", &[("depth", "0")], "").await.expect(207).text();
    assert!(found.contains("/dav/Tasks/1/plan.txt"), "{found}");
    for hidden in ["/dav/Tasks", "/dav/Tasks/1"] {
        farm.send("PROPFIND", hidden, &[("depth", "1")], "").await.expect(404);
    }
    let lock = "<D:lockinfo xmlns:D='DAV:'><D:lockscope><D:exclusive/></D:lockscope><D:locktype><D:write/></D:locktype>\
                </D:lockinfo>";
    let locked = farm.send("LOCK", "/dav/Tasks/1/plan.txt", &[("depth", "0")], lock).await.expect(200);
    let token = locked.header("lock-token").to_owned();
    farm.send("PUT", "/dav/Tasks/1/plan.txt", &[], "two").await.expect(423);
    let row = farm.id("Tasks/1").await;
    farm.send("DELETE", &format!("/api/v1/items/{row}"), &[], "").await.expect(423);
    let condition = format!("({token})");
    farm.send("PUT", "/dav/Tasks/1/plan.txt", &[("if", &condition)], "two").await.expect(204);
    farm.send("UNLOCK", "/dav/Tasks/1/plan.txt", &[("lock-token", &token)], "").await.expect(204);
    assert_eq!(farm.get("/dav/Tasks/1/plan.txt").await.expect(200).text(), "two");
    farm.send("MKCOL", "/dav/Tasks/1/folder", &[], "").await.expect(403);
    farm.put("Documents/a.txt", "a").await.expect(201);
    let to = [("destination", "/dav/Tasks/2/a.txt")];
    farm.send("COPY", "/dav/Documents/a.txt", &to, "").await.expect(201);
    farm.send("MOVE", "/dav/Tasks/1/plan.txt", &[("destination", "/dav/Documents/plan.txt")], "").await.expect(201);
    farm.send("DELETE", "/dav/Tasks/2/a.txt", &[], "").await.expect(204);
    farm.send("DELETE", &format!("/api/v1/items/{row}"), &[], "").await.expect(200);
}
