//! The parts of a page: each shows something of the server, with the rights of whoever reads the page.

mod contents;
mod found;
mod listing;
mod part;
mod people;
mod search;

use askama::Template;
use model::{ErrorKind, MAX_PAGE, NodeKind, Result};
use repository::{Item, Sort, Target};

use part::{PartFault, render};

use super::markdown::MAX_PARTS;
use crate::frame::page::Page;
use crate::frame::refuse;
use crate::frame::visit::Visit;
use http_core::server::error;

pub use part::Surroundings;

/// A kind of part, as the editor offers it.
pub struct PartKind {
    /// Word after `part-`.
    pub word: &'static str,
    /// Name.
    pub name: &'static str,
    /// Description.
    pub hint: &'static str,
    /// Settings of a new one, in TOML.
    pub sample: String,
}

/// Returns all kinds of parts. New ones show a library and a list of the site, if there are some.
pub async fn kinds(visit: &Visit, site: &Item) -> Result<[PartKind; 7]> {
    let page = &visit.page;
    let (_, below) = visit.session.list(&Target::Id(site.id), Sort::Name, false, None, MAX_PAGE).await?;
    let first = |kind: NodeKind, otherwise: &str| {
        let name = below.items.iter().find(|item| item.kind == kind).map_or(otherwise, |item| item.name.as_str());
        toml::Value::String(name.to_owned()).to_string()
    };
    let (library, list) = (first(NodeKind::Library, "Documents"), first(NodeKind::List, "Tasks"));
    let login = toml::Value::String(visit.session.principal().login.clone());
    let kind = |word, name, hint, sample: String| PartKind { word, name, hint, sample };
    let [documents, rows] = [library, list].map(|from| format!("from = {from}\nlimit = 5"));
    Ok([
        kind("documents", page.s("part.documents"), page.s("part.documents-hint"), documents),
        kind("list", page.s("part.list"), page.s("part.list-hint"), rows),
        kind("recent", page.s("part.recent"), page.s("part.recent-hint"), "limit = 5".to_owned()),
        kind("query", page.s("part.query"), page.s("part.query-hint"), "query = \"type:pdf\"\nlimit = 5".to_owned()),
        kind("people", page.s("part.people"), page.s("part.people-hint"), format!("people = [{login}]")),
        kind("search", page.s("part.search-box"), page.s("part.search-hint"), String::new()),
        kind("contents", page.s("part.contents"), page.s("part.contents-hint"), String::new()),
    ])
}

#[derive(Template)]
#[template(path = "part-fault.html")]
struct FaultNote<'a> {
    page: &'a Page,
    kind: &'a str,
    reason: String,
}

/// Returns the HTML for parts beyond the limit of a page.
pub fn too_many(page: &Page) -> String {
    render(&FaultNote { page, kind: "", reason: page.f1("part.too-many", MAX_PARTS) }).unwrap_or_default()
}

/// Returns the HTML of a part for which there was no time.
pub fn late(page: &Page, kind: &str) -> String {
    render(&FaultNote { page, kind, reason: page.s("part.late").to_owned() }).unwrap_or_default()
}

/// Returns the HTML of a part, or the reason why it cannot be shown.
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
        _ => Err(PartFault::Wrong(page.f1("part.unknown", kind))),
    };
    drawn.unwrap_or_else(|fault| {
        // Readers cannot mend a part, and a place that they may not see does not concern them.
        let concerns_all = matches!(&fault, PartFault::Failed(error) if error.kind() != ErrorKind::NotFound);
        if !around.is_author && !concerns_all {
            return String::new();
        }
        let reason = match fault {
            PartFault::Wrong(reason) => reason,
            PartFault::Failed(error) if error.kind() == ErrorKind::NotFound => page.s("part.not-found").to_owned(),
            PartFault::Failed(error) => {
                error::log(&error, error::status(&error));
                refuse::message_for(page, &error)
            }
        };
        render(&FaultNote { page, kind, reason }).unwrap_or_default()
    })
}
