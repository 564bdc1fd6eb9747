//! Malicious requests: each is refused with the right status and changes nothing.

use model::{Id, Role};
use repository::Session;

use super::{EXCLUSIVE, dav, lock, place};
use crate::tests::Farm;

const XML_VERBS: [&str; 5] = ["PROPFIND", "PROPPATCH", "LOCK", "REPORT", "SEARCH"];

/// Returns everything in the library, with its content.
async fn state(farm: &Farm, paths: &[&str]) -> Vec<String> {
    let mut found = Vec::new();
    for path in paths {
        let listed = dav(farm, "PROPFIND", path, &[("depth", "1")], "").await.text();
        found.push(listed + &dav(farm, "GET", path, &[], "").await.text());
    }
    found
}

fn bomb() -> String {
    let levels: String =
        (1..10).map(|n| format!("<!ENTITY a{n} \"{}\">", format!("&a{};", n - 1).repeat(10))).collect();
    format!(
        "<!DOCTYPE x [<!ENTITY a0 \"ha\">{levels}]><D:propfind xmlns:D='DAV:'><D:prop><x>&a9;</x></D:prop></D:propfind>"
    )
}

#[tokio::test]
async fn xml_that_is_made_to_harm_is_refused_by_every_verb() {
    let farm = Farm::new().await;
    farm.put("Documents/a.txt", "one").await.expect(201);
    let before = state(&farm, &["", "a.txt"]).await;
    let outside = |what: &str| format!("<!DOCTYPE x [<!ENTITY a SYSTEM '{what}'>]><x>&a;</x>");
    let bodies = [
        (bomb(), 400),
        (outside("file:///etc/passwd"), 400),
        (outside("http://127.0.0.1:1/x"), 400),
        ("<!DOCTYPE x SYSTEM 'http://127.0.0.1:1/x.dtd'><x/>".to_owned(), 400),
        ("<!DOCTYPE x [<!ENTITY % a SYSTEM 'file:///etc/passwd'> %a;]><x/>".to_owned(), 400),
        ("<a>".repeat(100_000), 400),
        (format!("<a>{}</a>", "<b/>".repeat(100_000)), 400),
        (format!("<a {}/>", (0..50_000).map(|n| format!("b{n}='' ")).collect::<String>()), 400),
        ("<x>\u{0}</x>".to_owned(), 400),
        ("<x>".to_owned() + &" ".repeat(1 << 20) + "</x>", 413),
    ];
    for (body, status) in &bodies {
        for verb in XML_VERBS {
            let reply = dav(&farm, verb, "a.txt", &[("depth", "0")], body).await;
            assert_eq!(reply.status.as_u16(), *status, "{verb} {body:.100}: {}", reply.text());
            assert!(!reply.text().contains("root:"), "{verb} {body:.100}");
        }
    }
    assert_eq!(before, state(&farm, &["", "a.txt"]).await);
}

#[tokio::test]
async fn nothing_takes_the_place_of_what_it_lies_in() {
    let farm = Farm::new().await;
    farm.put("Documents/a/b/c/d.txt", "one").await.expect(201);
    let paths = ["", "a", "a/b", "a/b/c", "a/b/c/d.txt"];
    let before = state(&farm, &paths).await;
    for method in ["MOVE", "COPY"] {
        for (from, to) in
            [("a/b", "a"), ("a/b/c", "a"), ("a/b/c/d.txt", "a"), ("a/b/c/d.txt", "a/b/c"), ("a", "a/b/x"), ("a", "a")]
        {
            place(&farm, method, from, to, &[]).await.expect(403);
            assert_eq!(before, state(&farm, &paths).await, "{method} {from} {to}");
        }
        place(&farm, method, "a", "", &[]).await.expect(403);
    }
    assert_eq!(before, state(&farm, &paths).await);
}

#[tokio::test]
async fn trees_do_not_grow_deeper_than_they_may() {
    let farm = Farm::new().await;
    let mut path = String::new();
    for _ in 0..100 {
        path.push_str("d/");
        dav(&farm, "MKCOL", &path, &[], "").await.expect(201);
    }
    dav(&farm, "MKCOL", "e", &[], "").await.expect(201);
    let place_at = |levels: usize| "e/".repeat(levels);
    for levels in 2..50 {
        dav(&farm, "MKCOL", &place_at(levels), &[], "").await.expect(201);
    }
    let far = "d/".repeat(200);
    for (method, from, to) in [
        ("COPY", "d", format!("{}d", place_at(40))),
        ("MOVE", "d", format!("{}d", place_at(40))),
        ("MOVE", "d", format!("{far}x")),
    ] {
        let reply = place(&farm, method, from, &to, &[]).await.expect(400);
        assert!(reply.text().contains("path_too_deep"), "{method}: {}", reply.text());
    }
    dav(&farm, "GET", &format!("{}d/", place_at(40)), &[], "").await.expect(404);
    for method in ["GET", "PROPFIND", "PUT", "MKCOL", "DELETE", "LOCK"] {
        dav(&farm, method, &far, &[("depth", "0")], "").await.expect(400);
    }
    let listed = dav(&farm, "PROPFIND", &path, &[("depth", "1")], "").await.expect(207).text();
    assert_eq!(listed.matches("<D:response>").count(), 1);
    dav(&farm, "DELETE", "d", &[], "").await.expect(204);
}

/// Creates a user bert, who may change the content of `open`, read `shown`, and not see `hidden`. Returns the
/// administrator's session.
async fn with_bert(farm: &Farm) -> Session {
    let admin = farm.repository.as_caller(farm.repository.farm_administrator().await.unwrap());
    let bert: Id = farm.account("bert").await.parse().unwrap();
    for (folder, role) in [("open", Some(Role::CONTRIBUTE)), ("shown", Some(Role::READ)), ("hidden", None)] {
        farm.put(&format!("Documents/{folder}/a.txt"), folder).await.expect(201);
        let id: Id = farm.id(&format!("Documents/{folder}")).await.parse().unwrap();
        admin.break_inheritance(&id.into(), true).await.unwrap();
        if let Some(role) = role {
            admin.grant(&id.into(), bert, role).await.unwrap();
        }
    }
    admin
}

#[tokio::test]
async fn destinations_are_within_the_rights_of_the_caller_and_on_this_server() {
    let farm = Farm::new().await;
    with_bert(&farm).await;
    let paths = ["open", "shown", "hidden", "open/a.txt", "shown/a.txt", "hidden/a.txt"];
    let before = state(&farm, &paths).await;
    for method in ["COPY", "MOVE"] {
        for (to, status) in [
            ("/dav/Documents/shown/new.txt", 403),
            ("/dav/Documents/shown/a.txt", 403),
            ("/dav/Documents/hidden/new.txt", 409),
            ("/dav/Documents/hidden/a.txt", 409),
            ("/dav/Documents/hidden", 404),
            ("/dav/Documents/new.txt", 404),
            ("http://elsewhere.example/dav/Documents/open/b.txt", 502),
            ("//elsewhere.example/dav/Documents/open/b.txt", 502),
            ("http://here.elsewhere.example/dav/Documents/open/b.txt", 502),
            ("http://here@elsewhere.example/dav/Documents/open/b.txt", 502),
            ("/api/v1/items", 502),
            ("/dav/../api/v1/items", 403),
            ("/dav/Documents/open/%2e%2e/hidden/b.txt", 403),
            ("/dav/Documents/open/..%2fhidden%2fb.txt", 400),
        ] {
            for overwrite in ["T", "F"] {
                let fields = [("destination", to), ("overwrite", overwrite), ("host", "here")];
                let reply = farm.send_as("bert", method, "/dav/Documents/open/a.txt", &fields, "").await;
                let found = reply.status.as_u16();
                assert!(found == status || (overwrite, found) == ("F", 412), "{method} {to}: {found} {}", reply.text());
                assert_eq!(before, state(&farm, &paths).await, "{method} {to}");
            }
        }
    }
}

#[tokio::test]
async fn a_token_opens_nothing_for_somebody_else() {
    let farm = Farm::new().await;
    with_bert(&farm).await;
    dav(&farm, "MKCOL", "open/deep", &[], "").await.expect(201);
    farm.put("Documents/open/free.txt", "one").await.expect(201);
    let token = lock(&farm, "admin", "open/a.txt", 200).await;
    let deep = lock(&farm, "admin", "open/deep", 200).await;
    let paths = ["open", "open/a.txt", "open/deep", "open/free.txt"];
    let before = |text: Vec<String>| text.iter().map(|one| without_time(one)).collect::<Vec<_>>();
    let known = before(state(&farm, &paths).await);
    let patch =
        "<D:propertyupdate xmlns:D='DAV:'><D:set><D:prop><x xmlns='u'>1</x></D:prop></D:set></D:propertyupdate>";
    let both = format!("</dav/Documents/open/a.txt> (<{token}>) </dav/Documents/open/deep> (<{deep}>)");
    let named = format!("<{token}>");
    for (method, path, to, body, status) in [
        ("PUT", "open/a.txt", "", "new", 423),
        ("PUT", "open/deep/new.txt", "", "new", 423),
        ("MKCOL", "open/deep/new", "", "", 423),
        ("PROPPATCH", "open/a.txt", "", patch, 423),
        ("DELETE", "open/a.txt", "", "", 423),
        ("DELETE", "open/deep", "", "", 423),
        ("MOVE", "open/a.txt", "/dav/Documents/open/b.txt", "", 423),
        ("MOVE", "open/free.txt", "/dav/Documents/open/a.txt", "", 423),
        ("COPY", "open/free.txt", "/dav/Documents/open/deep/b.txt", "", 423),
        ("LOCK", "open/a.txt", "", EXCLUSIVE, 423),
        ("LOCK", "open/a.txt", "", "", 412),
        ("UNLOCK", "open/a.txt", "", "", 403),
    ] {
        let mut fields = vec![("if", both.as_str()), ("lock-token", named.as_str())];
        if !to.is_empty() {
            fields.push(("destination", to));
        }
        let reply = farm.send_as("bert", method, &format!("/dav/Documents/{path}"), &fields, body.to_owned()).await;
        assert_eq!(reply.status.as_u16(), status, "{method} {path}: {}", reply.text());
        assert_eq!(known, before(state(&farm, &paths).await), "{method} {path}");
    }
}

/// Returns a listing without the remaining time of its locks.
fn without_time(listing: &str) -> String {
    let mut parts = listing.split("<D:timeout>");
    let first = parts.next().unwrap_or_default().to_owned();
    first + &parts.filter_map(|part| part.split_once("</D:timeout>")).map(|(_, rest)| rest).collect::<String>()
}

#[tokio::test]
async fn what_the_caller_may_not_see_is_not_copied_and_keeps_a_tree_in_its_place() {
    let farm = Farm::new().await;
    let admin = with_bert(&farm).await;
    farm.put("Documents/open/tree/sub/secret.txt", "secret").await.expect(201);
    farm.put("Documents/open/tree/sub/known.txt", "known").await.expect(201);
    let secret: Id = farm.id("Documents/open/tree/sub/secret.txt").await.parse().unwrap();
    admin.break_inheritance(&secret.into(), false).await.unwrap();
    let paths = ["open", "open/tree", "open/tree/sub", "open/tree/sub/secret.txt"];
    let as_bert = async |method: &str, to: &str| {
        let to = format!("/dav/Documents/{to}");
        farm.send_as("bert", method, "/dav/Documents/open/tree", &[("destination", to.as_str())], "").await
    };
    dav(&farm, "MKCOL", "open/aside", &[], "").await.expect(201);
    let before = state(&farm, &paths).await;
    as_bert("MOVE", "open/aside/tree").await.expect(403);
    farm.send_as("bert", "DELETE", "/dav/Documents/open/tree", &[], "").await.expect(403);
    assert_eq!(before, state(&farm, &paths).await);
    as_bert("COPY", "open/copied").await.expect(201);
    dav(&farm, "GET", "open/copied/sub/known.txt", &[], "").await.expect(200);
    dav(&farm, "GET", "open/copied/sub/secret.txt", &[], "").await.expect(404);
    // A copy must not replace a tree that contains something hidden either.
    let over = [("destination", "/dav/Documents/open/tree")];
    farm.send_as("bert", "COPY", "/dav/Documents/open/copied", &over, "").await.expect(403);
    farm.send_as("bert", "MOVE", "/dav/Documents/open/copied", &over, "").await.expect(403);
    assert_eq!(dav(&farm, "GET", "open/tree/sub/secret.txt", &[], "").await.expect(200).text(), "secret");
}
