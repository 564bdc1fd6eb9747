//! SEARCH: matches, omissions and refusals.

use model::{Id, Role};
use repository::NewAccount;

use super::dav;
use crate::tests::{Farm, PASSWORD, Reply};

fn query(scope: &str, depth: &str, rest: &str) -> String {
    format!(
        "<D:searchrequest xmlns:D='DAV:' \
        xmlns:X='urn:x'><D:basicsearch><D:select><D:prop><D:displayname/><D:getcontentlength/></D:prop></D:select>\
         <D:from><D:scope><D:href>{scope}</D:href><D:depth>{depth}</D:depth></D:scope></D:from>{rest}</D:basicsearch>\
         </D:searchrequest>"
    )
}

/// Returns the names of the found items, in order.
fn names(reply: &Reply) -> Vec<String> {
    let text = reply.text();
    let parts = text.split("<D:displayname>").skip(1);
    parts.map(|part| part.split('<').next().unwrap().to_owned()).collect()
}

fn compare(by: &str, property: &str, literal: &str) -> String {
    format!("<D:{by}><D:prop><{property}/></D:prop><D:literal>{literal}</D:literal></D:{by}>")
}

async fn filled() -> Farm {
    let farm = Farm::new().await;
    for (path, content) in [("a.txt", "1"), ("b.txt", "22"), ("sub/c.txt", "333"), ("sub/deep/d.md", "4444")] {
        farm.put(&format!("Documents/{path}"), content).await.expect(201);
    }
    farm
}

#[tokio::test]
async fn items_are_found_by_what_they_are_called_and_how_large_they_are() {
    let farm = filled().await;
    let set = "<D:propertyupdate xmlns:D='DAV:'><D:set><D:prop><X:topic xmlns:X='urn:x'>Tax \
        <b>law</b></X:topic></D:prop></D:set></D:propertyupdate>";
    dav(&farm, "PROPPATCH", "b.txt", &[], set).await.expect(207);
    let ordered = "<D:orderby><D:order><D:prop><D:getcontentlength/></D:prop><D:descending/></D:order></D:orderby>";
    for (scope, depth, condition, order, expected) in [
        (
            "/dav/Documents/",
            "infinity",
            compare("like", "D:displayname", "%.TXT"),
            ordered,
            vec!["c.txt", "b.txt", "a.txt"],
        ),
        ("/dav/Documents/", "1", compare("like", "D:displayname", "%.txt"), ordered, vec!["b.txt", "a.txt"]),
        ("/dav/Documents/sub", "infinity", compare("gte", "D:getcontentlength", "3"), ordered, vec!["d.md", "c.txt"]),
        ("/dav/Documents/a.txt", "0", compare("eq", "D:displayname", "a.txt"), "", vec!["a.txt"]),
        ("/dav/Documents/", "infinity", compare("eq", "X:topic", "tax law"), "", vec!["b.txt"]),
        ("/dav/Documents/", "1", "<D:is-collection/>".to_owned(), "", vec!["Documents", "sub"]),
    ] {
        let body = query(scope, depth, &format!("<D:where>{condition}</D:where>{order}"));
        let reply = dav(&farm, "SEARCH", "", &[], &body).await.expect(207);
        assert_eq!(names(&reply), expected, "{condition}: {}", reply.text());
        assert!(!reply.text().contains(" 507 "), "{condition}");
    }
    let few = query("/dav/Documents/", "infinity", &format!("{ordered}<D:limit><D:nresults>1</D:nresults></D:limit>"));
    let reply = dav(&farm, "SEARCH", "", &[], &few).await.expect(207);
    assert_eq!(names(&reply), ["d.md"]);
    assert!(reply.text().contains(" 507 "), "that there is more is told");
    let options = dav(&farm, "OPTIONS", "", &[], "").await;
    assert!(options.header("dasl").contains("basicsearch"));
    assert!(options.header("allow").contains("SEARCH"));
}

#[tokio::test]
async fn what_may_not_be_seen_is_not_found() {
    let farm = filled().await;
    let admin = farm.repository.as_caller(farm.repository.farm_administrator().await.unwrap());
    let new = NewAccount { login: "eva".into(), password: Some(PASSWORD.into()), ..NewAccount::default() };
    let eva = admin.create_account(new).await.unwrap().id;
    let sub: Id = farm.id("Documents/sub").await.parse().unwrap();
    let root: Id = farm.id("").await.parse().unwrap();
    admin.grant(&root.into(), eva, Role::READ).await.unwrap();
    admin.break_inheritance(&sub.into(), false).await.unwrap();
    let all =
        query("/dav/Documents/", "infinity", &format!("<D:where>{}</D:where>", compare("like", "D:displayname", "%")));
    let reply = farm.send_as("eva", "SEARCH", "/dav/Documents/", &[], all).await.expect(207);
    assert_eq!(names(&reply), ["Documents", "a.txt", "b.txt"], "{}", reply.text());
    let inside = query("/dav/Documents/sub", "infinity", "");
    let refused = farm.send_as("eva", "SEARCH", "/dav/Documents/", &[], inside).await.expect(409).text();
    assert!(refused.contains("HTTP/1.1 404 Not Found"), "{refused}");
    farm.send_as("eva", "SEARCH", "/dav/Documents/sub/", &[], query("", "0", "")).await.expect(404);
}

/// Element that a refusal must contain.
const SCOPE: &str = "<D:search-scope-valid>";

#[tokio::test]
async fn odd_queries_are_refused_in_words() {
    let farm = filled().await;
    let good = query("/dav/Documents/", "1", "");
    let scope = "<D:scope><D:href>/dav/Documents/</D:href><D:depth>1</D:depth></D:scope>";
    for (body, status, says) in [
        (String::new(), 400, "invalid_xml"),
        ("<!DOCTYPE x [<!ENTITY a SYSTEM 'file:///etc/passwd'>]><x>&a;</x>".into(), 400, "invalid_xml"),
        (good.replace("basicsearch", "sql"), 403, "<D:search-grammar-supported/>"),
        ("<D:query-schema-discovery xmlns:D='DAV:'/>".into(), 403, "<D:search-grammar-discovery-supported/>"),
        (good.replace(scope, &scope.repeat(2)), 403, "<D:search-multiple-scope-supported/>"),
        (query("/dav/Documents/", "2", ""), 400, "invalid_query"),
        (query("http://elsewhere.example/dav/Documents/", "1", ""), 409, SCOPE),
        (query("/etc/passwd", "1", ""), 409, SCOPE),
        (query("/dav/Documents/../..", "1", ""), 409, SCOPE),
        (query("/dav/Nowhere/", "1", ""), 409, SCOPE),
        (query("/dav/Documents/", "1", "<D:where><D:language-defined/></D:where>"), 422, "unsupported_query"),
        (query("/dav/Documents/", "1", "<D:where><D:contains/></D:where>"), 400, "invalid_query"),
        (query("/dav/Documents/", "1", "<D:limit><D:nresults>-1</D:nresults></D:limit>"), 400, "invalid_query"),
        ("<x>".to_owned() + &" ".repeat(1 << 20) + "</x>", 413, "too_large"),
    ] {
        let reply = dav(&farm, "SEARCH", "", &[("host", "here")], &body).await;
        assert_eq!(reply.status.as_u16(), status, "{body:.300}: {}", reply.text());
        assert!(reply.text().contains(says), "{body:.300}: {}", reply.text());
    }
    dav(&farm, "SEARCH", "nothing", &[], &good).await.expect(404);
}

#[tokio::test]
async fn without_an_index_it_is_told_that_texts_were_not_searched() {
    let farm = filled().await;
    for condition in ["<D:contains>1</D:contains>", "<D:not><D:contains>1</D:contains></D:not>"] {
        let documents = "<D:is-defined><D:prop><D:getcontentlength/></D:prop></D:is-defined>";
        let body =
            query("/dav/Documents/", "infinity", &format!("<D:where><D:and>{documents}{condition}</D:and></D:where>"));
        let reply = dav(&farm, "SEARCH", "", &[], &body).await.expect(207);
        assert_eq!(names(&reply), Vec::<String>::new(), "{condition}");
        assert!(reply.text().contains(" 507 "), "{condition}");
    }
}

#[tokio::test]
async fn a_scope_may_be_relative_to_the_address_that_is_asked() {
    let farm = filled().await;
    for (asked, scope, expected) in [
        ("sub/", "", vec!["sub", "c.txt"]),
        ("", "sub", vec!["sub", "c.txt"]),
        ("sub/c.txt", "./", vec!["sub", "c.txt"]),
    ] {
        let where_ = format!("<D:where><D:not>{}</D:not></D:where>", compare("eq", "D:displayname", "deep"));
        let reply = dav(&farm, "SEARCH", asked, &[], &query(scope, "1", &where_)).await.expect(207);
        assert_eq!(names(&reply), expected, "{asked} {scope}");
    }
}

#[tokio::test]
async fn the_first_in_order_are_told_and_that_there_are_more() {
    let farm = filled().await;
    let admin = farm.repository.as_caller(farm.repository.farm_administrator().await.unwrap());
    for n in 0..1_050 {
        let to = repository::Destination::Path(model::NodePath::parse(&format!("Documents/many/{n:04}.txt")).unwrap());
        if n == 0 {
            dav(&farm, "MKCOL", "many", &[], "").await.expect(201);
        }
        admin.upload_bytes(&to, repository::UploadOptions::default(), bytes::Bytes::from_static(b"x")).await.unwrap();
    }
    let found = async |rest: &str| {
        let reply = dav(&farm, "SEARCH", "", &[], &query("/dav/Documents/many/", "infinity", rest)).await.expect(207);
        (names(&reply), reply.text().contains(" 507 "))
    };
    let documents = "<D:where><D:not><D:is-collection/></D:not></D:where>";
    let down = "<D:orderby><D:order><D:prop><D:displayname/></D:prop><D:descending/></D:order></D:orderby>";
    let limit = |count: usize| format!("<D:limit><D:nresults>{count}</D:nresults></D:limit>");
    let (all, more) = found(documents).await;
    assert_eq!((all.len(), more), (1_050, false));
    let (last, more) = found(&format!("{documents}{down}{}", limit(2))).await;
    assert_eq!((last, more), (vec!["1049.txt".to_owned(), "1048.txt".to_owned()], true));
    let (some, more) = found(&format!("{documents}{}", limit(3))).await;
    assert_eq!((some.len(), more), (3, true));
    let (whole, more) = found(&format!("{documents}{down}{}", limit(1_050))).await;
    assert_eq!((whole.len(), whole[0].as_str(), more), (1_050, "1049.txt", false));
}

#[tokio::test]
async fn what_lacks_a_property_is_less_and_what_is_large_is_not_compared() {
    let farm = filled().await;
    let set = |value: &str| {
        format!(
            "<D:propertyupdate xmlns:D='DAV:'><D:set><D:prop><X:n \
            xmlns:X='urn:x'>{value}</X:n></D:prop></D:set></D:propertyupdate>"
        )
    };
    dav(&farm, "PROPPATCH", "a.txt", &[], &set("2")).await.expect(207);
    dav(&farm, "PROPPATCH", "b.txt", &[], &set(&"1".repeat(20_000))).await.expect(207);
    dav(&farm, "PROPPATCH", "sub/c.txt", &[], &set("1")).await.expect(207);
    let found = async |rest: &str| {
        names(&dav(&farm, "SEARCH", "", &[], &query("/dav/Documents/", "infinity", rest)).await.expect(207))
    };
    let order = "<D:orderby><D:order><D:prop><X:n/></D:prop></D:order></D:orderby>";
    let sized = format!("<D:where>{}</D:where>", compare("gt", "D:getcontentlength", "0"));
    assert_eq!(found(&format!("{sized}{order}")).await[2..], ["c.txt", "a.txt"]);
    let defined = "<D:where><D:is-defined><D:prop><X:n/></D:prop></D:is-defined></D:where>";
    assert_eq!(found(&format!("{defined}{order}")).await, ["b.txt", "c.txt", "a.txt"]);
    assert_eq!(found(&format!("<D:where>{}</D:where>", compare("like", "X:n", "1%"))).await, ["c.txt"]);
    let kind = "<D:where><D:is-defined><D:prop><D:quota-used-bytes/></D:prop></D:is-defined></D:where>";
    let by_name = "<D:orderby><D:order><D:prop><D:displayname/></D:prop></D:order></D:orderby>";
    assert_eq!(found(&format!("{kind}{by_name}")).await, ["deep", "Documents", "sub"]);
}

#[tokio::test]
async fn an_answer_does_not_grow_without_end() {
    let farm = Farm::new().await;
    let value = "x".repeat(250_000);
    let set = format!(
        "<D:propertyupdate xmlns:D='DAV:'><D:set><D:prop><X:n \
        xmlns:X='urn:x'>{value}</X:n></D:prop></D:set></D:propertyupdate>"
    );
    for n in 0..80 {
        dav(&farm, "PUT", &format!("{n}.txt"), &[], "").await.expect(201);
        dav(&farm, "PROPPATCH", &format!("{n}.txt"), &[], &set).await.expect(207);
    }
    let asked = query("/dav/Documents/", "1", "").replace("<D:getcontentlength/>", "<X:n/>");
    let reply = dav(&farm, "SEARCH", "", &[], &asked).await.expect(207);
    assert!(reply.text().contains(" 507 "), "{}", reply.text().len());
    assert!(reply.text().len() < 20 << 20, "{}", reply.text().len());
}
