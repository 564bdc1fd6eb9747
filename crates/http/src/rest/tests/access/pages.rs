//! The same matrix for the pages: every page and every form by everybody who may be signed in to a browser.

mod hostile;

use std::collections::BTreeSet;

use axum::body::Body;

use super::case::{Case, People};
use super::rows::{Expected, Row, asking, row};
use super::{expected_of, plain};
use crate::rest::tests::description::served_pages;
use crate::rest::tests::{Farm, Reply};

/// Pages for everybody, also for those who are not signed in, and what ends the session that asks: they have tests of
/// their own.
const OPEN: [(&str, &str); 11] = [
    ("get", "/sign-in"),
    ("post", "/sign-in"),
    ("post", "/sign-out"),
    ("post", "/account/sessions/end"),
    ("get", "/ui-kit"),
    ("get", "/ui-kit/form"),
    ("get", "/assets/{hash}/{name}"),
    ("get", "/favicon.ico"),
    ("get", "/s/{link}/{secret}"),
    ("post", "/s/{link}/{secret}"),
    ("get", "/"),
];

const ALL: Expected = [200; 5];
const SEE: Expected = [404, 200, 200, 200, 200];
/// Forms that could only fail are not shown.
const CHANGE_SEE: Expected = [404, 403, 200, 200, 200];
const MANAGE_SEE: Expected = [404, 403, 403, 200, 200];
const FARM_SEE: Expected = [403, 403, 403, 403, 200];
/// A form that was carried out leads to another page.
const CHANGE: Expected = [404, 403, 303, 303, 303];
const MANAGE: Expected = [404, 403, 403, 303, 303];
const FARM: Expected = [403, 403, 403, 403, 303];
/// What an administrator asks for in vain.
const FARM_CONFLICT: Expected = [403, 403, 403, 403, 409];
const FARM_NOTHING: Expected = [403, 403, 403, 403, 404];
/// What belongs to somebody else.
const OTHERS: Expected = [404; 5];

const fn page(route: &'static str, expected: Expected) -> Row {
    row("GET", route, "", expected)
}

const fn form(route: &'static str, body: &'static str, expected: Expected) -> Row {
    row("POST", route, body, expected)
}

const ROWS: &[Row] = &[
    page("/browse", SEE),
    page("/browse/", SEE),
    page("/browse/{path}", SEE),
    asking("GET", "/search", "?q=a", ALL),
    page("/sites", ALL),
    page("/account", ALL),
    page("/account/password", ALL),
    form("/account/password", "old=wrong&new=another+good+password&again=another+good+password", [403; 5]),
    form("/account/preferences", "language=en&theme=light", [303; 5]),
    page("/account/tokens", ALL),
    form("/account/tokens", "name=mine&days=30", ALL),
    form("/account/tokens/{token}/revoke", "", OTHERS),
    form("/account/sessions/{session}/end", "", OTHERS),
    page("/items/{id=document}", SEE),
    // Nothing makes pages of a text; who may not see it does not hear even that.
    page("/items/{id=document}/pages", [404, 422, 422, 422, 422]),
    page("/items/{id=document}/versions", SEE),
    page("/items/{id=document}/open", [404, 303, 303, 303, 303]),
    page("/items/{id=document}/rename", CHANGE_SEE),
    form("/items/{id=document}/rename", "name=other.txt", CHANGE),
    form("/items/{id=folder}/rename", "name=other {n}", CHANGE),
    form("/items/{id=library}/rename", "name=Other {n}", MANAGE),
    page("/items/{id=document}/delete", CHANGE_SEE),
    form("/items/{id=document}/delete", "", CHANGE),
    form("/items/{id=library}/delete", "", MANAGE),
    page("/items/{id=folder}/new-folder", CHANGE_SEE),
    form("/items/{id=folder}/new-folder", "name=new", CHANGE),
    page("/items/{id=site}/new-library", MANAGE_SEE),
    form("/items/{id=site}/new-library", "name=New {n}&versioning=major", MANAGE),
    page("/items/{id=site}/new-site", MANAGE_SEE),
    form("/items/{id=site}/new-site", "name=Site {n}", MANAGE),
    form("/items/{id=document}/check-out", "", CHANGE),
    form("/items/{id=locked}/unlock", "", MANAGE),
    page("/items/{id=held}/check-in", CHANGE_SEE),
    form("/items/{id=held}/check-in", "comment=x", [404, 403, 423, 423, 303]),
    page("/items/{id=held}/discard", MANAGE_SEE),
    form("/items/{id=held}/discard", "", [404, 423, 423, 303, 303]),
    form("/items/{id=draft}/publish", "", [404, 404, 303, 303, 303]),
    form("/items/{id=document}/versions/{version=number}/restore", "", CHANGE),
    form("/items/{id=document}/versions/{version=number}/delete", "", MANAGE),
    page("/items/{id=filed}/values", CHANGE_SEE),
    form("/items/{id=filed}/values", "column-{column}=words", CHANGE),
    page("/items/{id=filed}/values/{column}", CHANGE_SEE),
    form("/items/{id=filed}/values/{column}", "column-{column}=words", CHANGE),
    page("/items/{id=library}/settings", MANAGE_SEE),
    form("/items/{id=library}/settings", "versioning=none", MANAGE),
    page("/items/{id=library}/columns/{column}", MANAGE_SEE),
    form("/items/{id=library}/columns/{column}", "name=Phrases", MANAGE),
    form("/items/{id=library}/columns/{column}/delete", "", MANAGE),
    asking("GET", "/items/{id=document}/compare", "?from=1.0", SEE),
    form("/items/{id=document}/follow", "follow=yes", [404, 303, 303, 303, 303]),
    page("/items/{id=document}/links", [404, 403, 403, 403, 403]),
    form("/items/{id=document}/links", "days=1", [404, 403, 403, 403, 403]),
    form("/items/{id=document}/links/{link}/revoke", "", [404, 403, 404, 404, 404]),
    page("/items/{id=site}/link-rule", MANAGE_SEE),
    page("/items/{id=site}/site-settings", MANAGE_SEE),
    form("/items/{id=site}/site-settings", "title=Case {n}&accent=blue", MANAGE),
    form("/items/{id=site}/link-rule", "days=7", MANAGE),
    page("/items/{id=folder}/view", SEE),
    form("/items/{id=folder}/view", "sort=size", [404, 303, 303, 303, 303]),
    page("/items/{id=library}/views", SEE),
    form("/items/{id=library}/views", "name=Mine {n}&query=sort%3Dsize", [404, 303, 303, 303, 303]),
    form("/items/{id=library}/views", "name=All {n}&query=sort%3Dsize&shared=yes", MANAGE),
    form("/items/{id=library}/views/{view}/delete", "", OTHERS),
    asking("GET", "/items/{id=folder}/taken", "?name=a.txt", SEE),
    form("/items/{id=library}/types", "name=Letter", MANAGE),
    form("/items/{id=library}/types/{type}/delete", "", MANAGE),
    page("/items/{id=document}/permissions", MANAGE_SEE),
    page("/items/{id=document}/permissions/grant", MANAGE_SEE),
    form("/items/{id=document}/permissions/grant", "who=none&role=4", MANAGE),
    form("/items/{id=own}/permissions/revoke", "principal={principal}&role={reading}", MANAGE),
    form("/items/{id=document}/permissions/own", "", MANAGE),
    form("/items/{id=own}/permissions/inherit", "", MANAGE),
    form("/selection/move", "ids={document}", [303; 5]),
    form("/selection/copy", "ids={document}", [303; 5]),
    form("/selection/archive", "ids={document}", SEE),
    form("/selection/check-out", "ids={document}&next=/", CHANGE),
    form("/selection/values", "ids={filed}", [303; 5]),
    asking("GET", "/values", "?ids={filed}", CHANGE_SEE),
    form("/values", "ids={filed}&column-{column}=words", CHANGE),
    form("/selection/delete", "ids={document}&next=/", [404, 403, 303, 303, 303]),
    asking("GET", "/place", "?action=move&ids={document}", CHANGE_SEE),
    form("/place", "action=move&ids={document}&at={target}", CHANGE),
    form("/place", "action=copy&ids={document}&at={target}", CHANGE),
    form("/undo-delete", "ids={site},{entry}", [404, 404, 404, 303, 303]),
    page("/audit/{collection=site}", MANAGE_SEE),
    page("/audit/{collection=site}/export", MANAGE_SEE),
    form("/audit/{collection=site}/reads", "", MANAGE),
    page("/bin/{collection=site}", SEE),
    asking("GET", "/bin/{collection=site}", "?of=site", MANAGE_SEE),
    form("/bin/{collection=site}/restore", "ids={entry}", [404, 404, 404, 303, 303]),
    form("/bin/{collection=site}/purge", "ids={entry}", [404, 404, 404, 303, 303]),
    form("/bin/{collection=site}/empty", "of=site", MANAGE),
    page("/farm", FARM_SEE),
    page("/farm/audit", FARM_SEE),
    page("/farm/audit/export", FARM_SEE),
    page("/farm/figures", FARM_SEE),
    page("/farm/sites/new", FARM_SEE),
    form("/farm/sites/new", "title=T&path=sites/s{n}&database=main", FARM),
    page("/farm/sites/{site}/quota", FARM_SEE),
    form("/farm/sites/{site}/quota", "quota=5000", FARM),
    page("/farm/users", FARM_SEE),
    page("/farm/users/new", FARM_SEE),
    form("/farm/users/new", "login=eve{n}&password=correct+horse+battery&administrator=yes", FARM),
    page("/farm/users/{user}", FARM_SEE),
    form("/farm/users/{user}", "login=other{n}&name=Other&administrator=yes", FARM),
    page("/farm/users/{user}/password", FARM_SEE),
    form("/farm/users/{user}/password", "password=correct+horse+battery", FARM),
    form("/farm/users/{user}/switch", "do=disable", FARM),
    form("/farm/users/{user}/switch", "do=delete", FARM),
    page("/farm/roles", FARM_SEE),
    page("/farm/roles/new", FARM_SEE),
    form("/farm/roles/new", "name=Made {n}&rights=view", FARM),
    page("/farm/roles/{role}", FARM_SEE),
    form("/farm/roles/{role}", "name=Changed {n}&rights=view&rights=manage-site", FARM),
    page("/farm/roles/{role}/delete", FARM_SEE),
    form("/farm/roles/{role}/delete", "", FARM),
    page("/farm/groups", FARM_SEE),
    page("/farm/groups/new", FARM_SEE),
    form("/farm/groups/new", "name=New group {n}", FARM),
    page("/farm/groups/{group}", FARM_SEE),
    page("/farm/groups/{group}/change", FARM_SEE),
    form("/farm/groups/{group}/change", "name=Changed {n}", FARM),
    form("/farm/groups/{group}/delete", "", FARM),
    form("/farm/groups/{group}/add", "who=none", FARM),
    form("/farm/groups/{group}/remove", "member={member}", FARM),
    page("/farm/stores", FARM_SEE),
    page("/farm/new-store/{kind=directory}", FARM_SEE),
    form("/farm/new-store/{kind=directory}", "name=made {n}&location=stores/made-{n}", FARM),
    page("/farm/stores/{store}", FARM_SEE),
    form("/farm/stores/{store}", "", FARM),
    form("/farm/stores/{store}/state", "do=read-only", FARM),
    form("/farm/stores/{store}/test", "", FARM_SEE),
    form("/farm/stores/{store}/rotate", "", FARM_CONFLICT),
    page("/farm/stores/{store}/drain", FARM_SEE),
    form("/farm/stores/{store}/drain", "", FARM),
    page("/farm/stores/{store}/remove", FARM_SEE),
    form("/farm/stores/{store=closed}/remove", "", FARM),
    page("/farm/policies", FARM_SEE),
    page("/farm/policies/new", FARM_SEE),
    form("/farm/policies/new", "place=/Documents", FARM),
    page("/farm/policies/{kind=database}/{target=main}", FARM_SEE),
    form("/farm/policies/{kind=database}/{target=main}", "store=files&minimum=64 KB&types=pdf", FARM),
    page("/farm/policies/{kind=of-library}/{target=library}", FARM_SEE),
    form("/farm/policies/{kind=of-library}/{target=library}", "minimum=0&own-tiers=own", FARM),
    page("/farm/jobs", FARM_SEE),
    page("/farm/jobs/new/{kind=migrate}", FARM_SEE),
    form("/farm/jobs/new/{kind=migrate}", "to=files", FARM),
    page("/farm/jobs/{job}", FARM_SEE),
    form("/farm/jobs/{job}", "do=pause", FARM),
    page("/farm/reclaim", FARM_SEE),
    page("/farm/faults", FARM_SEE),
    form("/farm/faults/{digest}", "do=accept", FARM_NOTHING),
    form("/farm/faults/{digest}", "do=repair", FARM_NOTHING),
    page("/items/{id=folder}/upload", CHANGE_SEE),
    form("/items/{id=folder}/upload", "FILE", CHANGE),
    page("/items/{id=document}/replace", CHANGE_SEE),
    form("/items/{id=document}/replace", "FILE", CHANGE),
    page("/download/{id=document}/{name=number}", SEE),
];

#[tokio::test]
async fn every_page_has_a_row() {
    let farm = Farm::new().await;
    let mut rows: BTreeSet<(String, String)> =
        ROWS.iter().map(|row| (row.method.to_lowercase(), plain(row.route))).collect();
    rows.extend(OPEN.map(|(method, route)| (method.to_owned(), route.to_owned())));
    let served = served_pages(&farm.router);
    assert!(served.len() > 80, "the debug text of the router is not read any more: {served:?}");
    assert_eq!(served.difference(&rows).collect::<Vec<_>>(), Vec::<&(String, String)>::new(), "routes without a row");
    assert_eq!(rows.difference(&served).collect::<Vec<_>>(), Vec::<&(String, String)>::new(), "rows without a route");
}

async fn ask(farm: &Farm, case: &Case, row: &Row, session: Option<&str>, token: &str) -> Reply {
    send(farm, case, row, &case.fill(row.body), session, token).await
}

/// Asks with a body of other fields than the row has.
async fn send(farm: &Farm, case: &Case, row: &Row, body: &str, session: Option<&str>, token: &str) -> Reply {
    let url = case.fill(&format!("{}{}", row.route, row.query));
    assert!(!url.contains('{'), "{url} speaks of what the case does not make");
    let cookie = session.map(|secret| format!("__Host-strongroom_session={secret}"));
    let mut fields: Vec<(&str, &str)> = vec![("accept", "text/html")];
    fields.extend(cookie.as_deref().map(|cookie| ("cookie", cookie)));
    let body = match (row.method, body) {
        ("GET", _) => String::new(),
        (_, "FILE") => {
            fields.push(("content-type", "multipart/form-data; boundary=cut"));
            format!(
                "--cut\r\nContent-Disposition: form-data; name=\"form_token\"\r\n\r\n{token}\r\n--cut\r\n\
                 Content-Disposition: form-data; name=\"file\"; filename=\"b.txt\"\r\n\r\nnew\r\n--cut--\r\n"
            )
        }
        (_, body) => {
            fields.push(("content-type", "application/x-www-form-urlencoded"));
            format!("form_token={token}&{body}")
        }
    };
    farm.send_as("", row.method, &url, &fields, Body::from(body)).await
}

/// The token that somebody's forms carry; nothing for who is not signed in.
async fn form_token(farm: &Farm, session: Option<&str>) -> String {
    let cookie = format!("__Host-strongroom_session={}", session.unwrap_or_default());
    let text = farm.send_as("", "GET", "/account", &[("cookie", &cookie)], "").await.text();
    let after = text.split("name=\"form_token\" value=\"").nth(1).unwrap_or_default();
    after.split('"').next().unwrap_or_default().to_owned()
}

/// The rows are shared among a few tests, so that they run in parallel.
async fn run(part: usize, parts: usize) {
    let farm = Farm::with(|options| options.converter = Some("/bin/false".into())).await;
    let people = People::gather(&farm).await;
    let mut tokens = Vec::new();
    for (_, session) in &people.sessions {
        tokens.push(form_token(&farm, session.as_deref()).await);
    }
    let mut faults = Vec::new();
    for (index, row) in ROWS.iter().enumerate().filter(|(index, _)| index % parts == part) {
        for (position, (who, session)) in people.sessions.iter().enumerate() {
            let case = Case::prepare(&farm, &people, row, index * 100 + position).await;
            let before = case.state(&farm).await;
            let reply = ask(&farm, &case, row, session.as_deref(), &tokens[position]).await;
            let at = format!("{} {}{} by {who}", row.method, row.route, row.query);
            let away = reply.header("location").starts_with("/sign-in");
            let expected = match *who {
                // What a form brought is kept on the page that signs in; a file is not.
                "anonymous" | "wrong session" | "disabled" if row.method == "POST" && row.body != "FILE" => {
                    (401, false)
                }
                "anonymous" | "wrong session" | "disabled" => (303, true),
                _ => (expected_of(row, who), false),
            };
            if (reply.status.as_u16(), away) != expected {
                faults.push(format!("{at} answers {}, sent to sign in: {away}; expected {expected:?}", reply.status));
            }
            if away || reply.status.as_u16() >= 400 || row.method == "GET" {
                assert_eq!(before, case.state(&farm).await, "{at} was refused or only looked, and changed something");
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[tokio::test]
async fn the_matrix_of_pages_holds_first_part() {
    run(0, 3).await;
}

#[tokio::test]
async fn the_matrix_of_pages_holds_second_part() {
    run(1, 3).await;
}

#[tokio::test]
async fn the_matrix_of_pages_holds_third_part() {
    run(2, 3).await;
}
