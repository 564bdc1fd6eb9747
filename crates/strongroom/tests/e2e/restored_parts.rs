//! Restores of a document, a library, a site and a content database into an existing farm.

use database::Engine;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::{Client, Farm, Server, bytes, damage, file_with, files_below};

/// A farm with a site, a library with columns and a document with three versions, and a backup of it.
pub(crate) struct Rig {
    pub(crate) farm: Farm,
    server: Server,
    client: Client,
    scratch: TempDir,
    engine: Engine,
}

impl Rig {
    pub(crate) async fn new(engine: Engine) -> Self {
        let farm = Farm::on(engine).await;
        let server = farm.start();
        let client = server.client(&farm.token());
        let rig = Self { farm, server, client, scratch: tempfile::tempdir().unwrap(), engine };
        let root = rig.call(Method::GET, "/api/v1/items/by-path?path=", Value::Null).await;
        let path = format!("/api/v1/items/{}/libraries", root["id"].as_str().unwrap());
        rig.call(Method::POST, &path, json!({ "name": "Contracts", "settings": { "versioning": "major" } })).await;
        for round in 0..3 {
            rig.put("Contracts/2026/lease.txt", bytes(round, 30_000)).await;
        }
        rig.put("Contracts/2026/small.txt", b"small".to_vec()).await;
        rig.put("Contracts/large.bin", bytes(7, 5_000_000)).await;
        let path = format!("/api/v1/items/{}/lists", root["id"].as_str().unwrap());
        let list = rig.call(Method::POST, &path, json!({ "name": "Customers" })).await;
        let path = format!("/api/v1/items/{}", list["id"].as_str().unwrap());
        rig.call(Method::POST, &format!("{path}/columns"), json!({ "name": "Value", "kind": "number" })).await;
        let rows: Vec<Value> = (0..450).map(|n| json!({ "set": { "Title": format!("c{n}"), "Value": n } })).collect();
        rig.call(Method::POST, &format!("{path}/changes"), json!({ "changes": rows })).await;
        let backup = rig.backups();
        rig.farm.json(&["backup", &backup]);
        rig
    }

    pub(crate) fn backups(&self) -> String {
        self.scratch.path().join("backups").to_str().unwrap().to_owned()
    }

    pub(crate) async fn call(&self, method: Method, path: &str, body: Value) -> Value {
        let answer = self.client.prove_json(method, path, &body).await.unwrap();
        assert!(answer.status.is_success(), "{path}: {} {}", answer.status, answer.text());
        serde_json::from_slice(&answer.body).unwrap_or(Value::Null)
    }

    pub(crate) async fn put(&self, path: &str, body: Vec<u8>) {
        let answer = self.client.send(Method::PUT, &format!("/api/v1/content/{path}"), body).await.unwrap();
        assert!(answer.status.is_success(), "{path}: {} {}", answer.status, answer.text());
    }

    pub(crate) async fn get(&self, path: &str) -> Option<Vec<u8>> {
        let answer = self.client.send(Method::GET, &format!("/api/v1/content/{path}"), Vec::new()).await.unwrap();
        match answer.status {
            StatusCode::OK => Some(answer.body),
            StatusCode::NOT_FOUND => None,
            other => panic!("{path}: {other} {}", answer.text()),
        }
    }

    pub(crate) async fn delete(&self, path: &str) {
        let answer = self.client.send(Method::DELETE, &format!("/api/v1/content/{path}"), Vec::new()).await.unwrap();
        assert!(answer.status.is_success(), "{path}: {} {}", answer.status, answer.text());
    }

    /// Restores a part of the farm. With PostgreSQL, supplies new databases for reading the backup.
    pub(crate) async fn restore(&self, words: &[&str]) -> Value {
        let backups = self.backups();
        let mut all: Vec<String> = ["restore", &backups].iter().chain(words).map(|word| (*word).to_owned()).collect();
        if self.engine == Engine::Postgres {
            for name in ["main", "configuration"] {
                all.push("--database-url".into());
                all.push(format!("{name}={}", database::testing::fresh_postgres().await));
            }
        }
        self.farm.json(&all.iter().map(String::as_str).collect::<Vec<_>>())
    }

    /// Version numbers of a document, newest first.
    pub(crate) async fn versions(&self, path: &str) -> Vec<String> {
        let item = self.call(Method::GET, &format!("/api/v1/items/by-path?path={path}"), Value::Null).await;
        let id = item["id"].as_str().unwrap();
        let page = self.call(Method::GET, &format!("/api/v1/items/{id}/versions"), Value::Null).await;
        let items = page["items"].as_array().unwrap();
        items.iter().map(|version| version["number"].as_str().unwrap().to_owned()).collect()
    }

    /// The rows of a list: identifier, and values by column.
    pub(crate) async fn rows(&self, list: &str) -> Vec<(String, Value)> {
        let item = self.call(Method::GET, &format!("/api/v1/items/by-path?path={list}"), Value::Null).await;
        let path = format!("/api/v1/items/{}/rows?limit=1000", item["id"].as_str().unwrap());
        let page = self.call(Method::GET, &path, Value::Null).await;
        let rows = page["items"].as_array().unwrap().iter();
        rows.map(|row| (row["id"].as_str().unwrap().to_owned(), row["values"].clone())).collect()
    }

    pub(crate) async fn delete_rows(&self, list: &str, rows: &[(String, Value)]) {
        let item = self.call(Method::GET, &format!("/api/v1/items/by-path?path={list}"), Value::Null).await;
        let path = format!("/api/v1/items/{}/changes", item["id"].as_str().unwrap());
        let changes: Vec<Value> = rows.iter().map(|(id, _)| json!({ "id": id, "delete": true })).collect();
        let done = self.call(Method::POST, &path, json!({ "atomic": true, "changes": changes })).await;
        assert_eq!(done["applied"], true, "{done:#}");
    }
}

async fn a_list_comes_back(engine: Engine) {
    let rig = Rig::new(engine).await;
    let all = rig.rows("Customers").await;
    let values = |rows: &[(String, Value)]| {
        let mut values: Vec<String> = rows.iter().map(|(_, values)| values.to_string()).collect();
        values.sort();
        values
    };
    // The third round deletes rows that an earlier restore brought back.
    for round in 0..3 {
        let lost = rig.rows("Customers").await.split_off(250);
        rig.delete_rows("Customers", &lost).await;
        let back = rig.restore(&["--list", "Customers"]).await;
        assert_eq!((&back["created"], &back["unchanged"]), (&json!(200), &json!(250)), "{round}: {back:#}");
        assert_eq!(values(&rig.rows("Customers").await), values(&all), "{round}");
    }
    // Values that no new row could have: of a deleted group, of a choice that is gone, and none where one is required.
    let list = rig.call(Method::GET, "/api/v1/items/by-path?path=Customers", Value::Null).await;
    let path = format!("/api/v1/items/{}", list["id"].as_str().unwrap());
    let group = rig.call(Method::POST, "/api/v1/groups", json!({ "name": "Sales" })).await;
    for column in [
        json!({ "name": "Team", "kind": "person" }),
        json!({
            "name": "Need", "kind": "text", "default": "\"much\"",
            "check": "[Need] <> \"nothing\"", "message": "Say more"
        }),
        json!({ "name": "Twice", "kind": "number", "formula": "[Value] * 2" }),
        json!({ "name": "More", "kind": "number", "formula": "[Twice] + 1" }),
    ] {
        rig.call(Method::POST, &format!("{path}/columns"), column).await;
    }
    let state = json!({ "name": "State", "kind": "choice", "choices": ["old", "new"] });
    let state = rig.call(Method::POST, &format!("{path}/columns"), state).await;
    let odd = json!({ "Title": "odd", "Team": group["id"], "State": "old", "Need": null });
    let odd = rig.call(Method::POST, &format!("{path}/rows"), json!({ "values": odd })).await;
    let column = format!("{path}/columns/{}", state["id"].as_str().unwrap());
    rig.call(Method::PUT, &column, json!({ "name": "State", "kind": "choice", "choices": ["new"] })).await;
    let columns = rig.call(Method::GET, &format!("{path}/columns"), Value::Null).await;
    let title = format!("{path}/columns/{}", columns["items"][0]["id"].as_str().unwrap());
    let described = json!({ "name": "Title", "kind": "text", "required": true, "description": "As on the contract" });
    rig.call(Method::PUT, &title, described).await;
    rig.farm.json(&["backup", &rig.backups()]);
    rig.call(Method::DELETE, &format!("/api/v1/groups/{}", group["id"].as_str().unwrap()), Value::Null).await;
    let columns = rig.call(Method::GET, &format!("{path}/columns"), Value::Null).await;
    let need = columns["items"].as_array().unwrap().iter().find(|column| column["name"] == "Need").unwrap().clone();
    let column = format!("{path}/columns/{}", need["id"].as_str().unwrap());
    rig.call(Method::PUT, &column, json!({ "name": "Need", "kind": "text", "required": true })).await;
    rig.delete_rows("Customers", &[(odd["id"].as_str().unwrap().to_owned(), Value::Null)]).await;
    let back = rig.restore(&["--list", "Customers"]).await;
    assert_eq!((&back["created"], &back["unchanged"]), (&json!(1), &json!(450)), "{back:#}");
    let values = &rig.rows("Customers").await.pop().unwrap().1;
    assert_eq!(values.as_object().unwrap().len(), 3, "{values}");
    let back = rig.restore(&["--list", "Customers", "--beside"]).await;
    assert_eq!(back["created"], 451, "{back:#}");
    let place = back["path"].as_str().unwrap().replace(' ', "%20");
    let rows = rig.rows(&place).await;
    assert_eq!(rows.len(), 451);
    // Formulas read the columns of the new list.
    let item = rig.call(Method::GET, &format!("/api/v1/items/by-path?path={place}"), Value::Null).await;
    let path = format!("/api/v1/items/{}/columns", item["id"].as_str().unwrap());
    let columns = rig.call(Method::GET, &path, Value::Null).await;
    let column =
        |name: &str| columns["items"].as_array().unwrap().iter().find(|column| column["name"] == name).unwrap().clone();
    assert_eq!(
        (&column("More")["formula"], &column("Twice")["formula"]),
        (&json!("[Twice] + 1"), &json!("[Value] * 2"))
    );
    assert_eq!((&column("Need")["default"], &column("Need")["message"]), (&json!("\"much\""), &json!("Say more")));
    assert_eq!(column("Title")["description"], "As on the contract");
    assert_eq!(column("Need")["check"], "[Need] <> \"nothing\"");
    let of = |row: &Value, name: &str| row[column(name)["id"].as_str().unwrap()].as_f64();
    let whole = rows.iter().filter(|(_, row)| of(row, "Value").is_some());
    assert!(whole.clone().count() == 450);
    assert!(whole.into_iter().all(|(_, row)| of(row, "More") == of(row, "Value").map(|value| value * 2.0 + 1.0)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_comes_back_into_a_running_farm_on_sqlite() {
    a_list_comes_back(Engine::Sqlite).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_comes_back_into_a_running_farm_on_postgres() {
    a_list_comes_back(Engine::Postgres).await;
}

async fn parts_come_back(engine: Engine) {
    let rig = Rig::new(engine).await;
    rig.delete("Contracts/2026/lease.txt").await;
    rig.put("Contracts/2026/small.txt", b"changed".to_vec()).await;

    let back = rig.restore(&["--document", "Contracts/2026/lease.txt"]).await;
    assert_eq!((&back["created"], &back["versions"]), (&json!(1), &json!(3)), "{back:#}");
    assert!(rig.get("Contracts/2026/lease.txt").await.unwrap() == bytes(2, 30_000));
    assert_eq!(rig.versions("Contracts/2026/lease.txt").await, ["3.0", "2.0", "1.0"]);

    let back = rig.restore(&["--document", "Contracts/2026/small.txt", "--beside"]).await;
    let place = back["path"].as_str().unwrap().to_owned();
    assert!(place.starts_with("Contracts/2026/small (backup of "), "{place}");
    assert!(place.ends_with(").txt"), "{place}");
    assert_eq!(rig.get(&place.replace(' ', "%20")).await.unwrap(), b"small");
    assert_eq!(rig.get("Contracts/2026/small.txt").await.unwrap(), b"changed");

    let back = rig.restore(&["--library", "Contracts"]).await;
    assert_eq!((&back["replaced"], &back["unchanged"]), (&json!(1), &json!(2)), "{back:#}");
    assert_eq!(rig.get("Contracts/2026/small.txt").await.unwrap(), b"small");

    let back = rig.restore(&["--library", "Contracts", "--beside"]).await;
    assert_eq!(back["created"], 3, "{back:#}");
    let place = back["path"].as_str().unwrap().replace(' ', "%20");
    assert!(rig.get(&format!("{place}/large.bin")).await.unwrap() == bytes(7, 5_000_000));
    assert_eq!(rig.versions(&format!("{place}/2026/lease.txt")).await, ["3.0", "2.0", "1.0"]);
    let refused = rig.farm.run(&["restore", &rig.backups(), "--document", "Contracts/nothing.txt"]).unwrap_err();
    assert!(refused.output.contains("nothing at") || refused.output.contains("--database-url"), "{}", refused.output);
    rig.farm.check_blobs();
}

#[tokio::test(flavor = "multi_thread")]
async fn documents_and_libraries_come_back_into_a_running_farm_on_sqlite() {
    parts_come_back(Engine::Sqlite).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn documents_and_libraries_come_back_into_a_running_farm_on_postgres() {
    parts_come_back(Engine::Postgres).await;
}

/// Returns the item at a path.
async fn item(rig: &Rig, path: &str) -> Value {
    rig.call(Method::GET, &format!("/api/v1/items/by-path?path={}", path.replace(' ', "%20")), Value::Null).await
}

async fn of_item(rig: &Rig, path: &str, what: &str) -> Value {
    let id = item(rig, path).await["id"].as_str().unwrap().to_owned();
    rig.call(Method::GET, &format!("/api/v1/items/{id}/{what}"), Value::Null).await
}

/// Column values of a document, sorted by column name.
async fn values(rig: &Rig, library: &str, path: &str) -> Vec<(String, Value)> {
    let columns = of_item(rig, library, "columns").await;
    let values = of_item(rig, path, "values").await;
    let columns = columns["items"].as_array().unwrap();
    let mut found: Vec<(String, Value)> = columns
        .iter()
        .map(|column| {
            (column["name"].as_str().unwrap().to_owned(), values["values"][column["id"].as_str().unwrap()].clone())
        })
        .collect();
    found.sort_by(|a, b| a.0.cmp(&b.0));
    found
}

/// Returns whether an item has its own permissions, and all grants as pairs of principal and role.
async fn permissions(rig: &Rig, path: &str) -> (bool, Vec<(String, String)>) {
    let table = of_item(rig, path, "permissions").await;
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let grants = table["grants"].as_array().unwrap().iter();
    let mut grants: Vec<_> =
        grants.map(|grant| (text(&grant["principal"]["name"]), text(&grant["role_name"]))).collect();
    grants.sort();
    (table["own"].as_bool().unwrap(), grants)
}

/// Adds a library with columns, permissions and documents to the site `site`, whose identifier is `site_id`.
async fn furnish(rig: &Rig, site: &str, site_id: &str, otto: &str) {
    let new = json!({ "name": "Plans", "settings": { "versioning": "major-minor" } });
    let library = rig.call(Method::POST, &format!("/api/v1/items/{site_id}/libraries"), new).await;
    let library = library["id"].as_str().unwrap();
    let columns = format!("/api/v1/items/{library}/columns");
    let client = rig.call(Method::POST, &columns, json!({ "name": "Client", "kind": "text" })).await;
    let due = rig.call(Method::POST, &columns, json!({ "name": "Floors", "kind": "number" })).await;
    rig.put(&format!("{site}/Plans/2026/tower.txt"), bytes(1, 40_000)).await;
    rig.put(&format!("{site}/Plans/2026/open.txt"), b"open".to_vec()).await;
    let id = async |path: String| item(rig, &path).await["id"].as_str().unwrap().to_owned();
    let tower = id(format!("{site}/Plans/2026/tower.txt")).await;
    let folder = id(format!("{site}/Plans/2026")).await;
    let change =
        json!({ "values": { client["id"].as_str().unwrap(): "Bauer & Söhne", due["id"].as_str().unwrap(): 42.0 } });
    rig.call(Method::PATCH, &format!("/api/v1/items/{tower}/values"), change).await;
    let roles = rig.call(Method::GET, "/api/v1/roles", Value::Null).await;
    let roles = roles["items"].as_array().unwrap();
    for (at, role) in [(&folder, 0), (&tower, 1)] {
        rig.call(Method::POST, &format!("/api/v1/items/{at}/permissions/break"), json!({ "copy": false })).await;
        let grant = json!({ "principal": otto, "role": roles[role]["id"] });
        rig.call(Method::POST, &format!("/api/v1/items/{at}/permissions/grants"), grant).await;
    }
}

async fn sites_come_back(engine: Engine) {
    let rig = Rig::new(engine).await;
    rig.farm.json(&["user", "add", "otto", "--without-password"]);
    let otto = rig.farm.json(&["user", "show", "otto"])["id"].as_str().unwrap().to_owned();
    let root = item(&rig, "").await["id"].as_str().unwrap().to_owned();
    let site = rig.call(Method::POST, &format!("/api/v1/items/{root}/sites"), json!({ "name": "Projects" })).await;
    furnish(&rig, "Projects", site["id"].as_str().unwrap(), &otto).await;
    rig.farm.json(&["site", "create", "departments/sales", "--title", "Sales"]);
    let sales = item(&rig, "departments/sales").await["id"].as_str().unwrap().to_owned();
    furnish(&rig, "departments/sales", &sales, &otto).await;
    let inside = ["Plans", "Plans/2026", "Plans/2026/tower.txt", "Plans/2026/open.txt"];
    let picture = async |site: &str| {
        let mut seen = Vec::new();
        for path in inside {
            seen.push(permissions(&rig, &format!("{site}/{path}")).await);
        }
        let tower = format!("{site}/Plans/2026/tower.txt");
        let settings = of_item(&rig, &format!("{site}/Plans"), "settings").await["versioning"].clone();
        (seen, values(&rig, &format!("{site}/Plans"), &tower).await, settings, rig.get(&tower).await)
    };
    let before = picture("Projects").await;
    assert_eq!(before.1, [("Client".to_owned(), json!("Bauer & Söhne")), ("Floors".to_owned(), json!(42.0))]);
    assert!(before.0[1].0, "{:?}", before.0);
    assert!(before.0[2].0, "{:?}", before.0);
    assert!(before.0[1].1 != before.0[2].1, "{:?}", before.0);
    rig.farm.json(&["backup", &rig.backups()]);

    rig.call(Method::DELETE, &format!("/api/v1/items/{}", site["id"].as_str().unwrap()), Value::Null).await;
    let back = rig.restore(&["--site", "Projects"]).await;
    assert_eq!((&back["created"], &back["faults"]), (&json!(2), &json!([])), "{back:#}");
    assert_eq!(picture("Projects").await, before);

    let back = rig.restore(&["--site", "Projects", "--beside"]).await;
    let beside = back["path"].as_str().unwrap().to_owned();
    assert!(beside.starts_with("Projects (backup of "), "{beside}");
    assert_eq!(picture(&beside.replace(' ', "%20")).await, before);

    // A whole site collection: existing documents stay, and deleted ones are restored.
    let before = picture("departments/sales").await;
    rig.delete("departments/sales/Plans/2026/tower.txt").await;
    let back = rig.restore(&["--site", "departments/sales"]).await;
    assert_eq!((&back["created"], &back["unchanged"]), (&json!(1), &json!(1)), "{back:#}");
    assert_eq!(picture("departments/sales").await, before);
    let refused = rig.farm.run(&["restore", &rig.backups(), "--library", "Projects"]).unwrap_err();
    assert!(refused.output.contains("is a site") || refused.output.contains("--database-url"), "{}", refused.output);
    rig.farm.check_blobs();
}

#[tokio::test(flavor = "multi_thread")]
async fn sites_come_back_with_columns_and_permissions_on_sqlite() {
    sites_come_back(Engine::Sqlite).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn sites_come_back_with_columns_and_permissions_on_postgres() {
    sites_come_back(Engine::Postgres).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_restoration_that_was_cut_short_left_is_finished_before_content_comes_into_it() {
    let rig = Rig::new(Engine::Sqlite).await;
    rig.farm.json(&["user", "add", "otto", "--without-password"]);
    let otto = rig.farm.json(&["user", "show", "otto"])["id"].as_str().unwrap().to_owned();
    let library = item(&rig, "Contracts").await["id"].as_str().unwrap().to_owned();
    let roles = rig.call(Method::GET, "/api/v1/roles", Value::Null).await;
    rig.call(Method::POST, &format!("/api/v1/items/{library}/permissions/break"), json!({ "copy": false })).await;
    let grant = json!({ "principal": otto, "role": roles["items"][0]["id"] });
    let grants = |at: &str| format!("/api/v1/items/{at}/permissions/grants");
    rig.call(Method::POST, &grants(&library), grant.clone()).await;
    let before = permissions(&rig, "Contracts").await;
    rig.farm.json(&["backup", &rig.backups()]);
    let stale = rig.farm.data.join("restore-items-1");
    std::fs::create_dir(&stale).unwrap();
    std::fs::write(stale.join("main.sqlite"), "all secrets").unwrap();

    // The library was just created: first without permissions of its own, so that all users of the site can see it,
    // then with some of its permissions.
    for has_some in [false, true] {
        let there = item(&rig, "Contracts").await["id"].as_str().unwrap().to_owned();
        rig.call(Method::DELETE, &format!("/api/v1/items/{there}"), Value::Null).await;
        let root = item(&rig, "").await["id"].as_str().unwrap().to_owned();
        let new = json!({ "name": "Contracts", "settings": { "versioning": "major" } });
        let made = rig.call(Method::POST, &format!("/api/v1/items/{root}/libraries"), new).await;
        let made = made["id"].as_str().unwrap();
        if has_some {
            rig.call(Method::POST, &format!("/api/v1/items/{made}/permissions/break"), json!({ "copy": false })).await;
        }
        assert_ne!(permissions(&rig, "Contracts").await, before);
        rig.restore(&["--library", "Contracts"]).await;
        assert_eq!(permissions(&rig, "Contracts").await, before);
        assert_eq!(rig.get("Contracts/2026/small.txt").await.unwrap(), b"small");
    }
    assert!(!stale.exists(), "what a killed restoration left is removed");

    // A library in use keeps the permissions that its users gave it.
    let there = item(&rig, "Contracts").await["id"].as_str().unwrap().to_owned();
    rig.call(Method::POST, &format!("/api/v1/items/{there}/permissions/restore"), Value::Null).await;
    rig.restore(&["--library", "Contracts"]).await;
    assert!(!permissions(&rig, "Contracts").await.0);

    // Who was taken out of a library does not come back, even if it is empty.
    rig.call(Method::DELETE, &format!("/api/v1/items/{there}"), Value::Null).await;
    let root = item(&rig, "").await["id"].as_str().unwrap().to_owned();
    let made = rig.call(Method::POST, &format!("/api/v1/items/{root}/libraries"), json!({ "name": "Contracts" })).await;
    let made = made["id"].as_str().unwrap();
    rig.call(Method::POST, &format!("/api/v1/items/{made}/permissions/break"), json!({ "copy": false })).await;
    let own = of_item(&rig, "Contracts", "permissions").await["grants"][0].clone();
    let (principal, role) = (own["principal"]["id"].as_str().unwrap(), own["role"].as_str().unwrap());
    rig.call(Method::DELETE, &format!("{}/{principal}/{role}", grants(made)), Value::Null).await;
    rig.restore(&["--library", "Contracts"]).await;
    assert_eq!(permissions(&rig, "Contracts").await, (true, Vec::new()));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_document_comes_back_without_the_versions_whose_loss_was_accepted() {
    let rig = Rig::new(Engine::Sqlite).await;
    // Large enough for a separate file, so that this version can be lost alone.
    for round in 0..2 {
        rig.put("Contracts/plan.bin", bytes(round, 3_000_000)).await;
    }
    std::fs::remove_file(file_with(&rig.farm.data.join("blobs"), &bytes(0, 3_000_000)).0).unwrap();
    assert!(rig.farm.run(&["blobs", "check"]).is_err());
    rig.farm.json(&["blobs", "accept-loss", &blobs::digest_of(&bytes(0, 3_000_000)).to_string()]);
    rig.farm.json(&["backup", &rig.backups()]);
    rig.delete("Contracts/plan.bin").await;
    let back = rig.restore(&["--document", "Contracts/plan.bin"]).await;
    assert_eq!((&back["versions"], &back["faults"]), (&json!(1), &json!([])), "{back:#}");
    assert!(back["notes"][0].as_str().unwrap().contains("without version 1.0"), "{back:#}");
    assert_eq!(rig.versions("Contracts/plan.bin").await, ["2.0"]);
    assert!(rig.get("Contracts/plan.bin").await.unwrap() == bytes(1, 3_000_000));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_farm_has_whole_is_not_written_again_and_what_it_has_damaged_is() {
    let rig = Rig::new(Engine::Sqlite).await;
    // Bytes uploaded after the backup go to another store.
    rig.farm.json(&["blobs", "stores", "add", "second", "--kind", "directory", "--path", "second"]);
    rig.farm.json(&["blobs", "policy", "set", "--database", "main", "--active", "second"]);
    let second = rig.farm.data.join("second");
    let is_in_second = |content: &[u8]| {
        let found = files_below(&second).into_iter().map(|path| std::fs::read(path).unwrap());
        found.into_iter().any(|file| file.windows(64).any(|window| window == &content[..64]))
    };
    let back = rig.restore(&["--library", "Contracts", "--beside"]).await;
    assert_eq!((&back["created"], &back["faults"]), (&json!(3), &json!([])), "{back:#}");
    let place = back["path"].as_str().unwrap().replace(' ', "%20");
    assert!(rig.get(&format!("{place}/large.bin")).await.unwrap() == bytes(7, 5_000_000));
    assert!(rig.get(&format!("{place}/2026/lease.txt")).await.unwrap() == bytes(2, 30_000));
    for content in [bytes(0, 30_000), bytes(1, 30_000), bytes(2, 30_000), bytes(7, 5_000_000)] {
        assert!(!is_in_second(&content));
    }

    damage(&rig.farm.data.join("blobs"), &bytes(7, 5_000_000));
    let back = rig.restore(&["--document", "Contracts/large.bin", "--beside"]).await;
    assert_eq!((&back["created"], &back["faults"]), (&json!(1), &json!([])), "{back:#}");
    assert!(is_in_second(&bytes(7, 5_000_000)));
    for path in [back["path"].as_str().unwrap(), "Contracts/large.bin"] {
        assert!(rig.get(&path.replace(' ', "%20")).await.unwrap() == bytes(7, 5_000_000), "{path}");
    }
    rig.farm.check_blobs();

    // The reported path is the restored document, even if an earlier one has the same name.
    rig.put("Contracts/2026/small.txt", b"changed".to_vec()).await;
    let mut places = Vec::new();
    for content in ["first", "second"] {
        let back = rig.restore(&["--document", "Contracts/2026/small.txt", "--beside"]).await;
        let place = back["path"].as_str().unwrap().replace(' ', "%20");
        assert_eq!(rig.get(&place).await.unwrap(), b"small", "{place}");
        rig.put(&place, content.as_bytes().to_vec()).await;
        places.push(place);
    }
    assert_eq!(rig.get(&places[0]).await.unwrap(), b"first", "{places:?}");
    assert_ne!(places[0], places[1]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_content_database_comes_back_while_no_server_runs_and_its_blobs_are_not_copied_again() {
    let rig = Rig::new(Engine::Sqlite).await;
    rig.put("Contracts/later.bin", bytes(1, 100_000)).await;
    let backups = rig.backups();
    let refused = rig.farm.run(&["restore", &backups, "--content-database", "main"]).unwrap_err();
    assert!(refused.output.contains("a server or another restore is using"), "{}", refused.output);
    let Rig { farm, server, scratch: _scratch, .. } = rig;
    assert!(server.stop().success());
    let back = farm.json(&["restore", &backups, "--content-database", "main"]);
    assert_eq!(back["copied_blobs"], 0, "{back:#}");
    farm.check_blobs();
    let server = farm.start();
    let client = server.client(&farm.token());
    let get = |path: &'static str| client.send(Method::GET, path, Vec::new());
    assert_eq!(get("/api/v1/content/Contracts/later.bin").await.unwrap().status, StatusCode::NOT_FOUND);
    assert!(get("/api/v1/content/Contracts/large.bin").await.unwrap().body == bytes(7, 5_000_000));
}
