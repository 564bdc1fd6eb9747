//! Hostile input in every field of every form. It is either refused or stored as text, and never appears as markup on a
//! page.

use super::super::sending::{Opened, Protocol};
use super::super::{Case, Farm, Ground, Reply, Row, table};
use super::PAGES;

const MARKUP: &str = "<img src=x onerror=alert(1)>'\"&";
const FEW: [&str; 7] = [
    MARKUP,
    "a\u{202e}txt.exe\u{200b}\u{2066}",
    "\0\u{1}\u{7f}\r\n\u{fffe}",
    "99999999999999999999999",
    "-1",
    "../../../../etc/passwd%00",
    "",
];

async fn begin() -> (Farm, Ground, Opened) {
    let farm = Farm::new().await;
    let ground = Ground::create(&farm).await;
    let door = Protocol::Pages.open(&farm, &ground.people).await;
    (farm, ground, door)
}

fn rows(method: &'static str) -> impl Iterator<Item = (usize, Row)> {
    let rows = table::rows(table::read(PAGES)).into_iter().enumerate();
    rows.filter(move |(_, row)| row.method == method && row.body != "FILE")
}

/// Returns the form body with the value of one pair replaced.
fn changed(body: &str, index: usize, value: &str) -> String {
    let pairs = form_urlencoded::parse(body.as_bytes()).enumerate();
    let pairs = pairs.map(|(at, (name, old))| (name, if at == index { value.into() } else { old }));
    form_urlencoded::Serializer::new(String::new()).extend_pairs(pairs).finish()
}

fn is_page(reply: &Reply) -> bool {
    reply.header("content-type").starts_with("text/html")
}

#[tokio::test]
async fn hostile_fields_are_refused_or_kept_as_text() {
    let (farm, ground, door) = begin().await;
    let administrator = ground.people.columns.last().unwrap();
    let long = "n".repeat(5_000);
    let mut faults = Vec::new();
    let mut judge = |what: String, reply: &Reply| {
        if reply.status.is_server_error() || is_page(reply) && reply.text().contains("<img src=x") {
            faults.push(format!("{what} answers {}", reply.status));
        }
    };
    for (index, row) in rows("POST") {
        // A change to the caller's own session or account would end the test.
        if row.route.starts_with("/account") {
            continue;
        }
        let case = Case::prepare(&farm, &ground, &row, index).await;
        let body = case.fill(row.body);
        for field in 0..form_urlencoded::parse(body.as_bytes()).count() {
            for value in FEW.iter().copied().chain([long.as_str()]) {
                let hostile = changed(&body, field, value);
                let (_, reply) = door.ask_with(&farm, &case, &row, administrator, &hostile).await;
                let shown: String = value.chars().take(12).collect();
                judge(format!("{} with {} as field {field}", row.route, shown.escape_debug()), &reply);
            }
        }
    }
    for (index, row) in rows("GET") {
        let case = Case::prepare(&farm, &ground, &row, 1_000 + index).await;
        let (_, reply) = door.ask(&farm, &case, &row, administrator).await;
        judge(format!("{}{}", row.route, row.query), &reply);
        let hostile = row.query.split_inclusive('=').next().filter(|start| start.ends_with('='));
        for value in FEW.iter().copied().chain([long.as_str()]).filter(|_| hostile.is_some()) {
            let query: String = form_urlencoded::byte_serialize(value.as_bytes()).collect();
            let url = format!("{}{}{query}", case.fill(row.route), hostile.unwrap_or_default());
            let cookie = format!("__Host-strongroom_session={}", administrator.session.as_deref().unwrap());
            let reply = farm.send_as("", "GET", &url, &[("accept", "text/html"), ("cookie", &cookie)], "").await;
            judge(url, &reply);
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[tokio::test]
async fn ten_thousand_fields_are_refused_in_words() {
    let (farm, ground, door) = begin().await;
    let administrator = ground.people.columns.last().unwrap();
    let many: String = (0..10_000).map(|n| format!("field-{n}=value&ids={n}&")).collect();
    for (index, row) in rows("POST") {
        if row.route.starts_with("/account") {
            continue;
        }
        let case = Case::prepare(&farm, &ground, &row, index).await;
        let (_, reply) = door.ask_with(&farm, &case, &row, administrator, &many).await;
        assert!(!reply.status.is_server_error(), "{} answers {}", row.route, reply.status);
    }
}
