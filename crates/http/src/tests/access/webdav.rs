//! WebDAV: every verb and its variants as every caller.

use super::{Protocol, run};

const DAV: &str = "webdav.txt";

#[tokio::test]
async fn every_verb_by_everybody_first_part() {
    run(Protocol::Dav, DAV, 0, 2).await;
}

#[tokio::test]
async fn every_verb_by_everybody_second_part() {
    run(Protocol::Dav, DAV, 1, 2).await;
}

/// Checks the verbs that the server lists in `Allow`.
#[tokio::test]
async fn every_verb_has_a_row() {
    let farm = super::Farm::new().await;
    let allowed = farm.send("OPTIONS", "/dav/Documents/", &[], "").await.expect(200).header("allow").to_owned();
    assert!(allowed.contains("LOCK"), "{allowed}");
    let rows = super::table::rows(super::table::read(DAV));
    let without: Vec<&str> = allowed.split(", ").filter(|verb| rows.iter().all(|row| row.method != *verb)).collect();
    assert!(without.is_empty(), "verbs without a row: {without:?}");
}
