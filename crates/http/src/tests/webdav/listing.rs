//! PROPFIND, PROPPATCH, REPORT, names, and refused requests that change nothing.

use serde_json::json;

use super::{dav, place};
use crate::tests::Farm;
use http_core::protocol::segments;

fn asks(names: &str) -> String {
    format!("<D:propfind xmlns:D='DAV:'><D:prop>{names}</D:prop></D:propfind>")
}

#[tokio::test]
async fn clients_find_their_way_from_the_root() {
    let farm = Farm::new().await;
    farm.put("Documents/a.txt", "one").await.expect(201);
    for path in ["/", "/dav", "/dav/", "/dav/Documents", "/dav/Documents/a.txt"] {
        let options = farm.send_as("", "OPTIONS", path, &[], "").await.expect(200);
        assert_eq!((options.header("dav"), options.header("ms-author-via")), ("1, 2, 3", "DAV"), "{path}");
        farm.send_as("", "PROPFIND", path, &[("depth", "0")], "").await.expect(401);
        let listed = farm.send("PROPFIND", path, &[("depth", "0")], "").await.expect(207);
        assert_eq!(listed.text().matches("<D:response>").count(), 1, "{path}");
    }
    let hrefs = async |path: &str| {
        let text = farm.send("PROPFIND", path, &[("depth", "1")], "").await.expect(207).text();
        let hrefs = text.split("<D:response><D:href>").skip(1).map(|part| part.split('<').next().unwrap().to_owned());
        hrefs.collect::<Vec<_>>()
    };
    assert_eq!(hrefs("/").await, ["/", "/dav/"]);
    assert_eq!(hrefs("/dav/").await, ["/dav/", "/dav/Documents/"]);
    assert_eq!(hrefs("/dav/Documents").await, ["/dav/Documents/", "/dav/Documents/a.txt"]);
    let endless = farm.send("PROPFIND", "/dav/Documents", &[], "").await.expect(403).text();
    assert!(endless.contains("propfind-finite-depth"), "{endless}");
    // A user without any rights here still finds the root.
    farm.account("none").await;
    farm.send_as("none", "PROPFIND", "/dav/", &[("depth", "1")], "").await.expect(207);
    farm.send_as("none", "PROPFIND", "/dav/Documents/", &[("depth", "1")], "").await.expect(404);
}

#[tokio::test]
async fn site_collections_are_found_on_the_way_to_them() {
    let farm = Farm::new().await;
    for path in ["sites/legal", "sites/Größe", "plans"] {
        farm.json("POST", "/api/v1/site-collections", json!({"path": path, "title": "A title"})).await.expect(201);
    }
    let hrefs_as = async |user: &str, path: &str| {
        let text = farm.send_as(user, "PROPFIND", path, &[("depth", "1")], "").await.expect(207).text();
        let hrefs = text.split("<D:response><D:href>").skip(1).map(|part| part.split('<').next().unwrap().to_owned());
        hrefs.collect::<Vec<_>>()
    };
    farm.account("none").await;
    assert_eq!(hrefs_as("admin", "/dav/").await, ["/dav/", "/dav/plans/", "/dav/sites/", "/dav/Documents/"]);
    assert_eq!(
        hrefs_as("admin", "/dav/SITES").await,
        ["/dav/SITES/", "/dav/sites/Gr%C3%B6%C3%9Fe/", "/dav/sites/legal/"]
    );
    assert_eq!(hrefs_as("admin", "/dav/Documents/").await, ["/dav/Documents/"]);
    // A library with the same name as a path segment is listed once.
    let root = farm.get("/api/v1/items/by-path?path=").await.json();
    let libraries = format!("/api/v1/items/{}/libraries", root["id"].as_str().unwrap());
    farm.json("POST", &libraries, json!({"name": "sites"})).await.expect(201);
    assert_eq!(hrefs_as("admin", "/dav/").await, ["/dav/", "/dav/plans/", "/dav/Documents/", "/dav/sites/"]);
    assert_eq!(hrefs_as("admin", "/dav/sites/").await.len(), 3);
    // A user who may see none of the site collections finds no path to them.
    assert_eq!(hrefs_as("none", "/dav/").await, ["/dav/"]);
    farm.send_as("none", "PROPFIND", "/dav/sites/", &[("depth", "1")], "").await.expect(404);
}

#[tokio::test]
async fn whole_trees_are_listed_where_the_administrator_wants_it() {
    let farm = Farm::with(|options| options.webdav_depth_infinity = true).await;
    for path in ["a.txt", "one/b.txt", "one/two/c.txt", "one/two/three/d.txt"] {
        farm.put(&format!("Documents/{path}"), "x").await.expect(201);
    }
    let many: Vec<String> = (0..model::MAX_PAGE + 5).map(|n| format!("more/{n:04}")).collect();
    dav(&farm, "MKCOL", "more", &[], "").await.expect(201);
    for path in &many {
        dav(&farm, "MKCOL", path, &[], "").await.expect(201);
    }
    let text = farm.send("PROPFIND", "/dav/Documents", &[("depth", "infinity")], "").await.expect(207).text();
    assert!(text.trim_end().ends_with("</D:multistatus>"), "{}", &text[text.len() - 100..]);
    let mut hrefs: Vec<&str> =
        text.split("<D:href>/dav/Documents/").skip(1).map(|p| p.split('<').next().unwrap()).collect();
    hrefs.sort_unstable();
    let mut expected = vec!["", "a.txt", "more/", "one/", "one/b.txt", "one/two/", "one/two/c.txt", "one/two/three/"];
    expected.push("one/two/three/d.txt");
    let made: Vec<String> = many.iter().map(|path| format!("{path}/")).collect();
    expected.extend(made.iter().map(String::as_str));
    expected.sort_unstable();
    assert_eq!(hrefs, expected);
    // A user does not learn of items that they may not see.
    let (anna, root, closed) = (farm.account("anna").await, farm.id("").await, farm.id("Documents/one/two").await);
    let infinite = [("depth", "infinity")];
    farm.send_as("anna", "PROPFIND", "/dav/Documents/", &infinite, "").await.expect(404);
    let read = json!({"principal": anna, "role": model::Role::READ.to_string()});
    farm.json("POST", &format!("/api/v1/items/{root}/permissions/grants"), read).await.expect(204);
    farm.json("POST", &format!("/api/v1/items/{closed}/permissions/break"), json!({"copy": false})).await.expect(204);
    let seen = farm.send_as("anna", "PROPFIND", "/dav/Documents/", &infinite, "").await.expect(207).text();
    assert!(seen.contains("/one/b.txt<"), "{}", &seen[..2000]);
    assert!(!seen.contains("two"), "{}", &seen[..2000]);
}

#[tokio::test]
async fn names_come_back_as_they_were_given() {
    let farm = Farm::new().await;
    let names = ["100 % #1+2.txt", "a&b;c='d'.txt", "e\u{301}.txt", "\u{fc}\u{f1}\u{ee}.txt", "💾 <b>.txt", "[x]?.txt"];
    for name in names {
        dav(&farm, "PUT", &segments::encode(name), &[], name).await.expect(201);
        assert_eq!(dav(&farm, "GET", &segments::encode(name), &[], "").await.expect(200).text(), name);
    }
    let text = dav(&farm, "PROPFIND", "", &[("depth", "1")], "").await.expect(207).text();
    for name in names {
        let mut shown = String::new();
        webdav::xml::escape(&mut shown, name);
        assert!(text.contains(&format!("<D:displayname>{shown}</D:displayname>")), "{name}: {text}");
        assert!(text.contains(&format!("/dav/Documents/{}<", segments::encode(name))), "{name}: {text}");
    }
    webdav::xml::parse(text.as_bytes()).unwrap();
    // The other Unicode normal form means the same document.
    dav(&farm, "PUT", &segments::encode("\u{e9}.txt"), &[], "again").await.expect(204);
    for bad in ["%2e%2e", "a%2Fb", "%00", "a.", "%FF"] {
        let status = dav(&farm, "PUT", bad, &[], "x").await.status.as_u16();
        assert!(matches!(status, 400 | 403), "{bad}: {status}");
    }
}

#[tokio::test]
async fn properties_are_kept_together_or_not_at_all() {
    let farm = Farm::new().await;
    farm.put("Documents/a.txt", "one").await.expect(201);
    let patch = |inner: &str| format!("<D:propertyupdate xmlns:D='DAV:'>{inner}</D:propertyupdate>");
    let set = |inner: &str| patch(&format!("<D:set><D:prop>{inner}</D:prop></D:set>"));
    let etag = dav(&farm, "HEAD", "a.txt", &[], "").await.header("etag").to_owned();
    let both =
        dav(&farm, "PROPPATCH", "a.txt", &[], &set("<x xmlns='u'>1</x><D:getetag>2</D:getetag>")).await.expect(207);
    let text = both.text();
    assert!(text.contains("403 Forbidden"), "{text}");
    assert!(text.contains("424 Failed Dependency"), "{text}");
    let asked = asks("<x xmlns='u'/><D:getetag/>");
    let read = || async { dav(&farm, "PROPFIND", "a.txt", &[("depth", "0")], &asked).await.expect(207).text() };
    assert!(read().await.contains("404 Not Found"));
    dav(&farm, "PROPPATCH", "a.txt", &[], &set("<x xmlns='u' xml:lang='de'><y>a &lt; b</y></x>")).await.expect(207);
    let text = read().await;
    assert!(text.contains("<x xmlns=\"u\" xml:lang=\"de\"><y xmlns=\"u\">a &lt; b</y></x>"), "{text}");
    assert!(!text.contains("404 Not Found"), "{text}");
    assert_eq!(dav(&farm, "HEAD", "a.txt", &[], "").await.header("etag"), etag, "a tag is for content only");
    place(&farm, "COPY", "a.txt", "b.txt", &[]).await.expect(201);
    let copied = dav(&farm, "PROPFIND", "b.txt", &[("depth", "0")], &asked).await.text();
    assert!(copied.contains("a &lt; b"), "{copied}");
    let many: String = (0..501).map(|n| format!("<p{n} xmlns='u'/>")).collect();
    let many = dav(&farm, "PROPPATCH", "a.txt", &[], &set(&many)).await.expect(207).text();
    assert!(many.contains("507 Insufficient Storage"), "{many}");
    let remove = patch("<D:remove><D:prop><x xmlns='u'/><z xmlns='u'/></D:prop></D:remove>");
    dav(&farm, "PROPPATCH", "a.txt", &[], &remove).await.expect(207);
    assert!(read().await.contains("404 Not Found"));
}

#[tokio::test]
async fn versions_and_room_are_told() {
    let farm = Farm::new().await;
    farm.put("Documents/a.txt", "one").await.expect(201);
    farm.put("Documents/a.txt", "three").await.expect(200);
    let body = "<D:version-tree xmlns:D='DAV:'><D:prop><D:version-name/><D:getcontentlength/><D:predecessor-set/>\
        <D:creator-displayname/><D:creationdate/></D:prop></D:version-tree>";
    let text = dav(&farm, "REPORT", "a.txt", &[], body).await.expect(207).text();
    assert!(text.contains("<D:version-name>2.0</D:version-name>"), "{text}");
    assert!(text.contains("<D:getcontentlength>3<"), "{text}");
    assert!(text.contains("<D:predecessor-set><D:href>/dav/Documents/a.txt?version=1.0</D:href>"), "{text}");
    let dates: Vec<_> = text.split("<D:creationdate>").skip(1).map(|rest| rest.split('<').next().unwrap()).collect();
    assert!(dates.len() == 2, "{dates:?}");
    assert!(dates.iter().all(|date| date.ends_with('Z') && !date.contains('.')), "{dates:?}");
    assert_eq!(dav(&farm, "GET", "a.txt?version=1.0", &[], "").await.expect(200).text(), "one");
    dav(&farm, "REPORT", "a.txt", &[], "<x xmlns='u'/>").await.expect(403);
    let asked = asks("<D:quota-used-bytes/><D:quota-available-bytes/>");
    let room = async || dav(&farm, "PROPFIND", "", &[("depth", "0")], &asked).await.expect(207).text();
    assert!(room().await.contains("<D:quota-used-bytes>8</D:quota-used-bytes>"));
    let site = farm.id("").await;
    let quota = serde_json::json!({"quota_bytes": 100});
    farm.json("PATCH", &format!("/api/v1/site-collections/{site}"), quota).await.expect(200);
    assert!(room().await.contains("<D:quota-available-bytes>92</D:quota-available-bytes>"));
    let over = dav(&farm, "PUT", "b.txt", &[], &"x".repeat(93)).await.expect(507).text();
    assert!(over.contains("quota-not-exceeded"), "{over}");
}

#[tokio::test]
async fn long_folders_are_listed_whole() {
    let farm = Farm::new().await;
    let admin = farm.repository.as_caller(farm.repository.farm_administrator().await.unwrap());
    for n in 0..1_050 {
        let to = repository::Destination::Path(model::NodePath::parse(&format!("Documents/{n}.txt")).unwrap());
        admin.upload_bytes(&to, repository::UploadOptions::default(), bytes::Bytes::from_static(b"x")).await.unwrap();
    }
    let text = dav(&farm, "PROPFIND", "", &[("depth", "1")], "").await.expect(207).text();
    assert_eq!(text.matches("<D:response>").count(), 1_051);
    webdav::xml::parse(&text.as_bytes()[..0]).unwrap_err();
    assert!(text.ends_with("</D:multistatus>\n"));
}

#[tokio::test]
async fn bad_requests_have_their_statuses() {
    let farm = Farm::new().await;
    farm.put("Documents/a.txt", "one").await.expect(201);
    farm.put("Documents/d/b.txt", "one").await.expect(201);
    type Case = (&'static str, &'static str, &'static [(&'static str, &'static str)], &'static str, u16);
    let cases: &[Case] = &[
        ("PUT", "a.txt", &[("content-range", "bytes 0-1/5")], "x", 400),
        ("PUT", "d", &[], "x", 405),
        ("PUT", "missing/a.txt", &[], "x", 409),
        ("PUT", "", &[], "x", 403),
        ("MKCOL", "d", &[], "", 405),
        ("MKCOL", "a.txt", &[], "", 405),
        ("MKCOL", "missing/d", &[], "", 409),
        ("MKCOL", "new", &[], "body", 415),
        ("DELETE", "", &[], "", 403),
        ("DELETE", "d", &[("depth", "0")], "", 400),
        ("DELETE", "nothing", &[], "", 404),
        ("PROPFIND", "a.txt", &[("depth", "0")], "<D:propfind", 400),
        ("PROPFIND", "a.txt", &[("depth", "7")], "", 400),
        (
            "PROPFIND",
            "a.txt",
            &[("depth", "0")],
            "<!DOCTYPE x [<!ENTITY a SYSTEM 'file:///etc/passwd'>]><x>&a;</x>",
            400,
        ),
        ("COPY", "a.txt", &[], "", 400),
        ("COPY", "a.txt", &[("destination", "http://elsewhere.example/dav/Documents/x"), ("host", "here")], "", 502),
        ("MOVE", "a.txt", &[("destination", "/api/v1/x")], "", 502),
        ("MOVE", "a.txt", &[("destination", "/dav/x.txt")], "", 403),
        ("MOVE", "a.txt", &[("destination", "/dav/Documents/d/b.txt"), ("overwrite", "F")], "", 412),
        ("MOVE", "d", &[("destination", "/dav/Documents/d/e")], "", 403),
        ("LOCK", "a.txt", &[("depth", "1")], super::EXCLUSIVE, 400),
        ("LOCK", "", &[], super::EXCLUSIVE, 403),
        ("UNLOCK", "a.txt", &[], "", 400),
        ("UNLOCK", "a.txt", &[("lock-token", "<urn:uuid:none>")], "", 409),
        ("POST", "a.txt", &[], "", 405),
        ("PATCH", "a.txt", &[], "", 405),
    ];
    let state = async || dav(&farm, "PROPFIND", "", &[("depth", "1")], "").await.text();
    let before = state().await;
    for (method, path, fields, body, expected) in cases {
        let reply = dav(&farm, method, path, fields, body).await;
        assert_eq!(reply.status.as_u16(), *expected, "{method} {path} {fields:?}: {}", reply.text());
        let allowed: Vec<_> = reply.header("allow").split(", ").filter(|word| !word.is_empty()).collect();
        assert_eq!(allowed.contains(&"PROPFIND"), *expected == 405, "{method} {path} {allowed:?}");
        assert!(!allowed.contains(method), "{method} {path} {allowed:?}");
        assert_eq!(before, state().await, "{method} {path} {fields:?} was refused and changed something");
    }
    for method in ["PUT", "MKCOL"] {
        let refused = farm.send(method, "/dav/", &[], "").await.expect(405);
        let allowed = refused.header("allow");
        assert!(allowed.contains("PROPFIND"), "{allowed}");
        assert!(!allowed.contains("PUT"), "{allowed}");
        assert!(!allowed.contains("MKCOL"), "{allowed}");
    }
    let document = dav(&farm, "MKCOL", "a.txt", &[], "").await.expect(405);
    assert!(document.header("allow").contains("PUT"));
    let large = "<x>".to_owned() + &" ".repeat(1 << 20) + "</x>";
    for method in ["PROPFIND", "PROPPATCH", "LOCK", "REPORT"] {
        dav(&farm, method, "a.txt", &[("depth", "0")], &large).await.expect(413);
    }
}
