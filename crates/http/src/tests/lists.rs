//! Rows of lists through the REST interface and the pages.

use serde_json::{Value, json};

use super::Farm;

pub(super) const CSV: &[(&str, &str)] = &[("content-type", "text/csv")];

pub(super) async fn list(farm: &Farm) -> String {
    let site = farm.id("").await;
    let made = farm.json("POST", &format!("/api/v1/items/{site}/lists"), json!({"name": "Tasks"})).await.expect(201);
    made.json()["id"].as_str().unwrap().to_owned()
}

async fn column(farm: &Farm, list: &str, name: &str, kind: &str) {
    let new = json!({"name": name, "kind": kind});
    farm.json("POST", &format!("/api/v1/items/{list}/columns"), new).await.expect(201);
}

pub(super) async fn rows(farm: &Farm, list: &str) -> Vec<Value> {
    let page = farm.get(&format!("/api/v1/items/{list}/rows?limit=1000")).await.expect(200).json();
    page["items"].as_array().unwrap().clone()
}

pub(super) async fn change(farm: &Farm, list: &str, key: &str, body: Value) -> Value {
    let fields = [("content-type", "application/json"), ("idempotency-key", key)];
    let fields = if key.is_empty() { &fields[..1] } else { &fields[..] };
    let path = format!("/api/v1/items/{list}/changes");
    farm.send("POST", &path, fields, body.to_string()).await.expect(200).json()
}

#[tokio::test]
async fn a_wide_file_is_saved_in_as_many_steps_as_it_needs() {
    let farm = Farm::new().await;
    let list = list(&farm).await;
    let names: Vec<String> = (0..30).map(|number| format!("C{number}")).collect();
    for name in &names {
        column(&farm, &list, name, "text").await;
    }
    let mut file = format!("Title,{}\n", names.join(","));
    for number in 0..1_200 {
        file.push_str(&format!("r{number},{}\n", ["x"; 30].join(",")));
    }
    let path = format!("/api/v1/items/{list}/rows.csv");
    for dry in ["?dry_run=true", ""] {
        let report = farm.send("POST", &format!("{path}{dry}"), CSV, file.clone()).await.expect(200).json();
        assert_eq!((report["added"].as_u64(), report["refused"].as_u64()), (Some(1_200), Some(0)), "{report}");
    }
    // Rows whose stored texts are too long to be changed together.
    column(&farm, &list, "Text", "note").await;
    let first = rows(&farm, &list).await;
    for some in first[..300].chunks(30) {
        let edit = |row: &Value| json!({"id": row["id"], "set": {"Text": "n".repeat(59_000)}});
        let changes: Vec<Value> = some.iter().map(edit).collect();
        change(&farm, &list, "", json!({"atomic": true, "changes": changes})).await;
    }
    let mut file = String::from("#,C0\n");
    first[..300].iter().for_each(|row| file.push_str(&format!("{},y\n", row["number"].as_str().unwrap())));
    let report = farm.send("POST", &path, CSV, file).await.expect(200).json();
    assert_eq!((report["changed"].as_u64(), report["refused"].as_u64()), (Some(300), Some(0)), "{report}");
}

#[tokio::test]
async fn a_repeated_request_answers_what_the_first_one_did() {
    let farm = Farm::new().await;
    let list = list(&farm).await;
    column(&farm, &list, "Effort", "number").await;
    let made = change(&farm, &list, "", json!({"changes": [{"set": {"Title": "gone"}}]})).await;
    let changes = json!({"changes": [
        {"id": made["outcomes"][0]["id"], "delete": true},
        {"set": {"Title": "good", "Effort": 1}},
        {"set": {"Effort": 2}},
        {"id": "77", "set": {"Title": "x"}},
    ]});
    let first = change(&farm, &list, "once", changes.clone()).await;
    let statuses = |answer: &Value| {
        let outcomes = answer["outcomes"].as_array().unwrap();
        outcomes.iter().map(|one| one["status"].as_u64().unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(statuses(&first), [200, 201, 400, 404]);
    assert_eq!(change(&farm, &list, "once", changes).await, first);
    assert_eq!(rows(&farm, &list).await.len(), 1);
    // A request that made nothing leaves its key free.
    let again = async |set: Value| change(&farm, &list, "again", json!({"changes": [{"set": set}]})).await;
    assert_eq!(statuses(&again(json!({"Effort": 3})).await), [400]);
    assert_eq!(statuses(&again(json!({"Title": "y"})).await), [201]);
}

#[tokio::test]
async fn an_edit_that_tells_what_was_there_needs_no_entity_tag() {
    let farm = Farm::new().await;
    let list = list(&farm).await;
    column(&farm, &list, "Effort", "number").await;
    let made = change(&farm, &list, "", json!({"changes": [{"set": {"Title": "a", "Effort": 1}}]})).await;
    let row = made["outcomes"][0]["id"].clone();
    let edit = |was: Value, set: Value| json!({"changes": [{"id": row, "was": was, "set": set}]});
    let code = |answer: Value| answer["outcomes"][0]["code"].as_str().map(ToOwned::to_owned);
    let done = change(&farm, &list, "", edit(json!({"Effort": 1}), json!({"Effort": 2}))).await;
    assert_eq!(code(done), None);
    let late = change(&farm, &list, "", edit(json!({"Effort": 1}), json!({"Effort": 3}))).await;
    assert_eq!(code(late), Some("value_changed".into()));
    let uncovered = change(&farm, &list, "", edit(json!({"Effort": 2}), json!({"Title": "b"}))).await;
    assert_eq!(code(uncovered), Some("value_changed".into()));
    assert_eq!(code(change(&farm, &list, "", edit(json!({}), json!({"Title": "c"}))).await), None);
    let row = row.as_str().unwrap();
    let path = format!("/api/v1/items/{row}");
    // Values by name, and the entity tags of the revisions.
    farm.json("PATCH", &format!("{path}/values"), json!({"values": {"effort": 5}})).await.expect(200);
    farm.json("PATCH", &format!("{path}/values"), json!({"values": {"nothing": 5}})).await.expect(404);
    let revisions = farm.get(&format!("{path}/revisions")).await.expect(200).json();
    let present = farm.get(&path).await.expect(200).json();
    assert_eq!(revisions["items"][0]["etag"], present["etag"]);
    assert_eq!(revisions["items"].as_array().unwrap().len(), 4);
}

#[tokio::test]
async fn columns_of_lists_may_be_called_as_people_call_them() {
    let farm = Farm::new().await;
    let site = farm.id("").await;
    let new = json!({"name": "People", "title_column": "Name"});
    let made = farm.json("POST", &format!("/api/v1/items/{site}/lists"), new).await.expect(201).json();
    let path = format!("/api/v1/items/{}", made["id"].as_str().unwrap());
    let column = |name: &str| json!({"name": name, "kind": "text"});
    for good in ["Type", "Size"] {
        farm.json("POST", &format!("{path}/columns"), column(good)).await.expect(201);
    }
    for taken in ["name", "Modified", "TYPE", "#"] {
        let refused = farm.json("POST", &format!("{path}/columns"), column(taken)).await.expect(409);
        assert_eq!(refused.code(), "name_taken");
        assert!(!refused.text().contains("at the same moment"), "{}", refused.text());
    }
    let refused = farm.json("POST", &format!("{path}/content-types"), json!({"name": "Offer"})).await.expect(409);
    assert_eq!(refused.code(), "wrong_kind");
    let new = json!({"name": "Changes", "title_column": "Modified"});
    assert_eq!(farm.json("POST", &format!("/api/v1/items/{site}/lists"), new).await.expect(409).code(), "name_taken");
}

#[tokio::test]
async fn a_repeated_import_adds_no_row_twice() {
    let farm = Farm::new().await;
    let list = list(&farm).await;
    let path = format!("/api/v1/items/{list}/rows.csv");
    let file: String = std::iter::once("Title\n".to_owned()).chain((0..1_500).map(|n| format!("r{n}\n"))).collect();
    let fields = [("content-type", "text/csv"), ("idempotency-key", "import")];
    for _ in 0..2 {
        let report = farm.send("POST", &path, &fields, file.clone()).await.expect(200).json();
        assert_eq!((report["added"].as_u64(), report["refused"].as_u64()), (Some(1_500), Some(0)), "{report}");
    }
    let first = rows(&farm, &list).await;
    assert_eq!(first.len(), 1_000);
    let rest = farm.get(&format!("/api/v1/items/{list}/rows?limit=1000&order=descending")).await.expect(200).json();
    assert_eq!(rest["items"][0]["number"], "1500");
    // A file that changes a row twice.
    let report = farm.send("POST", &path, CSV, "#,Title\n1,a\n1,b\n,c\n").await.expect(200).json();
    assert_eq!((report["changed"].as_u64(), report["added"].as_u64()), (Some(1), Some(1)), "{report}");
    assert_eq!(report["refusals"][0]["line"], 3, "{report}");
    let wide = format!("{}\n", "x,".repeat(900_000));
    farm.send("POST", &path, CSV, wide).await.expect(400);
}

#[tokio::test]
async fn a_short_request_gets_a_short_answer() {
    let farm = Farm::new().await;
    let list = list(&farm).await;
    let choices: Vec<String> = (0..500).map(|number| format!("{number}{}", "c".repeat(250))).collect();
    let new = json!({"name": "State", "kind": "choice", "choices": choices});
    farm.json("POST", &format!("/api/v1/items/{list}/columns"), new).await.expect(201);
    let changes: Vec<Value> = (0..1_000).map(|_| json!({"set": {"Title": "a", "State": "?"}})).collect();
    let fields = [("content-type", "application/json")];
    let body = json!({"changes": changes}).to_string();
    let reply = farm.send("POST", &format!("/api/v1/items/{list}/changes"), &fields, body).await.expect(200);
    assert!(reply.body.len() < 2 << 20, "{} bytes", reply.body.len());
    let many: serde_json::Map<String, Value> = (0..50_000).map(|n| (format!("c{n}"), json!(1))).collect();
    let body = json!({"changes": [{"set": many}]}).to_string();
    let reply = farm.send("POST", &format!("/api/v1/items/{list}/changes"), &fields, body).await.expect(400);
    assert_eq!(reply.code(), "too_much_at_once");
}
