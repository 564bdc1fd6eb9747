//! Collaboration over REST: views, following, links, locks.

use serde_json::{Value, json};

use super::Farm;

#[tokio::test]
async fn a_view_is_replaced_by_its_name_and_keeps_its_identifier() {
    let farm = Farm::new().await;
    let url = format!("/api/v1/items/{}/views", farm.id("Documents").await);
    let first = farm.json("POST", &url, json!({"name": "Big", "query": "sort=size"})).await.expect(200).json();
    let again = json!({"name": "BIG", "query": "sort=size&order=descending", "standard": true});
    let again = farm.json("POST", &url, again).await.expect(200).json();
    assert_eq!(first["id"], again["id"]);
    farm.json("POST", &url, json!({"name": "Big", "query": "sort=type", "shared": true})).await.expect(200);
    let views = farm.get(&url).await.expect(200).json()["items"].clone();
    // What everybody has now is not there twice; a personal one may take its name again.
    let shared = json!({"id": views[0]["id"], "name": "Big", "query": "sort=type", "shared": true, "standard": false});
    assert_eq!(views, json!([shared]));
    let own = farm.json("POST", &url, json!({"name": "big", "query": "sort=size"})).await.expect(200).json();
    assert_eq!(farm.get(&url).await.json()["items"].as_array().unwrap().len(), 2);
    let own = format!("{url}/{}", own["id"].as_str().unwrap());
    farm.send("DELETE", &own, &[], "").await.expect(204);
    farm.send("DELETE", &own, &[], "").await.expect(404);
    assert_eq!(farm.get(&url).await.json()["items"], json!([shared]));
    farm.json("POST", &url, json!({"name": "Long", "query": "x".repeat(4_001)})).await.expect(400);
}

#[tokio::test]
async fn who_follows_a_document_finds_it_and_what_happened() {
    let farm = Farm::new().await;
    farm.put("Documents/plan.txt", "one").await.expect(201);
    let id = farm.id("Documents/plan.txt").await;
    let names = |list: &Value| {
        let items = list.as_array().unwrap();
        items.iter().map(|item| item["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let url = format!("/api/v1/items/{id}/following");
    for _ in 0..2 {
        farm.send("PUT", &url, &[], "").await.expect(204);
    }
    farm.send("PUT", &format!("/api/v1/items/{id}/check-out"), &[], "").await.expect(204);
    let home = farm.get("/api/v1/me/home?limit=5").await.expect(200).json();
    for part in ["recent", "followed", "checked_out"] {
        assert_eq!(names(&home[part]), ["plan.txt"], "{part}");
    }
    assert_eq!(home["sites"][0]["path"], "");
    farm.send("DELETE", &url, &[], "").await.expect(204);
    assert_eq!(names(&farm.get("/api/v1/me/home").await.json()["followed"]), [""; 0]);
    let told = farm.get("/api/v1/me/happenings").await.expect(200).json()["items"].clone();
    let told: Vec<_> = told.as_array().unwrap().iter().map(|told| (&told["action"], &told["item"]["id"])).collect();
    assert!(told.contains(&(&json!("document.create"), &json!(id))), "{told:?}");
    farm.get("/api/v1/me/home?limit=101").await.expect(400);
}

#[tokio::test]
async fn a_link_gives_its_document_until_it_is_taken_back() {
    let farm = Farm::new().await;
    farm.put("Documents/offer.txt", "our offer").await.expect(201);
    let (site, id) = (farm.id("").await, farm.id("Documents/offer.txt").await);
    let (rule, url) = (format!("/api/v1/site-collections/{site}/link-rule"), format!("/api/v1/items/{id}/links"));
    assert_eq!(farm.get(&rule).await.expect(200).json(), json!({"most_days": null}));
    assert_eq!(farm.json("POST", &url, json!({"days": 1})).await.expect(403).code(), "links_not_allowed");
    farm.json("PUT", &rule, json!({"most_days": 0})).await.expect(400);
    farm.json("PUT", &rule, json!({"most_days": 7})).await.expect(204);
    farm.json("POST", &url, json!({"days": 8})).await.expect(400);
    let made = farm.json("POST", &url, json!({"days": 7, "most_downloads": 5})).await.expect(201).json();
    let path = made["path"].as_str().unwrap();
    let form = [("content-type", "application/x-www-form-urlencoded")];
    assert_eq!(farm.send_as("", "POST", path, &form, "").await.expect(200).text(), "our offer");
    let listed = farm.get(&url).await.expect(200).json()["items"][0].clone();
    assert_eq!(
        (&listed["downloads"], &listed["most_downloads"], &listed["ended"]),
        (&json!(1), &json!(5), &json!(false))
    );
    assert!(!listed.to_string().contains(path.rsplit('/').next().unwrap()), "the secret is shown again");
    farm.send("DELETE", &format!("{url}/{}", made["id"].as_str().unwrap()), &[], "").await.expect(204);
    farm.send_as("", "POST", path, &form, "").await.expect(404);
}

#[tokio::test]
async fn only_who_shows_the_token_changes_what_is_locked() {
    let farm = Farm::new().await;
    farm.put("Documents/sheet.txt", "one").await.expect(201);
    let id = farm.id("Documents/sheet.txt").await;
    let (locks, content) = (format!("/api/v1/items/{id}/locks"), format!("/api/v1/items/{id}/content"));
    let lock = farm.json("POST", &locks, json!({"seconds": 60})).await.expect(201).json();
    let token = lock["token"].as_str().unwrap().to_owned();
    assert_eq!((&lock["exclusive"], &lock["path"]), (&json!(true), &json!("Documents/sheet.txt")));
    farm.json("POST", &locks, json!({})).await.expect(423);
    farm.send("PUT", &content, &[], "two").await.expect(423);
    farm.send("PUT", &content, &[("lock-token", "opaquelocktoken:other")], "two").await.expect(423);
    farm.send("PUT", &content, &[("lock-token", &format!("<{token}>"))], "two").await.expect(200);
    farm.send("PUT", &content, &[("lock-token", &format!("opaquelocktoken:other, {token}"))], "three")
        .await
        .expect(200);
    farm.send("PUT", &content, &[("lock-token", &"x,".repeat(101))], "four").await.expect(400);

    let reader = farm.account("reader").await;
    let grant = json!({"principal": reader, "role": "4"});
    farm.json("POST", &format!("/api/v1/items/{}/permissions/grants", farm.id("").await), grant).await.expect(204);
    let seen = farm.send_as("reader", "GET", &locks, &[], "").await.expect(200).json();
    assert_eq!(seen["items"][0]["token"], json!(null), "the token of somebody else is shown");

    let one = format!("{locks}/{token}");
    let until = |lock: &Value| lock["expires_at"].as_str().unwrap().to_owned();
    let longer = farm.json("PUT", &one, json!({"seconds": 3_600})).await.expect(200).json();
    assert!(until(&longer) > until(&lock));
    farm.send("DELETE", &one, &[], "").await.expect(204);
    assert_eq!(farm.send("DELETE", &one, &[], "").await.expect(409).code(), "lock_not_found");
    farm.send("PUT", &content, &[], "five").await.expect(200);
}
