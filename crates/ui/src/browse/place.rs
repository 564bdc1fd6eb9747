//! Moving and copying: the choice of a destination, by walking through folders, by its name or among recent places, so
//! that no script is needed; and the way back.

use std::collections::HashSet;

use askama::Template;
use axum::extract::Query;
use model::{Code, Error, ErrorKind, Id, MAX_PAGE, Name, NodeKind, Result, Right};
use repository::{Item, Sort, Target};
use serde::Deserialize;

use super::selection::{failure, finish, is_batch, join};
use crate::frame::address;
use crate::frame::fault::PageResult;
use crate::frame::fields::Fields;
use crate::frame::flash::{Flash, Undo, done};
use crate::frame::format::Icon;
use crate::frame::navigation::{self, Crumb};
use crate::frame::page::{Page, html, safe_next};
use crate::frame::refuse;
use crate::frame::visit::{SubmittedForm, Visit};
use crate::wording::names;
use http_core::protocol::segments::encode_query;
use http_core::server::error;
use http_core::server::request::acquire_costly;

/// Limits on the places that a search by name finds and shows.
const MAX_LOOKED_AT: usize = 250;
const MAX_FOUND: usize = 50;
/// Limit on the recent places.
const MAX_RECENT: usize = 5;
/// Number of recent documents whose places are looked at.
const RECENT_DOCUMENTS: usize = 30;

/// Query parameters of the page.
#[derive(Deserialize)]
pub struct Plan {
    /// `move` or `copy`.
    action: String,
    /// Items, separated by commas.
    ids: String,
    /// The place that is shown.
    #[serde(default)]
    at: String,
    /// Page to which the way leads back.
    #[serde(default)]
    next: String,
    /// Name of a place that is looked for.
    #[serde(default)]
    find: String,
    /// Number of selected items, if `ids` are only the first of them.
    #[serde(default)]
    count: usize,
}

/// A place to which the user can go.
struct Step {
    href: String,
    name: String,
    /// Path of the place above it, if it is shown among places from elsewhere.
    above: String,
    /// Address of the place, if the items can go there at once.
    to: Option<String>,
    icon: Icon,
}

#[derive(Template)]
#[template(path = "place.html")]
struct PlacePage<'a> {
    page: &'a Page,
    title: String,
    crumbs: Vec<Crumb>,
    steps: Vec<Step>,
    recent: Vec<Step>,
    /// Text for a place without further steps.
    none: &'a str,
    ids: &'a str,
    count: usize,
    /// Label of the buttons that move or copy.
    here: &'a str,
    moves: bool,
    at: Id,
    find: &'a str,
    ready: bool,
    may_add_folder: bool,
    next: String,
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
    let next = safe_next(Some(plan.next.as_str()), &address::browse_parent(&item.path));
    let link = |at: Id| {
        let action = if moves { "move" } else { "copy" };
        let count = if plan.count > 0 { format!("&count={}", plan.count) } else { String::new() };
        format!("/place?action={action}&ids={}{count}&at={at}&next={}", join(&ids), encode_query(&next))
    };
    let leads = |child: &&Item| leads_on(item.kind, child.kind) && !ids.contains(&child.id);
    let step = |place: &Item, above: String| Step {
        href: link(place.id),
        name: place.shown_name().to_owned(),
        above,
        to: (takes(place.kind, item.kind) && place.rights.has(Right::Add)).then(|| address::browse(&place.path)),
        icon: names::icon_of(place),
    };
    let find = plan.find.trim();
    let (steps, recent) = if find.is_empty() {
        let (_, listed) = visit.session.list(&Target::Id(at), Sort::Name, false, None, MAX_PAGE).await?;
        let steps = listed.items.iter().filter(leads).map(|child| step(child, String::new())).collect();
        let recent = if plan.at.is_empty() { recent_places(&visit, &item, at).await? } else { Vec::new() };
        (steps, recent.iter().map(|place| step(place, above(place))).collect())
    } else {
        // Half of what a search by name returns can be places, also of other site collections.
        let found = visit.session.find_by_name(find, 2 * MAX_LOOKED_AT).await?;
        let in_reach = found.items.iter().filter(|place| place.collection_id == item.collection_id);
        (in_reach.filter(leads).take(MAX_FOUND).map(|place| step(place, above(place))).collect(), Vec::new())
    };
    let crumbs = way.iter().map(|above| Crumb { href: link(above.id), label: above.shown_name().to_owned() }).collect();
    let count = plan.count.max(ids.len());
    let what = if count == 1 {
        visit.page.f1("place.name", item.shown_name())
    } else {
        visit.page.n("selection.items", count)
    };
    let ready = find.is_empty() && takes(here.kind, item.kind) && !(moves && here.id == item.parent_id);
    let may_add_folder = find.is_empty()
        && matches!(item.kind, NodeKind::Document | NodeKind::Folder)
        && matches!(here.kind, NodeKind::Library | NodeKind::Folder)
        && here.rights.has(Right::Add);
    let none = match item.kind {
        _ if !find.is_empty() => "place.none-found",
        NodeKind::Site | NodeKind::Library | NodeKind::List => "place.no-sites",
        NodeKind::Row if here.kind == NodeKind::List => "place.list",
        NodeKind::Row => "place.no-lists",
        NodeKind::Folder | NodeKind::Document => "place.no-folders",
    };
    navigation::fill_side_bar(&mut visit, &way).await?;
    let page = &visit.page;
    Ok(html(&PlacePage {
        page,
        title: if moves { page.f1("place.move", what) } else { page.f1("place.copy", what) },
        crumbs,
        steps,
        recent,
        none: page.s(none),
        ids: &join(&ids),
        count: plan.count,
        here: page.s(if moves { "place.move-here" } else { "place.copy-here" }),
        moves,
        at,
        find,
        ready,
        may_add_folder,
        next,
        fault,
    }))
}

/// Returns the path of the place above another one, in words.
fn above(place: &Item) -> String {
    place.path.rsplit_once('/').map_or(String::new(), |(above, _)| above.replace('/', " / "))
}

/// Returns places into which the item could go, where the caller has lately changed documents.
async fn recent_places(visit: &Visit, item: &Item, here: Id) -> Result<Vec<Item>> {
    if !matches!(item.kind, NodeKind::Document | NodeKind::Folder) {
        return Ok(Vec::new());
    }
    let recent = visit.session.home(RECENT_DOCUMENTS).await?.recent;
    let mut known = HashSet::from([here, item.id]);
    let mut places = Vec::new();
    for document in recent.into_iter().filter(|document| document.collection_id == item.collection_id) {
        if places.len() < MAX_RECENT && known.insert(document.parent_id) {
            let place = known_item(visit, document.parent_id).await?;
            places.extend(place.filter(|place| takes(place.kind, item.kind) && place.rights.has(Right::Add)));
        }
    }
    Ok(places)
}

/// Returns an item; `None` if it is gone, or the caller may not know of it any more.
async fn known_item(visit: &Visit, id: Id) -> Result<Option<Item>> {
    match visit.session.item(&Target::Id(id)).await {
        Ok(item) => Ok(Some(item)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
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

/// Moves or copies the items to the chosen destination, and leads back to where they were.
pub async fn carry_out(sent: SubmittedForm) -> PageResult {
    let (session, fields) = (&sent.visit.session, &sent.fields);
    let ids = fields.ids("ids")?;
    let selected = fields.text("count").parse().unwrap_or(0);
    if ids.len() < selected && !is_batch(&sent) {
        let text = "only the first of the selected items are known here: go back, and select them again";
        return Err(Error::invalid(text).with_code(Code::TooMany).into());
    }
    // What is dropped on a link goes to where it leads.
    let to = match fields.text("to") {
        address if address.is_empty() => Target::Id(fields.id("at")?),
        address if address.starts_with("/browse") => {
            address::target(&address.parse().map_err(|_| Error::not_found("there is no such destination"))?)?
        }
        _ => return Err(Error::not_found("there is no such destination").into()),
    };
    let moves = fields.text("action") == "move";
    let _permit = if moves { None } else { acquire_costly()? };
    let from = if moves { one_parent(&sent.visit, &ids).await? } else { None };
    let outcomes = if moves { session.move_many(&ids, &to).await? } else { session.copy_many(&ids, &to).await? };
    let place = session.item(&to).await?;
    let moved: Vec<Id> = outcomes.iter().filter(|outcome| outcome.error.is_none()).map(|outcome| outcome.id).collect();
    let failed = outcomes.into_iter().filter_map(|outcome| Some((outcome.id, outcome.error?)));
    let mut failed: Vec<(Id, Error)> = failed.collect();
    if moved.is_empty() && !failed.is_empty() && !is_batch(&sent) {
        return choose_again(sent.visit, &plan_of(fields, place.id), failed.swap_remove(0).1).await;
    }
    let key = if moves { "toast.moved" } else { "toast.copied" };
    let undo = from.map_or(Undo::Nothing, |from| Undo::of_move(from, place.id, &moved));
    let next = fields.next(&address::browse(&place.path));
    finish(&sent, failed, &next, Flash { undo, ..Flash::new(key, place.name) }).await
}

fn plan_of(fields: &Fields, at: Id) -> Plan {
    Plan {
        action: fields.text("action"),
        ids: fields.text("ids"),
        at: at.to_string(),
        next: fields.text("next"),
        find: String::new(),
        count: fields.text("count").parse().unwrap_or(0),
    }
}

/// Returns the container of all items; `None` if they are in several, or too many to go back.
async fn one_parent(visit: &Visit, ids: &[Id]) -> Result<Option<Id>> {
    let mut parents = HashSet::new();
    if !Undo::has_room_for(ids.len()) {
        return Ok(None);
    }
    for id in ids {
        parents.extend(known_item(visit, *id).await?.map(|item| item.parent_id));
    }
    Ok(if parents.len() == 1 { parents.into_iter().next() } else { None })
}

/// Moves items back to where they were.
pub async fn undo_move(sent: SubmittedForm) -> PageResult {
    let ids = sent.fields.ids("ids")?;
    let [from, place, moved @ ..] = ids.as_slice() else {
        return Err(Error::invalid("nothing was moved").into());
    };
    // Items that somebody has moved on meanwhile stay where they are.
    for id in moved {
        let item = sent.visit.session.item(&Target::Id(*id)).await?;
        if item.parent_id != *place {
            let name = item.shown_name();
            let text = format!("\"{name}\" is not where it was moved to any more: move it by hand");
            return Err(Error::conflict(text).with_code(Code::MovedMeanwhile).into());
        }
    }
    let outcomes = sent.visit.session.move_many(moved, &Target::Id(*from)).await?;
    let all = outcomes.len();
    let failed = outcomes.into_iter().filter_map(|outcome| Some((outcome.id, outcome.error?)));
    let failed: Vec<(Id, Error)> = failed.collect();
    let (count, next) = (failed.len(), sent.fields.next("/"));
    match failed.into_iter().next() {
        Some((_, error)) if count == all => Err(error.into()),
        Some((id, error)) => {
            let text = format!("{count}/{all}, {}", failure(&sent.visit, id, &error).await);
            Ok(done(&next, &Flash::new("toast.some-failed", text)))
        }
        None => Ok(done(&next, &Flash::new("toast.moved-back", ""))),
    }
}

/// Shows the places with a name. It is not a GET, because the token of the form must not get into an address.
pub async fn find(sent: SubmittedForm) -> PageResult {
    let plan = Plan { find: sent.fields.text("find"), ..plan_of(&sent.fields, sent.fields.id("at")?) };
    show(sent.visit, &plan, String::new()).await
}

/// Creates a folder in the place that is shown, and goes into it.
pub async fn new_folder(sent: SubmittedForm) -> PageResult {
    let (at, name) = (sent.fields.id("at")?, sent.fields.trimmed("folder"));
    let first = sent.fields.ids("ids")?.first().copied().ok_or_else(|| Error::invalid("nothing was selected"))?;
    sent.visit.session.item(&Target::Id(first)).await?;
    let created = match Name::new(name) {
        Ok(name) => sent.visit.session.create_folder(&Target::Id(at), &name).await,
        Err(error) => Err(error),
    };
    match created {
        Ok(folder) => show(sent.visit, &plan_of(&sent.fields, folder.id), String::new()).await,
        Err(error) => choose_again(sent.visit, &plan_of(&sent.fields, at), error).await,
    }
}
