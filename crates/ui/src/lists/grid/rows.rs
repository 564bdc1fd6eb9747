//! Rows of a grid as JSON.

use std::collections::{BTreeMap, HashMap, HashSet};

use model::{ColumnKind, ColumnRole, ColumnValue, Id, MAX_PAGE, Result, Right, Timestamp};
use repository::{Column, Item, ListRequest, Listed, Sort, SortKey, Target, ValueNames};
use serde::Serialize;

use crate::browse::label;
use crate::browse::listing::{heading, named_in};
use crate::browse::view::{Key, View, Wide};
use crate::frame::page::Page;
use crate::frame::visit::Visit;
use crate::wording::{cells, entries, names, people};
use http_core::protocol::time;
use http_core::transfer::listing_cursor;

/// Rows of a block, unless the script asks for another number.
const BLOCK: usize = 200;
/// Limit on the changed rows of one answer.
const MAX_CHANGED: usize = 200;
/// Limit on the columns whose values are read.
const MAX_COLUMNS: usize = 200;

/// A column of a grid.
#[derive(Serialize)]
pub struct ColumnJson {
    /// The column's word in addresses.
    id: String,
    name: String,
    /// `text`, `note`, `number`, `date`, `choice`, `person`, `yes-no`, `link` or `lookup`; `time` and `name` for
    /// built-in ones.
    kind: &'static str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    choices: Vec<String>,
    /// Set for a column that takes several values, which are edited as one text.
    #[serde(skip_serializing_if = "is_not")]
    multiple: bool,
    /// Suggestions for a lookup column.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    entries: Vec<String>,
    required: bool,
    /// Set for a column whose values nobody can change.
    fixed: bool,
    width: Option<u16>,
}

/// A value: the text that is shown, and the one that is edited where it differs.
#[derive(Serialize)]
#[serde(untagged)]
pub enum CellJson {
    One(String),
    Two(String, String),
}

impl CellJson {
    fn of(shown: String, edited: String) -> Self {
        if shown == edited { Self::One(shown) } else { Self::Two(shown, edited) }
    }
}

/// A row of a grid.
#[derive(Serialize)]
pub struct RowJson {
    id: String,
    number: String,
    etag: String,
    /// User who changed it last.
    by: String,
    edit: bool,
    delete: bool,
    /// Number of its attachments.
    #[serde(skip_serializing_if = "is_none")]
    clips: u64,
    /// Title of its group; empty if the view has no groups.
    #[serde(skip_serializing_if = "String::is_empty")]
    group: String,
    /// Values in the order of the columns; null where the row has no such value.
    cells: Vec<Option<CellJson>>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_none(count: &u64) -> bool {
    *count == 0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_not(yes: &bool) -> bool {
    !yes
}

/// The next rows of a grid.
#[derive(Serialize)]
pub struct Block {
    columns: Vec<ColumnJson>,
    rows: Vec<RowJson>,
    next: Option<String>,
    may_add: bool,
    /// Names of people and groups, as one types them.
    people: Vec<String>,
    /// The point in time since when changes are to be asked for.
    since: String,
}

impl RowJson {
    /// Identifier.
    pub fn id(&self) -> &str {
        &self.id
    }
}

/// Rows that were asked for or changed.
#[derive(Serialize)]
pub struct Fresh {
    rows: Vec<RowJson>,
    /// Rows that the caller does not see, or not any more.
    gone: Vec<String>,
    /// Rows that did not fit into the answer.
    left: Vec<String>,
    /// Rows that were changed since the given point in time.
    changed: Vec<RowJson>,
    since: String,
    token: String,
    /// The caller, by whom alone the script goes on after a new sign-in.
    user: String,
}

impl Fresh {
    /// Returns the rows that were asked for.
    pub fn into_rows(self) -> impl Iterator<Item = RowJson> {
        self.rows.into_iter()
    }

    /// Returns the rows that did not fit into the answer.
    pub fn left(&self) -> impl Iterator<Item = Id> {
        self.left.iter().filter_map(|id| id.parse().ok())
    }
}

/// The columns of a grid: the title first, then those of the view; and the order whose groups have headings.
pub struct Shown {
    keys: Vec<Wide>,
    groups: Option<Sort>,
}

impl Shown {
    /// Returns the columns of a view.
    pub fn of(view: &View, own: &[Column]) -> Self {
        let title = own.iter().find(|column| column.role == Some(ColumnRole::Title)).map(|column| column.id);
        let first = title.map(|id| Wide { key: Key::Own(id), width: None });
        Self {
            keys: first.into_iter().chain(view.shown_in_list(own)).collect(),
            groups: view.groups(own).then_some(view.sort),
        }
    }

    fn columns(&self, page: &Page, own: &[Column]) -> Vec<ColumnJson> {
        self.keys.iter().map(|wide| column(page, own, wide)).collect()
    }
}

/// Returns the columns with suggestions for the fields of lookup columns.
async fn columns_with_entries(visit: &Visit, shown: &Shown, own: &[Column]) -> Result<Vec<ColumnJson>> {
    let mut columns = shown.columns(&visit.page, own);
    for (column, wide) in columns.iter_mut().zip(&shown.keys) {
        let Key::Own(id) = wide.key else { continue };
        if let Some(ColumnKind::Lookup(list)) = own.iter().find(|own| own.id == id).map(|own| own.kind.single()) {
            column.entries = entries::suggestions(&visit.session, *list).await?;
        }
    }
    Ok(columns)
}

fn column(page: &Page, own: &[Column], wide: &Wide) -> ColumnJson {
    let found = match wide.key {
        Key::Own(id) => own.iter().find(|column| column.id == id),
        _ => None,
    };
    ColumnJson {
        id: wide.key.word(),
        name: found.map_or_else(|| label(page, wide.key).to_owned(), |column| column.name.clone()),
        kind: match (found, wide.key) {
            (Some(column), _) => column.kind.as_str(),
            (None, Key::Modified | Key::Created) => "time",
            (None, _) => "name",
        },
        multiple: found.is_some_and(|column| column.kind.takes_multiple()),
        choices: match found.map(|column| column.kind.single()) {
            Some(ColumnKind::Choice(choices)) => choices.clone(),
            _ => Vec::new(),
        },
        entries: Vec::new(),
        // A row that lacks such a value is not saved yet. A default value can be left to the server.
        required: found.is_some_and(|column| column.required && column.options.default.is_empty()),
        fixed: found.is_none_or(Column::is_calculated),
        width: wide.width,
    }
}

/// Returns rows as JSON.
pub fn rows(visit: &Visit, shown: &Shown, listed: &Listed, names: &ValueNames) -> Vec<RowJson> {
    let row = |item: &Item| RowJson {
        id: item.id.to_string(),
        number: item.name.clone(),
        etag: item.etag(),
        by: if item.rights.has(Right::View) { names::name_of(&names.people, item.modified_by) } else { String::new() },
        edit: item.rights.has(Right::Edit),
        delete: item.rights.has(Right::Delete),
        clips: item.attachments.unwrap_or(0),
        group: shown.groups.map_or_else(String::new, |sort| heading(&visit.page, sort, listed, item, names)),
        cells: shown.keys.iter().map(|wide| cell(visit, listed, item, wide.key, names)).collect(),
    };
    listed.page.items.iter().map(row).collect()
}

fn cell(visit: &Visit, listed: &Listed, item: &Item, key: Key, names: &ValueNames) -> Option<CellJson> {
    let views = item.rights.has(Right::View);
    let time = |at: Timestamp| CellJson::One(time::format(at));
    match key {
        Key::Modified => views.then(|| time(item.modified_at)),
        Key::Created => views.then(|| time(item.created_at)),
        Key::By => views.then(|| CellJson::One(names::name_of(&names.people, item.modified_by))),
        Key::Own(id) => {
            let column = listed.columns.iter().find(|column| column.id == id)?;
            if !cells::applies(item, column) {
                return None;
            }
            let value = listed.values.get(&(item.id, id));
            let text = value.map(|value| cells::text(&visit.page, value, names).into_owned()).unwrap_or_default();
            Some(CellJson::of(text, cells::edited(&visit.page, names, value)))
        }
        Key::Type | Key::Size | Key::Version => None,
    }
}

/// Returns a parameter of a query beside those of the view.
fn parameter(query: &str, name: &str) -> Option<String> {
    form_urlencoded::parse(query.as_bytes()).find(|(key, _)| key == name).map(|(_, value)| value.into_owned())
}

/// Returns the next rows of a view.
pub async fn block(visit: &Visit, id: &str, query: &str) -> Result<Block> {
    let (session, target, view) = (&visit.session, Target::Id(id.parse()?), View::parse(query));
    let limit = parameter(query, "rows").and_then(|text| text.parse().ok()).unwrap_or(BLOCK).clamp(1, MAX_PAGE);
    let asks_own = view.asks_for_columns();
    let (columns, _) = if asks_own { session.columns(&target).await? } else { Default::default() };
    let (filter, _) = view.filter(&visit.page, session, &columns).await?;
    let kept = filter.clone();
    let listing =
        listing_cursor::Listing { item: id.parse()?, sort: view.sort, descending: view.descending, filter: &kept };
    let is_first = view.after.is_empty();
    let after = if is_first { None } else { Some(listing_cursor::open(session, &listing, &view.after).await?) };
    let now = Timestamp::now();
    let (sort, descending) = (view.sort, view.descending);
    let request = ListRequest { sort, descending, after, limit, columns: MAX_COLUMNS, filter };
    let listed = session.list_filtered(&target, request).await?;
    let names = named_in(&visit.session, &listed).await?;
    let next = match &listed.page.next {
        Some(place) => Some(listing_cursor::seal(session, &listing, place).await?),
        None => None,
    };
    let shown = Shown::of(&view, &listed.columns);
    let asks_people = is_first && listed.columns.iter().any(|column| *column.kind.single() == ColumnKind::Person);
    Ok(Block {
        columns: if is_first { columns_with_entries(visit, &shown, &listed.columns).await? } else { Vec::new() },
        rows: rows(visit, &shown, &listed, &names),
        next,
        may_add: listed.place.rights.has(Right::Add),
        people: if asks_people { people::typed_names(&visit.session).await? } else { Vec::new() },
        since: now.micros().to_string(),
    })
}

/// Returns rows by their identifiers, with what is missing.
pub async fn by_id(visit: &Visit, target: &Target, view: &View, ids: &[Id]) -> Result<Fresh> {
    let (mut found, mut gone, mut left) = (Vec::new(), Vec::new(), Vec::new());
    if !ids.is_empty() {
        let listed = visit.session.rows_by_id(target, ids.to_vec()).await?;
        let names = named_in(&visit.session, &listed).await?;
        found = rows(visit, &Shown::of(view, &listed.columns), &listed, &names);
        let read = |id: &Id| matches!(&listed.page.next, Some(SortKey::Row(last)) if id > last);
        let known: HashSet<Id> = listed.page.items.iter().map(|item| item.id).collect();
        for id in ids.iter().filter(|id| !known.contains(id)) {
            if read(id) { left.push(id.to_string()) } else { gone.push(id.to_string()) }
        }
    }
    let (since, token) = (Timestamp::now().micros().to_string(), visit.page.form_token.clone());
    let user = visit.session.principal().id.to_string();
    Ok(Fresh { rows: found, gone, left, changed: Vec::new(), since, token, user })
}

/// Returns the rows that the query names, and those that were changed since its point in time.
pub async fn refresh(visit: &Visit, id: &str, query: &str) -> Result<Fresh> {
    let (target, view, now) = (Target::Id(id.parse()?), View::parse(query), Timestamp::now());
    let words = parameter(query, "ids").unwrap_or_default();
    let words = words.split(',').filter(|word| !word.is_empty());
    let ids: Vec<Id> = words.map(str::parse).collect::<Result<_>>()?;
    let mut fresh = by_id(visit, &target, &view, &ids).await?;
    if let Some(since) = parameter(query, "since").and_then(|text| text.parse().ok()).map(Timestamp::from_micros) {
        fresh.changed = changed(visit, &target, &view, since).await?;
    }
    fresh.since = now.micros().to_string();
    Ok(fresh)
}

/// Returns the rows that were changed since a point in time. The order by time of change has an index, and mostly one
/// row of it is read.
async fn changed(visit: &Visit, target: &Target, view: &View, since: Timestamp) -> Result<Vec<RowJson>> {
    let newest = ListRequest { sort: Sort::Modified, descending: true, limit: 1, ..ListRequest::default() };
    let found = visit.session.list_filtered(target, newest.clone()).await?;
    if found.page.items.iter().all(|item| item.modified_at < since) {
        return Ok(Vec::new());
    }
    let request = ListRequest { limit: MAX_CHANGED, columns: MAX_COLUMNS, ..newest };
    let mut listed = visit.session.list_filtered(target, request).await?;
    listed.page.items.retain(|item| item.modified_at >= since);
    let items: HashSet<Id> = listed.page.items.iter().map(|item| item.id).collect();
    listed.values.retain(|(item, _), _| items.contains(item));
    let names = named_in(&visit.session, &listed).await?;
    Ok(rows(visit, &Shown::of(view, &listed.columns), &listed, &names))
}

/// Rows by identifier, with the texts of their values for editing.
#[derive(Default)]
pub struct Present {
    /// Entity tags by row.
    pub etags: HashMap<Id, String>,
    /// Values by row and column.
    pub values: BTreeMap<(Id, Id), (String, ColumnValue)>,
}

/// Reads the present values of rows.
pub async fn present(visit: &Visit, target: &Target, ids: Vec<Id>) -> Result<Present> {
    let listed = visit.session.rows_by_id(target, ids).await?;
    let names = named_in(&visit.session, &listed).await?;
    let etags = listed.page.items.iter().map(|item| (item.id, item.etag())).collect();
    let values = listed.values.into_iter();
    let values = values.map(|(key, value)| (key, (cells::edited(&visit.page, &names, Some(&value)), value))).collect();
    Ok(Present { etags, values })
}
