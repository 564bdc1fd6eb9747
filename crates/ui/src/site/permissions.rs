//! Permissions of an item, and explanations of a user's rights.

use askama::Template;
use axum::extract::{Path, Query};
use model::{Code, Error, Id, PrincipalKind, Result, Right, Timestamp};
use repository::{Item, RoleGrant, Target};
use serde::Deserialize;

use crate::frame::fault::PageResult;
use crate::frame::flash::{Flash, done};
use crate::frame::form::{Field, Form, Input, Suggestion};
use crate::frame::format::icon;
use crate::frame::navigation::{self, Crumb};
use crate::frame::page::{Page, html};
use crate::frame::visit::{SubmittedForm, Visit};
use crate::frame::{address, item, refuse};
use crate::wording::rights::{role_choices, role_name, words};
use crate::wording::{names, people};
use http_core::transfer::typed;

/// Query parameters: the user or group to explain.
#[derive(Deserialize)]
pub struct View {
    #[serde(default)]
    explain: String,
}

struct Row {
    principal: Id,
    name: String,
    login: String,
    group: bool,
    role: Id,
    role_name: String,
    at: Timestamp,
    by: String,
    until: Option<Timestamp>,
}

/// Explanation of a user's rights.
struct Why {
    person: String,
    rights: Vec<&'static str>,
    administrator: bool,
    reasons: Vec<String>,
    fault: String,
}

#[derive(Template)]
#[template(path = "permissions.html")]
struct PermissionsPage<'a> {
    page: &'a Page,
    item: &'a Item,
    title: String,
    crumbs: Vec<Crumb>,
    own: bool,
    root: bool,
    from: Crumb,
    rows: Vec<Row>,
    suggestions: Vec<Suggestion>,
    asked: String,
    why: Option<Why>,
}

/// The page.
pub async fn show(mut visit: Visit, Path(id): Path<String>, Query(view): Query<View>) -> PageResult {
    let target = Target::Id(id.parse()?);
    let way = visit.session.item_with_ancestors(&target).await?;
    let table = visit.session.permissions(&target).await?;
    let mut ids: Vec<Id> = table.grants.iter().map(|grant| grant.principal).collect();
    ids.extend(table.grants.iter().map(|grant| grant.granted_by));
    let names = visit.session.principal_names(&ids).await?;
    let rows = table.grants.iter().map(|grant| {
        let name = names.get(&grant.principal);
        Row {
            principal: grant.principal,
            name: names::name_of(&names, grant.principal),
            login: name.and_then(|name| name.login.clone()).unwrap_or_default(),
            group: name.is_some_and(|name| name.kind == PrincipalKind::Group),
            role: grant.role,
            role_name: role_name(&visit.page, grant.role, &grant.role_name),
            at: grant.granted_at,
            by: names::name_of(&names, grant.granted_by),
            until: grant.until,
        }
    });
    let rows = rows.collect();
    let asked = view.explain.trim();
    let why = if asked.is_empty() { None } else { Some(explain(&visit, &target, &way, asked).await?) };
    let suggestions = people::suggestions(&visit.session).await?;
    navigation::fill_side_bar(&mut visit, &way).await?;
    let item = way.last().ok_or_else(|| Error::not_found("there is no such item"))?;
    let mut crumbs = navigation::crumbs(&way);
    crumbs.push(Crumb { href: address::browse(&item.path), label: item.name.clone() });
    Ok(html(&PermissionsPage {
        page: &visit.page,
        title: visit.page.f1("permissions.of", &item.name),
        crumbs,
        own: table.own,
        root: item.parent_id.is_none(),
        from: Crumb {
            href: format!("/items/{}/permissions", table.from),
            label: place_name(&way, &table.from_path).to_owned(),
        },
        rows,
        suggestions,
        asked: view.explain,
        why,
        item,
    }))
}

/// Returns the label of an item on the path: its own path, or the name of the root site, whose path is empty.
pub fn place_name<'a>(way: &'a [Item], path: &'a str) -> &'a str {
    if path.is_empty() { way.first().map_or("", |root| root.name.as_str()) } else { path }
}

async fn explain(visit: &Visit, target: &Target, way: &[Item], text: &str) -> Result<Why> {
    let page = &visit.page;
    let person = match visit.session.find_principal(text).await {
        Ok(person) => person,
        Err(error) => {
            let fault = refuse::message_for(page, &error);
            let person = text.to_owned();
            return Ok(Why { person, rights: Vec::new(), administrator: false, reasons: Vec::new(), fault });
        }
    };
    let found = visit.session.explain(target, person).await?;
    let mut ids: Vec<Id> = found.grants.iter().map(|grant| grant.principal).collect();
    ids.push(person);
    let names = visit.session.principal_names(&ids).await?;
    let reasons = found.grants.iter().map(|grant| {
        let role = role_name(page, grant.role, &grant.role_name);
        let place = place_name(way, &found.from_path);
        if grant.principal == person {
            page.f2("permissions.direct", role, place)
        } else {
            let group = names::name_of(&names, grant.principal);
            page.language.fill("permissions.through", &[&role, &group, place])
        }
    });
    Ok(Why {
        person: names::name_of(&names, person),
        rights: words(page, found.rights),
        administrator: found.farm_administrator,
        reasons: reasons.collect(),
        fault: String::new(),
    })
}

async fn grant_form<'a>(visit: &'a Visit, item: &Item, who: &str, chosen: Id, until: &str) -> Result<Form<'a>> {
    let page = &visit.page;
    let choices = role_choices(page, &visit.session.roles().await?, chosen);
    let mut field =
        Field::of("who", page.s("permissions.who"), Input::Person(people::suggestions(&visit.session).await?));
    who.clone_into(&mut field.value);
    let mut end = Field::of("until", page.s("permissions.until"), Input::Line("date"));
    until.clone_into(&mut end.value);
    Ok(Form {
        page,
        title: page.f1("permissions.grant-on", item.name.clone()),
        icon: icon("group"),
        action: format!("/items/{}/permissions/grant", item.id),
        fields: vec![
            field.required().hint(page.s("permissions.who-hint")),
            Field::of("role", page.s("permissions.role"), Input::Radio(choices)),
            end.hint(page.s("permissions.until-hint")),
        ],
        submit: page.s("permissions.grant").into(),
        danger: false,
        back: format!("/items/{}/permissions", item.id),
        fault: String::new(),
    })
}

/// Shows the form for granting a role.
pub async fn ask_grant(visit: Visit, Path(id): Path<String>) -> PageResult {
    let item = item::find_for(&visit, &id, Right::ManagePermissions).await?;
    Ok(html(&grant_form(&visit, &item, "", model::Role::READ, "").await?))
}

/// Grants a role. An item that inherits first gets unique permissions, copied from the inherited ones.
pub async fn grant(Path(id): Path<String>, sent: SubmittedForm) -> PageResult {
    let SubmittedForm { visit, fields } = sent;
    let item = item::find(&visit, &id).await?;
    let (who, role) = (fields.trimmed("who"), fields.id("role")?);
    let until = fields.trimmed("until");
    match give(&visit, &item, &who, role, &until).await {
        Ok(()) => Ok(done(&format!("/items/{id}/permissions"), &Flash::new("toast.granted", who))),
        Err(error) => refuse::show_form_again(grant_form(&visit, &item, &who, role, &until).await?, error),
    }
}

/// Gives a person or group a role on an item, until the end of a day as it was typed; empty for no end. An item that
/// inherits gets permissions of its own first.
pub async fn give(visit: &Visit, item: &Item, who: &str, role: Id, until: &str) -> Result<()> {
    let principal = visit.session.find_principal(who).await?;
    let until = last_day(visit, until)?;
    visit.session.share_with(&Target::Id(item.id), RoleGrant { principal, role, until }).await
}

/// Returns the end of a day in the zone of the page; `None` for an empty text.
fn last_day(visit: &Visit, text: &str) -> Result<Option<Timestamp>> {
    if text.is_empty() {
        return Ok(None);
    }
    let day = typed::day(text).ok_or_else(|| {
        Error::invalid(format!("\"{text}\" is not a date: write it like 2026-03-01")).with_code(Code::InvalidTime)
    })?;
    Ok(Some(visit.page.zone.end_of_stored(day)))
}

/// Revokes a role.
pub async fn revoke(Path(id): Path<String>, sent: SubmittedForm) -> PageResult {
    let target = Target::Id(id.parse()?);
    sent.visit.session.revoke(&target, sent.fields.id("principal")?, sent.fields.id("role")?).await?;
    Ok(done(&format!("/items/{id}/permissions"), &Flash::new("toast.revoked", "")))
}

/// Gives an item unique permissions, copied from the inherited ones.
pub async fn stop_inheriting(Path(id): Path<String>, sent: SubmittedForm) -> PageResult {
    sent.visit.session.break_inheritance(&Target::Id(id.parse()?), true).await?;
    Ok(done(&format!("/items/{id}/permissions"), &Flash::new("toast.permissions", "")))
}

/// Restores inheritance for an item.
pub async fn inherit(Path(id): Path<String>, sent: SubmittedForm) -> PageResult {
    sent.visit.session.restore_inheritance(&Target::Id(id.parse()?)).await?;
    Ok(done(&format!("/items/{id}/permissions"), &Flash::new("toast.permissions", "")))
}
