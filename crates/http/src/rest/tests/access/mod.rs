//! The access matrix: every operation by everybody, and nothing changed by what was refused.
//!
//! The routes come from the router itself: one without a row fails.

mod case;
mod pages;
mod rows;

use std::collections::BTreeSet;

use super::Farm;
use super::description::served;
use case::{Case, People};
use rows::{ROWS, Row};

#[tokio::test]
async fn every_route_has_a_row() {
    let farm = Farm::new().await;
    let rows: BTreeSet<(String, String)> =
        ROWS.iter().map(|row| (row.method.to_lowercase(), plain(row.route))).collect();
    let served = served(&farm.router);
    assert_eq!(served.difference(&rows).collect::<Vec<_>>(), Vec::<&(String, String)>::new(), "routes without a row");
    assert_eq!(rows.difference(&served).collect::<Vec<_>>(), Vec::<&(String, String)>::new(), "rows without a route");
}

/// What a row expects for somebody who is signed in and may do something at all.
fn expected_of(row: &Row, who: &str) -> u16 {
    match who {
        "revoked" | "no access" => row.expected[0],
        "read" => row.expected[1],
        "contribute" => row.expected[2],
        "full control" => row.expected[3],
        _ => row.expected[4],
    }
}

/// The route of a row as the router writes it: `{id=document}` is `{id}` there.
fn plain(route: &str) -> String {
    let mut text = String::new();
    let mut rest = route;
    while let Some((before, tail)) = rest.split_once('{') {
        let (word, after) = tail.split_once('}').unwrap();
        text += before;
        text += &format!("{{{}}}", word.split('=').next().unwrap());
        rest = after;
    }
    text + rest
}

/// The rows are shared among a few tests, so that they run in parallel.
async fn run(part: usize, parts: usize) {
    let farm = Farm::new().await;
    let people = People::gather(&farm).await;
    for (index, row) in ROWS.iter().enumerate().filter(|(index, _)| index % parts == part) {
        for (position, (who, token)) in people.tokens.iter().enumerate() {
            let expected = match *who {
                "anonymous" | "wrong token" | "disabled" if row.method == "OPTIONS" => 204,
                "anonymous" | "wrong token" | "disabled" => 401,
                who => expected_of(row, who),
            };
            let case = Case::prepare(&farm, &people, row, index * 100 + position).await;
            check(&farm, &case, row, who, token.as_deref(), expected).await;
        }
    }
}

async fn check(farm: &Farm, case: &Case, row: &Row, who: &str, token: Option<&str>, expected: u16) {
    let before = case.state(farm).await;
    let status = case.ask(farm, row, token).await;
    assert_eq!(status, expected, "{} {}{} by {who}", row.method, row.route, row.query);
    if status >= 400 {
        let after = case.state(farm).await;
        assert_eq!(before, after, "{} {} by {who} was refused and changed something", row.method, row.route);
    }
}

#[tokio::test]
async fn the_matrix_holds_first_part() {
    run(0, 3).await;
}

#[tokio::test]
async fn the_matrix_holds_second_part() {
    run(1, 3).await;
}

#[tokio::test]
async fn the_matrix_holds_third_part() {
    run(2, 3).await;
}
