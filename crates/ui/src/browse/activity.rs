//! What changed lately in a site, library, list or folder, day by day.

use askama::Template;
use axum::extract::Path;
use model::{Error, Id, NodeKind, Timestamp};
use repository::{Item, ItemEvent, Target};

use crate::frame::address;
use crate::frame::fault::PageResult;
use crate::frame::format::Icon;
use crate::frame::navigation::{self, Crumb};
use crate::frame::page::{Page, html};
use crate::frame::visit::Visit;
use crate::wording::{events, names};

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
}

/// Shows the page.
pub async fn show(mut visit: Visit, Path(id): Path<String>) -> PageResult {
    let target = Target::Id(id.parse()?);
    let happenings = visit.session.recent_events_below(&target, MAX_ENTRIES).await?;
    let way = visit.session.item_with_ancestors(&target).await?;
    let place = way.last().ok_or_else(|| Error::not_found("there is nothing at this address"))?;
    let actors: Vec<Id> = happenings.iter().map(|happening| happening.actor).collect();
    let names = visit.session.principal_names(&actors).await?;
    navigation::fill_side_bar(&mut visit, &way).await?;
    navigation::set_search_place(&mut visit.page, &way);
    if place.kind == NodeKind::Site {
        navigation::mark_current(&mut visit.page, &format!("/items/{}/activity", place.id));
    }
    let page = &visit.page;
    let mut days: Vec<Day> = Vec::new();
    for happening in happenings {
        let name = page.day_of(happening.at);
        let entry = entry(page, place, &happening, events::who(page, &names, happening.actor));
        match days.last_mut().filter(|day| day.name == name) {
            Some(day) => day.entries.push(entry),
            None => days.push(Day { name, entries: vec![entry] }),
        }
    }
    Ok(html(&ActivityPage { page, place, crumbs: navigation::crumbs(&way), days }))
}

fn entry(page: &Page, place: &Item, happening: &ItemEvent, who: String) -> Entry {
    let ItemEvent { item, at, action, items, are_more, .. } = happening;
    let what = match (*items as u64, action.as_str()) {
        (1, action) => events::words(page, action).to_owned(),
        (rows, "row.create") if *are_more => page.f1("happenings.many-rows-added", rows),
        (rows, _) if *are_more => page.f1("happenings.many-rows-changed", rows),
        (rows, "row.create") => page.n("happenings.rows-added", rows),
        (rows, _) => page.n("happenings.rows-changed", rows),
    };
    let within = item.path.strip_prefix(place.path.as_str()).unwrap_or_default().trim_start_matches('/');
    Entry {
        href: address::browse(&item.path),
        icon: names::icon_of(item),
        name: item.shown_name().to_owned(),
        within: within.rsplit_once('/').map_or("", |(above, _)| above).replace('/', " / "),
        what,
        who,
        at: *at,
    }
}
