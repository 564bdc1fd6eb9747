//! The caller's saved searches: their list, the new documents of one, and the numbers of new documents, which pages ask
//! for after they are shown.

use askama::Template;
use axum::extract::Path;
use model::{Id, SearchAlert, Timestamp};
use repository::{FoundItem, Item, SavedSearch, SavedSearchCount, TextSearch};

use super::filters::SearchLink;
use super::narrowing;
use super::rows::{NameMarker, Row, preview_query, row};
use crate::frame::fault::PageResult;
use crate::frame::navigation::Crumb;
use crate::frame::page::{Page, html};
use crate::frame::visit::Visit;
use crate::wording::passages::pieces_of;
use crate::wording::{names, unavailable};

/// Limit on the saved searches that the search box suggests.
const MAX_SUGGESTED: usize = 3;

/// A saved search in a list.
pub(super) struct SavedRow {
    pub(super) id: Id,
    pub(super) name: String,
    pub(super) query: String,
    pub(super) results: String,
    pub(super) alert: &'static str,
}

#[derive(Template)]
#[template(path = "saved-searches.html")]
struct ListPage<'a> {
    page: &'a Page,
    saved: Vec<SavedRow>,
}

#[derive(Template)]
#[template(path = "saved-search.html")]
struct SearchPage<'a> {
    page: &'a Page,
    crumbs: Vec<Crumb>,
    search: SavedSearch,
    results: String,
    alert: &'static str,
    /// Query string of the links to previews, see [`preview_query`].
    preview_query: String,
    rows: Vec<Row>,
    more: bool,
    documents: u64,
    seen_at: Timestamp,
    /// Versions of the documents in `rows`, separated by commas.
    versions: String,
    remarks: Vec<String>,
    /// Message that not all texts were searched, or empty.
    texts: &'static str,
    /// Message that some content could not be searched, or empty.
    away: String,
}

/// Numbers of new documents, for a script.
#[derive(Template)]
#[template(path = "saved-counts.html")]
struct CountsPart {
    counts: Vec<(Id, String)>,
}

impl SavedRow {
    pub(super) fn of(page: &Page, search: SavedSearch) -> Self {
        let results = narrowing::address(&search.query, search.order);
        Self { results, alert: alert(page, search.alert), id: search.id, name: search.name, query: search.query }
    }
}

fn alert(page: &Page, alert: SearchAlert) -> &'static str {
    match alert {
        SearchAlert::None => page.s("saved.alert.none"),
        SearchAlert::AtOnce => page.s("saved.alert.at-once"),
        SearchAlert::Daily => page.s("saved.alert.daily"),
    }
}

/// Returns the saved searches whose names contain a text, as links to their results with their queries.
pub(super) async fn suggested(visit: &Visit, text: &str) -> model::Result<Vec<(SearchLink, String)>> {
    let wanted = model::fold(text);
    let mut searches = visit.session.saved_searches().await?;
    searches.retain(|search| !wanted.is_empty() && model::fold(&search.name).contains(&wanted));
    let link = |search: SavedSearch| {
        let href = narrowing::address(&search.query, search.order);
        (SearchLink { href, label: search.name }, search.query)
    };
    Ok(searches.into_iter().take(MAX_SUGGESTED).map(link).collect())
}

/// Shows all saved searches.
pub async fn list(visit: Visit) -> PageResult {
    let page = &visit.page;
    let searches = visit.session.saved_searches().await?;
    Ok(html(&ListPage { page, saved: searches.into_iter().map(|search| SavedRow::of(page, search)).collect() }))
}

/// Shows the new documents of a saved search.
pub async fn show(visit: Visit, Path(id): Path<String>) -> PageResult {
    let new = visit.session.new_of_saved_search(id.parse()?).await?;
    let (page, search, found) = (&visit.page, new.search, new.found);
    let items: Vec<Item> = found.items.iter().map(|found| found.item.clone()).collect();
    let names = names::names(&visit.session, &items).await?;
    let row = |FoundItem { item, passage }: &FoundItem| {
        let passage = passage.as_ref().map(pieces_of).unwrap_or_default();
        Row { passage, ..row(item, &NameMarker::default(), &names) }
    };
    Ok(html(&SearchPage {
        page,
        crumbs: vec![Crumb { href: "/searches".to_owned(), label: page.s("saved.title").to_owned() }],
        results: narrowing::address(&search.query, search.order),
        alert: alert(page, search.alert),
        preview_query: preview_query(&search.query),
        rows: found.items.iter().map(row).collect(),
        more: found.more,
        documents: found.documents,
        seen_at: search.seen_at,
        versions: new.versions.iter().map(ToString::to_string).collect::<Vec<_>>().join(","),
        remarks: found.remarks.iter().map(|remark| narrowing::remark(page, remark)).collect(),
        texts: match found.texts {
            TextSearch::Complete => "",
            TextSearch::Incomplete | TextSearch::Unavailable => page.s("saved.incomplete"),
        },
        away: unavailable::on_page(page, &found.missing),
        search,
    }))
}

/// Answers with the numbers of new documents of all saved searches with an alert.
pub async fn counts(visit: Visit) -> PageResult {
    let page = &visit.page;
    let count = |SavedSearchCount { search, new_documents, is_complete }: SavedSearchCount| {
        let count = new_documents.filter(|count| *count > 0)?;
        let text = if is_complete { page.n("saved.new", count) } else { page.n("saved.at-least", count) };
        Some((search.id, text))
    };
    let counts = visit.session.count_new_of_saved_searches().await?;
    Ok(html(&CountsPart { counts: counts.into_iter().filter_map(count).collect() }))
}
