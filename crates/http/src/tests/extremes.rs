//! Extreme amounts of data: pages stay small, and requests have limits.

use serde_json::json;

use super::*;

async fn page(farm: &Farm, path: &str) -> String {
    let form = farm.send_as("", "GET", "/sign-in", &[], "").await;
    let cookie = form.header("set-cookie").split(';').next().unwrap_or_default().to_owned();
    let token = form.text().split("name=\"form_token\" value=\"").nth(1).unwrap().split('"').next().unwrap().to_owned();
    let body = form_urlencoded::Serializer::new(String::new())
        .extend_pairs([("form_token", token.as_str()), ("login", "admin"), ("password", PASSWORD)])
        .finish();
    let fields = [("content-type", "application/x-www-form-urlencoded"), ("cookie", cookie.as_str())];
    let entered = farm.send_as("", "POST", "/sign-in", &fields, body).await.expect(303);
    let session = entered.headers.get_all("set-cookie").iter().filter_map(|field| field.to_str().ok());
    let session = session.filter_map(|field| field.split(';').next()).find(|pair| pair.contains("session=")).unwrap();
    farm.send_as("", "GET", path, &[("accept", "text/html"), ("cookie", session)], "").await.expect(200).text()
}

#[tokio::test]
async fn ten_thousand_versions_are_shown_page_by_page() {
    let farm = Farm::new().await;
    let library = farm.id("Documents").await;
    farm.json("PATCH", &format!("/api/v1/items/{library}/settings"), json!({"major_limit": 0})).await.expect(200);
    for n in 0..10_000 {
        farm.put("Documents/often.txt", n.to_string()).await;
    }
    let id = farm.id("Documents/often.txt").await;
    let mut url = format!("/api/v1/items/{id}/versions?limit=1000");
    let mut seen = 0;
    loop {
        let part = farm.get(&url).await.expect(200).json();
        seen += part["items"].as_array().unwrap().len();
        let Some(next) = part["next"].as_str() else { break };
        url = format!("/api/v1/items/{id}/versions?limit=1000&cursor={next}");
    }
    assert_eq!(seen, 10_000);
    let document = page(&farm, "/browse/Documents/often.txt").await;
    assert!(document.len() < 150_000, "{} bytes", document.len());
    assert!(document.contains(&format!("/items/{id}/versions\"")), "there is no way to the others");
    let versions = page(&farm, &format!("/items/{id}/versions")).await;
    assert!(versions.len() < 150_000);
    assert!(versions.contains(">10000.0<"));
    assert!(versions.contains("rel=\"next\""));
    let next = versions.split("/versions?before=").nth(1).unwrap().split('"').next().unwrap();
    let older = page(&farm, &format!("/items/{id}/versions?before={next}")).await;
    assert!(older.contains(">9950.0<"));
    assert!(!older.contains(">9951.0<"));
}

#[tokio::test]
async fn ten_thousand_values_are_shown_and_no_more_are_taken_at_once_than_there_are_columns() {
    let farm = Farm::new().await;
    let library = farm.id("Documents").await;
    let mut columns = Vec::new();
    for n in 0..200 {
        let column = json!({"name": format!("Column {n}"), "kind": "text"});
        let made = farm.json("POST", &format!("/api/v1/items/{library}/columns"), column).await.expect(201).json();
        columns.push(made["id"].as_str().unwrap().to_owned());
    }
    let one_more = json!({"name": "Column 200", "kind": "text"});
    assert_eq!(farm.json("POST", &format!("/api/v1/items/{library}/columns"), one_more).await.code(), "too_many");
    let values: serde_json::Map<String, Value> =
        columns.iter().map(|id| (id.clone(), json!("v".repeat(200)))).collect();
    for n in 0..50 {
        let path = format!("Documents/many/{n}.txt");
        farm.put(&path, "x").await.expect(201);
        let url = format!("/api/v1/items/{}/values", farm.id(&path).await);
        farm.json("PATCH", &url, json!({"values": values})).await.expect(200);
    }
    let listing = page(&farm, "/browse/Documents/many").await;
    assert!(listing.len() < 600_000, "{} bytes", listing.len());
    assert!(page(&farm, "/browse/Documents/many/7.txt").await.contains("Column 199"));
    let url = format!("/api/v1/items/{}/values", farm.id("Documents/many/0.txt").await);
    let unknown: serde_json::Map<String, Value> = (1..=10_000).map(|n| (n.to_string(), json!("x"))).collect();
    let refused = farm.json("PATCH", &url, json!({"values": unknown})).await;
    assert!(refused.status.is_client_error(), "{}", refused.text());
}
