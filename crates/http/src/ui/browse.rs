//! Sites, libraries and folders.

use std::collections::HashMap;

use askama::Template;
use axum::extract::{Path, Query};
use axum::http::Uri;
use axum::response::{IntoResponse, Redirect};
use model::{Error, Id, NodeKind, Result, Right, Timestamp};
use repository::{Column, Item, Page as ListPage, PrincipalName, Session, Sort, SortKey, Target};
use serde::Deserialize;

use super::caller::Visit;
use super::cells::{self, Cell};
use super::fault::Shown;
use super::format::{Icon, file_icon, toned};
use super::frame::{self, Crumb};
use super::page::Page;
use super::{address, document, html};
use crate::protocol::cursor;

/// Entries of one page of a listing.
const PAGE: usize = 100;
/// Columns that a listing shows; the page of a document shows all.
const MOST_COLUMNS: usize = 20;

/// How a listing is wanted.
#[derive(Default, Deserialize)]
pub struct View {
    #[serde(default)]
    sort: String,
    #[serde(default)]
    order: String,
    #[serde(default)]
    after: String,
}

impl View {
    fn sorting(&self) -> Sort {
        match self.sort.as_str() {
            "modified" => Sort::Modified,
            "size" => Sort::Size,
            _ => Sort::Name,
        }
    }
}

/// A row of a listing.
struct Row<'a> {
    id: Id,
    /// What may be done with it, as words that the scripts compare.
    can: String,
    cells: Vec<Cell<'a>>,
    kind: &'static str,
    icon: Icon,
    name: String,
    href: String,
    modified_at: Timestamp,
    modified_by: String,
    size: Option<u64>,
    held_by: Option<String>,
    draft: bool,
    own_permissions: bool,
}

#[derive(Template)]
#[template(path = "listing.html")]
struct Listing<'a> {
    page: &'a Page,
    title: String,
    place: &'a Item,
    crumbs: Vec<Crumb>,
    rows: Vec<Row<'a>>,
    columns: Vec<Column>,
    next: Option<String>,
    first: bool,
    by_name: Option<&'static str>,
    by_time: Option<&'static str>,
    by_size: Option<&'static str>,
    here: String,
    may_add: bool,
    may_delete: bool,
}

#[derive(Template)]
#[template(path = "site.html")]
struct SitePage<'a> {
    page: &'a Page,
    title: String,
    place: &'a Item,
    crumbs: Vec<Crumb>,
    libraries: Vec<Row<'a>>,
    sites: Vec<Row<'a>>,
    may_add_library: bool,
    may_add_site: bool,
}

/// Whatever is at the path of the address.
pub async fn browse(visit: Visit, uri: Uri, Query(view): Query<View>) -> Shown {
    let target = address::target(&uri)?;
    show(visit, &target, view).await
}

/// From an identifier to the page of the item, wherever it is now.
pub async fn by_id(visit: Visit, Path(id): Path<String>) -> Shown {
    let item = visit.session.item(&Target::Id(id.parse()?)).await?;
    Ok(Redirect::to(&address::browse(&item.path)).into_response())
}

async fn show(mut visit: Visit, target: &Target, view: View) -> Shown {
    let way = visit.session.item_with_ancestors(target).await?;
    let item = way.last().ok_or_else(|| Error::not_found("there is nothing at this address"))?;
    frame::furnish(&mut visit, &way).await?;
    match item.kind {
        NodeKind::Site => site(&visit, &way, item).await,
        NodeKind::Library | NodeKind::Folder => listing(&visit, &way, item, &view).await,
        NodeKind::Document => document::show(&visit, &way, item).await,
    }
}

async fn site(visit: &Visit, way: &[Item], item: &Item) -> Shown {
    let (_, listed) = visit.session.list(&Target::Id(item.id), Sort::Name, false, None, model::MAX_PAGE).await?;
    let names = names(&visit.session, &listed.items).await?;
    let rows: Vec<Row<'_>> = listed.items.iter().map(|item| row(item, &names)).collect();
    let (sites, libraries) = rows.into_iter().partition(|row| row.kind == "site");
    Ok(html(&SitePage {
        page: &visit.page,
        title: frame::title(item),
        place: item,
        crumbs: frame::crumbs(way),
        libraries,
        sites,
        may_add_library: item.rights.has(Right::ManageLibraries),
        may_add_site: item.rights.has(Right::ManageSite),
    }))
}

async fn listing(visit: &Visit, way: &[Item], item: &Item, view: &View) -> Shown {
    let (sort, descending) = (view.sorting(), view.order == "descending");
    let after = if view.after.is_empty() { None } else { Some(read_key(&view.after)?) };
    let first = after.is_none();
    let session = &visit.session;
    let found = session.list_with_columns(&Target::Id(item.id), sort, descending, after, PAGE, MOST_COLUMNS).await?;
    let (place, listed, columns) = (found.place, found.page, found.columns);
    let mut names = names(session, &listed.items).await?;
    names.extend(session.principal_names(&cells::people(found.values.values())).await?);
    let me = session.principal().id;
    let rows = listed.items.iter().map(|item| {
        let cell = |column: &Column| {
            cells::cell(&visit.page, me, item, column, found.values.get(&(item.id, column.id)), &names)
        };
        Row { cells: columns.iter().map(cell).collect(), ..row(item, &names) }
    });
    let here = address::browse(&item.path);
    let order = if descending { "descending" } else { "ascending" };
    Ok(html(&Listing {
        page: &visit.page,
        title: frame::title(item),
        crumbs: frame::crumbs(way),
        rows: rows.collect(),
        columns: columns.clone(),
        next: next_address(&here, view, &listed),
        first,
        by_name: (sort == Sort::Name).then_some(order),
        by_time: (sort == Sort::Modified).then_some(order),
        by_size: (sort == Sort::Size).then_some(order),
        may_add: place.rights.has(Right::Add),
        may_delete: place.rights.has(Right::Delete),
        place: &place,
        here,
    }))
}

fn next_address(here: &str, view: &View, listed: &ListPage<Item, SortKey>) -> Option<String> {
    let key = write_key(listed.next.as_ref()?);
    let order = if view.order == "descending" { "descending" } else { "" };
    let sort = match view.sorting() {
        Sort::Name => "name",
        Sort::Modified => "modified",
        Sort::Size => "size",
    };
    Some(format!("{here}?sort={sort}&order={order}&after={key}"))
}

fn write_key(key: &SortKey) -> String {
    match key {
        SortKey::Container(name) => cursor::encode(["container", name.as_str(), ""]),
        SortKey::Name(name) => cursor::encode(["name", name.as_str(), ""]),
        SortKey::Modified(time, id) => cursor::encode(["modified", &time.micros().to_string(), &id.to_string()]),
        SortKey::Size(size, id) => cursor::encode(["size", &size.to_string(), &id.to_string()]),
    }
}

fn read_key(text: &str) -> Result<SortKey> {
    let [kind, first, second] = cursor::decode::<3>(text)?;
    let bad = || Error::invalid("the cursor cannot be read; start again at the first page").with_code("invalid_cursor");
    match kind.as_str() {
        "container" => Ok(SortKey::Container(first)),
        "name" => Ok(SortKey::Name(first)),
        "modified" => {
            let micros = first.parse().map_err(|_| bad())?;
            Ok(SortKey::Modified(Timestamp::from_micros(micros), second.parse()?))
        }
        "size" => Ok(SortKey::Size(first.parse().map_err(|_| bad())?, second.parse()?)),
        _ => Err(bad()),
    }
}

/// The names of all who changed or hold the items.
pub async fn names(session: &Session, items: &[Item]) -> Result<HashMap<Id, PrincipalName>> {
    let mut ids: Vec<Id> = items.iter().map(|item| item.modified_by).collect();
    ids.extend(items.iter().filter_map(|item| item.check_out).map(|held| held.by));
    ids.sort_unstable();
    ids.dedup();
    session.principal_names(&ids).await
}

/// The name of a user or group, or a dash.
pub fn name_of(names: &HashMap<Id, PrincipalName>, id: Id) -> String {
    names.get(&id).map_or_else(|| "–".to_owned(), |name| name.name.clone())
}

/// The icon of an item.
pub fn icon_of(item: &Item) -> Icon {
    match item.kind {
        NodeKind::Site => toned("site", "tone-accent"),
        NodeKind::Library => toned("library", "tone-accent"),
        NodeKind::Folder => toned("folder", "tone-yellow"),
        NodeKind::Document => file_icon(item.name.rsplit_once('.').map_or("", |(_, end)| end).to_lowercase().as_str()),
    }
}

fn row<'a>(item: &Item, names: &HashMap<Id, PrincipalName>) -> Row<'a> {
    let document = item.kind == NodeKind::Document;
    let rights = [Right::Edit, Right::Delete].into_iter().filter(|right| item.rights.has(*right));
    Row {
        id: item.id,
        can: rights.map(Right::as_str).collect::<Vec<_>>().join(" "),
        cells: Vec::new(),
        kind: item.kind.as_str(),
        icon: icon_of(item),
        name: item.name.clone(),
        href: address::browse(&item.path),
        modified_at: item.modified_at,
        modified_by: name_of(names, item.modified_by),
        size: document.then_some(item.size),
        held_by: item.check_out.map(|held| name_of(names, held.by)),
        draft: document && !item.version.is_major(),
        own_permissions: item.own_permissions && item.kind.holds_documents(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_of_pages_read_back() {
        let keys = [
            SortKey::Container("größe".into()),
            SortKey::Name("a/b".into()),
            SortKey::Modified(Timestamp::from_micros(-5), Id::new(7)),
            SortKey::Size(0, Id::new(7)),
        ];
        for key in keys {
            assert_eq!(read_key(&write_key(&key)).unwrap(), key);
        }
        for bad in [cursor::encode(["other", "", ""]), cursor::encode(["modified", "x", "1"]), "zz".into()] {
            assert!(read_key(&bad).is_err());
        }
    }
}
