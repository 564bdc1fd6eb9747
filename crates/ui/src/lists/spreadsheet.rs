//! Rows to and from spreadsheets: the download as CSV, and the form into which rows are pasted.

use axum::extract::{Path, RawQuery};
use axum::response::IntoResponse;
use model::{Result, Right};
use repository::{Item, ListRequest, Target};

use crate::browse::view::View;
use crate::frame::fault::PageResult;
use crate::frame::flash::{Flash, done};
use crate::frame::form::{Field, Form, Input};
use crate::frame::format::icon;
use crate::frame::item::{find, require};
use crate::frame::page::{Page, html};
use crate::frame::visit::{SubmittedForm, Visit};
use crate::frame::{address, refuse};
use http_core::transfer::rows_csv::{self, Mode, Report, Table};

/// Limit on the refusals that the form shows.
const SHOWN: usize = 10;

/// Sends the rows that a view shows, all pages of them.
pub async fn export(visit: Visit, Path(id): Path<String>, RawQuery(query): RawQuery) -> PageResult {
    let target = Target::Id(id.parse()?);
    let view = View::parse(query.as_deref().unwrap_or_default());
    let columns = if view.filters() { visit.session.columns(&target).await?.0 } else { Vec::new() };
    let (filter, _) = view.filter(&visit.page, &visit.session, &columns).await?;
    let request = ListRequest { sort: view.sort, descending: view.descending, filter, ..ListRequest::default() };
    Ok(rows_csv::send(visit.session, &target, request, true).await?.into_response())
}

fn form<'a>(page: &'a Page, list: &Item, text: String) -> Form<'a> {
    let mut field = Field::of("rows", page.s("paste.rows"), Input::Lines).hint(page.s("paste.hint")).required();
    field.value = text;
    Form {
        page,
        title: page.f1("paste.title", &list.name),
        icon: icon("list"),
        action: format!("/items/{}/paste", list.id),
        fields: vec![Field::paragraph(page.s("paste.text")), field],
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

/// Adds the rows, if all of them can be added. Otherwise the form says what is wrong with which line.
pub async fn paste(Path(id): Path<String>, sent: SubmittedForm) -> PageResult {
    let visit = &sent.visit;
    let list = find(visit, &id).await?;
    let text = sent.fields.text("rows");
    match add(visit, &list, &text).await {
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
async fn add(visit: &Visit, list: &Item, text: &str) -> Result<Report> {
    rows_csv::import(&visit.session, &Target::Id(list.id), Table::read(text.as_bytes())?, Mode::All, None).await
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
