//! The page of a library or folder: its items in the order, groups and columns that the user has chosen.

use std::collections::HashMap;

use askama::Template;
use axum::response::Response;
use model::{ColumnKind, ColumnRole, Id, NodeKind, Result, Right};
use repository::{Column, Item, ListRequest, Listed, PrincipalName, SavedView, Session, Sort, Target, ValueNames};

use super::heads::{Head, HeadContext, heads, name_head};
use super::row_cells::{CellContent, ShownColumn, cells_of, shown_columns};
use super::totals::{self, Totals};
use super::value_test::in_language;
use super::view::{self, Key, Shape, View, Wide};
use crate::document::{edit_online, overview, preview};
use crate::frame::address;
use crate::frame::format::{self, Icon, icon};
use crate::frame::navigation::{self, Crumb};
use crate::frame::page::{Page, html};
use crate::frame::value_format;
use crate::frame::visit::Visit;
use crate::wording::cells;
use crate::wording::names::{icon_of, known_as, name_of, names};
use http_core::protocol::segments::encode_query;
use http_core::transfer::{listing_cursor, typed};

/// Entries per page: two screens, so that the first is there at once. Scripts load the next page when its end scrolls
/// into view.
const PAGE: usize = 50;
/// Limit on library columns whose values are read.
const MAX_COLUMNS: usize = 200;

/// A row of a listing.
pub struct Row<'a> {
    /// The item.
    pub id: Id,
    /// Permitted operations, as words for the scripts.
    pub can: String,
    /// Cells of the row.
    pub cells: Vec<CellContent<'a>>,
    /// Title of the group that begins with this row, or empty.
    pub heading: String,
    /// Its kind.
    pub kind: NodeKind,
    /// Its icon.
    pub icon: Icon,
    /// Name.
    pub name: &'a str,
    /// URL of the item's page.
    pub href: String,
    /// User who has it checked out, if any.
    pub held_by: Option<&'a str>,
    /// User who has the item open for editing.
    pub open_by: Option<&'a str>,
    /// True if the latest version is a draft.
    pub draft: bool,
    /// True for a library or folder with unique permissions.
    pub own_permissions: bool,
    /// Number of the attachments of a row; 0 for other items.
    pub attachments: u64,
    /// Address of a small picture of the item, where pictures are shown.
    pub thumbnail: Option<String>,
}

/// A saved view above the listing.
struct Tab {
    href: String,
    label: String,
    current: bool,
    /// True if the listing differs from the saved view.
    changed: bool,
}

/// A condition of the filter, with the URL without that condition.
struct Chip {
    label: String,
    href: String,
}

/// A shape in which the items can be shown.
struct ShapeLink {
    href: String,
    icon: Icon,
    label: &'static str,
    title: &'static str,
    current: bool,
}

fn shapes(page: &Page, here: &str, view: &View, is_list: bool) -> [ShapeLink; 2] {
    let other = if is_list { Shape::Grid } else { Shape::Tiles };
    let link = |shape: Shape, sign, label, title| ShapeLink {
        href: format!("{here}?{}", View { shape: Some(shape), ..view.clone() }.query()),
        icon: icon(sign),
        label: page.s(label),
        title: page.s(title),
        current: (view.shape == Some(other)) == (shape == other),
    };
    let table = link(Shape::Table, "list", "grid.table", "grid.as-table");
    match is_list {
        true => [table, link(other, "grid", "grid.grid", "grid.as-grid")],
        false => [table, link(other, "grid", "grid.tiles", "grid.as-tiles")],
    }
}

#[derive(Template)]
#[template(path = "listing.html")]
struct Listing<'a> {
    page: &'a Page,
    title: String,
    place: &'a Item,
    crumbs: Vec<Crumb>,
    rows: Vec<Row<'a>>,
    name_head: Head,
    heads: Vec<Head>,
    /// Address of the form for a new column, if the caller may add one.
    add_column: Option<String>,
    /// Minimum width of the table in CSS pixels, when column widths were chosen.
    sized: Option<u32>,
    has_own: bool,
    next: Option<String>,
    first: bool,
    tabs: Vec<Tab>,
    /// The current saved view, when the user may delete it.
    deletable: Option<Id>,
    chips: Vec<Chip>,
    faults: Vec<String>,
    filtered: bool,
    filter_name: String,
    /// Label of the box that filters by name or title.
    filter_label: String,
    /// Hidden fields of the name filter's form.
    hidden: Vec<(String, String)>,
    short: bool,
    here: String,
    query: String,
    is_list: bool,
    user: Id,
    shapes: [ShapeLink; 2],
    /// True if the items are shown as tiles with pictures.
    as_tiles: bool,
    /// True if the rows of a list are shown as a grid.
    as_grid: bool,
    may_add: bool,
    may_delete: bool,
    /// True if the caller has checked out one of the documents shown.
    has_held: bool,
    /// True if one of the documents shown is a draft that the caller might publish.
    has_drafts: bool,
    /// Extensions of the documents that can be edited in the browser, separated by spaces.
    online: String,
    /// True if the caller has pinned the place.
    is_pinned: bool,
    /// User who has the folder or one of its parents open for editing, and whether the caller may end that
    /// (`may_unlock`).
    open_by: Option<String>,
    may_unlock: bool,
    /// True if the column values of several rows can be edited at once.
    may_tag: bool,
    totals: Option<Totals>,
}

/// Contents of the page of a library, a folder or a list.
pub struct Contents {
    view: View,
    saved: Vec<SavedView>,
    /// The current saved view.
    chosen: Option<Id>,
    /// True if the listing differs from the current saved view.
    changed: bool,
    deletable: Option<Id>,
    faults: Vec<String>,
    found: Listed,
    named: ValueNames,
    shown: Vec<Wide>,
    open_by: Option<String>,
    is_pinned: bool,
    /// Sealed position at which the next page begins.
    next: Option<String>,
    first: bool,
    totals: Option<Totals>,
}

/// Reads what the page of an item shows.
pub async fn read(visit: &Visit, item: &Item, mut view: View) -> Result<Contents> {
    let session = &visit.session;
    let target = Target::Id(item.id);
    let readable = item.rights.has(Right::View);
    let saved = if readable { session.views(&target).await? } else { Vec::new() };
    let chosen = view::find(&saved, &view.saved)?;
    if let (true, Some(chosen)) = (view.is_default(), chosen) {
        let word = if view.saved.is_empty() { String::new() } else { chosen.id.to_string() };
        let stored = View::parse(&chosen.query);
        view = View { shape: view.shape.or(stored.shape), after: view.after, saved: word, ..stored };
    }
    // Whoever gets this address reads its numbers as its author did.
    view.language.get_or_insert(visit.page.language);
    let changed = chosen.is_some_and(|chosen| {
        let stored = View::parse(&chosen.query);
        !view.shows_the_same(&View { shape: view.shape, ..stored })
    });
    let deletable = match chosen {
        Some(chosen) if !chosen.shared || session.manages_library(&target).await? => Some(chosen.id),
        _ => None,
    };
    let chosen = chosen.map(|chosen| chosen.id);
    // The library's columns are needed before the rows only when there are conditions on them.
    let asks_own = readable && view.asks_for_columns();
    let (columns, _) = if asks_own { session.columns(&target).await? } else { Default::default() };
    let (filter, faults) = view.filter(&visit.page, session, &columns).await?;
    let kept = filter.clone();
    let listing =
        listing_cursor::Listing { item: item.id, sort: view.sort, descending: view.descending, filter: &kept };
    let after =
        if view.after.is_empty() { None } else { Some(listing_cursor::open(session, &listing, &view.after).await?) };
    let first = after.is_none();
    let request =
        ListRequest { sort: view.sort, descending: view.descending, after, limit: PAGE, columns: MAX_COLUMNS, filter };
    let found = session.list_filtered(&target, request).await?;
    let pinned = async { if readable { session.follows(&target).await } else { Ok(false) } };
    let (named, is_pinned) = tokio::try_join!(named_in(session, &found), pinned)?;
    let open_by = match found.place.locked_by {
        Some(holder) => Some(name_of(&session.principal_names(&[holder]).await?, holder)),
        None => None,
    };
    let next = match &found.page.next {
        Some(place) => Some(listing_cursor::seal(session, &listing, place).await?),
        None => None,
    };
    let is_list = item.kind == NodeKind::List;
    let shown = if is_list { view.shown_in_list(&found.columns) } else { view.shown(&found.columns) };
    let totals = if readable && first {
        totals::of(visit, &target, &view, &found.columns, &shown, kept.clone()).await?
    } else {
        None
    };
    Ok(Contents {
        view,
        saved,
        chosen,
        changed,
        deletable,
        faults,
        found,
        named,
        shown,
        open_by,
        is_pinned,
        next,
        first,
        totals,
    })
}

/// Returns the page of an item with its contents.
pub fn page(visit: &Visit, way: &[Item], item: &Item, contents: Contents) -> Response {
    let (view, found, shown) = (&contents.view, &contents.found, &contents.shown);
    let title = found.columns.iter().find(|column| column.role == Some(ColumnRole::Title));
    let is_list = item.kind == NodeKind::List;
    let here = address::browse(&item.path);
    let columns = shown_columns(&visit.page, &found.columns, shown);
    let rows = rows(visit, view, &here, found, &columns, &contents.named);
    let library = way.iter().rev().find(|item| item.kind.defines_columns());
    let managed = library.filter(|library| library.rights.has(Right::ManageLibraries)).map(|library| library.id);
    let titles = HeadContext { page: &visit.page, here: &here, place: item, managed, view, own: &found.columns };
    let (heads, sized) = heads(&titles, shown);
    let me = visit.session.principal().id;
    html(&Listing {
        page: &visit.page,
        title: item.name.clone(),
        crumbs: navigation::crumbs(way),
        short: contents.next.is_some() && rows.len() < PAGE,
        rows,
        name_head: name_head(&visit.page, &here, view, title),
        is_list,
        user: me,
        shapes: shapes(&visit.page, &here, view, is_list),
        as_tiles: view.is_tiles() && !is_list,
        as_grid: view.is_grid() && is_list,
        heads,
        add_column: managed.map(|library| {
            let next = encode_query(&format!("{here}?{}", view.query()));
            format!("/items/{library}/columns/new?next={next}")
        }),
        sized,
        has_own: shown.iter().any(|wide| matches!(wide.key, Key::Own(_))),
        next: contents.next.as_ref().map(|place| format!("{here}?{}&after={place}", view.query())),
        first: contents.first,
        tabs: tabs(&visit.page, &here, &contents.saved, contents.chosen, contents.changed, view.shape),
        deletable: contents.deletable,
        chips: chips(&visit.page, &here, view, &found.columns),
        faults: contents.faults,
        filtered: view.filters(),
        hidden: hidden(view),
        filter_name: view.name.clone(),
        filter_label: title
            .map_or_else(|| visit.page.s("filter.here").to_owned(), |title| visit.page.f1("list.filter", &title.name)),
        query: view.query(),
        may_add: found.place.rights.has(Right::Add),
        may_delete: found.place.rights.has(Right::Delete),
        has_held: found.page.items.iter().any(|item| item.check_out.is_some_and(|held| held.by == me)),
        has_drafts: found.place.rights.has(Right::Publish) && found.page.items.iter().any(is_draft),
        open_by: contents.open_by,
        online: edit_online::extensions(visit),
        is_pinned: contents.is_pinned,
        may_unlock: overview::may_unlock(&visit.session, &found.place),
        may_tag: found.place.rights.has(Right::Edit) && !found.columns.is_empty(),
        totals: contents.totals,
        place: &found.place,
        here,
    })
}

/// Returns whether the latest version of a document is a draft.
fn is_draft(item: &Item) -> bool {
    item.kind == NodeKind::Document && !item.version.is_major()
}

fn hidden(view: &View) -> Vec<(String, String)> {
    let rest = View { name: String::new(), ..view.clone() }.query();
    form_urlencoded::parse(rest.as_bytes()).into_owned().collect()
}

/// Returns the names of what a listing shows: of authors, and of what values stand for.
pub async fn named_in(session: &Session, found: &Listed) -> Result<ValueNames> {
    let values: Vec<_> = found.values.values().collect();
    let mut named = session.value_names(&Target::Id(found.place.id), &values).await?;
    named.people.extend(names(session, &found.page.items).await?);
    Ok(named)
}

/// Returns the rows of the items that were found, with headings if the view groups them.
pub fn rows<'a>(
    visit: &'a Visit,
    view: &View,
    here: &str,
    found: &'a Listed,
    shown: &'a [ShownColumn<'a>],
    names: &'a ValueNames,
) -> Vec<Row<'a>> {
    let me = visit.session.principal().id;
    let mut before = String::new();
    let items = found.page.items.iter();
    let groups = view.groups(&found.columns);
    items
        .map(|item| {
            let cells = cells_of(&visit.page, me, found, item, shown, names);
            let heading = if groups { heading(&visit.page, view.sort, found, item, names) } else { String::new() };
            let begins = heading != before;
            before.clone_from(&heading);
            // A look at the folder must not count as a look at each document.
            let thumbnail = if view.is_tiles() && !found.records_reads { preview::thumbnail(item) } else { None };
            let row = row(item, here, me, &names.people);
            // Who looks at tiles goes on with tiles.
            let keeps_shape = view.is_tiles() && item.kind == NodeKind::Folder;
            let href = if keeps_shape { format!("{}?as={}", row.href, Shape::Tiles.word()) } else { row.href };
            Row { href, cells, thumbnail, heading: if begins { heading } else { String::new() }, ..row }
        })
        .collect()
}

/// Returns the title of an item's group.
pub fn heading(page: &Page, sort: Sort, found: &Listed, item: &Item, names: &ValueNames) -> String {
    if item.kind.is_container() {
        return page.s("view.folders").to_owned();
    }
    match sort {
        Sort::Name if item.kind == NodeKind::Row => String::new(),
        Sort::Name => {
            let first = item.name.chars().next().filter(|first| first.is_alphabetic());
            first.map_or("#".to_owned(), |first| first.to_uppercase().collect())
        }
        Sort::Modified => format::month(&page.zone, item.modified_at),
        Sort::Size => {
            let limit = [10_u64, 20, 24, 27, 30].into_iter().map(|bits| 1 << bits).find(|limit| item.size < *limit);
            let over = || format!("≥ {}", format::size(page.language, 1 << 30));
            limit.map_or_else(over, |limit| format!("< {}", format::size(page.language, limit)))
        }
        Sort::Person => known_as(&names.people, item.modified_by).to_owned(),
        Sort::Type => format::media(page.language, &item.media_type, &item.name).into_owned(),
        Sort::Column(id) => {
            let text = found.values.get(&(item.id, id)).map(|value| cells::text(page, value, names).into_owned());
            text.map_or_else(
                || "–".to_owned(),
                |text| text.lines().next().unwrap_or_default().chars().take(80).collect(),
            )
        }
    }
}

fn tabs(
    page: &Page,
    here: &str,
    saved: &[SavedView],
    chosen: Option<Id>,
    changed: bool,
    shape: Option<Shape>,
) -> Vec<Tab> {
    if saved.is_empty() {
        return Vec::new();
    }
    let shape = shape.map(|shape| format!("&as={}", shape.word())).unwrap_or_default();
    let all = Tab {
        href: format!("{here}?view=none{shape}"),
        label: page.s("view.all").to_owned(),
        current: chosen.is_none(),
        changed: false,
    };
    let tab = |view: &SavedView| Tab {
        href: format!("{here}?view={}{shape}", view.id),
        label: view.name.clone(),
        current: chosen == Some(view.id),
        changed: changed && chosen == Some(view.id),
    };
    std::iter::once(all).chain(saved.iter().map(tab)).collect()
}

fn chips(page: &Page, here: &str, view: &View, own: &[Column]) -> Vec<Chip> {
    let mut chips = Vec::new();
    let mut add =
        |label: String, without: View| chips.push(Chip { label, href: format!("{here}?{}", without.query()) });
    if !view.name.is_empty() {
        add(format!("{}: {}", page.s("column.name"), view.name), View { name: String::new(), ..view.clone() });
    }
    if !view.kind.is_empty() {
        let words = format::media(page.language, &view.kind, "");
        add(format!("{}: {words}", page.s("column.type")), View { kind: String::new(), ..view.clone() });
    }
    if !view.who.is_empty() {
        add(format!("{}: {}", page.s("column.by"), view.who), View { who: String::new(), ..view.clone() });
    }
    if view.days.iter().any(|day| !day.is_empty()) {
        let day = |text: &str| {
            typed::day(text).map_or_else(|| text.to_owned(), |time| value_format::day(page.language, time))
        };
        let when = match [&view.days[0], &view.days[1]].map(|text| day(text)) {
            [from, to] if to.is_empty() => page.f1("filter.since", from),
            [from, to] if from.is_empty() => page.f1("filter.until", to),
            [from, to] if from == to => from,
            [from, to] => format!("{from} – {to}"),
        };
        add(format!("{}: {when}", page.s("column.modified")), View { days: Default::default(), ..view.clone() });
    }
    for (id, value) in &view.values {
        let Some(column) = own.iter().find(|column| column.id == *id) else { continue };
        let values = view.values.iter().filter(|(other, _)| other != id).cloned().collect();
        let shown = match (column.kind.single(), value.as_str()) {
            (ColumnKind::YesNo, "yes") => page.s("word.yes").to_owned(),
            (ColumnKind::YesNo, _) => page.s("word.no").to_owned(),
            (ColumnKind::Number, text) => in_language(text, view.language.unwrap_or(page.language), page.language),
            (_, text) => text.to_owned(),
        };
        add(format!("{}: {shown}", column.name), View { values, ..view.clone() });
    }
    chips
}

/// Returns a row without cells, for an item inside the place whose page is `here`. What another user has checked out
/// offers `me` no changes.
pub fn row<'a>(item: &'a Item, here: &str, me: Id, names: &'a HashMap<Id, PrincipalName>) -> Row<'a> {
    let can = [(Right::Edit, "edit"), (Right::Delete, "delete"), (Right::ManagePermissions, "share")];
    let is_free = item.check_out.is_none_or(|held| held.by == me);
    Row {
        id: item.id,
        can: can
            .into_iter()
            .filter(|(right, _)| item.rights.has(*right) && (is_free || *right == Right::ManagePermissions))
            .map(|(_, word)| word)
            .collect::<Vec<_>>()
            .join(" "),
        cells: Vec::new(),
        heading: String::new(),
        kind: item.kind,
        icon: icon_of(item),
        name: item.shown_name(),
        href: address::below(here, &item.name),
        held_by: item.check_out.map(|held| known_as(names, held.by)),
        open_by: item.locked_by.map(|holder| known_as(names, holder)),
        draft: is_draft(item),
        own_permissions: item.own_permissions && item.kind.holds_documents(),
        attachments: item.attachments.unwrap_or(0),
        thumbnail: None,
    }
}
