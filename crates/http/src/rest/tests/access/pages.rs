//! The same matrix for the pages: every page and every form by everybody who may be signed in to a browser, and the
//! page of a link by whoever has it.

mod hostile;
mod links;

use std::collections::BTreeSet;

use super::table::{self, plain};
use super::{Door, Farm, compare, run};
use crate::rest::tests::description::served_pages;

const PAGES: &str = "pages.txt";

/// Pages for everybody, also for those who are not signed in, and what ends the session that asks: they have tests of
/// their own.
const OPEN: [(&str, &str); 10] = [
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
];

#[tokio::test]
async fn every_page_has_a_row() {
    let farm = Farm::new().await;
    let rows = table::rows(table::read(PAGES));
    let mut rows: BTreeSet<(String, String)> =
        rows.iter().map(|row| (row.method.to_lowercase(), plain(row.route))).collect();
    rows.extend(OPEN.map(|(method, route)| (method.to_owned(), route.to_owned())));
    let served = served_pages(&farm.router);
    assert!(served.len() > 80, "the debug text of the router is not read any more: {served:?}");
    compare(&served, &rows);
}

#[tokio::test]
async fn the_matrix_of_pages_holds_first_part() {
    run(Door::Pages, PAGES, 0, 3).await;
}

#[tokio::test]
async fn the_matrix_of_pages_holds_second_part() {
    run(Door::Pages, PAGES, 1, 3).await;
}

#[tokio::test]
async fn the_matrix_of_pages_holds_third_part() {
    run(Door::Pages, PAGES, 2, 3).await;
}
