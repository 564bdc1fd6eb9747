//! Rows of lists are found by their titles and values as documents are by their names and texts: soon after a change,
//! by nobody who may not open them, and never by the titles of the entries that they name.

use std::time::{Duration, Instant};

use database::Engine;
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::Client;
use crate::words::{Rig, names, search, wait_for_results, wait_until_indexed};

/// Time after which what is not found is missing.
const SOON: Duration = Duration::from_secs(60);

impl Rig {
    async fn get(&self, path: &str) -> Value {
        self.call(Method::GET, path, Value::Null).await
    }

    /// Makes a list in the root site, with these columns beside the titles.
    async fn list(&self, name: &str, columns: Value) -> String {
        let (site, made) = (self.id("").await, json!({ "name": name }));
        let list = self.call(Method::POST, &format!("/api/v1/items/{site}/lists"), made).await;
        let list = list["id"].as_str().unwrap().to_owned();
        for column in columns.as_array().unwrap() {
            self.call(Method::POST, &format!("/api/v1/items/{list}/columns"), column.clone()).await;
        }
        list
    }

    async fn add_row(&self, list: &str, values: Value) -> String {
        let row = self.call(Method::POST, &format!("/api/v1/items/{list}/rows"), json!({ "values": values })).await;
        row["id"].as_str().unwrap().to_owned()
    }

    async fn change_rows(&self, list: &str, changes: Value) {
        let changes = json!({ "atomic": true, "changes": changes });
        let done = self.call(Method::POST, &format!("/api/v1/items/{list}/changes"), changes).await;
        assert_eq!(done["applied"], true, "{done:#}");
    }
}

async fn facets(client: &Client, text: &str) -> Value {
    let path = format!("/api/v1/search?q={}&facets=true", text.replace(' ', "%20"));
    client.send(Method::GET, &path, Vec::new()).await.unwrap().json()
}

/// Waits until so many rows and documents are found.
async fn wait_for_count(client: &Client, text: &str, count: u64) {
    let deadline = Instant::now() + SOON;
    loop {
        let found = search(client, text).await;
        if found["documents"] == count && found["texts"] == "complete" {
            return;
        }
        assert!(Instant::now() < deadline, "{text}: {} are found, not {count}", found["documents"]);
        // sleep: polled, since the index follows the database by itself
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

fn none() -> Vec<String> {
    Vec::new()
}

async fn rows_are_found(engine: Engine) {
    let rig = Rig::new(engine).await;
    let columns = json!([
        { "name": "Notes", "kind": "note" },
        { "name": "State", "kind": "choice", "choices": ["open", "done"] },
        { "name": "Source", "kind": "link" },
        { "name": "Amount", "kind": "number" },
        { "name": "Due", "kind": "date" },
    ]);
    let list = rig.list("Tasks", columns).await;
    let values = json!({
        "Title": "Repaint the pavilion v1.2",
        "Notes": "Bring the <b>ladder</b> & the \"primer\".\nNothing else.",
        "State": "open",
        "Source": "https://example.org/bluebell",
        "Amount": 120,
        "Due": "2026-11-30T00:00:00Z",
    });
    let row = rig.add_row(&list, values).await;
    rig.put("pavilion.txt", "a document about something else").await;
    wait_for_results(&rig.admin, "repainting pavilion", &["1"]).await;
    // What is counted below is in the index.
    wait_until_indexed(&rig.admin).await;
    let found = search(&rig.admin, "ladder primer").await;
    let item = &found["items"][0];
    assert_eq!((&item["kind"], &item["title"]), (&json!("row"), &json!("Repaint the pavilion v1.2")), "{found:#}");
    assert_eq!((&item["path"], &item["id"]), (&json!("Tasks/1"), &json!(row)));
    let pieces = found["passages"][0]["pieces"].as_array().unwrap();
    let hits: Vec<&str> =
        pieces.iter().filter(|piece| piece["hit"] == true).filter_map(|p| p["text"].as_str()).collect();
    assert_eq!(hits, ["ladder", "primer"], "{found:#}");
    let passage: String = pieces.iter().filter_map(|piece| piece["text"].as_str()).collect();
    assert!(passage.contains("the <b>ladder</b> & the \"primer\". Nothing else."), "markup is text: {passage}");
    for query in [
        "\"the pavilion\" type:row",
        "title:pavilion",
        "name:repaint",
        "bluebell",
        "State:open",
        "Amount>100",
        "due:2026-11",
        "in:Tasks *",
        "library:Tasks pavilion",
        "type:Zeile",
        "is:mine ladder",
        "creator:admin type:row",
        "*pavil*",
        "modified:today ladder",
        "size<1KB ladder",
        "ladd*",
    ] {
        assert_eq!(names(&rig.admin, query).await.iter().filter(|name| *name == "1").count(), 1, "{query}");
    }
    for query in
        ["State:done", "Amount>200", "type:txt ladder", "ext:2 pavilion", "lagoon ladder", "in:Documents ladder"]
    {
        assert_eq!(names(&rig.admin, query).await, none(), "{query}");
    }
    let counted = facets(&rig.admin, "pavilion").await;
    assert_eq!((&counted["documents"], &counted["facets"]["rows"]), (&json!(2), &json!(1)));
    assert_eq!(counted["facets"]["types"], json!([{ "value": "txt", "count": 1 }]), "a title has no extension");
    let suggested = rig.get("/api/v1/search/suggest?q=the%20pav").await;
    assert_eq!(suggested["items"][0]["title"], "Repaint the pavilion v1.2", "{suggested:#}");
    let saved = rig.call(Method::POST, "/api/v1/saved-searches", json!({ "name": "Ladders", "query": "ladder" })).await;
    let saved = format!("/api/v1/saved-searches/{}/new", saved["id"].as_str().unwrap());
    assert_eq!(rig.get(&saved).await["documents"], 0, "what it finds at first is seen");

    // A changed row is found by its new values at once or soon, and by its old ones no more.
    let changed = json!([{ "id": row, "set": { "Notes": "Take the scaffold", "Title": "Repaint the gazebo" } }]);
    rig.change_rows(&list, changed).await;
    assert_eq!(names(&rig.admin, "ladder").await, none());
    wait_for_results(&rig.admin, "scaffold", &["1"]).await;
    wait_for_results(&rig.admin, "gazebo", &["1"]).await;
    assert_eq!(names(&rig.admin, "repaint pavilion").await, none(), "its old title is not found");
    rig.change_rows(&list, json!([{ "id": row, "set": { "Notes": "Take the ladder" } }])).await;
    wait_for_results(&rig.admin, "ladder", &["1"]).await;
    assert_eq!(rig.get(&saved).await["items"][0]["title"], "Repaint the gazebo", "another revision is new");
    let feed = saved.replace("/new", "/feed");
    let feed = rig.admin.send(Method::GET, &feed, Vec::new()).await.unwrap().text();
    assert!(feed.contains("<title>Repaint the gazebo</title>"), "{feed}");

    // Recycle bin and back.
    rig.change_rows(&list, json!([{ "id": row, "delete": true }])).await;
    assert_eq!(names(&rig.admin, "ladder").await, none());
    assert_eq!(names(&rig.admin, "gazebo").await, none());
    let bin = format!("/api/v1/site-collections/{}/recycle-bin", rig.id("").await);
    let restore = async || {
        let entry = rig.get(&bin).await["items"][0]["id"].as_str().unwrap().to_owned();
        rig.call(Method::POST, &format!("{bin}/{entry}/restore"), Value::Null).await;
    };
    wait_until_indexed(&rig.admin).await;
    restore().await;
    wait_for_results(&rig.admin, "ladder", &["1"]).await;
    rig.call(Method::DELETE, &format!("/api/v1/items/{list}"), Value::Null).await;
    assert_eq!(names(&rig.admin, "ladder").await, none(), "what is in a deleted list is not found");
    wait_until_indexed(&rig.admin).await;
    restore().await;
    wait_for_results(&rig.admin, "ladder", &["1"]).await;

    // Calculated values of rows that were there before their column have no events of their own.
    let formula = json!({ "name": "Label", "kind": "text", "formula": "[Title] & \" sandpiper\"" });
    rig.call(Method::POST, &format!("/api/v1/items/{list}/columns"), formula).await;
    wait_for_results(&rig.admin, "sandpiper", &["1"]).await;

    // Columns and names of lists.
    rig.call(Method::PATCH, &format!("/api/v1/items/{list}"), json!({ "name": "Chores" })).await;
    assert_eq!(search(&rig.admin, "in:Chores ladder").await["items"][0]["path"], "Chores/1");
    let columns = rig.get(&format!("/api/v1/items/{list}/columns")).await;
    let notes = columns["items"].as_array().unwrap().iter().find(|column| column["name"] == "Notes").unwrap();
    let notes = format!("/api/v1/items/{list}/columns/{}", notes["id"].as_str().unwrap());
    rig.call(Method::DELETE, &notes, Value::Null).await;
    wait_for_results(&rig.admin, "ladder", &[]).await;

    // Many at once, and all of them read again.
    let rows: Vec<Value> =
        (0..1_000).map(|n| json!({ "set": { "Title": format!("curlew {n}"), "Amount": n } })).collect();
    rig.change_rows(&list, json!(rows)).await;
    wait_for_count(&rig.admin, "curlew type:row", 1_000).await;
    wait_for_count(&rig.admin, "curlew Amount>=990", 10).await;
    let text = rig.farm.run(&["crawl", "full"]).unwrap();
    assert!(text.contains("1,002 items read"), "{text}");
    wait_for_count(&rig.admin, "curlew type:row", 1_000).await;
    let deleted = rig.get(&format!("/api/v1/items/{list}/rows?limit=1000")).await["items"].clone();
    let deleted: Vec<Value> =
        deleted.as_array().unwrap().iter().map(|row| json!({ "id": row["id"], "delete": true })).collect();
    rig.change_rows(&list, json!(deleted)).await;
    wait_for_count(&rig.admin, "curlew", 1).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rows_are_found_on_sqlite() {
    rows_are_found(Engine::Sqlite).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rows_are_found_on_postgres() {
    rows_are_found(Engine::Postgres).await;
}

async fn rows_are_found_only_by_those_who_may_open_them(engine: Engine) {
    let rig = Rig::new(engine).await;
    let projects = rig.list("Projects", json!([])).await;
    let lookup = json!({ "name": "Project", "kind": "lookup", "list": projects });
    let formula = json!({ "name": "Label", "kind": "text", "formula": "[Title] & \": \" & [Project]" });
    let colours = json!({ "name": "Colours", "kind": "choice", "choices": ["ochre", "teal"], "multiple": true });
    let tasks = rig.list("Tasks", json!([lookup, { "name": "Notes", "kind": "text" }, formula, colours])).await;
    for list in [&projects, &tasks] {
        rig.call(Method::POST, &format!("/api/v1/items/{list}/permissions/break"), json!({ "copy": false })).await;
    }
    let project = rig.add_row(&projects, json!({ "Title": "Quetzal" })).await;
    rig.add_row(&tasks, json!({ "Title": "Feed the birds", "Project": project, "Notes": "seeds" })).await;
    let painted = json!({ "Title": "Sell the birds", "Notes": "canary", "Colours": ["ochre", "teal"] });
    let secret = rig.add_row(&tasks, painted).await;
    wait_until_indexed(&rig.admin).await;
    // A title of another list is found where it is, and nowhere else, whoever asks.
    assert_eq!(search(&rig.admin, "quetzal").await["items"][0]["path"], "Projects/1");
    assert_eq!(names(&rig.admin, "quetzal").await.len(), 1);
    assert_eq!(names(&rig.admin, "Project:quetzal").await, none());
    assert_eq!(names(&rig.admin, "\"birds quetzal\"").await, none());
    assert_eq!(names(&rig.admin, "project:*").await, ["1"], "rows that name an entry");
    for query in ["colours:teal", "colours:ochre", "colours:*", "birds teal"] {
        assert_eq!(names(&rig.admin, query).await, ["2"], "{query}: each of several values is found");
    }
    assert_eq!(names(&rig.reader, "birds").await, none(), "without a right nothing is found");
    assert_eq!(facets(&rig.reader, "type:row").await["facets"]["rows"], 0);
    rig.grant(&tasks, "Read", true).await;
    assert_eq!(names(&rig.reader, "birds").await.len(), 2, "a grant acts at once");
    assert_eq!(names(&rig.reader, "quetzal").await, none());
    assert_eq!(names(&rig.reader, "Project:quetzal OR quetz*").await, none());
    let feed = search(&rig.reader, "feed seeds").await;
    assert!(!feed.to_string().to_lowercase().contains("quetzal"), "{feed}");
    let suggested = async |text: &str| {
        let path = format!("/api/v1/search/suggest?q={text}");
        rig.reader.send(Method::GET, &path, Vec::new()).await.unwrap().json()["items"].as_array().unwrap().len()
    };
    assert_eq!((suggested("birds").await, suggested("quetzal").await), (2, 0));

    // A row with permissions of its own is hidden, before the index follows and after.
    rig.call(Method::POST, &format!("/api/v1/items/{secret}/permissions/break"), json!({ "copy": false })).await;
    for _ in 0..2 {
        let seen = facets(&rig.reader, "birds").await;
        assert_eq!((&seen["documents"], &seen["facets"]["rows"]), (&json!(1), &json!(1)), "{seen:#}");
        assert_eq!((names(&rig.reader, "canary").await, suggested("sell").await), (none(), 0));
        assert_eq!(names(&rig.admin, "canary").await, ["2"]);
        wait_until_indexed(&rig.admin).await;
    }
    rig.grant(&secret, "Read", true).await;
    assert_eq!(names(&rig.reader, "canary").await, ["2"]);
    rig.call(Method::POST, &format!("/api/v1/items/{secret}/permissions/restore"), Value::Null).await;
    assert_eq!(names(&rig.reader, "birds").await.len(), 2);
    rig.grant(&tasks, "Read", false).await;
    assert_eq!(names(&rig.reader, "birds").await, none(), "a revocation acts at once");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rows_are_found_only_by_those_who_may_open_them_on_sqlite() {
    rows_are_found_only_by_those_who_may_open_them(Engine::Sqlite).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rows_are_found_only_by_those_who_may_open_them_on_postgres() {
    rows_are_found_only_by_those_who_may_open_them(Engine::Postgres).await;
}
