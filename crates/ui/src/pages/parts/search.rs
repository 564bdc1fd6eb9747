//! The part `search`: a box that searches in the site of the page, or everywhere.

use askama::Template;
use repository::SearchQuery;
use serde::Deserialize;

use super::part::{PartResult, Surroundings, read, render};
use crate::frame::page::Page;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Search {
    title: Option<String>,
    /// True to search everywhere.
    #[serde(default)]
    everywhere: bool,
}

#[derive(Template)]
#[template(path = "part-search.html")]
struct SearchPart<'a> {
    page: &'a Page,
    title: String,
    /// The filter before what is typed; empty for everywhere.
    filter: String,
}

/// Draws the box.
pub fn draw(around: &Surroundings<'_>, text: &str) -> PartResult {
    let part: Search = read(around, text)?;
    let page = &around.visit.page;
    let is_everywhere = part.everywhere || around.site.path.is_empty();
    let title = part.title.unwrap_or_else(|| match is_everywhere {
        true => page.s("part.search").to_owned(),
        false => page.f1("part.search-in", &around.site.name),
    });
    let filter = match is_everywhere {
        true => String::new(),
        false => format!("in:{}", SearchQuery::quoted(&around.site.path)),
    };
    render(&SearchPart { page, title, filter })
}
