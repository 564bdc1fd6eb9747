//! Messages about content that is missing from a page because a content database is unavailable or unreadable.

use repository::UnavailableDatabases;

use crate::frame::page::Page;

/// Returns the message for a page, or an empty string when nothing is missing.
pub fn on_page(page: &Page, missing: &UnavailableDatabases) -> String {
    told(page, missing, "away.missing", "away.missing-something")
}

/// Returns the message for the palette, or an empty string when nothing is missing.
pub fn in_palette(page: &Page, missing: &UnavailableDatabases) -> String {
    told(page, missing, "away.palette", "away.palette-something")
}

/// Returns the message for farm administrators with the names of the databases, or an empty string.
pub fn named(page: &Page, databases: &[String]) -> String {
    if databases.is_empty() { String::new() } else { page.f1("away.missing", databases.join(", ")) }
}

fn told(page: &Page, missing: &UnavailableDatabases, named: &str, unnamed: &str) -> String {
    match missing.names() {
        _ if missing.is_empty() => String::new(),
        names if names.is_empty() => page.s(unnamed).to_owned(),
        names => page.f1(named, names.join(", ")),
    }
}
