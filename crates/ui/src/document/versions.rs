//! Paged list of a document's versions.

use askama::Template;
use axum::extract::{Path, Query};
use model::{FaultState, Id, NodeKind, Result, Right, Timestamp, VersionNumber};
use repository::{Item, Target};
use serde::Deserialize;

use super::preview;
use crate::frame::fault::PageResult;
use crate::frame::navigation::{self, Crumb};
use crate::frame::page::{Page, html};
use crate::frame::visit::Visit;
use crate::wording::names;

/// Versions per page.
const LIMIT: usize = 50;

/// A row of the version table.
pub struct VersionRow {
    pub number: VersionNumber,
    pub at: Timestamp,
    pub by: String,
    pub size: u64,
    pub comment: String,
    pub current: bool,
    /// The known fault of the version's content.
    pub fault: Option<FaultState>,
}

#[derive(Template)]
#[template(path = "versions.html")]
struct VersionsPage<'a> {
    page: &'a Page,
    item: &'a Item,
    crumbs: Vec<Crumb>,
    versions: Vec<VersionRow>,
    next: Option<Id>,
    may_edit: bool,
    free: bool,
    may_override: bool,
    comparable: bool,
}

/// Query parameters: the start of the page.
#[derive(Deserialize)]
pub struct PageQuery {
    before: Option<String>,
}

/// The page.
pub async fn show(mut visit: Visit, Path(id): Path<String>, Query(part): Query<PageQuery>) -> PageResult {
    let way = visit.session.item_with_ancestors(&Target::Id(id.parse()?)).await?;
    navigation::fill_side_bar(&mut visit, &way).await?;
    let item = way.last().ok_or_else(|| model::Error::not_found("there is no such item"))?;
    let before = part.before.map(|before| before.parse()).transpose()?;
    let faults = visit.session.content_faults(&Target::Id(item.id)).await?;
    let (versions, next) = rows(&visit, item, &faults, before, LIMIT).await?;
    let mine = item.check_out.is_some_and(|held| held.by == visit.session.principal().id);
    Ok(html(&VersionsPage {
        page: &visit.page,
        crumbs: navigation::crumbs(&way),
        versions,
        next,
        may_edit: item.rights.has(Right::Edit),
        free: mine || item.check_out.is_none(),
        may_override: item.rights.has(Right::Override),
        comparable: item.kind == NodeKind::Document && preview::is_comparable(item),
        item,
    }))
}

/// Returns the versions that the caller may see, newest first, and the start of the next page.
pub async fn rows(
    visit: &Visit,
    item: &Item,
    faults: &[(Id, FaultState)],
    before: Option<Id>,
    limit: usize,
) -> Result<(Vec<VersionRow>, Option<Id>)> {
    let session = &visit.session;
    let found = session.versions(&Target::Id(item.id), before, limit).await?;
    let people: Vec<Id> = found.items.iter().map(|version| version.created_by).collect();
    let names = session.principal_names(&people).await?;
    let rows = found.items.into_iter().map(|version| VersionRow {
        fault: fault_of(faults, version.id),
        number: version.number,
        at: version.created_at,
        by: names::name_of(&names, version.created_by),
        size: version.size,
        comment: version.comment,
        current: item.version_id == Some(version.id),
    });
    Ok((rows.collect(), found.next))
}

/// Returns the known fault of a version's content.
pub fn fault_of(faults: &[(Id, FaultState)], id: Id) -> Option<FaultState> {
    faults.iter().find(|(version, _)| *version == id).map(|(_, state)| *state)
}
