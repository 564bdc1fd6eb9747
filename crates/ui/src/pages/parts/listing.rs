//! The parts `documents` and `list`: the items of a library, a folder or a list.

use std::time::Duration;

use askama::Template;
use model::{ColumnRole, Id, NodeKind, Right, fold};
use repository::{Item, ListRequest, Sort, Target};
use serde::Deserialize;
use tokio::time::timeout;

use super::part::{PartFault, PartResult, Surroundings, entries, find, read, render};
use crate::browse::heads::{self, Head, HeadContext};
use crate::browse::listing::{self, Row};
use crate::browse::row_cells::{self, CellContent};
use crate::browse::totals::{self, Totals};
use crate::browse::view::{Key, View, Wide};
use crate::frame::address;
use crate::frame::page::Page;

/// Limit on the columns that a part shows beside the names.
const MAX_SHOWN: usize = 12;
/// Limit on columns whose values are read.
const MAX_COLUMNS: usize = 200;
/// Limit on the time for the totals of a part.
const TOTALS_AT_MOST: Duration = Duration::from_secs(1);

/// The newest or first documents and folders of a library or folder.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Documents {
    /// Path of the library or folder.
    from: String,
    title: Option<String>,
    view: Option<String>,
    limit: Option<usize>,
    /// `newest` or `name`.
    #[serde(default)]
    order: Order,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Order {
    #[default]
    Newest,
    Name,
}

/// The rows of a list.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct List {
    /// Path of the list.
    from: String,
    title: Option<String>,
    view: Option<String>,
    limit: Option<usize>,
}

#[derive(Template)]
#[template(path = "part-listing.html")]
struct ListingPart<'a> {
    page: &'a Page,
    /// The list to which the caller may add a row.
    add_to: Option<Id>,
    title: String,
    href: String,
    name_label: String,
    heads: Vec<Head>,
    /// Width of the table in CSS pixels, if its columns have widths.
    sized: Option<u32>,
    rows: Vec<Row<'a>>,
    totals: Option<Totals>,
    /// Messages about parts of the view's filter that could not be read.
    faults: Vec<String>,
    is_list: bool,
    /// True if there are more items than the part shows.
    more: bool,
}

/// Draws documents and folders.
pub async fn documents(around: &Surroundings<'_>, text: &str) -> PartResult {
    let part: Documents = read(around, text)?;
    let place = find(around, &part.from).await?;
    if !matches!(place.kind, NodeKind::Library | NodeKind::Folder) {
        return Err(PartFault::Wrong(around.visit.page.s("part.no-library").to_owned()));
    }
    let shown = match &part.view {
        Some(name) => saved(around, &place, name).await?,
        None => {
            let view = View {
                sort: if matches!(part.order, Order::Name) { Sort::Name } else { Sort::Modified },
                descending: matches!(part.order, Order::Newest),
                columns: [Key::Modified, Key::By].map(|key| Wide { key, width: None }).to_vec(),
                ..View::parse("")
            };
            Shown { view, href: address::browse(&place.path) }
        }
    };
    draw(around, &place, shown, part.title, entries(part.limit)).await
}

/// Draws the rows of a list.
pub async fn list(around: &Surroundings<'_>, text: &str) -> PartResult {
    let part: List = read(around, text)?;
    let place = find(around, &part.from).await?;
    if place.kind != NodeKind::List {
        return Err(PartFault::Wrong(around.visit.page.s("part.no-list").to_owned()));
    }
    let shown = match &part.view {
        Some(name) => saved(around, &place, name).await?,
        None => {
            let saved = around.visit.session.views(&Target::Id(place.id)).await?;
            let view = View::parse(saved.iter().find(|view| view.standard).map_or("", |view| view.query.as_str()));
            Shown { view, href: address::browse(&place.path) }
        }
    };
    draw(around, &place, shown, part.title, entries(part.limit)).await
}

/// A view, with the page that shows it.
struct Shown {
    view: View,
    href: String,
}

/// Finds a saved view by its name.
async fn saved(around: &Surroundings<'_>, place: &Item, name: &str) -> PartResult<Shown> {
    let views = around.visit.session.views(&Target::Id(place.id)).await?;
    let found = views.iter().find(|view| fold(&view.name) == fold(name.trim()));
    let found = found.ok_or_else(|| PartFault::Wrong(around.visit.page.f1("part.no-view", name)))?;
    let href = format!("{}?view={}", address::browse(&place.path), found.id);
    Ok(Shown { view: View::parse(&found.query), href })
}

async fn draw(
    around: &Surroundings<'_>,
    place: &Item,
    shown: Shown,
    title: Option<String>,
    limit: usize,
) -> PartResult {
    let (page, session, target) = (&around.visit.page, &around.visit.session, Target::Id(place.id));
    let Shown { view, href } = shown;
    let columns = if view.asks_for_columns() { session.columns(&target).await?.0 } else { Vec::new() };
    let (filter, faults) = view.filter(page, session, &columns).await?;
    let request = ListRequest {
        sort: view.sort,
        descending: view.descending,
        after: None,
        limit,
        columns: MAX_COLUMNS,
        filter: filter.clone(),
    };
    let found = session.list_filtered(&target, request).await?;
    let named = listing::named_in(session, &found).await?;
    let is_list = place.kind == NodeKind::List;
    let mut shown = if is_list { view.shown_in_list(&found.columns) } else { view.shown(&found.columns) };
    if is_list && view.columns.is_empty() {
        // When and by whom a row was changed is seldom what a page is about.
        shown.retain(|wide| matches!(wide.key, Key::Own(_)));
    }
    shown.truncate(MAX_SHOWN);
    let here = address::browse(&place.path);
    let columns = row_cells::shown_columns(page, &found.columns, &shown);
    let rows = listing::rows(around.visit, &view, &here, &found, &columns, &named);
    let totals = totals::of(around.visit, &target, &view, &found.columns, &shown, filter);
    let totals = match timeout(TOTALS_AT_MOST, totals).await {
        Ok(totals) => totals?,
        // The rows are worth showing without them.
        Err(_) => None,
    };
    let titles = HeadContext { page, here: &here, place, managed: None, view: &view, own: &found.columns };
    let (heads, sized) = heads::heads(&titles, &shown);
    let named = found.columns.iter().find(|column| column.role == Some(ColumnRole::Title));
    render(&ListingPart {
        page,
        add_to: Some(place.id).filter(|_| is_list && place.rights.has(Right::Add)),
        title: title.unwrap_or_else(|| place.name.clone()),
        name_label: named.map_or_else(|| page.s("column.name").to_owned(), |column| column.name.clone()),
        heads,
        sized,
        rows,
        totals,
        faults,
        is_list,
        more: found.page.next.is_some(),
        href,
    })
}
