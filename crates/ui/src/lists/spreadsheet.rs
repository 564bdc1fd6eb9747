//! Rows to and from spreadsheets: the downloads as CSV and as a workbook, and the form into which rows are pasted, or
//! which takes a file.

use axum::extract::{FromRequest, FromRequestParts, Path, RawQuery, Request, State};
use axum::response::{IntoResponse, Response};
use model::{Code, Error, Result, Right};
use repository::{Item, ListRequest, Target};

use crate::browse::view::View;
use crate::frame::fault::{Fault, PageResult};
use crate::frame::flash::{Flash, done};
use crate::frame::form::{Field, Form, Input};
use crate::frame::format::icon;
use crate::frame::item::{find, require};
use crate::frame::page::{Page, html};
use crate::frame::visit::{SubmittedForm, Visit};
use crate::frame::{address, refuse};
use http_core::server::request::acquire_costly;
use http_core::server::request_body::{self, BufferedBody};
use http_core::server::state::AppState;
use http_core::transfer::rows_csv::{self, Mode, Report, Table};
use http_core::transfer::rows_xlsx;

use super::chosen_file;

/// Limit on the refusals that the form shows.
const SHOWN: usize = 10;

/// First bytes of a workbook, which is an archive, and of a workbook from before Excel 2007.
const WORKBOOKS: [&[u8]; 2] = [b"PK\x03\x04", b"\xd0\xcf\x11\xe0"];

/// Sends the rows that a view shows as CSV, all pages of them.
pub async fn export(visit: Visit, Path(id): Path<String>, RawQuery(query): RawQuery) -> PageResult {
    let (target, request) = shown(&visit, &id, query).await?;
    Ok(rows_csv::send(visit.session, &target, request, true).await?.into_response())
}

/// Sends the rows that a view shows as a workbook, all pages of them.
pub async fn export_workbook(visit: Visit, Path(id): Path<String>, RawQuery(query): RawQuery) -> PageResult {
    let (target, request) = shown(&visit, &id, query).await?;
    Ok(rows_xlsx::send(visit.session, &target, request).await?.into_response())
}

async fn shown(visit: &Visit, id: &str, query: Option<String>) -> Result<(Target, ListRequest)> {
    let target = Target::Id(id.parse()?);
    let view = View::parse(query.as_deref().unwrap_or_default());
    let columns = if view.filters() { visit.session.columns(&target).await?.0 } else { Vec::new() };
    let (filter, _) = view.filter(&visit.page, &visit.session, &columns).await?;
    Ok((target, ListRequest { sort: view.sort, descending: view.descending, filter, ..ListRequest::default() }))
}

fn form<'a>(page: &'a Page, list: &Item, text: String) -> Form<'a> {
    let mut field = Field::of("rows", page.s("paste.rows"), Input::Lines).hint(page.s("paste.hint"));
    field.value = text;
    let file = Field::of("file", page.s("paste.file"), Input::File).hint(page.s("paste.file-hint"));
    Form {
        page,
        title: page.f1("paste.title", &list.name),
        icon: icon("list"),
        action: format!("/items/{}/paste", list.id),
        fields: vec![Field::paragraph(page.s("paste.text")), field, file],
        submit: page.s("paste.do").into(),
        danger: false,
        back: address::browse(&list.path),
        fault: String::new(),
    }
}

/// Shows the form.
pub async fn ask(visit: Visit, Path(id): Path<String>) -> PageResult {
    let list = find(&visit, &id).await?;
    require(&list, Right::Add)?;
    Ok(html(&form(&visit.page, &list, String::new())))
}

/// Takes the form with or without a file.
pub async fn receive(State(state): State<AppState>, Path(id): Path<String>, request: Request) -> Response {
    let (mut parts, body) = request.into_parts();
    let request = Request::from_parts(parts.clone(), body);
    if !chosen_file::takes_files(&request) {
        return match SubmittedForm::from_request(request, &state).await {
            Ok(sent) => paste(&sent.visit, &id, sent.fields.text("rows"), None).await.into_response(),
            Err(away) => away.into_response(),
        };
    }
    let visit = match Visit::from_request_parts(&mut parts, &state).await {
        Ok(visit) => visit,
        Err(away) => return away.into_response(),
    };
    match chosen_file::receive(&state, &visit, request).await {
        Ok(sent) => paste(&visit, &id, sent.text, sent.file).await.into_response(),
        Err(error) => Fault::from(error).into_response(),
    }
}

/// Adds the rows, if all of them can be added. Otherwise the form says what is wrong with which line.
async fn paste(visit: &Visit, id: &str, text: String, file: Option<BufferedBody>) -> PageResult {
    let list = find(visit, id).await?;
    if file.is_none() && text.trim().is_empty() {
        let mut shown = form(&visit.page, &list, text);
        shown.fault = visit.page.s("paste.none").into();
        return Ok(html(&shown));
    }
    match add(visit, &list, &text, file).await {
        Ok(report) if report.refused == 0 => {
            let said = visit.page.n("paste.done", report.added + report.changed);
            Ok(done(&address::browse(&list.path), &Flash::new("toast.pasted", said)))
        }
        Ok(report) => {
            let mut shown = form(&visit.page, &list, text);
            shown.fault = told(&visit.page, &report);
            Ok(html(&shown))
        }
        Err(error) => refuse::show_form_again(form(&visit.page, &list, text), error),
    }
}

/// Adds the rows in one transaction.
async fn add(visit: &Visit, list: &Item, text: &str, file: Option<BufferedBody>) -> Result<Report> {
    let target = Target::Id(list.id);
    let _permit = acquire_costly()?;
    let table = match file {
        Some(file) => read(visit, &target, file).await?,
        None => Table::typed(text, visit.page.language.marks())?,
    };
    rows_csv::import(&visit.session, &target, table, Mode::All, None).await
}

/// Reads a chosen file, whatever its name: a workbook, or CSV.
async fn read(visit: &Visit, list: &Target, file: BufferedBody) -> Result<Table> {
    if WORKBOOKS.iter().any(|begin| file.starts_with(begin)) {
        return Ok(rows_xlsx::read(&visit.session, list, file, None).await?.0);
    }
    if file.len() > request_body::FIELDS {
        return Err(Error::exhausted("a CSV file has at most 2 MiB: split it into several").with_code(Code::TooLarge));
    }
    request_body::parse_off_thread(file, Table::read).await
}

/// Says which lines were refused, and why.
fn told(page: &Page, report: &Report) -> String {
    let lines =
        report.refusals.iter().take(SHOWN).map(|refusal| {
            page.f2("paste.refused", refusal.line.to_string(), refuse::message_for(page, &refusal.error))
        });
    let mut text = format!("{} {}", page.n("paste.refusals", report.refused), lines.collect::<Vec<_>>().join(" "));
    if report.refused > SHOWN {
        text.push_str(" …");
    }
    text
}
