//! The results page of the search by names and words. The search box and the command palette request only suggestions.

mod filters;
mod narrowing;
mod rows;
pub mod saved;
pub mod saved_forms;

use std::collections::HashMap;

use askama::Template;
use axum::extract::Query;
use axum::response::Response;
use repository::{
    FindRequest, Found, FoundItem, HitOrder, Item, MAX_FOUND, MAX_QUERY_CHARS, SuggestedPerson, TextSearch, Tolerance,
};
use serde::Deserialize;

use crate::frame::fault::PageResult;
use crate::frame::page::{Page, html};
use crate::frame::visit::Visit;
use crate::wording::passages::pieces_of;
use crate::wording::{names, unavailable};

use filters::SearchLink;
use http_core::server::request;
use narrowing::{Narrowing, OrderLink};
use rows::{NameMarker, Row, preview_query, row};
use saved::SavedRow;

/// Limits on the results that the page shows. *Show more* leads from each to the next.
const RESULT_LIMITS: [usize; 4] = [50, 100, 200, MAX_FOUND];
/// Number of items that are suggested.
const SUGGESTED_ITEMS: usize = 12;

/// Keys of examples of queries, each with that of its meaning.
const EXAMPLES: [(&str, &str); 12] = [
    ("search.example.words", "search.meaning.words"),
    ("search.example.phrase", "search.meaning.phrase"),
    ("search.example.prefix", "search.meaning.prefix"),
    ("search.example.operators", "search.meaning.operators"),
    ("search.example.not", "search.meaning.not"),
    ("search.example.fields", "search.meaning.fields"),
    ("search.example.people", "search.meaning.people"),
    ("search.example.dates", "search.meaning.dates"),
    ("search.example.places", "search.meaning.places"),
    ("search.example.columns", "search.meaning.columns"),
    ("search.example.status", "search.meaning.status"),
    ("search.example.parts", "search.meaning.parts"),
];

/// A search query.
#[derive(Default, Deserialize)]
#[serde(default)]
pub struct Wish {
    q: String,
    /// A filter that is put before the query, from a search box on a page.
    within: String,
    /// Order of the results; relevance for any other text than those of the links.
    sort: String,
    /// Limit on the results, one of [`RESULT_LIMITS`]. Any other text stands for the first.
    show: String,
    /// Not empty when only suggestions are requested.
    part: String,
}

#[derive(Template)]
#[template(path = "search.html")]
struct SearchPage<'a> {
    page: &'a Page,
    title: String,
    asked: bool,
    /// Query string of the links to previews, see [`preview_query`].
    preview_query: String,
    rows: Vec<Row>,
    more: bool,
    /// Address of this page with more results, scrolled to the first that is added; empty if no more can be shown.
    show_more: String,
    whole: bool,
    /// Number of documents with the words.
    documents: u64,
    /// Message that documents do not fulfil the query exactly, or empty.
    tolerance: &'static str,
    /// Messages about parts of the query that were ignored, or read differently from what was probably meant.
    remarks: Vec<String>,
    /// The filters of the query, with links that give them up.
    filter_links: Vec<SearchLink>,
    /// Searches to try where nothing was found.
    wider_searches: Vec<SearchLink>,
    /// True if similar words were looked for and not found.
    tried_similar: bool,
    orders: Vec<OrderLink>,
    narrowings: Vec<Narrowing>,
    /// The saved searches, where nothing is asked for.
    saved: Vec<SavedRow>,
    /// The saved search with this query.
    saved_as: Option<SavedRow>,
    /// Query string of the form that saves this search.
    to_save: String,
    /// Keys of examples of queries, each with that of its meaning.
    examples: [(&'static str, &'static str); 12],
    /// Message that not all texts were searched, or empty.
    texts: String,
    /// Message that some content could not be searched, or empty.
    away: String,
}

#[derive(Template)]
#[template(path = "search-part.html")]
struct SuggestionsPart {
    rows: Vec<Row>,
    people: Vec<PersonLink>,
    /// Saved searches, each with its query.
    saved: Vec<(SearchLink, String)>,
    /// See [`SearchPage::away`].
    away: String,
}

/// A link to a search for the documents of a person.
struct PersonLink {
    href: String,
    name: String,
    query: String,
}

impl PersonLink {
    fn of(SuggestedPerson { person, query }: SuggestedPerson) -> Self {
        Self { href: narrowing::address(&query, HitOrder::Relevance), name: person.name, query }
    }
}

/// Shows the results page, or only suggestions for the search box and the palette.
pub async fn show(mut visit: Visit, Query(wish): Query<Wish>) -> PageResult {
    // A longer pasted text is truncated, because its beginning is the most useful query.
    let within = Some(wish.within.trim()).filter(|within| within.chars().count() <= MAX_QUERY_CHARS / 2);
    let asked = match (within.unwrap_or_default(), wish.q.trim()) {
        ("", text) | (text, "") => text.to_owned(),
        (within, text) => format!("{within} ({text})"),
    };
    let asked: String = asked.trim().chars().take(MAX_QUERY_CHARS).collect();
    if !wish.part.is_empty() {
        let found = visit.session.suggest(&asked, SUGGESTED_ITEMS).await?;
        let marker = NameMarker::of(&asked);
        let rows = found.items.items.iter().map(|item| row(item, &marker, &HashMap::new())).collect();
        let people = found.people.into_iter().map(PersonLink::of).collect();
        let away = unavailable::in_palette(&visit.page, &found.items.missing);
        let saved = saved::suggested(&visit, &asked).await?;
        return Ok(html(&SuggestionsPart { rows, people, saved, away }));
    }
    let order = narrowing::order_of(&wish.sort);
    let limit = RESULT_LIMITS.into_iter().find(|step| step.to_string() == wish.show).unwrap_or(RESULT_LIMITS[0]);
    let _place = if limit > RESULT_LIMITS[0] { request::acquire_costly()? } else { None };
    let request = FindRequest { text: asked, limit, order, counts_facets: true, ..FindRequest::default() };
    let found = visit.session.search(&request).await?;
    visit.page.query = request.text;
    draw(&visit, &found, order, limit).await
}

async fn draw(visit: &Visit, found: &Found, order: HitOrder, limit: usize) -> PageResult<Response> {
    let (page, asked) = (&visit.page, visit.page.query.as_str());
    let items: Vec<Item> = found.items.iter().map(|found| found.item.clone()).collect();
    let names = names::names(&visit.session, &items).await?;
    let marker = NameMarker::of(asked);
    let row = |FoundItem { item, passage }: &FoundItem| {
        let passage = passage.as_ref().map(pieces_of).unwrap_or_default();
        Row { passage, ..row(item, &marker, &names) }
    };
    let (mut saved, mut saved_as) = (Vec::new(), None);
    for search in visit.session.saved_searches().await? {
        if asked.is_empty() {
            saved.push(SavedRow::of(page, search));
        } else if search.query == asked {
            saved_as = Some(SavedRow::of(page, search));
        }
    }
    let show_more = RESULT_LIMITS
        .into_iter()
        .find(|step| found.more && *step > limit)
        .map(|step| format!("{}&show={step}#result-{}", narrowing::address(asked, order), found.items.len() + 1));
    let to_save = narrowing::address(asked, order).split_off("/search?".len());
    Ok(html(&SearchPage {
        page,
        saved,
        saved_as,
        to_save,
        title: if asked.is_empty() { page.s("search.title").to_owned() } else { page.f1("search.of", asked) },
        asked: !asked.is_empty(),
        preview_query: preview_query(asked),
        rows: found.items.iter().map(row).collect(),
        more: found.more,
        show_more: show_more.unwrap_or_default(),
        whole: found.whole,
        documents: found.documents,
        tolerance: match found.tolerance {
            Tolerance::Exact => "",
            Tolerance::Similar => page.s("search.similar"),
            Tolerance::MostWords => page.s("search.most-words"),
        },
        filter_links: filters::filter_links(page, found, order),
        wider_searches: if found.items.is_empty() { filters::wider_searches(page, found, order) } else { Vec::new() },
        tried_similar: found.items.is_empty() && found.tried >= Tolerance::Similar,
        remarks: found.remarks.iter().map(|remark| narrowing::remark(page, remark)).collect(),
        orders: narrowing::orders(page, order),
        examples: EXAMPLES,
        narrowings: narrowing::narrowings(visit, found, order).await?,
        texts: match found.texts {
            TextSearch::Complete => String::new(),
            TextSearch::Incomplete => page.s("search.texts-incomplete").to_owned(),
            TextSearch::Unavailable => page.s("search.texts-unavailable").to_owned(),
        },
        away: unavailable::on_page(page, &found.missing),
    }))
}
