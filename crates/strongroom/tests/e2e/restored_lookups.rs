//! Lookup columns in sites and lists that are restored: rows have new identifiers, and are named as before.

use database::Engine;
use reqwest::Method;
use serde_json::{Value, json};

use crate::restored_parts::Rig;

/// Makes a list with lookup columns and returns its identifier. The title column is called "Title".
async fn make_list(rig: &Rig, site: &str, name: &str) -> String {
    let list = rig.call(Method::POST, &format!("/api/v1/items/{site}/lists"), json!({ "name": name })).await;
    list["id"].as_str().unwrap().to_owned()
}

async fn make_lookup(rig: &Rig, place: &str, name: &str, list: &str) {
    let column = json!({ "name": name, "kind": "lookup", "list": list });
    rig.call(Method::POST, &format!("/api/v1/items/{place}/columns"), column).await;
}

async fn make_lookups(rig: &Rig, place: &str, name: &str, list: &str) {
    let column = json!({ "name": name, "kind": "lookup", "list": list, "multiple": true });
    rig.call(Method::POST, &format!("/api/v1/items/{place}/columns"), column).await;
}

async fn add(rig: &Rig, list: &str, values: Value) -> String {
    let row = rig.call(Method::POST, &format!("/api/v1/items/{list}/rows"), json!({ "values": values })).await;
    row["id"].as_str().unwrap().to_owned()
}

async fn id_at(rig: &Rig, path: &str) -> String {
    let path = format!("/api/v1/items/by-path?path={path}");
    rig.call(Method::GET, &path, Value::Null).await["id"].as_str().unwrap().to_owned()
}

/// Returns the titles of a list's rows with the titles of the rows that they name, by the names of columns.
async fn named(rig: &Rig, site: &str, lists: &[&str], list: &str) -> Vec<(String, Vec<(String, String)>)> {
    let mut titles = Vec::new();
    for list in lists {
        let columns = columns(rig, &format!("{site}/{list}")).await;
        let title = columns.iter().find(|(_, name)| name == "Title").unwrap().0.clone();
        let rows = rig.rows(&format!("{site}/{list}")).await.into_iter();
        titles.extend(rows.map(|(id, values)| (id, values[&title].as_str().unwrap().to_owned())));
    }
    let columns = columns(rig, &format!("{site}/{list}")).await;
    let title_of = |id: &str| titles.iter().find(|(row, _)| row == id).map_or("nothing", |(_, title)| title).to_owned();
    let mut found = Vec::new();
    for (id, values) in rig.rows(&format!("{site}/{list}")).await {
        let lookups = columns.iter().filter(|(_, name)| name != "Title");
        let named = lookups.filter_map(|(column, name)| {
            let ids = values[column].as_array().cloned().unwrap_or_else(|| vec![values[column].clone()]);
            let titles: Option<Vec<String>> = ids.iter().map(|id| Some(title_of(id.as_str()?))).collect();
            Some((name.clone(), titles?.join(" and ")))
        });
        found.push((title_of(&id), named.collect()));
    }
    found.sort();
    found
}

async fn columns(rig: &Rig, path: &str) -> Vec<(String, String)> {
    let path = format!("/api/v1/items/{}/columns", id_at(rig, path).await);
    let columns = rig.call(Method::GET, &path, Value::Null).await;
    let text = |column: &Value, field: &str| column[field].as_str().unwrap().to_owned();
    columns["items"].as_array().unwrap().iter().map(|column| (text(column, "id"), text(column, "name"))).collect()
}

async fn lookups_come_back(engine: Engine) {
    let rig = Rig::new(engine).await;
    let root = id_at(&rig, "").await;
    let site = rig.call(Method::POST, &format!("/api/v1/items/{root}/sites"), json!({ "name": "Works" })).await;
    let site = site["id"].as_str().unwrap().to_owned();
    // Assets name people, who come later, and people name their assets; tasks name tasks, older and newer ones, one or
    // several, and a list outside the site.
    let (assets, people) = (make_list(&rig, &site, "Assets").await, make_list(&rig, &site, "People").await);
    let tasks = make_list(&rig, &site, "Tasks").await;
    make_lookup(&rig, &assets, "Owner", &people).await;
    make_lookup(&rig, &people, "Desk", &assets).await;
    make_lookup(&rig, &tasks, "Above", &tasks).await;
    make_lookups(&rig, &tasks, "Parts", &tasks).await;
    make_lookup(&rig, &tasks, "Customer", &id_at(&rig, "Customers").await).await;
    let anna = add(&rig, &people, json!({ "Title": "Anna" })).await;
    let desk = add(&rig, &assets, json!({ "Title": "Desk", "Owner": anna })).await;
    add(&rig, &people, json!({ "Title": "Berta", "Desk": desk })).await;
    let (customer, _) = rig.rows("Customers").await.remove(3);
    let first = add(&rig, &tasks, json!({ "Title": "first", "Customer": customer })).await;
    let second = add(&rig, &tasks, json!({ "Title": "second", "Above": first, "Parts": [first] })).await;
    let third = add(&rig, &tasks, json!({ "Title": "third", "Parts": [second, first] })).await;
    let set = json!({ "Above": second, "Parts": [third, first, second] });
    let change = json!({ "changes": [{ "id": first, "set": set }] });
    rig.call(Method::POST, &format!("/api/v1/items/{tasks}/changes"), change).await;
    let path = format!("/api/v1/items/{site}/libraries");
    let library = rig.call(Method::POST, &path, json!({ "name": "Files" })).await;
    let library = library["id"].as_str().unwrap();
    make_lookup(&rig, library, "Task", &tasks).await;
    rig.put("Works/Files/a.txt", b"a".to_vec()).await;
    let document = id_at(&rig, "Works/Files/a.txt").await;
    let values = |id: &str| format!("/api/v1/items/{id}/values");
    rig.call(Method::PATCH, &values(&document), json!({ "values": { "Task": second } })).await;

    let lists = ["Assets", "People", "Tasks"];
    let picture = async |site: &str| {
        let mut seen = Vec::new();
        for list in lists {
            seen.push(named(&rig, site, &lists, list).await);
        }
        seen
    };
    let before = picture("Works").await;
    let pair = |column: &str, title: &str| (column.to_owned(), title.to_owned());
    let first_names =
        vec![pair("Above", "second"), pair("Parts", "third and first and second"), pair("Customer", "nothing")];
    assert_eq!(before[0], [("Desk".to_owned(), vec![pair("Owner", "Anna")])]);
    assert_eq!(before[2][0], ("first".to_owned(), first_names));
    let customer_of = async |site: &str| {
        let customer = columns(&rig, &format!("{site}/Tasks")).await.into_iter().find(|(_, name)| name == "Customer");
        let customer = customer.unwrap().0;
        let rows = rig.rows(&format!("{site}/Tasks")).await;
        rows.iter().find_map(|(_, row)| row[&customer].as_str().map(ToOwned::to_owned))
    };
    rig.farm.json(&["backup", &rig.backups()]);

    // Rows that are still there keep their identifiers, under which others name them.
    let lost: Vec<String> = rig.rows("Works/Assets").await.into_iter().map(|(id, _)| id).collect();
    let change = json!({ "changes": [{ "id": lost[0], "delete": true }] });
    rig.call(Method::POST, &format!("/api/v1/items/{assets}/changes"), change).await;
    let back = rig.restore(&["--list", "Works/Assets"]).await;
    assert_eq!((&back["created"], &back["notes"]), (&json!(1), &json!([])), "{back:#}");
    assert_eq!(picture("Works").await[0], before[0]);

    rig.call(Method::DELETE, &format!("/api/v1/items/{site}"), Value::Null).await;
    let back = rig.restore(&["--site", "Works"]).await;
    assert_eq!((&back["created"], &back["faults"], &back["notes"]), (&json!(7), &json!([]), &json!([])), "{back:#}");
    assert_eq!(picture("Works").await, before);
    assert_eq!(customer_of("Works").await.as_ref(), Some(&customer));
    let document = id_at(&rig, "Works/Files/a.txt").await;
    let value = rig.call(Method::GET, &values(&document), Value::Null).await;
    let row = rig.rows("Works/Tasks").await.into_iter().map(|(id, _)| id).nth(1);
    assert!(value.to_string().contains(&format!("\"{}\"", row.unwrap())), "{value:#}");

    // Beside the present site, lookups name the rows beside it.
    let back = rig.restore(&["--site", "Works", "--beside"]).await;
    let beside = back["path"].as_str().unwrap().replace(' ', "%20");
    assert_eq!(picture(&beside).await, before);
    assert_eq!(customer_of(&beside).await.as_ref(), Some(&customer));
    rig.farm.check_blobs();
}

#[tokio::test(flavor = "multi_thread")]
async fn lookups_come_back_with_their_rows_on_sqlite() {
    lookups_come_back(Engine::Sqlite).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn lookups_come_back_with_their_rows_on_postgres() {
    lookups_come_back(Engine::Postgres).await;
}
