//! Administration of groups and their members.

use askama::Template;
use axum::extract::{Path, Query};
use model::Id;
use repository::{Group, Member};

use super::users::After;
use crate::frame::fault::PageResult;
use crate::frame::flash::{Flash, done};
use crate::frame::form::{Field, Form, Input, Suggestion};
use crate::frame::format::icon;
use crate::frame::page::{Page, html};
use crate::frame::visit::{SubmittedForm, Visit};
use crate::frame::{navigation, refuse};
use crate::wording::people;

/// Groups or members per page.
const PAGE: usize = 200;

#[derive(Template)]
#[template(path = "groups.html")]
struct GroupsPage<'a> {
    page: &'a Page,
    groups: Vec<Group>,
    next: Option<String>,
}

#[derive(Template)]
#[template(path = "group.html")]
struct GroupPage<'a> {
    page: &'a Page,
    group: &'a Group,
    members: Vec<Member>,
    next: Option<String>,
    suggestions: Vec<Suggestion>,
}

/// Shows the list of groups.
pub async fn list(mut visit: Visit, Query(from): Query<After>) -> PageResult {
    navigation::fill_farm_side_bar(&mut visit.page, "/farm/groups")?;
    let mut groups = visit.session.groups(&from.after, PAGE + 1).await?;
    let more = groups.len() > PAGE;
    groups.truncate(PAGE);
    let next = groups.last().filter(|_| more).map(|last| http_core::protocol::segments::encode_query(&last.name));
    Ok(html(&GroupsPage { page: &visit.page, groups, next }))
}

fn group_form<'a>(page: &'a Page, group: Option<&Group>, name: &str, description: &str) -> Form<'a> {
    let mut lines = Field::of("description", page.s("groups.description"), Input::Lines);
    description.clone_into(&mut lines.value);
    Form {
        page,
        title: group.map_or_else(|| page.s("groups.new").to_owned(), |group| page.f1("groups.change", &group.name)),
        icon: icon("group"),
        action: group
            .map_or_else(|| "/farm/groups/new".to_owned(), |group| format!("/farm/groups/{}/change", group.id)),
        fields: vec![Field::line("name", page.s("column.name"), name).required(), lines],
        submit: page.s("action.save").into(),
        danger: false,
        back: group.map_or_else(|| "/farm/groups".to_owned(), |group| format!("/farm/groups/{}", group.id)),
        fault: String::new(),
    }
}

/// Shows the form for a new group.
pub async fn ask_new(mut visit: Visit) -> PageResult {
    navigation::fill_farm_side_bar(&mut visit.page, "/farm/groups")?;
    Ok(html(&group_form(&visit.page, None, "", "")))
}

/// Creates a group.
pub async fn make(sent: SubmittedForm) -> PageResult {
    let SubmittedForm { mut visit, fields } = sent;
    let (name, description) = (fields.trimmed("name"), fields.trimmed("description"));
    match visit.session.create_group(&name, &description).await {
        Ok(group) => Ok(done(&format!("/farm/groups/{}", group.id), &Flash::new("toast.created", group.name))),
        Err(error) => {
            navigation::fill_farm_side_bar(&mut visit.page, "/farm/groups")?;
            refuse::show_form_again(group_form(&visit.page, None, &name, &description), error)
        }
    }
}

/// Shows a group and its members.
pub async fn show(mut visit: Visit, Path(id): Path<String>, Query(from): Query<After>) -> PageResult {
    navigation::fill_farm_side_bar(&mut visit.page, "/farm/groups")?;
    let id: Id = id.parse()?;
    let group = visit.session.group(id).await?;
    let mut members = visit.session.members(id, &from.after, PAGE + 1).await?;
    let more = members.len() > PAGE;
    members.truncate(PAGE);
    let next = members.last().filter(|_| more).map(|last| http_core::protocol::segments::encode_query(&last.login));
    let suggestions = people::suggestions(&visit.session).await?;
    Ok(html(&GroupPage { page: &visit.page, group: &group, members, next, suggestions }))
}

/// Shows the form for changing a group.
pub async fn ask_change(mut visit: Visit, Path(id): Path<String>) -> PageResult {
    navigation::fill_farm_side_bar(&mut visit.page, "/farm/groups")?;
    let group = visit.session.group(id.parse()?).await?;
    Ok(html(&group_form(&visit.page, Some(&group), &group.name, &group.description)))
}

/// Changes a group.
pub async fn change(Path(id): Path<String>, sent: SubmittedForm) -> PageResult {
    let SubmittedForm { mut visit, fields } = sent;
    let id: Id = id.parse()?;
    let (name, description) = (fields.trimmed("name"), fields.trimmed("description"));
    match visit.session.update_group(id, Some(&name), Some(&description)).await {
        Ok(group) => Ok(done(&format!("/farm/groups/{id}"), &Flash::new("toast.saved", group.name))),
        Err(error) => {
            let group = visit.session.group(id).await?;
            navigation::fill_farm_side_bar(&mut visit.page, "/farm/groups")?;
            refuse::show_form_again(group_form(&visit.page, Some(&group), &name, &description), error)
        }
    }
}

/// Deletes a group.
pub async fn delete(Path(id): Path<String>, sent: SubmittedForm) -> PageResult {
    sent.visit.session.delete_group(id.parse()?).await?;
    Ok(done("/farm/groups", &Flash::new("toast.removed", "")))
}

/// Adds a member by login or name.
pub async fn add(Path(id): Path<String>, sent: SubmittedForm) -> PageResult {
    let session = &sent.visit.session;
    let who = sent.fields.trimmed("who");
    session.add_member(id.parse()?, session.find_principal(&who).await?).await?;
    Ok(done(&format!("/farm/groups/{id}"), &Flash::new("toast.member-added", who)))
}

/// Removes a member.
pub async fn remove(Path(id): Path<String>, sent: SubmittedForm) -> PageResult {
    sent.visit.session.remove_member(id.parse()?, sent.fields.id("member")?).await?;
    Ok(done(&format!("/farm/groups/{id}"), &Flash::new("toast.member-removed", "")))
}
