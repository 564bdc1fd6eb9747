//! The parts of a page: each shows something of the server, with the rights of whoever reads the page.

mod contents;
mod found;
mod listing;
mod part;
mod people;
mod search;

use askama::Template;
use model::ErrorKind;

use part::{PartFault, render};

use crate::frame::page::Page;
use crate::frame::refuse;
use http_core::server::error;

pub use part::Surroundings;

/// A kind of part, as the editor offers it.
pub struct PartKind {
    /// Word after `part-`.
    pub word: &'static str,
    /// Name.
    pub name: &'static str,
    /// What it shows.
    pub hint: &'static str,
    /// What stands in a new one.
    pub sample: &'static str,
}

/// Returns all kinds of parts.
pub fn kinds(page: &Page) -> [PartKind; 7] {
    let kind = |word, name, hint, sample| PartKind { word, name, hint, sample };
    [
        kind("documents", page.s("part.documents"), page.s("part.documents-hint"), "from = \"Documents\"\nlimit = 5"),
        kind("list", page.s("part.list"), page.s("part.list-hint"), "from = \"Tasks\"\nlimit = 5"),
        kind("recent", page.s("part.recent"), page.s("part.recent-hint"), "limit = 5"),
        kind("query", page.s("part.query"), page.s("part.query-hint"), "query = \"type:pdf\"\nlimit = 5"),
        kind("people", page.s("part.people"), page.s("part.people-hint"), "people = [\"\"]"),
        kind("search", page.s("part.search-box"), page.s("part.search-hint"), ""),
        kind("contents", page.s("part.contents"), page.s("part.contents-hint"), ""),
    ]
}

#[derive(Template)]
#[template(path = "part-fault.html")]
struct FaultNote<'a> {
    page: &'a Page,
    kind: &'a str,
    reason: String,
}

/// Returns the HTML of a part. What cannot be shown says why.
pub async fn draw(around: &Surroundings<'_>, kind: &str, text: &str) -> String {
    let page = &around.visit.page;
    let drawn = match kind {
        "documents" => listing::documents(around, text).await,
        "list" => listing::list(around, text).await,
        "recent" => found::recent(around, text).await,
        "query" => found::query(around, text).await,
        "people" => people::draw(around, text).await,
        "search" => search::draw(around, text),
        "contents" => contents::draw(around, text),
        _ => Err(PartFault::Unreadable(page.f1("part.unknown", kind))),
    };
    drawn.unwrap_or_else(|fault| {
        let reason = match fault {
            PartFault::Unreadable(reason) => reason,
            PartFault::Failed(error) if error.kind() == ErrorKind::NotFound => page.s("part.not-found").to_owned(),
            PartFault::Failed(error) => {
                error::log(&error, error::status(&error));
                refuse::message_for(page, &error)
            }
        };
        render(&FaultNote { page, kind, reason }).unwrap_or_default()
    })
}
