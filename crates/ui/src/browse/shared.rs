//! The page of items that others shared with the user, and that the user shared with others.

use std::collections::HashMap;

use askama::Template;
use model::{Id, Result, Timestamp};
use repository::{Item, PrincipalName, SharedByMe, SharedWithMe, UnavailableDatabases};

use crate::frame::address;
use crate::frame::fault::PageResult;
use crate::frame::format::Icon;
use crate::frame::page::{Page, html};
use crate::frame::visit::Visit;
use crate::wording::{names, unavailable};

/// Limit on the entries of each table.
const MAX_ENTRIES: usize = 200;
/// Limit on the people named for one entry.
const MAX_NAMED: usize = 5;

/// A shared item.
pub struct SharedEntry {
    /// Address of the item.
    pub href: String,
    /// Its symbol.
    pub icon: Icon,
    /// Its name.
    pub name: String,
    /// The place that it is in; empty for the root.
    pub place: String,
    /// Address of that place.
    pub place_href: String,
    /// Time of sharing.
    pub at: Timestamp,
    /// Names of those who shared it, or with whom it was shared.
    pub who: String,
}

fn entry(item: &Item, at: Timestamp, who: String) -> SharedEntry {
    let above = item.path.rsplit_once('/').map_or("", |(above, _)| above);
    SharedEntry {
        href: address::browse(&item.path),
        icon: names::icon_of(item),
        name: item.shown_name().to_owned(),
        place: above.replace('/', " / "),
        place_href: address::browse(above),
        at,
        who,
    }
}

#[derive(Template)]
#[template(path = "shared-items.html")]
struct SharedPage<'a> {
    page: &'a Page,
    /// Message about content databases that are unavailable. Empty when there is nothing to say.
    away: String,
    tables: [SharedTable; 2],
}

/// Items that were shared in one direction.
struct SharedTable {
    id: &'static str,
    title: &'static str,
    /// Said in place of an empty table.
    none: &'static str,
    /// Title of the column of people.
    who: &'static str,
    /// Says that there may be more entries; empty if there are not.
    cut: String,
    entries: Vec<SharedEntry>,
}

/// Entries, and the content databases whose items are missing among them.
type Entries = (Vec<SharedEntry>, UnavailableDatabases);

/// Shows the page.
pub async fn show(visit: Visit) -> PageResult {
    let (with_me, by_me) = tokio::try_join!(with_me(&visit, MAX_ENTRIES), by_me(&visit))?;
    let page = &visit.page;
    let away = unavailable::on_page(page, &with_me.1);
    let with_me = SharedTable {
        id: "with-me",
        title: page.s("shared.with-me"),
        none: page.s("shared.none-with-me"),
        who: page.s("shared.by"),
        cut: cut(page, &with_me.0),
        entries: with_me.0,
    };
    let by_me = SharedTable {
        id: "by-me",
        title: page.s("shared.by-me"),
        none: page.s("shared.none-by-me"),
        who: page.s("shared.with"),
        cut: cut(page, &by_me.0),
        entries: by_me.0,
    };
    Ok(html(&SharedPage { page, away, tables: [with_me, by_me] }))
}

/// Says that there may be more entries than are shown; empty if there are not.
fn cut(page: &Page, entries: &[SharedEntry]) -> String {
    if entries.len() < MAX_ENTRIES { String::new() } else { page.n("shared.cut", MAX_ENTRIES) }
}

/// Returns what others shared with the user, newest first.
pub async fn with_me(visit: &Visit, limit: usize) -> Result<Entries> {
    let shared = visit.session.shared_with_me(limit).await?;
    let ids: Vec<Id> = shared.items.iter().map(|shared| shared.by).collect();
    let names = visit.session.principal_names(&ids).await?;
    let entry = |SharedWithMe { item, at, by }| entry(&item, at, names::name_of(&names, by));
    Ok((shared.items.into_iter().map(entry).collect(), shared.missing))
}

async fn by_me(visit: &Visit) -> Result<Entries> {
    let found = visit.session.shared_by_me(MAX_ENTRIES).await?;
    let named = |shared: &SharedByMe| shared.with.iter().take(MAX_NAMED).copied().collect::<Vec<_>>();
    let ids: Vec<Id> = found.items.iter().flat_map(named).collect();
    let names = visit.session.principal_names(&ids).await?;
    let entry = |shared: &SharedByMe| entry(&shared.item, shared.at, recipients(&visit.page, shared, &names));
    Ok((found.items.iter().map(entry).collect(), found.missing))
}

/// Returns with whom an item was shared, such as `Anna, Bob, and 1 link`.
fn recipients(page: &Page, shared: &SharedByMe, known: &HashMap<Id, PrincipalName>) -> String {
    let mut parts: Vec<String> = shared.with.iter().take(MAX_NAMED).map(|id| names::name_of(known, *id)).collect();
    let further = shared.with.len().saturating_sub(MAX_NAMED);
    if further > 0 {
        parts.push(page.n("shared.further", further));
    }
    if shared.links > 0 {
        parts.push(page.n("shared.links", shared.links));
    }
    parts.join(", ")
}
