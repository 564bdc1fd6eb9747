//! The form for a new row.

use axum::extract::Path;
use model::{Result, Right};
use repository::{Column, Item, Target};

use crate::document::values;
use crate::frame::fault::PageResult;
use crate::frame::fields::Fields;
use crate::frame::flash::{Flash, done};
use crate::frame::form::Form;
use crate::frame::format::icon;
use crate::frame::item::{find, require};
use crate::frame::page::html;
use crate::frame::visit::{SubmittedForm, Visit};
use crate::frame::{address, refuse};
use crate::wording::cells;

async fn form<'a>(visit: &'a Visit, list: &Item, columns: &[Column], typed: Option<&Fields>) -> Result<Form<'a>> {
    let page = &visit.page;
    let mut fields = Vec::with_capacity(columns.len());
    let target = Target::Id(list.id);
    let defaults = visit.session.default_values(&target).await?;
    let names = values::names_of(&visit.session, &target, &defaults).await?;
    for column in columns {
        let name = values::field_name(column.id);
        let default = defaults.iter().find(|(id, _)| *id == column.id).map(|(_, value)| value);
        let text = match typed {
            Some(typed) => values::typed(typed, column),
            None => cells::edited(page, &names, default),
        };
        let mut field = values::field(page, &visit.session, column, text).await?;
        field = values::in_one_line(column, field);
        field.name = name.into();
        field.required = column.required;
        fields.push(field);
    }
    Ok(Form {
        page,
        title: page.f1("list.new-row-in", &list.name),
        icon: icon("plus"),
        action: format!("/items/{}/new-row", list.id),
        fields,
        submit: page.s("action.save").into(),
        danger: false,
        back: address::browse(&list.path),
        fault: String::new(),
    })
}

async fn columns_of(visit: &Visit, list: &Item) -> Result<Vec<Column>> {
    let (mut columns, _) = visit.session.columns(&Target::Id(list.id)).await?;
    columns.retain(|column| !column.is_calculated());
    Ok(columns)
}

/// Shows the form.
pub async fn ask(visit: Visit, Path(id): Path<String>) -> PageResult {
    let list = find(&visit, &id).await?;
    require(&list, Right::Add)?;
    let columns = columns_of(&visit, &list).await?;
    Ok(html(&form(&visit, &list, &columns, None).await?))
}

/// Adds the row.
pub async fn make(Path(id): Path<String>, sent: SubmittedForm) -> PageResult {
    let list = find(&sent.visit, &id).await?;
    let columns = columns_of(&sent.visit, &list).await?;
    match add(&sent, &list, &columns).await {
        Ok(title) => Ok(done(&address::browse(&list.path), &Flash::new("toast.created", title))),
        Err(error) => refuse::show_form_again(form(&sent.visit, &list, &columns, Some(&sent.fields)).await?, error),
    }
}

async fn add(sent: &SubmittedForm, list: &Item, columns: &[Column]) -> Result<String> {
    let mut set = Vec::new();
    for column in columns {
        let text = values::typed(&sent.fields, column).trim().to_owned();
        // An empty field is said to be empty, so that it does not get the default value that was removed from it.
        let value = if text.is_empty() { None } else { Some(values::read(&sent.visit, column, text).await?) };
        set.push((column.id, value));
    }
    let row = sent.visit.session.add_row(&Target::Id(list.id), set).await?;
    Ok(sent.visit.session.item(&Target::Id(row)).await?.shown_name().to_owned())
}
