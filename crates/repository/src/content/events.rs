//! Looking at what happened: the audit log of items and site collections.

use database::Reader;
use database::content::event::{self, EventRow};
use database::content::library;
use database::content::node::NodeRow;
use model::{Id, MAX_PAGE, Result, Right, Timestamp, Versioning};

use crate::content::event_detail::{Detail, Sight, WORKING_COPY};
use crate::items::page::Page;
use crate::{Session, Target};

/// Events that one call looks at, whether they match or not.
const LOOKED_AT: i64 = 200_000;
/// Events of an item that one statement brings, and how many such steps there are at most.
const BATCH: usize = 1_000;
const STEPS: usize = 20;

/// What is done to drafts and working copies before anything is published.
const ABOUT_DRAFTS: [&str; 6] = [
    "document.check-in",
    "document.check-out",
    "document.discard",
    "document.replace",
    "version.delete",
    "version.restore",
];

/// The download of a document by somebody who has a link. Earlier events name who made the link.
const BY_LINK: &str = "link.use";

/// Whether readers who may not see drafts hear of an event: not of drafts and working copies, but of everything that made
/// a version for all.
pub(crate) fn is_for_all(event: &EventRow, node: &NodeRow, drafts: bool) -> bool {
    let detail = Detail::read(&event.detail);
    match event.action.as_str() {
        action if !ABOUT_DRAFTS.contains(&action) => true,
        // A draft may be left from the time when the library had them.
        "document.replace" => {
            !drafts && node.version_id == node.published_id && !detail.ending().ends_with(WORKING_COPY)
        }
        // The number of the new version stands at the end.
        "document.check-in" | "version.restore" => !drafts || detail.ending().ends_with(".0"),
        _ => !drafts,
    }
}

/// Which events of an audit log are wanted.
#[derive(Clone, Debug, Default)]
pub struct AuditFilter {
    /// Only what this person did.
    pub actor: Option<Id>,
    /// Only this action, one of [`AUDIT_ACTIONS`].
    pub action: Option<String>,
}

/// Who did what to which item.
#[derive(Clone, Debug)]
pub struct Event {
    /// Order of events in the content database.
    pub sequence: i64,
    /// When.
    pub at: Timestamp,
    /// Who; [`Id::NONE`] for somebody who has a link.
    pub actor: Id,
    /// The item.
    pub item: Id,
    /// What, such as `document.replace`.
    pub action: String,
    /// Particulars, as far as the reader's rights reach: the item's path at that time only for who manages the site
    /// collection.
    pub detail: String,
}

impl Event {
    fn shown(row: EventRow, sight: Sight) -> Self {
        Self {
            sequence: row.sequence,
            at: row.at,
            actor: actor(&row),
            item: row.node_id,
            detail: Detail::read(&row.detail).shown(sight),
            action: row.action,
        }
    }
}

/// Returns who did it; [`Id::NONE`] for somebody who has a link.
pub(crate) fn actor(row: &EventRow) -> Id {
    if row.action == BY_LINK { Id::NONE } else { row.actor_id }
}

impl Session {
    /// What happened to an item, newest first; needs the right to see versions. Who may not see drafts does not hear of
    /// work on them, and who does not manage the site sees of reads only their own. A page may be short and still have a `next`.
    pub async fn activity(&self, target: &Target, before: Option<i64>, limit: usize) -> Result<Page<Event, i64>> {
        let limit = limit.clamp(1, MAX_PAGE);
        let (_, listed) = self
            .view_to(Right::ViewVersions, target, move |reader, located| {
                let (node, rights) = (located.node(), located.rights());
                let (sees_drafts, drafts) = (located.sees_drafts(node), has_drafts(reader, node)?);
                let reads_of = if rights.has(Right::ManageSite) { None } else { Some(located.principal.id) };
                let sight = if located.knows_totals() { Sight::WHOLE } else { Sight::of(rights) };
                let batch = if sees_drafts { limit + 1 } else { BATCH };
                let (mut items, mut place) = (Vec::new(), before);
                for _ in 0..STEPS {
                    let rows = event::of_node(reader, node.id, place, reads_of, batch)?;
                    let is_last = rows.len() < batch;
                    place = rows.last().map(|row| row.sequence).or(place);
                    items.extend(rows.into_iter().filter(|row| sees_drafts || is_for_all(row, node, drafts)));
                    if is_last || items.len() > limit {
                        return Ok(page(items, limit, sight));
                    }
                }
                let listed = page(items, limit, sight);
                Ok(Page { next: listed.next.or(place), ..listed })
            })
            .await?;
        Ok(listed)
    }

    /// The audit log of a site collection, newest first; needs the right to manage the site.
    ///
    /// One call looks at a bounded number of events: where few of them match, a page may be short or empty and still have a
    /// `next`. Only a page without `next` is the last one.
    pub async fn audit_log(
        &self,
        collection: Id,
        filter: AuditFilter,
        before: Option<i64>,
        limit: usize,
    ) -> Result<Page<Event, i64>> {
        let limit = limit.clamp(1, MAX_PAGE);
        let (_, listed) = self
            .inspect_root(collection, move |reader, root| {
                let root = root.managed()?;
                let end = match before {
                    Some(before) => before,
                    None => event::last(reader)?.saturating_add(1),
                };
                let start = end.saturating_sub(LOOKED_AT).max(0);
                let rows = root.events(reader, start..end, filter.actor, filter.action.as_deref(), limit + 1)?;
                // What is said of who has a link says nothing of the one whose name earlier events have.
                let mut listed = page(rows, limit, Sight::WHOLE);
                listed.items.retain(|event| filter.actor.is_none_or(|actor| event.actor == actor));
                listed.next = listed.next.or(Some(start).filter(|start| *start > 0));
                Ok(listed)
            })
            .await?;
        Ok(listed)
    }
}

/// Whether the library of an item keeps drafts.
pub(crate) fn has_drafts(reader: &mut Reader<'_>, node: &NodeRow) -> Result<bool> {
    let settings = library::find(reader, node.library_id)?;
    Ok(settings.is_some_and(|settings| settings.versioning == Versioning::MajorMinor))
}

fn page(mut rows: Vec<EventRow>, limit: usize, sight: Sight) -> Page<Event, i64> {
    let next = (rows.len() > limit).then(|| rows[limit - 1].sequence);
    rows.truncate(limit);
    Page { items: rows.into_iter().map(|row| Event::shown(row, sight)).collect(), next }
}
