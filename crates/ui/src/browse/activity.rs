//! What changed lately in a site, library, list or folder, day by day.

use askama::Template;
use axum::extract::{Path, Query};
use axum::response::{IntoResponse, Redirect};
use model::{Error, Id, NodeKind, Timestamp};
use repository::{Item, SearchQuery, Target};
use serde::Deserialize;

use crate::frame::fault::PageResult;
use crate::frame::form::Suggestion;
use crate::frame::format::Icon;
use crate::frame::item::find;
use crate::frame::navigation::{self, Crumb};
use crate::frame::page::{Page, html};
use crate::frame::visit::Visit;
use crate::wording::events::{self, GroupedEvent};
use crate::wording::people;
use http_core::protocol::segments::encode_query;

/// Limit on the changes.
const MAX_ENTRIES: usize = 100;

/// A change.
struct Entry {
    href: String,
    icon: Icon,
    name: String,
    /// Path of what it is in, below the place; empty for the place itself.
    within: String,
    what: String,
    who: String,
    at: Timestamp,
}

/// The changes of one day.
struct Day {
    name: String,
    entries: Vec<Entry>,
}

#[derive(Template)]
#[template(path = "activity.html")]
struct ActivityPage<'a> {
    page: &'a Page,
    place: &'a Item,
    crumbs: Vec<Crumb>,
    days: Vec<Day>,
    suggestions: Vec<Suggestion>,
}

/// Shows the page.
pub async fn show(mut visit: Visit, Path(id): Path<String>) -> PageResult {
    let target = Target::Id(id.parse()?);
    let happenings = visit.session.recent_events_below(&target, MAX_ENTRIES).await?;
    let way = visit.session.item_with_ancestors(&target).await?;
    let place = way.last().ok_or_else(|| Error::not_found("there is nothing at this address"))?;
    let happenings = events::grouped(happenings);
    let actors: Vec<Id> = happenings.iter().map(|told| told.event.actor).collect();
    let names = visit.session.principal_names(&actors).await?;
    let suggestions = people::suggestions(&visit.session).await?;
    navigation::fill_side_bar(&mut visit, &way).await?;
    navigation::set_search_place(&mut visit.page, &way);
    if place.kind == NodeKind::Site {
        navigation::mark_current(&mut visit.page, &format!("/items/{}/activity", place.id));
    }
    let page = &visit.page;
    let mut days: Vec<Day> = Vec::new();
    for happening in happenings {
        let name = page.day_of(happening.event.at);
        let entry = entry(page, place, &happening, events::who(page, &names, happening.event.actor));
        match days.last_mut().filter(|day| day.name == name) {
            Some(day) => day.entries.push(entry),
            None => days.push(Day { name, entries: vec![entry] }),
        }
    }
    Ok(html(&ActivityPage { page, place, crumbs: navigation::crumbs(&way), days, suggestions }))
}

fn entry(page: &Page, place: &Item, told: &GroupedEvent, who: String) -> Entry {
    let within = told.path().strip_prefix(place.path.as_str()).unwrap_or_default().trim_start_matches('/');
    Entry {
        href: told.href(),
        icon: told.icon(),
        name: told.name().to_owned(),
        within: within.rsplit_once('/').map_or("", |(above, _)| above).replace('/', " / "),
        what: told.words(page),
        who,
        at: told.event.at,
    }
}

/// Query parameters: days as typed, and a person.
#[derive(Deserialize)]
pub struct Wanted {
    #[serde(default)]
    from: String,
    #[serde(default)]
    to: String,
    #[serde(default)]
    who: String,
}

/// Redirects to a search for documents below a place, by days of change and by person.
pub async fn changed(visit: Visit, Path(id): Path<String>, Query(wanted): Query<Wanted>) -> PageResult {
    let place = find(&visit, &id).await?;
    let mut parts = Vec::new();
    if !place.path.is_empty() {
        parts.push(format!("in:{}", SearchQuery::quoted(&place.path)));
    }
    match (wanted.from.trim(), wanted.to.trim()) {
        ("", "") => {}
        (from, "") => parts.push(format!("modified>={from}")),
        ("", to) => parts.push(format!("modified<={to}")),
        (from, to) => parts.push(format!("modified:{from}..{to}")),
    }
    if !wanted.who.trim().is_empty() {
        let person = visit.session.find_principal(&wanted.who).await?;
        let names = visit.session.principal_names(&[person]).await?;
        let login = names.get(&person).and_then(|name| name.login.as_deref());
        parts.push(format!("editor:{}", SearchQuery::quoted(login.unwrap_or(&wanted.who))));
    }
    // This leaves out rows. It also keeps the query from being empty at the root.
    parts.push("-type:row".to_owned());
    let query = encode_query(&parts.join(" "));
    Ok(Redirect::to(&format!("/search?q={query}&sort=newest")).into_response())
}
