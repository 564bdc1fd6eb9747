//! Says on a page that something is missing because a content database is away or cannot be read.

use repository::Missing;

use crate::frame::page::Page;

/// The sentence of a page; empty when nothing is missing.
pub fn on_page(page: &Page, missing: &Missing) -> String {
    told(page, missing, "away.missing", "away.missing-something")
}

/// The sentence of the palette; empty when nothing is missing.
pub fn in_palette(page: &Page, missing: &Missing) -> String {
    told(page, missing, "away.palette", "away.palette-something")
}

/// The sentence of a page for who administers the farm, with the names of the databases; empty without any.
pub fn named(page: &Page, databases: &[String]) -> String {
    if databases.is_empty() { String::new() } else { page.f1("away.missing", databases.join(", ")) }
}

fn told(page: &Page, missing: &Missing, named: &str, unnamed: &str) -> String {
    match missing.names() {
        _ if missing.is_empty() => String::new(),
        names if names.is_empty() => page.s(unnamed).to_owned(),
        names => page.f1(named, names.join(", ")),
    }
}
