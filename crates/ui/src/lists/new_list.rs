//! The form for a new list.

use axum::extract::Path;
use model::{Name, Result, Right};
use repository::{Item, Target, TemplateKind};

use crate::frame::fault::PageResult;
use crate::frame::flash::{Flash, done};
use crate::frame::form::{Field, Form};
use crate::frame::format::icon;
use crate::frame::item::{find, find_for};
use crate::frame::page::html;
use crate::frame::templates;
use crate::frame::visit::{SubmittedForm, Visit};
use crate::frame::{address, refuse};

async fn form<'a>(visit: &'a Visit, site: &Item, name: &str, title: &str, template: &str) -> Result<Form<'a>> {
    let page = &visit.page;
    let none = ("template.empty-list", "template.empty-list-hint");
    Ok(Form {
        page,
        title: page.s("action.new-list").into(),
        icon: icon("list"),
        action: format!("/items/{}/new-list", site.id),
        fields: vec![
            Field::line("name", page.s("column.name"), name).required(),
            templates::field(page, &visit.session, site.id, TemplateKind::List, template, none).await?,
            Field::line("title", page.s("list.title-column"), title).hint(page.s("list.title-column-hint")),
        ],
        submit: page.s("action.create").into(),
        danger: false,
        back: address::browse(&site.path),
        fault: String::new(),
    })
}

/// Shows the form.
pub async fn ask(visit: Visit, Path(id): Path<String>) -> PageResult {
    let site = find_for(&visit, &id, Right::ManageLibraries).await?;
    Ok(html(&form(&visit, &site, "", visit.page.s("list.title"), "").await?))
}

/// Creates the list and opens it.
pub async fn make(Path(id): Path<String>, sent: SubmittedForm) -> PageResult {
    let SubmittedForm { visit, fields } = sent;
    let site = find(&visit, &id).await?;
    let (name, title, template) = (fields.trimmed("name"), fields.trimmed("title"), fields.text("template"));
    match create(&visit, &Target::Id(site.id), &name, &title, &template).await {
        Ok(list) => Ok(done(&address::browse(&list.path), &Flash::new("toast.created", list.name))),
        Err(error) => refuse::show_form_again(form(&visit, &site, &name, &title, &template).await?, error),
    }
}

async fn create(visit: &Visit, site: &Target, name: &str, title: &str, template: &str) -> Result<Item> {
    let name = Name::new(name)?;
    if template.is_empty() {
        return visit.session.create_list(site, &name, &Name::new(title)?).await;
    }
    let template = visit.session.template(Some(site), template).await?;
    visit.session.create_list_from(site, Some(&name), &template, visit.page.language.tag()).await
}
