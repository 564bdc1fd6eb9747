//! Column values of several documents and folders at once. Filled-in values are stored in all of them; empty fields
//! change nothing.

use axum::extract::Query;
use axum::response::{IntoResponse, Redirect};
use model::{Code, Error, Id, Result, Right};
use repository::{Column, Item, Target, ValuesChange};
use serde::Deserialize;

use crate::document::values;
use crate::frame::fault::PageResult;
use crate::frame::fields::Fields;
use crate::frame::flash::Flash;
use crate::frame::form::{Choice, Field, Form, Input};
use crate::frame::format::icon;
use crate::frame::page::html;
use crate::frame::visit::{SubmittedForm, Visit};
use crate::frame::{address, refuse};
use crate::wording::cells;

use super::selection;

/// Selected items.
#[derive(Deserialize)]
pub struct Ticked {
    ids: String,
}

/// Subject of the form.
struct Subject {
    ids: Vec<Id>,
    /// First item that the caller may change. The form shows the columns of its library.
    first: Item,
    columns: Vec<Column>,
}

/// Redirects from the selected rows to the form.
pub async fn selected(sent: SubmittedForm) -> PageResult {
    let ids = selection::join(&sent.fields.ids("ids")?);
    Ok(Redirect::to(&format!("/values?ids={ids}")).into_response())
}

async fn subject(visit: &Visit, ids: Vec<Id>) -> Result<Subject> {
    let mut refused = None;
    for id in &ids {
        let found = visit.session.item(&Target::Id(*id)).await;
        let first = match found {
            Ok(item) if item.rights.has(Right::Edit) => item,
            Ok(item) => {
                refused.get_or_insert(Error::lacking(Right::Edit, &item.name));
                continue;
            }
            Err(error) => {
                refused.get_or_insert(error);
                continue;
            }
        };
        let (mut columns, _) = visit.session.columns(&Target::Id(first.id)).await?;
        columns.retain(|column| cells::applies(&first, column) && !column.is_calculated());
        return Ok(Subject { ids, first, columns });
    }
    Err(refused.unwrap_or_else(|| Error::invalid("nothing was selected; tick something first")))
}

async fn form<'a>(visit: &'a Visit, subject: &Subject, typed: Option<&Fields>) -> Result<Form<'a>> {
    let page = &visit.page;
    let mut fields =
        vec![Field::paragraph(page.s("several.about")), Field::hidden("ids", selection::join(&subject.ids))];
    for column in &subject.columns {
        let name = values::field_name(column.id);
        let text = typed.map(|typed| values::typed(typed, column)).unwrap_or_default();
        let mut field = values::field(page, &visit.session, column, text).await?;
        if let Input::Select(choices) = &mut field.input
            && let Some(first) = choices.first_mut()
        {
            first.label = page.s("several.leave").to_owned();
        }
        field.name = name.into();
        fields.push(field);
    }
    let emptied = |column: &Column| typed.is_some_and(|typed| typed.all("empty").any(|id| id == column.id.to_string()));
    let choices = subject.columns.iter().filter(|column| !column.required);
    let choices: Vec<_> =
        choices.map(|column| Choice::new(column.id.to_string(), &column.name, emptied(column))).collect();
    if !choices.is_empty() {
        fields.push(Field::of("empty", page.s("several.empty"), Input::Ticks(choices)));
    }
    let title = match subject.ids.as_slice() {
        [_] => page.s("action.edit-columns").to_owned(),
        ids => page.f1("several.title", page.n("selection.items", ids.len())),
    };
    Ok(Form {
        page,
        title,
        icon: icon("columns"),
        action: "/values".into(),
        fields,
        submit: page.s("action.save").into(),
        danger: false,
        back: address::browse_parent(&subject.first.path),
        fault: String::new(),
    })
}

/// The form.
pub async fn ask(visit: Visit, Query(ticked): Query<Ticked>) -> PageResult {
    let ids = Fields::parse(format!("ids={}", ticked.ids).as_bytes())?.ids("ids")?;
    let subject = subject(&visit, ids).await?;
    Ok(html(&form(&visit, &subject, None).await?))
}

/// Stores the filled-in values in each item. Failures are counted and reported.
pub async fn save(sent: SubmittedForm) -> PageResult {
    let subject = subject(&sent.visit, sent.fields.ids("ids")?).await?;
    let change = match read(&sent, &subject).await {
        Ok(change) => change,
        Err(error) => return refuse::show_form_again(form(&sent.visit, &subject, Some(&sent.fields)).await?, error),
    };
    let mut failed = Vec::new();
    for id in &subject.ids {
        if let Err(error) = sent.visit.session.set_values(&Target::Id(*id), change.clone()).await {
            failed.push((*id, error));
        }
    }
    let count = sent.visit.page.n("selection.items", subject.ids.len());
    let next = address::browse_parent(&subject.first.path);
    selection::finish(&sent, failed, &next, Flash::new("toast.saved", count)).await
}

async fn read(sent: &SubmittedForm, subject: &Subject) -> Result<ValuesChange> {
    let mut change = ValuesChange::default();
    for column in &subject.columns {
        let text = values::typed(&sent.fields, column).trim().to_owned();
        let empty = sent.fields.all("empty").any(|id| id == column.id.to_string());
        match (text.is_empty(), empty) {
            (true, false) => {}
            (true, true) => change.values.push((column.id, None)),
            (false, false) => change.values.push((column.id, Some(values::read(&sent.visit, column, text).await?))),
            (false, true) => {
                let message = sent.visit.page.f1("several.both", &column.name);
                return Err(Error::invalid(message).with_code(Code::Misfit));
            }
        }
    }
    if change.values.is_empty() {
        let message = sent.visit.page.s("several.nothing");
        return Err(Error::invalid(message).with_code(Code::Misfit));
    }
    Ok(change)
}
