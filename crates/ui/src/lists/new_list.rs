//! The form for a new list.

use axum::extract::Path;
use model::{Name, Right};
use repository::{Item, Target};

use crate::frame::fault::PageResult;
use crate::frame::flash::{Flash, done};
use crate::frame::form::{Field, Form};
use crate::frame::format::icon;
use crate::frame::item::{find, find_for};
use crate::frame::page::{Page, html};
use crate::frame::visit::{SubmittedForm, Visit};
use crate::frame::{address, refuse};

fn form<'a>(page: &'a Page, site: &Item, name: &str, title: &str) -> Form<'a> {
    Form {
        page,
        title: page.s("action.new-list").into(),
        icon: icon("list"),
        action: format!("/items/{}/new-list", site.id),
        fields: vec![
            Field::line("name", page.s("column.name"), name).required(),
            Field::line("title", page.s("list.title-column"), title).required().hint(page.s("list.title-column-hint")),
        ],
        submit: page.s("action.create").into(),
        danger: false,
        back: address::browse(&site.path),
        fault: String::new(),
    }
}

/// Shows the form.
pub async fn ask(visit: Visit, Path(id): Path<String>) -> PageResult {
    let site = find_for(&visit, &id, Right::ManageLibraries).await?;
    Ok(html(&form(&visit.page, &site, "", visit.page.s("list.title"))))
}

/// Creates the list and opens it.
pub async fn make(Path(id): Path<String>, sent: SubmittedForm) -> PageResult {
    let SubmittedForm { visit, fields } = sent;
    let site = find(&visit, &id).await?;
    let (name, title) = (fields.trimmed("name"), fields.trimmed("title"));
    let made = match (Name::new(name.as_str()), Name::new(title.as_str())) {
        (Ok(name), Ok(title)) => visit.session.create_list(&Target::Id(site.id), &name, &title).await,
        (Err(error), _) | (_, Err(error)) => Err(error),
    };
    match made {
        Ok(list) => Ok(done(&address::browse(&list.path), &Flash::new("toast.created", list.name))),
        Err(error) => refuse::show_form_again(form(&visit.page, &site, &name, &title), error),
    }
}
