//! The access matrix for web pages: every page and every form as every caller with a browser session, and the page of a
//! sharing link as a holder of the link.

mod hostile;
mod links;

use std::collections::BTreeSet;
use std::path::Path;

use super::table::{self, plain};
use super::{Farm, Protocol, compare, run};
use crate::tests::description::served_pages;

const PAGES: &str = "pages.txt";

/// Public pages, and requests that end the caller's own session. They have their own tests.
const OPEN: [(&str, &str); 12] = [
    ("get", "/sign-in"),
    ("post", "/sign-in"),
    ("post", "/sign-out"),
    ("post", "/account/sessions/end"),
    ("get", "/assets/{hash}/{name}"),
    ("get", "/favicon.ico"),
    ("get", "/s/{link}/{secret}"),
    ("post", "/s/{link}/{secret}"),
    ("get", "/s/{link}/{secret}/view"),
    ("post", "/s/{link}/{secret}/files"),
    ("get", "/new-password/{secret}"),
    ("post", "/new-password/{secret}"),
];
/// Public pages that exist only in builds with debug assertions.
const KIT: [(&str, &str); 3] = [("get", "/ui-kit"), ("get", "/ui-kit/form"), ("get", "/ui-kit/kit.css")];

#[tokio::test]
async fn every_page_has_a_row() {
    let farm = Farm::new().await;
    let rows = table::rows(table::read(PAGES));
    let mut rows: BTreeSet<(String, String)> =
        rows.iter().map(|row| (row.method.to_lowercase(), plain(row.route))).collect();
    let open = OPEN.iter().chain(KIT.iter().filter(|_| cfg!(debug_assertions)));
    rows.extend(open.map(|(method, route)| ((*method).to_owned(), (*route).to_owned())));
    let served = served_pages(&farm.router);
    assert!(served.len() > 80, "the debug text of the router is not read any more: {served:?}");
    compare(&served, &rows);
}

/// Paging parameters, and fields of forms that are listed in [`OPEN`].
const OTHERS: [&str; 10] =
    ["after", "again", "at", "before", "document", "form_token", "new_password", "next", "resend", "resend_to"];

/// Collects the source texts of the pages, without their tests.
fn sources(folder: &Path, found: &mut Vec<String>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() && name != "tests" {
            sources(&path, found);
        } else if name.ends_with(".rs") && name != "fuzzing.rs" {
            let text = std::fs::read_to_string(&path).unwrap();
            found.push(text.split("#[cfg(test)]\nmod tests {").next().unwrap().to_owned());
        }
    }
}

/// Collects the names of the fields that the source reads from a form.
fn form_fields(source: &str, found: &mut BTreeSet<String>) {
    for reading in [".text(\"", ".trimmed(\"", ".yes(\"", ".all(\"", ".id(\"", ".ids(\""] {
        let names = source.split(reading).skip(1).map(|rest| rest.split('"').next().unwrap());
        // A name with a dot is the key of a text of the page.
        found.extend(names.filter(|name| !name.contains('.')).map(str::to_owned));
    }
}

/// Collects the names of the query parameters, from the structures in the same file into which a query is parsed.
fn parameters(source: &str, found: &mut BTreeSet<String>) {
    for name in source.split("Query<").skip(1).map(|rest| rest.split('>').next().unwrap()) {
        let Some((_, body)) = source.split_once(&format!("struct {name} {{")) else { continue };
        let lines = body.split("\n}").next().unwrap().lines().map(|line| line.trim().trim_start_matches("pub "));
        let fields = lines.filter(|line| !line.starts_with(['/', '#'])).filter_map(|line| line.split_once(": "));
        found.extend(fields.map(|(field, _)| field.to_owned()));
    }
}

#[test]
fn every_field_of_a_form_and_every_parameter_of_a_page_is_in_a_row() {
    let mut files = Vec::new();
    sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../ui/src"), &mut files);
    let (mut fields, mut asked) = (BTreeSet::new(), BTreeSet::new());
    for source in &files {
        form_fields(source, &mut fields);
        parameters(source, &mut asked);
    }
    assert!(fields.len() > 50, "{fields:?} {asked:?}");
    assert!(asked.len() > 10, "{fields:?} {asked:?}");
    let rows = table::rows(table::read(PAGES));
    let has = |text: &str, name: &str| text.split(['?', '&']).any(|pair| pair.split('=').next() == Some(name));
    let is_other = |name: &&String| OTHERS.contains(&name.as_str());
    let in_body = |name: &&String| rows.iter().any(|row| has(row.body, name));
    let in_query = |name: &&String| rows.iter().any(|row| has(row.query, name));
    let missing: Vec<&String> = fields.iter().filter(|name| !is_other(name) && !in_body(name)).collect();
    let unasked: Vec<&String> = asked.iter().filter(|name| !is_other(name) && !in_query(name)).collect();
    assert!(missing.is_empty(), "without a row: fields {missing:?}, parameters {unasked:?}");
    assert!(unasked.is_empty(), "without a row: fields {missing:?}, parameters {unasked:?}");
}

#[tokio::test]
async fn the_matrix_of_pages_holds_first_part() {
    run(Protocol::Pages, PAGES, 0, 3).await;
}

#[tokio::test]
async fn the_matrix_of_pages_holds_second_part() {
    run(Protocol::Pages, PAGES, 1, 3).await;
}

#[tokio::test]
async fn the_matrix_of_pages_holds_third_part() {
    run(Protocol::Pages, PAGES, 2, 3).await;
}
