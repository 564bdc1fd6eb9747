//! Ambiguous requests are refused with the right error.

use serde_json::json;

use super::{EXCLUSIVE, dav, lock, place, versions};
use crate::tests::Farm;

#[tokio::test]
async fn a_question_mark_of_a_name_is_not_lost() {
    let farm = Farm::new().await;
    farm.put("Documents/what", "one").await.expect(201);
    for method in ["PUT", "DELETE", "PROPFIND", "MKCOL", "LOCK"] {
        let refused = dav(&farm, method, "what?now", &[], "").await.expect(400);
        assert!(refused.text().contains("unexpected_query"), "{method}: {}", refused.text());
        let refused = dav(&farm, method, "what?version=1.0", &[], "").await.expect(403);
        assert!(refused.text().contains("version_address"), "{method}: {}", refused.text());
    }
    farm.put("Documents/from", "two").await.expect(201);
    for to in ["what?now", "what#now"] {
        let refused = place(&farm, "MOVE", "from", to, &[]).await.expect(400);
        assert!(refused.text().contains("unexpected_query"), "{to}: {}", refused.text());
    }
    place(&farm, "MOVE", "from", "what%3Fnow", &[]).await.expect(201);
    assert_eq!(versions(&farm, "what").await, ["1.0"]);
}

#[tokio::test]
async fn a_field_that_stands_there_twice_is_refused() {
    let farm = Farm::new().await;
    farm.put("Documents/a.txt", "one").await.expect(201);
    for (method, field, one, other) in [
        ("MOVE", "destination", "/dav/Documents/b.txt", "/dav/Documents/c.txt"),
        ("PROPFIND", "depth", "0", "1"),
        ("COPY", "overwrite", "F", "T"),
        ("DELETE", "if", "(Not <urn:a>)", "(<urn:a>)"),
    ] {
        let mut fields = vec![(field, one), (field, other)];
        if method == "COPY" {
            fields.push(("destination", "/dav/Documents/b.txt"));
        }
        dav(&farm, method, "a.txt", &fields, "").await.expect(400);
    }
    dav(&farm, "GET", "a.txt", &[], "").await.expect(200);
    dav(&farm, "GET", "b.txt", &[], "").await.expect(404);
}

#[tokio::test]
async fn what_is_moved_or_copied_is_what_was_seen() {
    let farm = Farm::new().await;
    farm.put("Documents/a.txt", "one").await.expect(201);
    let seen = dav(&farm, "HEAD", "a.txt", &[], "").await.header("etag").to_owned();
    farm.put("Documents/a.txt", "two").await.expect(200);
    for method in ["MOVE", "COPY"] {
        place(&farm, method, "a.txt", "b.txt", &[("if-match", &seen)]).await.expect(412);
        dav(&farm, "GET", "b.txt", &[], "").await.expect(404);
    }
    let now = dav(&farm, "HEAD", "a.txt", &[], "").await.header("etag").to_owned();
    place(&farm, "MOVE", "a.txt", "b.txt", &[("if-match", &now)]).await.expect(201);
}

#[tokio::test]
async fn preconditions_hold_for_every_change() {
    let farm = Farm::new().await;
    farm.put("Documents/a.txt", "one").await.expect(201);
    let set = "<D:propertyupdate xmlns:D='DAV:'><D:set><D:prop><x xmlns='u'>1</x></D:prop></D:set></D:propertyupdate>";
    let token = lock(&farm, "admin", "a.txt", 200).await;
    let named = format!("<{token}>");
    for (method, path, body) in
        [("PROPPATCH", "a.txt", set), ("LOCK", "b.txt", EXCLUSIVE), ("UNLOCK", "a.txt", ""), ("MKCOL", "c", "")]
    {
        let fields = [("lock-token", named.as_str()), ("if-match", "\"nope\"")];
        dav(&farm, method, path, &fields, body).await.expect(412);
    }
    for path in ["b.txt", "c"] {
        dav(&farm, "PROPFIND", path, &[("depth", "0")], "").await.expect(404);
    }
    let tag = dav(&farm, "HEAD", "a.txt", &[], "").await.header("etag").to_owned();
    dav(&farm, "UNLOCK", "a.txt", &[("lock-token", &named), ("if-match", &tag)], "").await.expect(204);
    dav(&farm, "MKCOL", "c", &[("if-none-match", "*")], "").await.expect(201);
}

#[tokio::test]
async fn a_lock_that_is_in_the_way_of_another_is_told_as_that() {
    let farm = Farm::new().await;
    farm.put("Documents/a.txt", "one").await.expect(201);
    lock(&farm, "admin", "a.txt", 200).await;
    let refused = dav(&farm, "LOCK", "a.txt", &[], EXCLUSIVE).await.expect(423).text();
    assert!(refused.contains("<D:no-conflicting-lock"), "{refused}");
    assert!(!refused.contains("lock-token-submitted"), "{refused}");
    let refused = dav(&farm, "PUT", "a.txt", &[], "two").await.expect(423).text();
    let names = |place: &str| format!("<D:lock-token-submitted><D:href>/dav/Documents/{place}</D:href>");
    assert!(refused.contains(&names("a.txt")), "{refused}");
    farm.put("Documents/b.txt", "one").await.expect(201);
    farm.put("Documents/open/c.txt", "one").await.expect(201);
    farm.put("Documents/taken/d.txt", "one").await.expect(201);
    dav(&farm, "LOCK", "open", &[("depth", "0")], EXCLUSIVE).await.expect(200);
    let (taken, root, bert) = (farm.id("Documents/taken/d.txt").await, farm.id("").await, farm.account("bert").await);
    let body = json!({"principal": bert, "role": model::Role::CONTRIBUTE.to_string()});
    farm.json("POST", &format!("/api/v1/items/{root}/permissions/grants"), body).await.expect(204);
    farm.send_as("bert", "PUT", &format!("/api/v1/items/{taken}/check-out"), &[], "").await.expect(204);
    for source in ["a.txt", "open/c.txt", "taken"] {
        let refused = place(&farm, "MOVE", source, "e", &[]).await.expect(423).text();
        assert!(refused.contains(&names(source)), "{source}: {refused}");
    }
    for method in ["MOVE", "COPY"] {
        let refused = place(&farm, method, "b.txt", "a.txt", &[]).await.expect(423).text();
        assert!(refused.contains(&names("a.txt")), "{method}: {refused}");
    }
}

#[tokio::test]
async fn a_person_has_ten_locks_on_an_item_and_no_more() {
    let farm = Farm::new().await;
    farm.put("Documents/a.txt", "one").await.expect(201);
    let shared = EXCLUSIVE.replace("exclusive", "shared");
    for _ in 0..10 {
        dav(&farm, "LOCK", "a.txt", &[], &shared).await.expect(200);
    }
    let refused = dav(&farm, "LOCK", "a.txt", &[], &shared).await.expect(409);
    assert!(refused.text().contains("too_many"), "{}", refused.text());
    farm.put("Documents/b.txt", "one").await.expect(201);
    dav(&farm, "LOCK", "b.txt", &[], &shared).await.expect(200);
}

#[tokio::test]
async fn names_that_could_not_be_told_again_are_refused() {
    let farm = Farm::new().await;
    farm.put("Documents/a.txt", "one").await.expect(201);
    for property in [
        "<xml:thing>1</xml:thing>",
        "<x xmlns='http://www.w3.org/2000/xmlns/'>1</x>",
        "<x xmlns='http://www.w3.org/XML/1998/namespace'>1</x>",
        "<x xmlns='two words'>1</x>",
    ] {
        let body =
            format!("<D:propertyupdate xmlns:D='DAV:'><D:set><D:prop>{property}</D:prop></D:set></D:propertyupdate>");
        let refused = dav(&farm, "PROPPATCH", "a.txt", &[], &body).await.expect(400);
        assert!(refused.text().contains("invalid_xml"), "{property}: {}", refused.text());
    }
    dav(&farm, "PROPFIND", "a.txt", &[("depth", "0")], "").await.expect(207);
}

#[tokio::test]
async fn a_listing_with_large_properties_is_whole() {
    let farm = Farm::new().await;
    let large = "x".repeat(200_000);
    let body = format!(
        "<D:propertyupdate xmlns:D='DAV:'><D:set><D:prop><large \
        xmlns='u'>{large}</large></D:prop></D:set></D:propertyupdate>"
    );
    for number in 0..12 {
        dav(&farm, "MKCOL", &format!("folder {number}").replace(' ', "%20"), &[], "").await.expect(201);
        dav(&farm, "PROPPATCH", &format!("folder%20{number}"), &[], &body).await.expect(207);
        let name = format!("Ä{number}.txt");
        farm.put(&format!("Documents/%C3%84{number}.txt"), name.clone()).await.expect(201);
        dav(&farm, "PROPPATCH", &format!("%C3%84{number}.txt"), &[], &body).await.expect(207);
    }
    let listed = dav(&farm, "PROPFIND", "", &[("depth", "1")], "").await.expect(207).text();
    assert_eq!(listed.matches("<D:response>").count(), 1 + 24);
    assert_eq!(listed.matches(&large).count(), 24);
}
