//! The start page: search, recent changes, the user's own work, and sites.

use askama::Template;
use model::{Id, NodeKind, SearchAlert, Timestamp};
use repository::{Item, ItemEvent, KnownSite, SavedSearch, Sort, Target};

use crate::frame::address;
use crate::frame::fault::PageResult;
use crate::frame::format::Icon;
use crate::frame::navigation::Crumb;
use crate::frame::page::{Page, html};
use crate::frame::visit::Visit;
use crate::wording::{events, names, unavailable};

/// Limit on entries of each kind.
const MAX_ENTRIES: usize = 24;
/// Limit on entries of the user's own work.
const MAX_OWN_ENTRIES: usize = 8;
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
    what: &'static str,
    who: String,
    at: Timestamp,
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
    told: Vec<RecentEvent>,
    saved: Vec<SavedLink>,
    sites: Vec<Crumb>,
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
    links: Vec<Crumb>,
    away: String,
}

/// The page.
pub async fn show(mut visit: Visit) -> PageResult {
    let (mut home, told, saved) = tokio::try_join!(visit.session.home(MAX_ENTRIES), told(&visit), saved(&visit))?;
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
        told,
        saved,
        sites: home.sites.iter().chain(&home.subsites).map(link).collect(),
        more_sites,
        libraries,
    }))
}

/// Returns the latest events, in the user's language.
async fn told(visit: &Visit) -> model::Result<Vec<RecentEvent>> {
    let happenings = visit.session.recent_events(MAX_OWN_ENTRIES).await?;
    let actors: Vec<Id> = happenings.iter().map(|happening| happening.actor).collect();
    let names = visit.session.principal_names(&actors).await?;
    let tell = |happening: ItemEvent| RecentEvent {
        href: address::browse(&happening.item.path),
        icon: names::icon_of(&happening.item),
        what: events::words(&visit.page, &happening.action),
        who: events::who(&visit.page, &names, happening.actor),
        at: happening.at,
        name: happening.item.shown_name().to_owned(),
    };
    Ok(happenings.into_iter().map(tell).collect())
}

/// Returns the first saved searches, those with an alert before others.
async fn saved(visit: &Visit) -> model::Result<Vec<SavedLink>> {
    let mut searches = visit.session.saved_searches().await?;
    searches.sort_by_key(|search| search.alert == SearchAlert::None);
    let link = |SavedSearch { id, name, .. }| SavedLink { id, href: format!("/searches/{id}"), name };
    Ok(searches.into_iter().take(MAX_OWN_ENTRIES).map(link).collect())
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

fn link(site: &KnownSite) -> Crumb {
    Crumb { href: address::browse(&site.path), label: site.title.clone() }
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
