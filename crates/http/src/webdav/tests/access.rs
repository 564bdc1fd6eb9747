//! The access matrix of WebDAV: every verb by everybody, and nothing changed by what was refused.

use std::collections::BTreeMap;

use model::{Id, Role};
use repository::{NewAccount, Session};

use super::EXCLUSIVE;
use crate::rest::tests::{Farm, PASSWORD};

const PROPFIND: &str = "<D:propfind xmlns:D='DAV:'><D:allprop/></D:propfind>";
const PROPPATCH: &str =
    "<D:propertyupdate xmlns:D='DAV:'><D:set><D:prop><x xmlns='u'>1</x></D:prop></D:set></D:propertyupdate>";
const SEARCH: &str = "<D:searchrequest xmlns:D='DAV:'><D:basicsearch><D:select><D:allprop/></D:select>\
    <D:from><D:scope><D:href></D:href></D:scope></D:from></D:basicsearch></D:searchrequest>";
const VERSIONS: &str = "<D:version-tree xmlns:D='DAV:'><D:prop><D:version-name/></D:prop></D:version-tree>";

/// Statuses for no access, read, contribute, full control, administrator of the farm.
type Expected = [u16; 5];

/// Verb, the item below the case's folder, fields, body, statuses.
type Row = (&'static str, &'static str, &'static [(&'static str, &'static str)], &'static str, Expected);

const READ: Expected = [404, 200, 200, 200, 200];
const LIST: Expected = [404, 207, 207, 207, 207];
const CHANGE: Expected = [404, 403, 204, 204, 204];
const MAKE: Expected = [409, 403, 201, 201, 201];
/// A tree that holds a child which the others may not open.
const HIDING: Expected = [404, 403, 403, 204, 204];

const ROWS: &[Row] = &[
    ("OPTIONS", "a.txt", &[], "", [200; 5]),
    ("GET", "a.txt", &[], "", READ),
    ("HEAD", "a.txt", &[], "", READ),
    ("PUT", "a.txt", &[], "new", [409, 403, 204, 204, 204]),
    ("PUT", "new.txt", &[], "new", MAKE),
    ("MKCOL", "new", &[], "", MAKE),
    ("DELETE", "a.txt", &[], "", CHANGE),
    // It holds what somebody has locked.
    ("DELETE", "", &[], "", [404, 403, 423, 423, 423]),
    ("DELETE", "hiding", &[], "", HIDING),
    ("PROPFIND", "a.txt", &[("depth", "0")], PROPFIND, LIST),
    ("PROPFIND", "", &[("depth", "1")], PROPFIND, LIST),
    ("PROPPATCH", "a.txt", &[], PROPPATCH, [404, 403, 207, 207, 207]),
    ("REPORT", "a.txt", &[], VERSIONS, LIST),
    ("SEARCH", "", &[], SEARCH, LIST),
    ("COPY", "a.txt", &[("destination", "b.txt")], "", [404, 403, 201, 201, 201]),
    ("COPY", "a.txt", &[("destination", "over.txt")], "", CHANGE),
    ("COPY", "hiding", &[("destination", "copy")], "", [404, 403, 201, 201, 201]),
    ("COPY", "aside", &[("destination", "hiding")], "", HIDING),
    // It may get another name where it is, and not leave its place.
    ("MOVE", "hiding", &[("destination", "renamed")], "", [404, 403, 201, 201, 201]),
    ("MOVE", "hiding", &[("destination", "aside/hiding")], "", [404, 403, 403, 201, 201]),
    ("MOVE", "aside", &[("destination", "hiding")], "", HIDING),
    ("MOVE", "a.txt", &[("destination", "b.txt")], "", [404, 403, 201, 201, 201]),
    ("MOVE", "a.txt", &[("destination", "over.txt")], "", CHANGE),
    ("MOVE", "a.txt", &[("destination", "hiding/a.txt")], "", [404, 403, 201, 201, 201]),
    // Who may not see a name learns no more than that it is taken.
    ("MOVE", "a.txt", &[("destination", "hiding/secret.txt")], "", [404, 403, 409, 204, 204]),
    // Where nothing is to be seen, a lock makes a document, which has no place there.
    ("LOCK", "a.txt", &[], EXCLUSIVE, [409, 403, 200, 200, 200]),
    ("LOCK", "new.txt", &[], EXCLUSIVE, MAKE),
    ("PUT", "locked.txt", &[], "new", [409, 403, 423, 423, 423]),
    ("DELETE", "locked.txt", &[], "", [404, 403, 423, 423, 423]),
    ("MOVE", "locked.txt", &[("destination", "b.txt")], "", [404, 403, 423, 423, 423]),
    ("COPY", "a.txt", &[("destination", "locked.txt")], "", [404, 403, 423, 423, 423]),
    ("PROPPATCH", "locked.txt", &[], PROPPATCH, [404, 403, 423, 423, 423]),
    ("LOCK", "locked.txt", &[], EXCLUSIVE, [409, 403, 423, 423, 423]),
    // The lock is the administrator's; who has full control may end it.
    ("UNLOCK", "locked.txt", &[("lock-token", "TOKEN")], "", [404, 403, 403, 204, 204]),
];

struct Case {
    folder: String,
    token: String,
}

async fn prepare(farm: &Farm, admin: &Session, n: usize) -> Case {
    let folder = format!("Documents/case-{n}");
    for name in ["a.txt", "over.txt", "locked.txt", "hiding/secret.txt", "aside/x.txt"] {
        farm.put(&format!("{folder}/{name}"), "one").await.expect(201);
    }
    let secret: Id = farm.id(&format!("{folder}/hiding/secret.txt")).await.parse().unwrap();
    admin.break_inheritance(&secret.into(), true).await.unwrap();
    for grant in admin.permissions(&secret.into()).await.unwrap().grants {
        if grant.role != Role::FULL_CONTROL {
            admin.revoke(&secret.into(), grant.principal, grant.role).await.unwrap();
        }
    }
    let reply = farm.send("LOCK", &format!("/dav/{folder}/locked.txt"), &[], EXCLUSIVE).await.expect(200);
    Case { folder, token: reply.header("lock-token").to_owned() }
}

/// What a folder holds, as the administrator sees it: names, versions and properties.
async fn state(farm: &Farm, folder: &str) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for place in [folder.to_owned(), format!("{folder}/hiding")] {
        let reply = farm.send("PROPFIND", &format!("/dav/{place}/"), &[("depth", "1")], "").await;
        for response in reply.text().split("<D:response>").skip(1) {
            let (href, rest) = response.split_once("</D:href>").unwrap();
            let (before, after) = rest.split_once("<D:timeout>").unwrap_or((rest, ""));
            let after = after.split_once("</D:timeout>").map_or(after, |(_, after)| after);
            found.insert(href.to_owned(), format!("{before}{after}"));
        }
    }
    found
}

#[tokio::test]
async fn every_verb_by_everybody() {
    let farm = Farm::new().await;
    let admin = farm.repository.as_caller(farm.repository.farm_administrator().await.unwrap());
    let root: Id = farm.id("").await.parse().unwrap();
    let mut people = Vec::new();
    for (login, role) in [
        ("none", None),
        ("read", Some(Role::READ)),
        ("contribute", Some(Role::CONTRIBUTE)),
        ("full", Some(Role::FULL_CONTROL)),
    ] {
        let new = NewAccount { login: login.into(), password: Some(PASSWORD.into()), ..NewAccount::default() };
        let account = admin.create_account(new).await.unwrap().id;
        if let Some(role) = role {
            admin.grant(&root.into(), account, role).await.unwrap();
        }
        people.push(login);
    }
    people.push("admin");
    let mut n = 0;
    for (verb, item, fields, body, expected) in ROWS {
        for (who, expected) in [("", 401)].into_iter().chain(people.iter().copied().zip(*expected)) {
            n += 1;
            let case = prepare(&farm, &admin, n).await;
            let before = state(&farm, &case.folder).await;
            let url = |item: &str| format!("/dav/{}/{item}", case.folder);
            let to = fields.iter().find(|(name, _)| *name == "destination").map(|(_, to)| url(to)).unwrap_or_default();
            let fields: Vec<(&str, &str)> = fields
                .iter()
                .map(|(name, value)| match *name {
                    "destination" => (*name, to.as_str()),
                    "lock-token" => (*name, case.token.as_str()),
                    _ => (*name, *value),
                })
                .collect();
            let expected = if *verb == "OPTIONS" { 200 } else { expected };
            let reply = farm.send_as(who, verb, &url(item), &fields, (*body).to_owned()).await;
            assert_eq!(reply.status.as_u16(), expected, "{verb} {item} {fields:?} by {who}: {}", reply.text());
            if *verb == "SEARCH" && expected == 207 {
                assert_eq!(reply.text().contains("secret.txt"), matches!(who, "full" | "admin"), "found by {who}");
            }
            if expected >= 400 {
                let after = state(&farm, &case.folder).await;
                assert_eq!(before, after, "{verb} {item} by {who} was refused and changed something");
            }
        }
    }
}
