//! Administration of roles: named sets of rights.

use std::collections::HashMap;

use askama::Template;
use axum::extract::Path;
use model::{Error, ErrorKind, Id, Result, Right, Rights, Role};

use crate::frame::fault::PageResult;
use crate::frame::fields::Fields;
use crate::frame::flash::{Flash, done};
use crate::frame::form::{Choice, Field, Form, Input};
use crate::frame::format::icon;
use crate::frame::page::{Page, html};
use crate::frame::visit::{SubmittedForm, Visit};
use crate::frame::{navigation, refuse};
use crate::wording::{rights, unavailable};

#[derive(Template)]
#[template(path = "roles.html")]
struct RolesPage<'a> {
    page: &'a Page,
    /// Names of unavailable content databases, or empty.
    away: String,
    rows: Vec<Row>,
}

struct Row {
    id: Id,
    name: String,
    built_in: bool,
    rights: Vec<&'static str>,
    /// Number of uses. `None` when it cannot be determined.
    uses: Option<u64>,
}

/// Shows the list of roles.
pub async fn list(mut visit: Visit) -> PageResult {
    navigation::fill_farm_side_bar(&mut visit.page, "/farm/roles")?;
    let uses: Option<HashMap<Id, u64>> = match visit.session.role_uses().await {
        Err(error) if matches!(error.kind(), ErrorKind::Corrupt | ErrorKind::Unavailable) => None,
        uses => Some(uses?),
    };
    let away = unavailable::named(&visit.page, &visit.session.databases_away().await?);
    let page = &visit.page;
    let rows = visit.session.roles().await?.into_iter().map(|role| Row {
        id: role.id,
        name: rights::role_name(page, role.id, &role.name),
        built_in: role.is_built_in(),
        rights: rights::words(page, role.rights),
        uses: uses.as_ref().map(|uses| uses.get(&role.id).copied().unwrap_or(0)),
    });
    Ok(html(&RolesPage { page, away, rows: rows.collect() }))
}

fn form<'a>(page: &'a Page, role: Option<&Role>, name: &str, rights: Rights) -> Form<'a> {
    let ticks = Right::ALL.map(|right| {
        Choice::new(right.as_str(), page.language.text(&format!("right.{}", right.as_str())), rights.has(right))
    });
    Form {
        page,
        title: role.map_or_else(|| page.s("roles.new").to_owned(), |role| page.f1("roles.change", &role.name)),
        icon: icon("key"),
        action: role.map_or_else(|| "/farm/roles/new".to_owned(), |role| format!("/farm/roles/{}", role.id)),
        fields: vec![
            Field::line("name", page.s("column.name"), name).required(),
            Field::of("rights", page.s("roles.rights"), Input::Ticks(ticks.into())),
        ],
        submit: page.s("action.save").into(),
        danger: false,
        back: "/farm/roles".into(),
        fault: String::new(),
    }
}

fn rights_of(fields: &Fields) -> Result<Rights> {
    fields.all("rights").map(Right::parse).collect()
}

async fn find(visit: &Visit, id: &str) -> Result<Role> {
    let id: Id = id.parse()?;
    let found = visit.session.roles().await?.into_iter().find(|role| role.id == id);
    found.ok_or_else(|| Error::not_found("there is no such role"))
}

/// Shows the form for a new role.
pub async fn ask_new(mut visit: Visit) -> PageResult {
    navigation::fill_farm_side_bar(&mut visit.page, "/farm/roles")?;
    Ok(html(&form(&visit.page, None, "", Rights::NONE.with(Right::View))))
}

/// Creates a role.
pub async fn make(sent: SubmittedForm) -> PageResult {
    let SubmittedForm { mut visit, fields } = sent;
    navigation::fill_farm_side_bar(&mut visit.page, "/farm/roles")?;
    let (name, rights) = (fields.trimmed("name"), rights_of(&fields)?);
    match visit.session.create_role(&name, rights).await {
        Ok(role) => Ok(done("/farm/roles", &Flash::new("toast.created", role.name))),
        Err(error) => refuse::show_form_again(form(&visit.page, None, &name, rights), error),
    }
}

/// Shows the form for changing a role.
pub async fn ask_change(mut visit: Visit, Path(id): Path<String>) -> PageResult {
    navigation::fill_farm_side_bar(&mut visit.page, "/farm/roles")?;
    let role = find(&visit, &id).await?;
    Ok(html(&form(&visit.page, Some(&role), &role.name, role.rights)))
}

/// Changes a role.
pub async fn change(Path(id): Path<String>, sent: SubmittedForm) -> PageResult {
    let SubmittedForm { mut visit, fields } = sent;
    navigation::fill_farm_side_bar(&mut visit.page, "/farm/roles")?;
    let role = find(&visit, &id).await?;
    let (name, rights) = (fields.trimmed("name"), rights_of(&fields)?);
    match visit.session.update_role(role.id, Some(&name), Some(rights)).await {
        Ok(role) => Ok(done("/farm/roles", &Flash::new("toast.saved", role.name))),
        Err(error) => refuse::show_form_again(form(&visit.page, Some(&role), &name, rights), error),
    }
}

fn delete_form<'a>(page: &'a Page, role: &Role) -> Form<'a> {
    Form {
        page,
        title: page.f1("roles.delete", &role.name),
        icon: icon("trash"),
        action: format!("/farm/roles/{}/delete", role.id),
        fields: vec![Field::paragraph(page.s("roles.delete-text"))],
        submit: page.s("action.delete").into(),
        danger: true,
        back: "/farm/roles".into(),
        fault: String::new(),
    }
}

/// Asks for confirmation of a deletion.
pub async fn ask_delete(mut visit: Visit, Path(id): Path<String>) -> PageResult {
    navigation::fill_farm_side_bar(&mut visit.page, "/farm/roles")?;
    let role = find(&visit, &id).await?;
    Ok(html(&delete_form(&visit.page, &role)))
}

/// Deletes a role, or shows why that is not possible.
pub async fn delete(Path(id): Path<String>, sent: SubmittedForm) -> PageResult {
    let mut visit = sent.visit;
    navigation::fill_farm_side_bar(&mut visit.page, "/farm/roles")?;
    let role = find(&visit, &id).await?;
    match visit.session.delete_role(role.id).await {
        Ok(()) => Ok(done("/farm/roles", &Flash::new("toast.removed", ""))),
        Err(error) => refuse::show_form_again(delete_form(&visit.page, &role), error),
    }
}
