//! Paging through listings over REST, and information that the end of a page could leak about hidden items behind it.

use model::{Id, Role};
use serde_json::Value;

use super::Farm;

/// A user who may add documents to a folder in which a hidden item lies between their own.
struct Attack {
    farm: Farm,
    folder: String,
}

impl Attack {
    async fn begin() -> Self {
        let farm = Farm::new().await;
        let bob: Id = farm.account("bob").await.parse().unwrap();
        let admin = farm.repository.as_caller(farm.repository.farm_administrator().await.unwrap());
        let site: Id = farm.id("").await.parse().unwrap();
        admin.grant(&site.into(), bob, Role::CONTRIBUTE).await.unwrap();
        farm.send_as("bob", "PUT", "/api/v1/content/Documents/shared/c.txt", &[], "x").await.expect(201);
        farm.put("Documents/shared/m-hidden.txt", "x".repeat(500)).await.expect(201);
        farm.send_as("bob", "PUT", "/api/v1/content/Documents/shared/x.txt", &[], "x".repeat(999)).await.expect(201);
        let hidden: Id = farm.id("Documents/shared/m-hidden.txt").await.parse().unwrap();
        admin.break_inheritance(&hidden.into(), false).await.unwrap();
        let folder = farm.id("Documents/shared").await;
        Self { farm, folder }
    }

    async fn page(&self, sort: &str, cursor: &str) -> Value {
        let url = format!("/api/v1/items/{}/children?limit=1&sort={sort}{cursor}", self.folder);
        self.farm.send_as("bob", "GET", &url, &[], "").await.expect(200).json()
    }

    /// Adds a document and returns whether the page at `cursor` begins with it.
    async fn comes_next(&self, sort: &str, cursor: &str, name: &str, size: usize) -> bool {
        let path = format!("/api/v1/content/Documents/shared/{name}");
        self.farm.send_as("bob", "PUT", &path, &[], "x".repeat(size)).await.expect(201);
        let next = self.page(sort, &format!("&cursor={cursor}")).await["items"][0]["name"] == name;
        self.farm.send_as("bob", "DELETE", &path, &[], "").await.expect(200);
        next
    }
}

#[tokio::test]
async fn the_end_of_a_page_does_not_compare_with_what_is_hidden_behind_it() {
    let attack = Attack::begin().await;
    for sort in ["name", "size", "modified", "person", "type"] {
        let page = attack.page(sort, "").await;
        assert_eq!(page["items"][0]["name"], "c.txt", "{sort}");
        let cursor = page["next"].as_str().unwrap();
        // Every new item behind the last shown one appears, whether it sorts before or after the hidden item.
        for (name, size) in [("d.txt", 2), ("l.txt", 499), ("n.txt", 501), ("w.txt", 998)] {
            let expected = sort != "modified";
            assert_eq!(attack.comes_next(sort, cursor, name, size).await, expected, "{name} by {sort}");
        }
    }
}

#[tokio::test]
async fn a_place_in_a_listing_is_for_one_caller_and_one_listing() {
    let attack = Attack::begin().await;
    let farm = &attack.farm;
    let next = |page: Value| page["next"].as_str().unwrap().to_owned();
    let url = |folder: &str, rest: &str| format!("/api/v1/items/{folder}/children?limit=1&{rest}");
    let cursor = next(attack.page("size", "").await);
    farm.send_as("bob", "PUT", "/api/v1/content/Documents/own/a.txt", &[], "x").await.expect(201);
    let own = farm.id("Documents/own").await;
    let same = url(&attack.folder, &format!("sort=size&cursor={cursor}"));
    farm.send_as("bob", "GET", &same, &[], "").await.expect(200);
    let by_path = format!("/api/v1/items/by-path/children?path=Documents/shared&limit=1&sort=size&cursor={cursor}");
    farm.send_as("bob", "GET", &by_path, &[], "").await.expect(200);
    for (who, url) in [
        ("bob", url(&own, &format!("sort=size&cursor={cursor}"))),
        ("bob", url(&attack.folder, &format!("sort=name&cursor={cursor}"))),
        ("bob", url(&attack.folder, &format!("sort=size&order=descending&cursor={cursor}"))),
        ("admin", same),
    ] {
        assert_eq!(farm.send_as(who, "GET", &url, &[], "").await.expect(400).code(), "invalid_cursor", "{who} {url}");
    }
}

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
