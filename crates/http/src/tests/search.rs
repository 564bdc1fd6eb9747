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
    let long = format!("/api/v1/search?q={}", "x".repeat(4_097));
    for bad in ["/api/v1/search", "/api/v1/search?q=a&limit=51", "/api/v1/search?q=a&limit=0", &long] {
        farm.send("GET", bad, &[], "").await.expect(400);
    }
}
