//! The data of a grid: rows as its user reads them, and changes as its user types them.

use model::{ColumnKind, Id, Name};
use repository::{ColumnChange, ColumnOptions, Target};
use serde_json::{Value, json};

use super::*;

struct List {
    id: Id,
    title: Id,
    effort: Id,
    due: Id,
}

impl List {
    async fn new(farm: &Farm) -> Self {
        let admin = farm.administrator().await;
        let name = |text: &str| Name::new(text).unwrap();
        let id = admin.create_list(&Target::path("").unwrap(), &name("Tasks"), &name("Task")).await.unwrap().id;
        let column = async |label: &str, kind| {
            let change = ColumnChange {
                name: name(label),
                kind,
                required: false,
                content_type_id: None,
                options: ColumnOptions::default(),
            };
            admin.create_column(&id.into(), change).await.unwrap()
        };
        let title = admin.columns(&id.into()).await.unwrap().0[0].id;
        Self {
            id,
            title,
            effort: column("Effort", ColumnKind::Number).await,
            due: column("Due", ColumnKind::Date).await,
        }
    }

    fn url(&self, rest: &str) -> String {
        format!("/items/{}/grid{rest}", self.id)
    }

    /// Sends changes as the script of the page does.
    async fn change(&self, browser: &Browser<'_>, changes: Value, fields: &[(&str, &str)]) -> Reply {
        let token = browser.get("/browse/Tasks?as=grid").await.form_token();
        browser.post_with(&token, &self.url("?sort=name"), &[("changes", &changes.to_string())], fields).await
    }
}

fn parsed(reply: &Reply) -> Value {
    serde_json::from_str(&reply.text).unwrap()
}

#[tokio::test]
async fn values_are_typed_and_read_in_the_language_of_the_page() {
    let farm = Farm::new().await;
    let browser = farm.signed_in("admin").await;
    let list = List::new(&farm).await;
    browser.post("/account", "/account/preferences", &[("language", "de"), ("theme", "light")]).await.expect(303);
    let set = json!({
        list.title.to_string(): "<b>x</b>", list.effort.to_string(): "12.345,5", list.due.to_string(): "24.12.2026",
    });
    let sent = list.change(&browser, json!({"atomic": true, "changes": [{"set": set}]}), &[]).await.expect(200);
    let outcome = &parsed(&sent)["outcomes"][0];
    assert_eq!(outcome["status"], 201);
    let expected = json!(["<b>x</b>", ["12.345,5", "12345,5"], ["24.12.2026", "2026-12-24"]]);
    assert_eq!(outcome["row"]["cells"].as_array().unwrap()[..3], expected.as_array().unwrap()[..]);
    let block = parsed(&browser.get(&list.url("?sort=name")).await.expect(200));
    assert_eq!(block["rows"][0]["cells"], outcome["row"]["cells"]);
    assert_eq!((&block["may_add"], &block["next"]), (&json!(true), &Value::Null));
    let page = browser.get("/browse/Tasks?as=grid").await.expect(200);
    assert!(page.text.contains("data-grid") && !page.text.contains("<b>x</b>"));
    // The refusal names the column, in German.
    let set = json!({list.effort.to_string(): "viel", list.title.to_string(): "y"});
    let changes = json!({"atomic": true, "changes": [{"set": set}, {"set": {list.title.to_string(): "z"}}]});
    let refused = parsed(&list.change(&browser, changes, &[]).await.expect(200));
    assert_eq!(refused["applied"], false);
    assert_eq!(refused["outcomes"][0]["column"], list.effort.to_string());
    assert!(refused["outcomes"][0]["detail"].as_str().unwrap().contains("Effort"));
    assert_eq!(refused["outcomes"][1]["status"], 424);
    let block = parsed(&browser.get(&list.url("?sort=name")).await.expect(200));
    assert_eq!(block["rows"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn a_change_sent_twice_is_made_once_and_an_outdated_one_only_where_nothing_changed() {
    let farm = Farm::new().await;
    let browser = farm.signed_in("admin").await;
    let list = List::new(&farm).await;
    let (title, effort) = (list.title.to_string(), list.effort.to_string());
    let add = json!({"atomic": true, "changes": [{"set": {&title: "one", &effort: "1"}}]});
    let key = [("idempotency-key", "grid-1")];
    let first = parsed(&list.change(&browser, add.clone(), &key).await.expect(200));
    let again = parsed(&list.change(&browser, add.clone(), &key).await.expect(200));
    assert_eq!(first["outcomes"][0]["id"], again["outcomes"][0]["id"]);
    let block = parsed(&browser.get(&list.url("?sort=name")).await.expect(200));
    assert_eq!(block["rows"].as_array().unwrap().len(), 1);
    let row = first["outcomes"][0]["row"].clone();
    let edit = |was: Value, set: Value| {
        let change = json!({"id": row["id"], "etag": row["etag"], "was": was, "set": set});
        json!({"atomic": true, "changes": [change]})
    };
    let one = list.change(&browser, edit(json!({&title: "one"}), json!({&title: "two"})), &[]).await;
    assert_eq!(parsed(&one)["outcomes"][0]["status"], 200);
    // The tag is outdated now: the other cell can still be set, the same one cannot.
    let other = list.change(&browser, edit(json!({&effort: "1"}), json!({&effort: "2"})), &[]).await;
    assert_eq!(parsed(&other)["outcomes"][0]["status"], 200);
    for was in ["one", "", "2"] {
        let same = parsed(&list.change(&browser, edit(json!({&title: was}), json!({&title: "three"})), &[]).await);
        let outcome = &same["outcomes"][0];
        assert_eq!((&outcome["status"], &outcome["code"]), (&json!(409), &json!("value_changed")), "{was}");
        assert_eq!(outcome["row"]["cells"][0], "two");
    }
    let since =
        |micros: i64| list.url(&format!("/rows?sort=name&ids={},7&since={micros}", row["id"].as_str().unwrap()));
    let fresh = parsed(&browser.get(&since(0)).await.expect(200));
    assert_eq!(fresh["changed"][0]["cells"], fresh["rows"][0]["cells"]);
    assert_eq!(fresh["gone"], json!(["7"]));
    let later = parsed(&browser.get(&since(i64::MAX)).await.expect(200));
    assert_eq!(later["changed"], json!([]));
}

#[tokio::test]
async fn changes_that_cannot_be_read_are_refused() {
    let farm = Farm::new().await;
    let browser = farm.signed_in("admin").await;
    let list = List::new(&farm).await;
    let many = json!({"atomic": true, "changes": vec![json!({"set": {}}); 1_001]});
    for (bad, status) in [
        (json!({}), 400),
        (json!("x"), 400),
        (json!({"atomic": true, "changes": [{"set": {}, "more": 1}]}), 400),
        (json!({"atomic": true, "changes": [{"id": "x", "set": {}}]}), 400),
        (json!({"atomic": true, "changes": [{"id": "7", "etag": "not hex", "set": {}}]}), 400),
        (json!({"atomic": true, "changes": [{"set": {"12": "of no column"}}]}), 404),
        (many, 400),
    ] {
        let reply = list.change(&browser, bad.clone(), &[]).await.expect(status);
        assert!(parsed(&reply)["detail"].is_string(), "{bad}");
    }
    for bad in ["?after=x", "?sort=name&after=AAAA", "/rows?ids=x"] {
        browser.get(&list.url(bad)).await.expect(400);
    }
    let documents = farm.administrator().await.item(&Target::path("Documents").unwrap()).await.unwrap().id;
    browser.get(&format!("/items/{documents}/grid/rows?ids=1")).await.expect(409);
}
