//! What others shared with the user, and what the user shared with others.

use std::collections::HashMap;

use askama::Template;
use model::{Id, Result, Timestamp};
use repository::{Item, PrincipalName, SharedByMe, SharedWithMe};

use crate::frame::address;
use crate::frame::fault::PageResult;
use crate::frame::format::Icon;
use crate::frame::page::{Page, html};
use crate::frame::visit::Visit;
use crate::wording::names;

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
    /// Who shared it, or with whom it was shared.
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
    tables: [SharedTable; 2],
}

/// What was shared in one direction.
struct SharedTable {
    id: &'static str,
    title: &'static str,
    /// Said in place of an empty table.
    none: &'static str,
    /// Title of the column of people.
    who: &'static str,
    entries: Vec<SharedEntry>,
}

/// Shows the page.
pub async fn show(visit: Visit) -> PageResult {
    let (with_me, by_me) = tokio::try_join!(with_me(&visit, MAX_ENTRIES), by_me(&visit))?;
    let page = &visit.page;
    let with_me = SharedTable {
        id: "with-me",
        title: page.s("shared.with-me"),
        none: page.s("shared.none-with-me"),
        who: page.s("shared.by"),
        entries: with_me,
    };
    let by_me = SharedTable {
        id: "by-me",
        title: page.s("shared.by-me"),
        none: page.s("shared.none-by-me"),
        who: page.s("shared.with"),
        entries: by_me,
    };
    Ok(html(&SharedPage { page, tables: [with_me, by_me] }))
}

/// Returns what others shared with the user, newest first.
pub async fn with_me(visit: &Visit, limit: usize) -> Result<Vec<SharedEntry>> {
    let shared = visit.session.shared_with_me(limit).await?;
    let names = visit.session.principal_names(&shared.iter().map(|shared| shared.by).collect::<Vec<_>>()).await?;
    let entry = |SharedWithMe { item, at, by }| entry(&item, at, names::name_of(&names, by));
    Ok(shared.into_iter().map(entry).collect())
}

async fn by_me(visit: &Visit) -> Result<Vec<SharedEntry>> {
    let shared = visit.session.shared_by_me(MAX_ENTRIES).await?;
    let ids: Vec<Id> = shared.iter().flat_map(|shared| shared.with.iter().take(MAX_NAMED).copied()).collect();
    let names = visit.session.principal_names(&ids).await?;
    Ok(shared.iter().map(|shared| entry(&shared.item, shared.at, receivers(&visit.page, shared, &names))).collect())
}

/// Returns with whom an item was shared, such as `Anna, Bob, and 1 link`.
fn receivers(page: &Page, shared: &SharedByMe, known: &HashMap<Id, PrincipalName>) -> String {
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
