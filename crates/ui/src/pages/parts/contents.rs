//! The part `contents`: the headings of the page.

use askama::Template;
use serde::Deserialize;

use super::part::{PartResult, Surroundings, read, render};
use crate::frame::page::Page;
use crate::pages::markdown::Heading;

/// Level of the lowest headings that are listed, unless the part says otherwise.
const USUAL_DEPTH: u8 = 2;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Contents {
    title: Option<String>,
    /// Number of levels.
    depth: Option<u8>,
}

#[derive(Template)]
#[template(path = "part-contents.html")]
struct ContentsPart<'a> {
    page: &'a Page,
    title: String,
    headings: Vec<&'a Heading>,
}

/// Draws the list of headings.
pub fn draw(around: &Surroundings<'_>, text: &str) -> PartResult {
    let part: Contents = read(around, text)?;
    let page = &around.visit.page;
    // The highest headings are of level 2.
    let lowest = 1 + part.depth.unwrap_or(USUAL_DEPTH).clamp(1, 5);
    render(&ContentsPart {
        page,
        title: part.title.unwrap_or_else(|| page.s("part.contents").to_owned()),
        headings: around.headings.iter().filter(|heading| heading.level <= lowest).collect(),
    })
}
