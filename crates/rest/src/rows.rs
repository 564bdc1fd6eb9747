//! Lists and their rows.

use std::collections::{BTreeMap, HashMap};

use axum::Json as Reply;
use axum::extract::Request;
use axum::http::{StatusCode, header};
use axum::response::Response;
use model::{Code, Digest, Error, Id, MAX_PAGE, Name, NodeKind, Result, Total};
use repository::{Filter, ListRequest, Session, Sort, require_few_changes};
use serde::Deserialize;
use utoipa::IntoParams;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use http_core::identity::Authenticated;
use http_core::protocol::{content_type, idempotency};
use http_core::server::error::Answer;
use http_core::server::request::acquire_costly;
use http_core::server::request_body;
use http_core::server::state::AppState;
use http_core::transfer::rows_csv::{self, Mode};
use http_core::transfer::{listing_cursor, rows_xlsx};

use super::extract::{Create, Ids, Query};
use super::wire::Once;
use super::wire::column::{self, NamedColumns};
use super::wire::item::{self, ItemJson, Names};
use super::wire::list::{List, PageQuery, cursor_of, limit};
use super::wire::row::{
    ImportReport, NewList, NewRow, RevisionJson, RowChanges, RowJson, RowOutcomeJson, RowOutcomes, TotalJson,
};

/// Number of columns whose values are returned: all that a list can have.
const ALL_COLUMNS: usize = 200;

/// Order and page of the rows of a list.
#[derive(Default, Deserialize, IntoParams)]
#[serde(default, deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct RowQuery {
    /// `added` (the default), `modified`, `person` who changed them last, or the identifier of a column.
    #[param(value_type = Option<super::wire::rules::RowSortText>)]
    sort: Option<String>,
    /// `ascending` (the default) or `descending`.
    #[param(value_type = Option<super::wire::rules::Order>)]
    order: Option<String>,
    /// Formula that the rows fulfil, such as `[Due] < today() and [State] <> "done"`. A page may then be short or empty
    /// and still have a `next`.
    #[param(value_type = Option<super::wire::rules::Formula>)]
    filter: Option<String>,
    /// Maximum number of rows on the page, 1 to 1000.
    #[param(minimum = 1, maximum = 1000, default = 100)]
    limit: Option<usize>,
    /// `next` of the previous page.
    #[param(value_type = Option<super::wire::rules::CursorText>)]
    cursor: Option<String>,
}

/// Order of exported rows.
#[derive(Default, Deserialize, IntoParams)]
#[serde(default, deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct ExportQuery {
    /// `added` (the default), `modified`, `person` who changed them last, or the identifier of a column.
    #[param(value_type = Option<super::wire::rules::RowSortText>)]
    sort: Option<String>,
    /// `ascending` (the default) or `descending`.
    #[param(value_type = Option<super::wire::rules::Order>)]
    order: Option<String>,
}

impl ExportQuery {
    fn request(self) -> Result<ListRequest> {
        let query = RowQuery { sort: self.sort, order: self.order, ..RowQuery::default() };
        let (sort, descending) = order_of(&query)?;
        Ok(ListRequest { sort, descending, ..ListRequest::default() })
    }
}

/// Options of an import.
#[derive(Default, Deserialize, IntoParams)]
#[serde(default, deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct ImportQuery {
    /// True to change nothing, and only to say what would be refused.
    dry_run: bool,
}

/// Options of an import from a workbook.
#[derive(Default, Deserialize, IntoParams)]
#[serde(default, deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct WorkbookQuery {
    /// True to change nothing, and only to say what would be refused.
    dry_run: bool,
    /// Name of the sheet; the first one that is visible when absent.
    sheet: Option<String>,
}

pub fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(create_list))
        .routes(routes!(rows, add_row))
        .routes(routes!(change_rows))
        .routes(routes!(revisions))
        .routes(routes!(totals))
        .routes(routes!(export_rows))
        .routes(routes!(import_rows))
        .routes(routes!(export_workbook, import_workbook))
}

/// Create a list in a site
///
/// The list has one column, for the titles of its rows. Add others with `create_column`. With a template, the list has
/// the columns, views and rows of it.
#[utoipa::path(
    post,
    path = "/api/v1/items/{id}/lists",
    operation_id = "create_list",
    tag = "lists",
    params(("id" = String, Path, description = "Identifier of the site"), Once),
    request_body = NewList,
    responses((status = 201, description = "The list", body = ItemJson))
)]
async fn create_list(
    caller: Authenticated,
    Ids([id]): Ids<1>,
    create: Create<NewList>,
) -> Answer<(StatusCode, Reply<ItemJson>)> {
    let (session, new) = create.with(caller.session);
    let (name, site) = (Name::new(new.name)?, id.into());
    let made = match (new.template, new.title_column) {
        (None, title) => {
            let title = Name::new(title.unwrap_or_else(|| "Title".to_owned()))?;
            session.create_list(&site, &name, &title).await?
        }
        (Some(template), None) => {
            let template = session.template(Some(&site), &template).await?;
            session.create_list_from(&site, Some(&name), &template, &new.language).await?
        }
        (Some(_), Some(_)) => {
            return Err(Error::invalid("a template has its own columns: leave title_column out").into());
        }
    };
    Ok((StatusCode::CREATED, Reply(item::item(&session, made).await?)))
}

/// List the rows of a list
///
/// Rows that the caller may not see are left out. Rows whose field is empty come last in the order of a column.
#[utoipa::path(
    get,
    path = "/api/v1/items/{id}/rows",
    operation_id = "list_rows",
    tag = "lists",
    params(("id" = String, Path, description = "Identifier of the list"), RowQuery),
    responses((status = 200, description = "One page", body = List<RowJson>))
)]
async fn rows(caller: Authenticated, Ids([id]): Ids<1>, Query(query): Query<RowQuery>) -> Answer<Reply<List<RowJson>>> {
    let session = &caller.session;
    let (sort, descending) = order_of(&query)?;
    let filter = Filter { condition: query.filter.unwrap_or_default(), ..Filter::default() };
    let listing = listing_cursor::Listing { item: id, sort, descending, filter: &filter };
    let after = match query.cursor.as_deref() {
        Some(text) => Some(listing_cursor::open(session, &listing, text).await?),
        None => None,
    };
    let limit = limit(query.limit)?;
    let request = ListRequest { sort, descending, after, limit, columns: ALL_COLUMNS, filter: filter.clone() };
    let listed = session.list_filtered(&id.into(), request).await?;
    require_list(listed.place.kind)?;
    let names = Names::of(session, listed.page.items.iter().map(|item| item.modified_by)).await?;
    let mut values: HashMap<Id, BTreeMap<String, serde_json::Value>> = HashMap::new();
    for ((row, id), value) in listed.values {
        values.entry(row).or_default().insert(id.to_string(), column::json(value));
    }
    let items = listed.page.items.iter();
    let items = items.map(|item| RowJson::of(item, values.remove(&item.id).unwrap_or_default(), &names)).collect();
    let next = match &listed.page.next {
        Some(next) => Some(listing_cursor::seal(session, &listing, next).await?),
        None => None,
    };
    Ok(Reply(List { items, next }))
}

/// Totals that are asked for.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct TotalsQuery {
    /// Columns with their totals, such as `17:sum,18:max`; at most 60, of 10 columns. Every column has a `count` of its
    /// values; number and date columns have `min` and `max`, number columns `sum` and `average`.
    #[param(value_type = super::wire::rules::TotalsText)]
    totals: String,
}

/// Sum up the columns of a list
///
/// Rows that the caller may not open are left out. There are no totals of more than 100,000 rows.
#[utoipa::path(
    get,
    path = "/api/v1/items/{id}/totals",
    operation_id = "list_totals",
    tag = "lists",
    params(("id" = String, Path, description = "Identifier of the list"), TotalsQuery),
    responses((status = 200, description = "The totals in the order of the query", body = List<TotalJson>))
)]
async fn totals(
    caller: Authenticated,
    Ids([id]): Ids<1>,
    Query(query): Query<TotalsQuery>,
) -> Answer<Reply<List<TotalJson>>> {
    let wanted = query.totals.split(',').map(|one| {
        let (column, total) = one.split_once(':').ok_or_else(|| Error::invalid("a total is COLUMN:TOTAL"))?;
        Ok((column.parse::<Id>()?, Total::parse(total)?))
    });
    let wanted = wanted.collect::<Result<Vec<_>>>()?;
    let _permit = acquire_costly()?;
    let target = id.into();
    require_list(caller.session.item(&target).await?.kind)?;
    let found = caller.session.totals(&target, Filter::default(), &wanted).await?;
    let found =
        found.ok_or_else(|| Error::invalid("the list has more than 100,000 rows, which cannot be summed up"))?;
    let items = wanted.iter().zip(found).map(|((column, total), value)| TotalJson::new(*column, *total, value));
    Ok(Reply(List::whole(items.collect())))
}

/// Add a row to a list
#[utoipa::path(
    post,
    path = "/api/v1/items/{id}/rows",
    operation_id = "add_row",
    tag = "lists",
    params(("id" = String, Path, description = "Identifier of the list"), Once),
    request_body = NewRow,
    responses((status = 201, description = "The row", body = RowJson))
)]
async fn add_row(
    caller: Authenticated,
    Ids([id]): Ids<1>,
    create: Create<NewRow>,
) -> Answer<(StatusCode, Reply<RowJson>)> {
    let (session, new) = create.with(caller.session);
    let columns = columns_of(&session, id).await?;
    let row = session.add_row(&id.into(), column::values_of(&columns, new.values)?).await?;
    Ok((StatusCode::CREATED, Reply(one(&session, row).await?)))
}

/// Change the rows of a list
///
/// Adds, edits and deletes up to 1,000 rows, and sets up to 20,000 values (each of several values counts), in one
/// transaction. An edit with an outdated `etag`, or with none, is made as long as the fields in `was` are unchanged,
/// which must name every field in `set`. So two people disturb each other only in the same field. An edit without
/// `etag` and `was` is made in any case.
#[utoipa::path(
    post,
    path = "/api/v1/items/{id}/changes",
    operation_id = "change_rows",
    tag = "lists",
    params(("id" = String, Path, description = "Identifier of the list"), Once),
    request_body = RowChanges,
    responses((status = 200, description = "The outcome of each change", body = RowOutcomes))
)]
async fn change_rows(
    caller: Authenticated,
    Ids([id]): Ids<1>,
    create: Create<RowChanges>,
) -> Answer<Reply<RowOutcomes>> {
    let (session, request) = create.with(caller.session);
    // Before the work of converting them.
    let fields = request.changes.iter().map(|change| change.set.len().max(change.was.len())).sum();
    require_few_changes(request.changes.len(), fields)?;
    let columns = columns_of(&session, id).await?;
    let success = |form: &super::wire::row::RowChangeForm| if form.id.is_none() { 201 } else { 200 };
    let statuses: Vec<u16> = request.changes.iter().map(success).collect();
    let changes = request.changes.into_iter().map(|form| form.change(&columns)).collect::<Result<_>>()?;
    let outcomes = session.change_rows(&id.into(), changes, request.atomic).await?;
    let applied = !request.atomic || outcomes.iter().all(|outcome| outcome.error.is_none());
    let outcomes = outcomes.into_iter().zip(statuses);
    let outcomes = outcomes.map(|(outcome, status)| RowOutcomeJson::of(outcome, applied, status)).collect();
    Ok(Reply(RowOutcomes { applied, outcomes }))
}

/// List the revisions of a row
///
/// Its fields as they are and as they were, newest first. The first one is the present revision.
#[utoipa::path(
    get,
    path = "/api/v1/items/{id}/revisions",
    operation_id = "list_revisions",
    tag = "lists",
    params(("id" = String, Path, description = "Identifier of the row"), PageQuery),
    responses((status = 200, description = "One page", body = List<RevisionJson>))
)]
async fn revisions(
    caller: Authenticated,
    Ids([id]): Ids<1>,
    Query(query): Query<PageQuery>,
) -> Answer<Reply<List<RevisionJson>>> {
    let (limit, before) = (query.limit()?.min(MAX_PAGE), query.before()?);
    let page = caller.session.row_revisions(&id.into(), before, limit).await?;
    let names = Names::of(&caller.session, page.items.iter().map(|revision| revision.by)).await?;
    let items = page.items.into_iter().map(|revision| RevisionJson::of(revision, &names)).collect();
    Ok(Reply(List { items, next: page.next.map(cursor_of) }))
}

/// Download the rows of a list as CSV
///
/// The first column is `#`, the number of the row; the others are the columns of the list. Times are in UTC. A text
/// that begins like a formula has an apostrophe in front, which an import removes.
#[utoipa::path(
    get,
    path = "/api/v1/items/{id}/rows.csv",
    operation_id = "export_rows",
    tag = "lists",
    params(("id" = String, Path, description = "Identifier of the list"), ExportQuery),
    responses((status = 200, description = "The file", body = Vec<u8>, content_type = "text/csv"))
)]
async fn export_rows(caller: Authenticated, Ids([id]): Ids<1>, Query(query): Query<ExportQuery>) -> Answer<Response> {
    Ok(rows_csv::send(caller.session, &id.into(), query.request()?, false).await?)
}

/// Add and change rows of a list by CSV
///
/// The first line has the titles: names of columns, and `#` for the number of a row to change; rows without a number
/// are added. At most 5,000 rows and 2 MiB, with fields separated by commas, semicolons or tabs. Rows that cannot be
/// read or saved are left out and listed. The rows are saved in several transactions.
#[utoipa::path(
    post,
    path = "/api/v1/items/{id}/rows.csv",
    operation_id = "import_rows",
    tag = "lists",
    params(("id" = String, Path, description = "Identifier of the list"), ImportQuery, Once),
    request_body(content = String, content_type = "text/csv"),
    responses((status = 200, description = "What was done", body = ImportReport))
)]
async fn import_rows(
    caller: Authenticated,
    Ids([id]): Ids<1>,
    Query(query): Query<ImportQuery>,
    request: Request,
) -> Answer<Reply<ImportReport>> {
    require_type(&request, "text/csv", "CSV")?;
    let _permit = acquire_costly()?;
    let key = idempotency::key(request.headers())?;
    let body = request_body::read_to_end(request.into_body(), request_body::FIELDS).await?;
    let read = |bytes: &[u8]| Ok((rows_csv::Table::read(bytes)?, Digest::new(*blake3::hash(bytes).as_bytes())));
    let (table, digest) = request_body::parse_off_thread(body, read).await?;
    let once = key.map(|key| (format!("{key} in {id}"), digest));
    Ok(Reply(rows_csv::import(&caller.session, &id.into(), table, mode(query.dry_run), once.as_ref()).await?.into()))
}

/// Download the rows of a list as an Excel workbook
///
/// The first column is `#`, the number of the row; the others are the columns of the list, with typed cells. Times are
/// in UTC. A text that is longer than a cell of Excel holds (32,767 characters) is cut, and says so at its end.
#[utoipa::path(
    get,
    path = "/api/v1/items/{id}/rows.xlsx",
    operation_id = "export_workbook",
    tag = "lists",
    params(("id" = String, Path, description = "Identifier of the item"), ExportQuery),
    responses((status = 200, description = "The workbook", body = Vec<u8>,
        content_type = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"))
)]
async fn export_workbook(
    caller: Authenticated,
    Ids([id]): Ids<1>,
    Query(query): Query<ExportQuery>,
) -> Answer<Response> {
    Ok(rows_xlsx::send(caller.session, &id.into(), query.request()?).await?)
}

/// Add and change rows of a list by an Excel workbook
///
/// The first row of the sheet has the titles: names of columns, and `#` for the number of a row to change; rows without
/// a number are added. At most 5,000 rows, and 10 MiB. A formula counts as its stored result. Cells with a date are
/// read by their number format. Rows that cannot be read or saved are left out and listed, by their number in the
/// sheet. Texts that an export has cut are left as they are.
#[utoipa::path(
    post,
    path = "/api/v1/items/{id}/rows.xlsx",
    operation_id = "import_workbook",
    tag = "lists",
    params(("id" = String, Path, description = "Identifier of the item"), WorkbookQuery),
    request_body(content = Vec<u8>,
        content_type = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"),
    responses((status = 200, description = "What was done", body = ImportReport))
)]
async fn import_workbook(
    caller: Authenticated,
    Ids([id]): Ids<1>,
    Query(query): Query<WorkbookQuery>,
    request: Request,
) -> Answer<Reply<ImportReport>> {
    require_type(&request, rows_xlsx::MEDIA_TYPE, "a workbook")?;
    let key = idempotency::key(request.headers())?;
    let body = request_body::read_to_end(request.into_body(), request_body::WORKBOOK).await?;
    let _permit = acquire_costly()?;
    let (session, list, sheet) = (&caller.session, id.into(), query.sheet);
    let (table, digest) = rows_xlsx::read(session, &list, body, sheet.as_deref()).await?;
    let once = key.map(|key| (format!("{key} in {id}, sheet {}", sheet.unwrap_or_default()), digest));
    Ok(Reply(rows_csv::import(session, &list, table, mode(query.dry_run), once.as_ref()).await?.into()))
}

fn mode(is_dry: bool) -> Mode {
    if is_dry { Mode::Check } else { Mode::Possible }
}

fn require_type(request: &Request, wanted: &str, what: &str) -> Result<()> {
    let kind = request.headers().get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    match kind.is_some_and(|kind| content_type::essence(kind) == wanted) {
        true => Ok(()),
        false => Err(Error::invalid(format!("the body must be {what}: send Content-Type: {wanted}"))
            .with_code(Code::UnsupportedMediaType)),
    }
}

async fn columns_of(session: &Session, list: Id) -> Result<NamedColumns> {
    Ok(NamedColumns::new(session.columns(&list.into()).await?.0))
}

async fn one(session: &Session, row: Id) -> Result<RowJson> {
    let item = session.item(&row.into()).await?;
    let values = session.values(&row.into()).await?;
    let names = Names::of(session, [item.modified_by]).await?;
    Ok(RowJson::of(&item, column::json_of(values), &names))
}

fn order_of(query: &RowQuery) -> Result<(Sort, bool)> {
    let bad = |text: &'static str| Error::invalid(text).with_code(Code::InvalidQuery);
    let sort = match query.sort.as_deref() {
        None | Some("added") => Sort::Name,
        Some("modified") => Sort::Modified,
        Some("person") => Sort::Person,
        Some(word) => Sort::Column(
            word.parse().map_err(|_| bad("sort is one of added, modified, person, or the identifier of a column"))?,
        ),
    };
    match query.order.as_deref() {
        None | Some("ascending") => Ok((sort, false)),
        Some("descending") => Ok((sort, true)),
        Some(_) => Err(bad("order is one of ascending, descending")),
    }
}

fn require_list(kind: NodeKind) -> Result<()> {
    match kind {
        NodeKind::List => Ok(()),
        _ => Err(Error::conflict("only lists have rows").with_code(Code::WrongKind)),
    }
}
