//! The parts `recent` and `query`: documents that a search finds.

use askama::Template;
use model::{NodeKind, Timestamp};
use repository::{FindRequest, HitOrder, Item, SearchQuery, Target};
use serde::Deserialize;

use super::part::{PartFault, PartResult, Surroundings, entries, find, read, render};
use crate::frame::address;
use crate::frame::format::Icon;
use crate::frame::page::Page;
use crate::wording::names;
use http_core::protocol::segments;

/// Query that finds everything.
const EVERYTHING: &str = "modified>=1970-01-01";

/// The documents of a site, library or folder that were changed last.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Recent {
    /// Path; the site of the page when absent.
    from: Option<String>,
    title: Option<String>,
    limit: Option<usize>,
}

/// Documents that a query finds.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Query {
    query: String,
    title: Option<String>,
    limit: Option<usize>,
    #[serde(default)]
    order: Order,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Order {
    #[default]
    Best,
    Newest,
}

/// A document.
struct Hit {
    href: String,
    icon: Icon,
    name: String,
    place: String,
    modified_at: Timestamp,
    modified_by: String,
}

#[derive(Template)]
#[template(path = "part-found.html")]
struct FoundPart<'a> {
    page: &'a Page,
    title: String,
    href: String,
    hits: Vec<Hit>,
    more: bool,
}

/// Draws what was changed last.
pub async fn recent(around: &Surroundings<'_>, text: &str) -> PartResult {
    let part: Recent = read(around, text)?;
    let found;
    let place = match &part.from {
        Some(path) => {
            found = find(around, path).await?;
            &found
        }
        None => around.site,
    };
    if !place.kind.is_container() || place.kind == NodeKind::List {
        return Err(PartFault::Wrong(around.visit.page.s("part.no-container").to_owned()));
    }
    let (page, session) = (&around.visit.page, &around.visit.session);
    let title = part.title.unwrap_or_else(|| page.s("part.recent").to_owned());
    let limit = entries(part.limit);
    let query = match place.path.as_str() {
        "" => EVERYTHING.to_owned(),
        path => format!("in:{}", SearchQuery::quoted(path)),
    };
    // Rows of lists change by the hundred.
    let query = format!("{query} -type:row");
    let Some(mut items) = session.recent_below(&Target::Id(place.id), limit + 1).await? else {
        return draw(around, query, HitOrder::Newest, title, limit).await;
    };
    let more = items.len() > limit;
    items.truncate(limit);
    show(around, title, address_of(&query, HitOrder::Newest), &items, more).await
}

/// Draws what a query finds.
pub async fn query(around: &Surroundings<'_>, text: &str) -> PartResult {
    let part: Query = read(around, text)?;
    let title = part.title.unwrap_or_else(|| part.query.clone());
    let order = if matches!(part.order, Order::Newest) { HitOrder::Newest } else { HitOrder::Relevance };
    draw(around, part.query, order, title, entries(part.limit)).await
}

async fn draw(around: &Surroundings<'_>, text: String, order: HitOrder, title: String, limit: usize) -> PartResult {
    let href = address_of(&text, order);
    let request = FindRequest { text, limit, order, without_passages: true, ..FindRequest::default() };
    let found = around.visit.session.search(&request).await?;
    let items: Vec<Item> = found.items.into_iter().map(|found| found.item).collect();
    show(around, title, href, &items, found.more).await
}

/// Returns the address of all results of a search.
fn address_of(query: &str, order: HitOrder) -> String {
    let sort = if order == HitOrder::Newest { "&sort=newest" } else { "" };
    format!("/search?q={}{sort}", segments::encode_query(query))
}

async fn show(around: &Surroundings<'_>, title: String, href: String, items: &[Item], more: bool) -> PartResult {
    let (page, session) = (&around.visit.page, &around.visit.session);
    let people = names::names(session, items).await?;
    let hit = |item: &Item| Hit {
        href: address::browse(&item.path),
        icon: names::icon_of(item),
        name: item.shown_name().to_owned(),
        place: item.path.rsplit_once('/').map_or("", |(above, _)| above).replace('/', " / "),
        modified_at: item.modified_at,
        modified_by: names::name_of(&people, item.modified_by),
    };
    let hits = items.iter().map(hit).collect();
    render(&FoundPart { page, title, href, hits, more })
}
