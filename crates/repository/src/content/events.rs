//! Reading the audit log of items and site collections.

use async_recursion::async_recursion as boxed;
use database::Reader;
use database::content::event::{self, EventRow};
use database::content::library;
use database::content::node::NodeRow;
use model::{Id, MAX_PAGE, Result, Right, Timestamp, Versioning};

use crate::content::event_detail::{Detail, DetailVisibility, WORKING_COPY};
use crate::items::page::Page;
use crate::{Session, Target};

/// Number of events that one call examines, whether they match or not.
const MAX_EXAMINED: i64 = 200_000;
/// Number of an item's events that one statement fetches, and limit on such steps per call.
const BATCH: usize = 1_000;
const STEPS: usize = 20;

/// Actions that may concern drafts or working copies, before anything is published.
const DRAFT_ACTIONS: [&str; 9] = [
    "document.check-in",
    "document.check-out",
    "document.discard",
    "document.reject",
    "document.replace",
    "document.submit",
    "document.withdraw",
    "version.delete",
    "version.restore",
];

/// The download of a document by the holder of a link. Earlier events of this kind name the user who created the link
/// as their actor.
const BY_LINK: &str = "link.use";

/// Returns whether an event is shown to readers who may not see drafts. Events about drafts and working copies are
/// hidden; everything that created a version for all readers is shown.
pub(crate) fn is_visible_without_drafts(event: &EventRow, node: &NodeRow, drafts: bool) -> bool {
    let detail = Detail::read(&event.detail);
    match event.action.as_str() {
        action if !DRAFT_ACTIONS.contains(&action) => true,
        // A draft may be left over from the time when the library still kept drafts.
        "document.replace" => {
            !drafts && node.version_id == node.published_id && !detail.deciding_text().ends_with(WORKING_COPY)
        }
        // The detail ends with the number of the new version.
        "document.check-in" | "version.restore" => !drafts || detail.deciding_text().ends_with(".0"),
        _ => !drafts,
    }
}

/// Filter for the events of an audit log.
#[derive(Clone, Debug, Default)]
pub struct AuditFilter {
    /// Only events of this user.
    pub actor: Option<Id>,
    /// Only events with this action, one of [`AUDIT_ACTIONS`].
    pub action: Option<String>,
}

/// An event of the audit log: an actor, an action and the item that it concerned.
#[derive(Clone, Debug)]
pub struct Event {
    /// Position in the order of events of the content database.
    pub sequence: i64,
    /// Time at which it happened.
    pub at: Timestamp,
    /// The actor; [`Id::NONE`] for a person who uses a share link.
    pub actor: Id,
    /// The item.
    pub item: Id,
    /// The action, such as `document.replace`.
    pub action: String,
    /// Details, as far as the reader's rights allow. The item's path at that time is shown only to managers of the site
    /// collection.
    pub detail: String,
}

impl Event {
    fn shown(row: EventRow, sight: DetailVisibility) -> Self {
        Self {
            sequence: row.sequence,
            at: row.at,
            actor: actor(&row),
            item: row.node_id,
            detail: Detail::read(&row.detail).visible_to(sight),
            action: row.action,
        }
    }
}

/// Returns the actor of an event; [`Id::NONE`] for the holder of a link.
pub(crate) fn actor(row: &EventRow) -> Id {
    if row.action == BY_LINK { Id::NONE } else { row.actor_id }
}

impl Session {
    /// Returns the events of an item, newest first; needs the right to view versions.
    ///
    /// A caller who may not see drafts does not see events about them. A caller who does not manage the site sees, of
    /// the reads, only their own. A page may be short and still have a `next`.
    #[boxed]
    pub async fn activity(&self, target: &Target, before: Option<i64>, limit: usize) -> Result<Page<Event, i64>> {
        let limit = limit.clamp(1, MAX_PAGE);
        let (_, listed) = self
            .view_to(Right::ViewVersions, target, move |reader, located| {
                let (node, rights) = (located.node(), located.rights());
                let (sees_drafts, drafts) = (located.sees_drafts(node), has_drafts(reader, node)?);
                let reads_of = if rights.has(Right::ManageSite) { None } else { Some(located.principal.id) };
                let sight =
                    if located.may_see_totals() { DetailVisibility::FULL } else { DetailVisibility::of(rights) };
                let batch = if sees_drafts { limit + 1 } else { BATCH };
                let (mut items, mut place) = (Vec::new(), before);
                for _ in 0..STEPS {
                    let rows = event::of_node(reader, node.id, place, reads_of, batch)?;
                    let is_last = rows.len() < batch;
                    place = rows.last().map(|row| row.sequence).or(place);
                    items.extend(
                        rows.into_iter().filter(|row| sees_drafts || is_visible_without_drafts(row, node, drafts)),
                    );
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

    /// Returns the audit log of a site collection, newest first; needs the right to manage the site.
    ///
    /// One call examines a bounded number of events. If few of them match, a page may be short or empty and still have
    /// a `next`. Only a page without `next` is the last one.
    #[boxed]
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
                let start = end.saturating_sub(MAX_EXAMINED).max(0);
                let rows = root.events(reader, start..end, filter.actor, filter.action.as_deref(), limit + 1)?;
                // Older link downloads carry the link's creator as their actor. They are shown without an actor, so a
                // filter by that person must not find them either.
                let mut listed = page(rows, limit, DetailVisibility::FULL);
                listed.items.retain(|event| filter.actor.is_none_or(|actor| event.actor == actor));
                listed.next = listed.next.or(Some(start).filter(|start| *start > 0));
                Ok(listed)
            })
            .await?;
        Ok(listed)
    }
}

/// Returns whether the library of an item keeps drafts.
pub(crate) fn has_drafts(reader: &mut Reader<'_>, node: &NodeRow) -> Result<bool> {
    let settings = library::find(reader, node.library_id)?;
    Ok(settings.is_some_and(|settings| settings.versioning == Versioning::MajorMinor))
}

fn page(mut rows: Vec<EventRow>, limit: usize, sight: DetailVisibility) -> Page<Event, i64> {
    let next = (rows.len() > limit).then(|| rows[limit - 1].sequence);
    rows.truncate(limit);
    Page { items: rows.into_iter().map(|row| Event::shown(row, sight)).collect(), next }
}
