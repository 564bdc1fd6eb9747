//! Search by name over REST.

use super::Farm;

#[tokio::test]
async fn items_are_found_by_parts_of_their_names() {
    let farm = Farm::new().await;
    for path in ["Documents/Offers/First offer.txt", "Documents/other.txt"] {
        let path = path.replace(' ', "%20");
        farm.put(&path, "x").await.expect(201);
    }
    let found = farm.send("GET", "/api/v1/search?q=OFFER&limit=2", &[], "").await.expect(200).json();
    let paths: Vec<&str> =
        found["items"].as_array().unwrap().iter().map(|item| item["path"].as_str().unwrap()).collect();
    assert_eq!(paths, ["Documents/Offers", "Documents/Offers/First offer.txt"]);
    assert_eq!((found["more"].as_bool(), found["complete"].as_bool()), (Some(false), Some(true)));
    let one = farm.send("GET", "/api/v1/search?q=o&limit=1", &[], "").await.expect(200).json();
    assert_eq!((one["items"].as_array().unwrap().len(), one["more"].as_bool()), (1, Some(true)));
    // The best name is not the newest, and letters within a folder's name are worth less.
    farm.put("Documents/Manuals/ls.txt", "x").await.expect(201);
    for number in 0..20 {
        farm.put(&format!("Documents/Manuals/ls-{number}.txt"), "x").await.expect(201);
    }
    for place in ["/api/v1/search?q=ls&limit=1", "/api/v1/search/suggest?q=ls&limit=1"] {
        let best = farm.send("GET", place, &[], "").await.expect(200).json();
        assert_eq!(best["items"][0]["path"], "Documents/Manuals/ls.txt", "{place}");
    }
    let long = format!("/api/v1/search?q={}", "x".repeat(4_097));
    for bad in ["/api/v1/search", "/api/v1/search?q=a&limit=501", "/api/v1/search?q=a&limit=0", &long] {
        farm.send("GET", bad, &[], "").await.expect(400);
    }
}

#[tokio::test]
async fn suggestions_and_passages_say_what_they_lack() {
    let farm = Farm::new().await;
    farm.put("Documents/Offers/First%20offer.txt", "an offer").await.expect(201);
    let found = farm.send("GET", "/api/v1/search/suggest?q=offer&limit=1", &[], "").await.expect(200).json();
    assert_eq!(found["items"][0]["path"], "Documents/Offers");
    assert_eq!((found["more"].as_bool(), found["complete"].as_bool()), (Some(true), Some(true)));
    let found = farm.send("GET", "/api/v1/search/suggest?q=offer%20adm", &[], "").await.expect(200).json();
    assert_eq!(
        (&found["people"][0]["query"], found["items"].as_array().map(Vec::len)),
        (&"offer author:admin".into(), Some(0))
    );
    let id = farm.id("Documents/Offers/First offer.txt").await;
    // There is no index: that is not taken for a text without the word.
    let found = farm.send("GET", &format!("/api/v1/items/{id}/passages?q=offer"), &[], "").await.expect(200).json();
    assert_eq!((&found["passages"], &found["texts"]), (&serde_json::json!([]), &"unavailable".into()));
    let folder = farm.id("Documents/Offers").await;
    farm.send("GET", &format!("/api/v1/items/{folder}/passages?q=offer"), &[], "").await.expect(409);
    let long = "x".repeat(4_097);
    for bad in [
        "/api/v1/search/suggest".to_owned(),
        "/api/v1/search/suggest?q=a&limit=0".to_owned(),
        "/api/v1/search/suggest?q=a&limit=21".to_owned(),
        format!("/api/v1/search/suggest?q={long}"),
        format!("/api/v1/items/{id}/passages"),
        format!("/api/v1/items/{id}/passages?q={long}"),
    ] {
        farm.send("GET", &bad, &[], "").await.expect(400);
    }
}
