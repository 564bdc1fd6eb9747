//! The site manager: the tree of a site with what everything in it holds, and the contents of one container, to be
//! moved and copied to others.

use std::collections::HashMap;

use askama::Template;
use axum::extract::{Path, Query};
use model::{Error, Id, NodeKind, Result, Right, Timestamp};
use repository::{Filter, Item, Sort, SortKey, Target, Usage, UsageReport};
use serde::Deserialize;

use crate::frame::fault::PageResult;
use crate::frame::flash::{Flash, done};
use crate::frame::format::Icon;
use crate::frame::navigation::{self, Crumb};
use crate::frame::page::{Page, html};
use crate::frame::visit::{SubmittedForm, Visit};
use crate::frame::{address, item};
use crate::wording::names::icon_of;
use http_core::transfer::listing_cursor;

/// Entries on a page of the contents.
const PAGE: usize = 100;
/// Limit on the containers of one level of the tree.
const MAX_LEVEL: usize = 100;
/// Deepest level that is indented further than the one above it.
const MAX_INDENT: usize = 8;

/// Query parameters: the order, and the start of the page.
#[derive(Default, Deserialize)]
#[serde(default)]
pub struct View {
    sort: String,
    after: String,
}

/// Figures of a row, in words.
#[derive(Default)]
struct Figures {
    /// Documents and rows; empty for a document.
    contents: String,
    size: String,
    /// Part of the bytes of the container above, in per cent.
    share: Option<u64>,
    changed: Option<Timestamp>,
}

/// A line of the tree.
struct Line {
    href: String,
    icon: Icon,
    name: String,
    level: usize,
    is_current: bool,
    is_open: bool,
    figures: Figures,
}

/// The tree, in which the way to the chosen container is open.
struct Tree {
    lines: Vec<Line>,
    /// Figures of all containers in it.
    known: HashMap<Id, Usage>,
    /// Set if a level has more containers.
    is_cut: bool,
}

/// A row of the contents.
struct Row {
    id: Id,
    href: String,
    icon: Icon,
    name: String,
    may_open: bool,
    own_permissions: bool,
    figures: Figures,
}

#[derive(Template)]
#[template(path = "site-manage.html")]
struct ManagePage<'a> {
    page: &'a Page,
    place: &'a Item,
    crumbs: Vec<Crumb>,
    lines: Vec<Line>,
    /// Set if a level of the tree has more containers.
    is_cut: bool,
    rows: Vec<Row>,
    figures: Figures,
    measured_at: Option<Timestamp>,
    is_pending: bool,
    is_list: bool,
    by_name: bool,
    may_move: bool,
    next: Option<String>,
    first: bool,
}

fn address(id: Id, by_name: bool) -> String {
    format!("/items/{id}/manage{}", if by_name { "?sort=name" } else { "" })
}

/// The page.
pub async fn show(mut visit: Visit, Path(id): Path<String>, Query(view): Query<View>) -> PageResult {
    let target = Target::Id(id.parse()?);
    let way = visit.session.item_with_ancestors(&target).await?;
    let place = way.last().ok_or_else(|| Error::not_found("there is no such site"))?;
    if !place.kind.is_container() {
        return Err(Error::not_found("this is not a site, library, list or folder").into());
    }
    item::require(place, Right::ManageSite)?;
    let by_name = view.sort == "name";
    // Below the last container that the caller does not manage.
    let top = way.iter().rposition(|item| !item.rights.has(Right::ManageSite)).map_or(0, |above| above + 1);
    let whole = visit.session.usage(&Target::Id(way[top].id)).await?;
    let Tree { lines, mut known, is_cut } = tree(&visit, &way[top..], by_name, &whole).await?;
    known.extend(whole.items);
    let own = known.get(&place.id).copied();
    let (rows, next) = match place.kind {
        NodeKind::List => (Vec::new(), None),
        _ => contents(&visit, place, &view, by_name, own.as_ref()).await?,
    };
    navigation::fill_side_bar(&mut visit, &way).await?;
    let site = way.iter().rev().find(|item| item.kind == NodeKind::Site).map_or(place.id, |site| site.id);
    navigation::mark_current(&mut visit.page, &format!("/items/{site}/site-settings"));
    let page = &visit.page;
    let crumb = |item: &Item| Crumb { href: address(item.id, by_name), label: item.name.clone() };
    Ok(html(&ManagePage {
        page,
        place,
        crumbs: way[top..way.len() - 1].iter().map(crumb).collect(),
        lines,
        is_cut,
        rows,
        figures: figures(page, place.kind, own.as_ref(), None),
        measured_at: whole.measured_at,
        is_pending: whole.is_pending,
        is_list: place.kind == NodeKind::List,
        by_name,
        may_move: match place.kind {
            NodeKind::Site => place.rights.has(Right::ManageLibraries) || place.rights.has(Right::ManageSite),
            _ => place.rights.has(Right::Delete),
        },
        next,
        first: view.after.is_empty(),
    }))
}

/// Asks for a new measurement.
pub async fn measure(Path(id): Path<String>, sent: SubmittedForm) -> PageResult {
    let id: Id = id.parse()?;
    sent.visit.session.request_measurement(&Target::Id(id)).await?;
    Ok(done(&address(id, sent.fields.text("sort") == "name"), &Flash::new("toast.measuring", "")))
}

/// Reads the tree, one level for each container on the way.
async fn tree(visit: &Visit, way: &[Item], by_name: bool, whole: &UsageReport) -> Result<Tree> {
    let (mut known, mut levels, mut is_cut) = (HashMap::new(), Vec::with_capacity(way.len()), false);
    for (depth, above) in way.iter().enumerate().filter(|(_, above)| above.kind != NodeKind::List) {
        let target = Target::Id(above.id);
        let (_, listed) = visit.session.list(&target, Sort::Name, false, None, MAX_LEVEL).await?;
        is_cut |= listed.next.is_some() && listed.items.iter().all(|child| child.kind.is_container());
        let mut children: Vec<Item> = listed.items.into_iter().filter(|child| child.kind.is_container()).collect();
        // The way goes on through a container that the first page may not have.
        if let Some(open) = way.get(depth + 1).filter(|open| children.iter().all(|child| child.id != open.id)) {
            children.push(open.clone());
        }
        let ids = children.iter().map(|child| child.id).collect();
        let report = visit.session.usage_below(&target, ids).await?;
        sort(&mut children, by_name, &report.items);
        known.extend(report.items);
        levels.push(children);
    }
    let of = |id: Id| known.get(&id).or_else(|| whole.items.get(&id));
    let line = |item: &Item, depth: usize, above: Option<Id>| Line {
        href: address(item.id, by_name),
        icon: icon_of(item),
        name: item.name.clone(),
        level: (depth + 1).min(MAX_INDENT),
        is_current: way.last().is_some_and(|place| place.id == item.id),
        is_open: way.iter().any(|open| open.id == item.id),
        figures: figures(&visit.page, item.kind, of(item.id), above.and_then(of)),
    };
    // From the innermost level outwards: the lines of a level go below the container that is open.
    let mut lines: Vec<Line> = Vec::new();
    for (depth, children) in levels.iter().enumerate().rev() {
        let mut inner = std::mem::take(&mut lines);
        for child in children {
            lines.push(line(child, depth + 1, Some(way[depth].id)));
            if way.get(depth + 1).is_some_and(|open| open.id == child.id) {
                lines.append(&mut inner);
            }
        }
    }
    if let Some(top) = way.first() {
        lines.insert(0, line(top, 0, None));
    }
    Ok(Tree { lines, known, is_cut })
}

/// Leaves items in the order of their names, or puts the largest first. Those without figures come last.
fn sort(items: &mut [Item], by_name: bool, known: &HashMap<Id, Usage>) {
    if !by_name {
        let key = |item: &Item| known.get(&item.id).map(|usage| (usage.bytes, usage.documents + usage.rows));
        items.sort_by_key(|item| std::cmp::Reverse(key(item)));
    }
}

/// Returns a page of the contents of a container, and the address of the next one.
async fn contents(
    visit: &Visit,
    place: &Item,
    view: &View,
    by_name: bool,
    above: Option<&Usage>,
) -> Result<(Vec<Row>, Option<String>)> {
    let target = Target::Id(place.id);
    let (order, descending) = if by_name { (Sort::Name, false) } else { (Sort::Size, true) };
    let listing = listing_cursor::Listing { item: place.id, sort: order, descending, filter: &Filter::default() };
    let after: Option<SortKey> = match view.after.as_str() {
        "" => None,
        text => Some(listing_cursor::open(&visit.session, &listing, text).await?),
    };
    let (_, listed) = visit.session.list(&target, order, descending, after, PAGE).await?;
    let next = match &listed.next {
        Some(key) => {
            let after = listing_cursor::seal(&visit.session, &listing, key).await?;
            Some(format!("{}{}after={after}", address(place.id, by_name), if by_name { '&' } else { '?' }))
        }
        None => None,
    };
    let mut items = listed.items;
    let known = visit.session.usage_below(&target, items.iter().map(|item| item.id).collect()).await?.items;
    // The list has containers first, then documents by the size of the latest version.
    let containers = items.iter().take_while(|item| item.kind.is_container()).count();
    let (containers, documents) = items.split_at_mut(containers);
    sort(containers, by_name, &known);
    sort(documents, by_name, &known);
    let row = |item: Item| Row {
        id: item.id,
        href: match item.kind.is_container() && item.rights.has(Right::ManageSite) {
            true => address(item.id, by_name),
            false => address::browse(&item.path),
        },
        icon: icon_of(&item),
        may_open: item.rights.has(Right::View),
        own_permissions: item.own_permissions,
        figures: match item.kind {
            NodeKind::Document => {
                Figures { contents: String::new(), ..figures(&visit.page, item.kind, known.get(&item.id), above) }
            }
            kind => figures(&visit.page, kind, known.get(&item.id), above),
        },
        name: item.name,
    };
    Ok((items.into_iter().map(row).collect(), next))
}

fn figures(page: &Page, kind: NodeKind, usage: Option<&Usage>, above: Option<&Usage>) -> Figures {
    let Some(usage) = usage else { return Figures::default() };
    let documents = || page.n("manage.documents", usage.documents);
    let rows = || page.n("manage.rows", usage.rows);
    let contents = match (usage.documents, usage.rows) {
        (0, 0) if kind == NodeKind::List => rows(),
        (_, 0) => documents(),
        (0, _) => rows(),
        _ => format!("{} · {}", documents(), rows()),
    };
    let whole = above.map_or(0, |above| above.bytes);
    // What was measured at different times does not add up exactly.
    let share = (whole > 0).then(|| (u128::from(usage.bytes) * 100 / u128::from(whole)).min(100) as u64);
    // The values of rows are not counted.
    let size = if kind == NodeKind::List && usage.bytes == 0 { String::new() } else { page.size(&usage.bytes) };
    Figures { contents, size, share, changed: usage.changed_at }
}
