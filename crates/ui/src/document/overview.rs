//! The page of a document: its content, versions, columns and actions.

use askama::Template;
use axum::extract::{Path, State};
use axum::response::Response;
use model::{FaultState, Id, Right, Timestamp, VersionNumber};
use repository::{Item, Session, Target};

use super::approval::{self, Approval};
use super::edit_in::{self, Program};
use super::edit_online;
use super::links::{self, LinkRow};
use super::preview::{self, Preview};
use super::versions::{self, VersionRow};
use crate::frame::address;
use crate::frame::fault::PageResult;
use crate::frame::flash::{Flash, done};
use crate::frame::format::{self, Icon};
use crate::frame::navigation::{self, Crumb};
use crate::frame::page::{Page, html};
use crate::frame::visit::{SubmittedForm, Visit};
use crate::pages::page_document;
use crate::wording::{cells, events, names};
use http_core::protocol::content_type;
use http_core::server::state::AppState;

/// Limit on listed versions.
const MAX_VERSIONS: usize = 20;
/// Limit on listed events.
const MAX_EVENTS: usize = 8;

/// An event in the document's history.
struct RecentEvent {
    at: Timestamp,
    who: String,
    what: &'static str,
}

struct Fact {
    label: String,
    value: String,
    /// Address to which the value leads; empty for none.
    href: String,
    /// True if the address leads out of the server.
    is_outside: bool,
    /// Each of several values, if some of them have an address.
    parts: Vec<cells::Part>,
}

#[derive(Template)]
#[template(path = "document.html")]
struct DocumentPage<'a> {
    page: &'a Page,
    item: &'a Item,
    icon: Icon,
    crumbs: Vec<Crumb>,
    versions: Vec<VersionRow>,
    more_versions: bool,
    facts: Vec<Fact>,
    created_by: String,
    modified_by: String,
    held_by: Option<String>,
    open_by: Option<String>,
    may_unlock: bool,
    mine: bool,
    shown: bool,
    kind: String,
    may_edit: bool,
    /// Programs that edit the document, if the caller may.
    programs: Vec<Program>,
    /// True if the caller can edit the document in the browser, in the editor of an office server.
    edits_online: bool,
    /// True if the caller can edit the text in the browser.
    edits_text: bool,
    /// True if the caller can edit the document and has to check it out first.
    must_check_out: bool,
    /// Mark of the shown state: see [`edit_in::mark_of`].
    mark: String,
    free: bool,
    may_delete: bool,
    may_override: bool,
    may_permit: bool,
    /// The known fault of the visible version's content.
    fault: Option<FaultState>,
    administers: bool,
    preview: Preview,
    pages: Option<String>,
    follows: bool,
    /// True if the versions are text and can be compared.
    comparable: bool,
    deeds: Vec<RecentEvent>,
    approval: Approval,
    links: Option<Vec<LinkRow>>,
}

/// Shows the page of an item that has already been found.
pub async fn show(visit: &Visit, way: &[Item], item: &Item) -> PageResult {
    let target = Target::Id(item.id);
    let session = &visit.session;
    let may_see = item.rights.has(Right::ViewVersions);
    let faults = session.content_faults(&target).await?;
    let (versions, next) =
        if may_see { versions::rows(visit, item, &faults, None, MAX_VERSIONS).await? } else { (Vec::new(), None) };
    let mut people = vec![item.created_by, item.modified_by];
    people.extend(item.check_out.map(|held| held.by));
    people.extend(item.locked_by);
    let names = session.principal_names(&people).await?;
    let deeds = if may_see { deeds(visit, &target).await? } else { Vec::new() };
    let links = if item.rights.has(Right::Edit) { links::of(visit, item).await? } else { None };
    let own = item.check_out.is_some_and(|held| held.by == session.principal().id);
    let free = own || item.check_out.is_none();
    let may_write = item.rights.has(Right::Edit) && free;
    let must_check_out = may_write && !own && session.library_settings(&target).await?.require_checkout;
    Ok(html(&DocumentPage {
        page: &visit.page,
        icon: names::icon_of(item),
        crumbs: navigation::crumbs(way),
        versions,
        more_versions: next.is_some(),
        facts: facts(visit, item, &target).await?,
        created_by: names::name_of(&names, item.created_by),
        modified_by: names::name_of(&names, item.modified_by),
        held_by: item.check_out.map(|held| names::name_of(&names, held.by)),
        open_by: item.locked_by.map(|holder| names::name_of(&names, holder)),
        may_unlock: may_unlock(session, item),
        mine: own,
        kind: format::media(visit.page.language, &item.media_type, &item.name).into_owned(),
        shown: content_type::shown_as(&item.media_type).is_some(),
        may_edit: item.rights.has(Right::Edit),
        programs: if may_write { edit_in::programs(&item.name) } else { Vec::new() },
        edits_online: may_write && edit_online::can_edit(visit, &item.name),
        edits_text: may_write && page_document::is_text(item),
        must_check_out,
        mark: edit_in::mark_of(item),
        free,
        may_delete: item.rights.has(Right::Delete) && free,
        may_override: item.rights.has(Right::Override),
        may_permit: item.rights.has(Right::ManagePermissions),
        fault: item.version_id.and_then(|id| versions::fault_of(&faults, id)),
        administers: session.principal().farm_administrator,
        preview: preview::of(session, item).await,
        pages: preview::pages(visit, item),
        comparable: preview::is_comparable(item),
        follows: session.follows(&target).await?,
        deeds,
        approval: approval::of(visit, item).await?,
        links,
        item,
    }))
}

/// Returns the latest events.
async fn deeds(visit: &Visit, target: &Target) -> model::Result<Vec<RecentEvent>> {
    let events = visit.session.activity(target, None, MAX_EVENTS).await?.items;
    let actors: Vec<Id> = events.iter().map(|event| event.actor).collect();
    let names = visit.session.principal_names(&actors).await?;
    let deed = |event: repository::Event| RecentEvent {
        at: event.at,
        who: events::who(&visit.page, &names, event.actor),
        what: events::words(&visit.page, &event.action),
    };
    Ok(events.into_iter().map(deed).collect())
}

async fn facts(visit: &Visit, item: &Item, target: &Target) -> model::Result<Vec<Fact>> {
    let (columns, _) = visit.session.columns(target).await?;
    if columns.is_empty() {
        return Ok(Vec::new());
    }
    let values = visit.session.values(target).await?;
    let names = visit.session.value_names(target, &values.iter().map(|(_, value)| value).collect::<Vec<_>>()).await?;
    let facts = columns.into_iter().filter(|column| cells::applies(item, column)).map(|column| {
        let value = values.iter().find(|(id, _)| *id == column.id).map(|(_, value)| value);
        let text = value.map_or_else(|| "–".to_owned(), |value| cells::text(&visit.page, value, &names).into_owned());
        let href = value.map(|value| cells::address_of(&column, value, &names).into_owned()).unwrap_or_default();
        let parts = value.map(|value| cells::parts(&visit.page, &column, value, &names)).unwrap_or_default();
        Fact { is_outside: column.kind == model::ColumnKind::Link, label: column.name, value: text, href, parts }
    });
    Ok(facts.collect())
}

/// Restores an earlier version as the newest one.
pub async fn restore_version(Path((id, number)): Path<(String, String)>, sent: SubmittedForm) -> PageResult {
    let target = Target::Id(id.parse()?);
    let number: VersionNumber = number.parse()?;
    let comment = sent.visit.page.f1("document.restored-from", number);
    let restored = sent.visit.session.restore_version(&target, number, comment).await?;
    stay(&sent, &target, Flash::new("toast.version-restored", restored.to_string())).await
}

/// Deletes an earlier version permanently.
pub async fn delete_version(Path((id, number)): Path<(String, String)>, sent: SubmittedForm) -> PageResult {
    let target = Target::Id(id.parse()?);
    let number: VersionNumber = number.parse()?;
    sent.visit.session.delete_version(&target, number).await?;
    stay(&sent, &target, Flash::new("toast.version-deleted", number.to_string())).await
}

/// Checks the document out for the caller.
pub async fn check_out(State(_): State<AppState>, Path(id): Path<String>, sent: SubmittedForm) -> PageResult {
    let target = Target::Id(id.parse()?);
    sent.visit.session.check_out(&target).await?;
    stay(&sent, &target, Flash::new("toast.checked-out", "")).await
}

/// Returns whether the caller may end the locks that client programs hold on an item.
pub fn may_unlock(session: &Session, item: &Item) -> bool {
    item.locked_by == Some(session.principal().id) || item.rights.has(Right::Override)
}

/// Ends the locks that client programs hold on the item or its parents.
pub async fn unlock(Path(id): Path<String>, sent: SubmittedForm) -> PageResult {
    let target = Target::Id(id.parse()?);
    let session = &sent.visit.session;
    let mut locked: Vec<Id> = session.locks(&target).await?.into_iter().map(|lock| lock.item).collect();
    locked.sort_unstable();
    locked.dedup();
    for item in locked {
        session.break_locks(&item.into()).await?;
    }
    finish(&sent, &target, Flash::new("toast.unlocked", "")).await
}

/// Publishes the draft.
pub async fn publish(Path(id): Path<String>, sent: SubmittedForm) -> PageResult {
    let target = Target::Id(id.parse()?);
    let number = sent.visit.session.publish(&target, "").await?;
    finish(&sent, &target, Flash::new("toast.published", number.to_string())).await
}

/// Redirects to the page that the form names: one with the button, or what the user wanted to do next.
async fn stay(sent: &SubmittedForm, target: &Target, flash: Flash) -> PageResult<Response> {
    let item = sent.visit.session.item(target).await?;
    Ok(done(&sent.fields.next(&address::browse(&item.path)), &flash))
}

async fn finish(sent: &SubmittedForm, target: &Target, flash: Flash) -> PageResult<Response> {
    let item = sent.visit.session.item(target).await?;
    Ok(done(&address::browse(&item.path), &flash))
}
