//! Paging through listings, as programs do.

use super::Farm;

#[tokio::test]
async fn a_listing_by_size_is_whole_in_both_directions() {
    let farm = Farm::new().await;
    for (name, size) in [("a", 5), ("b", 0), ("c", 5), ("d", 2_000), ("e", 5)] {
        farm.put(&format!("Documents/{name}"), "x".repeat(size)).await.expect(201);
    }
    for (order, expected) in [("ascending", [0, 5, 5, 5, 2_000]), ("descending", [2_000, 5, 5, 5, 0])] {
        let start = format!("/api/v1/items/by-path/children?path=Documents&sort=size&order={order}&limit=2");
        let (mut cursor, mut sizes, mut names) = (String::new(), Vec::new(), Vec::new());
        loop {
            let page = farm.send("GET", &format!("{start}{cursor}"), &[], "").await.expect(200).json();
            for item in page["items"].as_array().unwrap() {
                sizes.push(item["size"].as_u64().unwrap());
                names.push(item["name"].as_str().unwrap().to_owned());
            }
            let Some(next) = page["next"].as_str() else { break };
            cursor = format!("&cursor={next}");
        }
        assert_eq!(sizes, expected, "{order}");
        names.sort();
        assert_eq!(names, ["a", "b", "c", "d", "e"], "{order}");
        let other = format!("/api/v1/items/by-path/children?path=Documents&sort=name{cursor}");
        assert_eq!(farm.send("GET", &other, &[], "").await.expect(400).code(), "invalid_cursor");
    }
}
