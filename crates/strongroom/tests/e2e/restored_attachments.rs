//! Attachments come back from a backup with the rows that they belong to.

use database::Engine;
use reqwest::Method;
use serde_json::{Value, json};

use crate::restored_parts::Rig;
use crate::support::bytes;

async fn attachments_come_back_with_their_rows(engine: Engine) {
    let rig = Rig::new(engine).await;
    for (path, text) in [("1/offer.txt", "one"), ("1/offer.txt", "two"), ("1/kept.txt", "kept"), ("2/b.bin", "b")] {
        rig.put(&format!("Customers/{path}"), text.as_bytes().to_vec()).await;
    }
    rig.put("Customers/2/large.bin", bytes(8, 3_000_000)).await;
    // The second row is for fewer people than its list.
    let limited = rig.rows("Customers").await[1].0.clone();
    let path = format!("/api/v1/items/{limited}/permissions/break");
    rig.call(Method::POST, &path, json!({ "copy": false })).await;
    rig.farm.json(&["backup", &rig.backups()]);
    let rows = rig.rows("Customers").await;
    rig.delete("Customers/1/offer.txt").await;
    rig.put("Customers/1/kept.txt", b"changed".to_vec()).await;
    rig.delete_rows("Customers", &rows[1..2]).await;
    assert_eq!(rig.get("Customers/2/large.bin").await, None);
    // The row that is there gets what it lacks; the other one comes back with a new number and all it had.
    let back = rig.restore(&["--list", "Customers"]).await;
    assert_eq!((&back["created"], &back["faults"]), (&json!(4), &json!([])), "{back:#}");
    assert_eq!(rig.get("Customers/1/offer.txt").await.unwrap(), b"two");
    assert_eq!(rig.versions("Customers/1/offer.txt").await, ["2.0", "1.0"]);
    assert_eq!(rig.versions("Customers/1/kept.txt").await, ["2.0", "1.0"]);
    assert_eq!(rig.get("Customers/1/kept.txt").await.unwrap(), b"changed");
    let again = rig.call(Method::GET, "/api/v1/items/by-path?path=Customers/451", Value::Null).await;
    assert_eq!(again["own_permissions"], true, "{again:#}");
    assert_eq!(rig.get("Customers/451/b.bin").await.unwrap(), b"b");
    assert_eq!(rig.get("Customers/451/large.bin").await.unwrap(), bytes(8, 3_000_000));
    // One attachment, and a list beside the present one.
    rig.delete("Customers/1/kept.txt").await;
    rig.restore(&["--document", "Customers/1/kept.txt"]).await;
    assert_eq!(rig.get("Customers/1/kept.txt").await.unwrap(), b"kept");
    let back = rig.restore(&["--list", "Customers", "--beside"]).await;
    let place = back["path"].as_str().unwrap().replace(' ', "%20");
    assert_eq!(rig.get(&format!("{place}/2/b.bin")).await.unwrap(), b"b");
}

#[tokio::test(flavor = "multi_thread")]
async fn attachments_come_back_with_their_rows_on_sqlite() {
    attachments_come_back_with_their_rows(Engine::Sqlite).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn attachments_come_back_with_their_rows_on_postgres() {
    attachments_come_back_with_their_rows(Engine::Postgres).await;
}
