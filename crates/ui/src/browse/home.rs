//! The start page: search, recent changes, the user's own work, what others shared, pinned places and sites.

use askama::Template;
use axum::extract::Path;
use model::{Error, Id, NodeKind, SearchAlert, Timestamp};
use repository::{Item, KnownPlace, KnownSite, SavedSearch, Sort, Target};

use super::shared::{SharedEntry, with_me};
use crate::frame::address;
use crate::frame::fault::PageResult;
use crate::frame::format::Icon;
use crate::frame::item::find;
use crate::frame::navigation::{self, Crumb};
use crate::frame::page::{NavLink, Page, html};
use crate::frame::visit::Visit;
use crate::wording::events::{self, GroupedEvent};
use crate::wording::{names, unavailable};

/// Limit on entries of each kind.
const MAX_ENTRIES: usize = 24;
/// Limit on entries of the user's own work.
const MAX_OWN_ENTRIES: usize = 8;
/// Number of recent events that are read. Documents that one person added in succession are one entry.
const MAX_READ_EVENTS: usize = 40;
/// Limit on sites on the page of all sites.
const MAX_SITES: usize = 1_000;

struct Entry {
    href: String,
    icon: Icon,
    name: String,
    path: String,
    place: String,
    modified_at: Timestamp,
    modified_by: String,
    held: bool,
}

/// A recent event.
struct RecentEvent {
    href: String,
    icon: Icon,
    name: String,
    what: String,
    who: String,
    at: Timestamp,
}

/// A link to a pinned place.
struct PinnedLink {
    href: String,
    icon: Icon,
    name: String,
    path: String,
}

/// A link to a site.
struct SiteLink {
    id: Id,
    href: String,
    label: String,
}

/// Links to the contents of a site, shown below the link to it.
#[derive(Template)]
#[template(path = "site-inside.html")]
struct SiteInside<'a> {
    page: &'a Page,
    links: Vec<NavLink>,
}

/// A link to the new documents of a saved search.
struct SavedLink {
    id: Id,
    href: String,
    name: String,
}

#[derive(Template)]
#[template(path = "home.html")]
struct HomePage<'a> {
    page: &'a Page,
    recent: Vec<Entry>,
    checked_out: Vec<Entry>,
    drafts: Vec<Entry>,
    waiting: Vec<Entry>,
    followed: Vec<Entry>,
    pinned: Vec<PinnedLink>,
    shared: Vec<SharedEntry>,
    told: Vec<RecentEvent>,
    saved: Vec<SavedLink>,
    sites: Vec<SiteLink>,
    more_sites: bool,
    libraries: Vec<Crumb>,
    welcome: bool,
    /// Message about content databases that are unavailable, so that their part of the farm is missing here. Empty when
    /// there are none.
    away: String,
}

#[derive(Template)]
#[template(path = "collections.html")]
struct Collections<'a> {
    page: &'a Page,
    links: Vec<SiteLink>,
    away: String,
}

/// The page.
pub async fn show(mut visit: Visit) -> PageResult {
    let (mut home, told, saved, pinned, shared) = tokio::try_join!(
        visit.session.home(MAX_ENTRIES),
        told(&visit),
        saved(&visit),
        visit.session.pinned(MAX_ENTRIES),
        with_me(&visit, MAX_OWN_ENTRIES),
    )?;
    let (shared, _) = shared;
    let more_sites = home.sites.len().max(home.subsites.len()) == MAX_ENTRIES;
    home.checked_out.truncate(MAX_OWN_ENTRIES);
    home.drafts.truncate(MAX_OWN_ENTRIES);
    home.waiting.truncate(MAX_OWN_ENTRIES);
    home.followed.truncate(MAX_OWN_ENTRIES);
    let all = [&home.recent, &home.checked_out, &home.drafts, &home.waiting, &home.followed];
    let everything: Vec<Item> = all.into_iter().flatten().cloned().collect();
    let names = names::names(&visit.session, &everything).await?;
    let entries = |items: &[Item]| -> Vec<Entry> {
        items.iter().map(|item| entry(item, names::name_of(&names, item.modified_by))).collect()
    };
    let libraries = match home.sites.as_slice() {
        [only] => match libraries(&visit, only.id).await {
            // The rest of the page is still shown.
            Err(error) => {
                visit.session.record_missing(only.id, error, &mut home.missing).await?;
                Vec::new()
            }
            Ok(found) => found,
        },
        _ => Vec::new(),
    };
    let administrator = visit.page.who.as_ref().is_some_and(|who| who.administrator);
    visit.page.own_search = true;
    Ok(html(&HomePage {
        page: &visit.page,
        welcome: administrator && home.recent.is_empty() && home.missing.is_empty(),
        away: unavailable::on_page(&visit.page, &home.missing),
        recent: entries(&home.recent),
        checked_out: entries(&home.checked_out),
        drafts: entries(&home.drafts),
        waiting: entries(&home.waiting),
        followed: entries(&home.followed),
        pinned: pinned.into_iter().map(pinned_link).collect(),
        shared,
        told,
        saved,
        sites: home.sites.iter().chain(&home.subsites).map(link).collect(),
        more_sites,
        libraries,
    }))
}

/// Returns the latest events, in the user's language.
async fn told(visit: &Visit) -> model::Result<Vec<RecentEvent>> {
    let happenings = visit.session.recent_events(MAX_READ_EVENTS).await?;
    let mut happenings = events::grouped(happenings);
    happenings.truncate(MAX_OWN_ENTRIES);
    let actors: Vec<Id> = happenings.iter().map(|told| told.event.actor).collect();
    let names = visit.session.principal_names(&actors).await?;
    let tell = |told: &GroupedEvent| RecentEvent {
        href: told.href(),
        icon: told.icon(),
        what: told.words(&visit.page),
        who: events::who(&visit.page, &names, told.event.actor),
        at: told.event.at,
        name: told.name().to_owned(),
    };
    Ok(happenings.iter().map(tell).collect())
}

/// Returns the first saved searches, those with an alert before others.
async fn saved(visit: &Visit) -> model::Result<Vec<SavedLink>> {
    let mut searches = visit.session.saved_searches().await?;
    searches.sort_by_key(|search| search.alert == SearchAlert::None);
    let link = |SavedSearch { id, name, .. }| SavedLink { id, href: format!("/searches/{id}"), name };
    Ok(searches.into_iter().take(MAX_OWN_ENTRIES).map(link).collect())
}

/// Sends the links to the sites, libraries and lists in a site, as part of a page.
pub async fn inside(visit: Visit, Path(id): Path<String>) -> PageResult {
    let site = find(&visit, &id).await?;
    if site.kind != NodeKind::Site {
        return Err(Error::not_found("there is no such site").into());
    }
    let (libraries, lists, sites) = navigation::inside(&visit.session, &site, Id::NONE).await?;
    let links = sites.into_iter().chain(libraries).chain(lists).collect();
    Ok(html(&SiteInside { page: &visit.page, links }))
}

/// Shows all sites that the caller knows of.
pub async fn sites(visit: Visit) -> PageResult {
    let home = visit.session.home_of_sites(MAX_SITES).await?;
    let links = home.sites.iter().chain(&home.subsites).map(link).collect();
    Ok(html(&Collections { page: &visit.page, links, away: unavailable::on_page(&visit.page, &home.missing) }))
}

/// Returns the libraries of the site when the caller knows only one site.
async fn libraries(visit: &Visit, site: Id) -> model::Result<Vec<Crumb>> {
    let (_, listed) = visit.session.list(&Target::Id(site), Sort::Name, false, None, MAX_ENTRIES).await?;
    let libraries = listed.items.into_iter().filter(|item| item.kind == NodeKind::Library);
    Ok(libraries.map(|item| Crumb { href: address::browse(&item.path), label: item.name }).collect())
}

fn pinned_link(place: KnownPlace) -> PinnedLink {
    let above = place.path.rsplit_once('/').map_or("", |(above, _)| above);
    PinnedLink {
        href: address::browse(&place.path),
        icon: names::icon_of_kind(place.kind),
        path: above.replace('/', " / "),
        name: place.name,
    }
}

fn link(site: &KnownSite) -> SiteLink {
    SiteLink { id: site.id, href: address::browse(&site.path), label: site.title.clone() }
}

fn entry(item: &Item, modified_by: String) -> Entry {
    let above = item.path.rsplit_once('/').map_or("", |(above, _)| above);
    Entry {
        href: address::browse(&item.path),
        icon: names::icon_of(item),
        name: item.name.clone(),
        path: above.replace('/', " / "),
        place: address::browse(above),
        modified_at: item.modified_at,
        modified_by,
        held: item.check_out.is_some(),
    }
}
