//! Moving, copying and deleting selected items. The user picks the destination by walking through folders, so no script
//! is needed.

use askama::Template;
use axum::extract::Query;
use axum::response::{IntoResponse, Redirect};
use model::{Error, Id, NodeKind, Result, Right};
use repository::{Item, Sort, Target};
use serde::Deserialize;

use crate::frame::address;
use crate::frame::fault::PageResult;
use crate::frame::fields::Fields;
use crate::frame::flash::{Flash, Undo, done};
use crate::frame::navigation::{self, Crumb};
use crate::frame::page::{Page, html};
use crate::frame::refuse;
use crate::frame::visit::{SubmittedForm, Visit};
use http_core::server::error;
use http_core::server::request::acquire_costly;

/// Query parameters of the destination page: action, items and current location.
#[derive(Deserialize)]
pub struct Plan {
    action: String,
    ids: String,
    #[serde(default)]
    at: String,
    /// The container to whose page of the site manager the way leads back.
    #[serde(default)]
    back: String,
}

struct Step {
    href: String,
    name: String,
    icon: crate::frame::format::Icon,
}

#[derive(Template)]
#[template(path = "place.html")]
struct PlacePage<'a> {
    page: &'a Page,
    title: String,
    crumbs: Vec<Crumb>,
    steps: Vec<Step>,
    /// Text for a place without further steps.
    none: &'a str,
    ids: &'a str,
    action: &'a str,
    moves: bool,
    at: Id,
    ready: bool,
    back: String,
    /// Container of the site manager to return to after the action, or nothing.
    manager: &'a str,
    /// Reason why the last destination was refused; empty for none.
    fault: String,
}

/// Shows the page on which the user picks the destination.
pub async fn choose(visit: Visit, Query(plan): Query<Plan>) -> PageResult {
    show(visit, &plan, String::new()).await
}

/// Shows the page again after a refusal, so that another destination can be picked.
async fn choose_again(visit: Visit, plan: &Plan, error: Error) -> PageResult {
    let status = error::status(&error);
    error::log(&error, status);
    let fault = refuse::message_for(&visit.page, &error);
    match show(visit, plan, fault).await {
        Ok(mut page) => {
            *page.status_mut() = status;
            Ok(page)
        }
        Err(_) => Err(error.into()),
    }
}

async fn show(mut visit: Visit, plan: &Plan, fault: String) -> PageResult {
    let moves = plan.action == "move";
    let ids = Fields::parse(format!("ids={}", plan.ids).as_bytes())?.ids("ids")?;
    let first = ids.first().copied().ok_or_else(|| Error::invalid("nothing was selected"))?;
    let item = visit.session.item(&Target::Id(first)).await?;
    if moves {
        require_movable(&visit, &item, &ids).await?;
    }
    let at = match plan.at.as_str() {
        // Rows go into other lists, which are beside theirs.
        "" if item.kind == NodeKind::Row => visit.session.item(&Target::Id(item.parent_id)).await?.parent_id,
        "" => item.parent_id,
        at => at.parse()?,
    };
    let way = visit.session.item_with_ancestors(&Target::Id(at)).await?;
    let here = way.last().ok_or_else(|| Error::not_found("there is no such destination"))?;
    let (_, listed) = visit.session.list(&Target::Id(at), Sort::Name, false, None, model::MAX_PAGE).await?;
    let manager = manager(&plan.back)?;
    let link = |at: Id| {
        let action = if moves { "move" } else { "copy" };
        let back = manager.map_or_else(String::new, |id| format!("&back={id}"));
        format!("/place?action={action}&ids={}&at={at}{back}", join(&ids))
    };
    let leads = |child: &&Item| leads_on(item.kind, child.kind) && !ids.contains(&child.id);
    let steps = listed.items.iter().filter(leads).map(|child| Step {
        href: link(child.id),
        name: child.name.clone(),
        icon: crate::wording::names::icon_of(child),
    });
    let crumbs = way.iter().map(|above| Crumb { href: link(above.id), label: above.shown_name().to_owned() }).collect();
    let what = if ids.len() == 1 {
        visit.page.f1("place.name", item.shown_name())
    } else {
        visit.page.n("selection.items", ids.len())
    };
    let ready = takes(here.kind, item.kind) && !(moves && here.id == item.parent_id);
    let steps = steps.collect();
    navigation::fill_side_bar(&mut visit, &way).await?;
    let page = &visit.page;
    Ok(html(&PlacePage {
        page,
        title: if moves { page.f1("place.move", what) } else { page.f1("place.copy", what) },
        crumbs,
        steps,
        none: page.s(match item.kind {
            NodeKind::Site | NodeKind::Library | NodeKind::List => "place.no-sites",
            NodeKind::Row if here.kind == NodeKind::List => "place.list",
            NodeKind::Row => "place.no-lists",
            NodeKind::Folder | NodeKind::Document => "place.no-folders",
        }),
        ids: &join(&ids),
        action: if moves { "move" } else { "copy" },
        moves,
        at,
        ready,
        back: match manager {
            Some(id) => format!("/items/{id}/manage"),
            None => address::browse_parent(&item.path),
        },
        manager: &plan.back,
        fault,
    }))
}

/// Returns whether an item of a kind can be moved or copied into a container of another kind.
fn takes(place: NodeKind, kind: NodeKind) -> bool {
    match kind {
        // A document can be attached to a row as well, but not from here.
        NodeKind::Document => place.holds_documents(),
        kind => place.may_hold(kind),
    }
}

/// Returns whether a container is a destination for an item of a kind, or on the way to one.
fn leads_on(kind: NodeKind, place: NodeKind) -> bool {
    match kind {
        NodeKind::Site | NodeKind::Library | NodeKind::List => place == NodeKind::Site,
        NodeKind::Row => matches!(place, NodeKind::Site | NodeKind::List),
        NodeKind::Folder | NodeKind::Document => matches!(place, NodeKind::Site) || place.holds_documents(),
    }
}

/// Refuses when the caller may not move any of the selected items.
async fn require_movable(visit: &Visit, first: &Item, ids: &[Id]) -> Result<()> {
    let may_move = |item: &Item| item.rights.has(item.kind.right_to_change(Right::Delete));
    if may_move(first) {
        return Ok(());
    }
    for id in &ids[1..] {
        if visit.session.item(&Target::Id(*id)).await.is_ok_and(|item| may_move(&item)) {
            return Ok(());
        }
    }
    Err(Error::lacking(first.kind.right_to_change(Right::Delete), &first.name))
}

/// Moves or copies the items to the chosen destination.
pub async fn carry_out(sent: SubmittedForm) -> PageResult {
    let (session, fields) = (&sent.visit.session, &sent.fields);
    let (ids, to) = (fields.ids("ids")?, Target::Id(fields.id("at")?));
    let moves = fields.text("action") == "move";
    let _permit = if moves { None } else { acquire_costly()? };
    let outcomes = if moves { session.move_many(&ids, &to).await? } else { session.copy_many(&ids, &to).await? };
    let place = session.item(&to).await?;
    let failed: Vec<Error> = outcomes.into_iter().filter_map(|outcome| outcome.error).collect();
    let mut failed = failed.into_iter();
    if failed.len() == ids.len()
        && let Some(error) = failed.next()
    {
        let plan = Plan {
            action: fields.text("action"),
            ids: join(&ids),
            at: place.id.to_string(),
            back: fields.text("back"),
        };
        return choose_again(sent.visit, &plan, error).await;
    }
    let key = if moves { "toast.moved" } else { "toast.copied" };
    let next = match manager(&fields.text("back"))? {
        Some(id) => format!("/items/{id}/manage"),
        None => address::browse(&place.path),
    };
    finish(&sent, failed, &next, Flash::new(key, place.name))
}

/// Redirects from the selected rows to the choice of a destination for moving.
pub async fn selected_move(sent: SubmittedForm) -> PageResult {
    to_choice(&sent, "move")
}

/// Redirects from the selected rows to the choice of a destination for copying.
pub async fn selected_copy(sent: SubmittedForm) -> PageResult {
    to_choice(&sent, "copy")
}

fn to_choice(sent: &SubmittedForm, action: &str) -> PageResult {
    let ids = join(&sent.fields.ids("ids")?);
    let back = manager(&sent.fields.text("back"))?.map_or_else(String::new, |id| format!("&back={id}"));
    Ok(Redirect::to(&format!("/place?action={action}&ids={ids}{back}")).into_response())
}

/// Returns the container whose page of the site manager the user came from; `None` for another page.
fn manager(text: &str) -> Result<Option<Id>> {
    if text.is_empty() { Ok(None) } else { text.parse().map(Some) }
}

/// Sends the selected rows as an archive.
pub async fn selected_archive(sent: SubmittedForm) -> PageResult {
    Ok(http_core::transfer::bundle::send(&sent.visit.session, &sent.fields.ids("ids")?).await?)
}

/// Checks out the selected documents for the caller.
pub async fn selected_check_out(sent: SubmittedForm) -> PageResult {
    let ids = sent.fields.ids("ids")?;
    let mut failed = Vec::new();
    for id in &ids {
        if let Err(error) = sent.visit.session.check_out(&Target::Id(*id)).await {
            failed.push(error);
        }
    }
    let next = sent.fields.next("/");
    finish(&sent, failed.into_iter(), &next, Flash::new("toast.checked-out", ""))
}

/// Deletes the selected rows. One undo restores all of them, or leads to the recycle bin when they are too many for the
/// message cookie.
pub async fn selected_delete(sent: SubmittedForm) -> PageResult {
    let ids = sent.fields.ids("ids")?;
    let (mut first, mut entries, mut failed) = (None, Vec::new(), Vec::new());
    for id in &ids {
        match delete_one(&sent, *id).await {
            Ok((item, entry)) => {
                entries.push(entry);
                first.get_or_insert(item);
            }
            Err(error) => failed.push(error),
        }
    }
    let next = sent.fields.next("/");
    let undo = first.as_ref().map_or(Undo::Nothing, |item| Undo::of(item.collection_id, &entries));
    let (key, name) = match first {
        Some(item) if entries.len() == 1 => ("toast.deleted", item.name),
        _ => ("toast.deleted-many", sent.visit.page.language.number(entries.len() as u64)),
    };
    let flash = Flash { key, name, undo };
    finish(&sent, failed.into_iter(), &next, flash)
}

async fn delete_one(sent: &SubmittedForm, id: Id) -> Result<(Item, Id)> {
    let item = sent.visit.session.item(&Target::Id(id)).await?;
    let entry = sent.visit.session.delete(&Target::Id(id)).await?;
    Ok((item, entry))
}

/// Ends an operation on several items. If all failed, the response is the first error; otherwise the message says how
/// many failed.
pub fn finish(sent: &SubmittedForm, failed: impl Iterator<Item = Error>, next: &str, flash: Flash) -> PageResult {
    let failed: Vec<Error> = failed.collect();
    let all = sent.fields.ids("ids")?.len();
    let count = failed.len();
    match failed.into_iter().next() {
        None => Ok(done(next, &flash)),
        Some(error) if count == all => Err(error.into()),
        Some(error) => {
            let text = format!("{count}/{all}: {}", refuse::message_for(&sent.visit.page, &error));
            Ok(done(next, &Flash { key: "toast.some-failed", name: text, undo: flash.undo }))
        }
    }
}

pub fn join(ids: &[Id]) -> String {
    ids.iter().map(Id::to_string).collect::<Vec<_>>().join(",")
}
