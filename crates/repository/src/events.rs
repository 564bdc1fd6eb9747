//! Looking at what happened: the audit log of items and site collections.

use database::content::event::{self, EventRow};
use model::{Id, MAX_PAGE, Result, Right, Timestamp};

use crate::items::Page;
use crate::{Session, Target};

/// Who did what to which item.
#[derive(Clone, Debug)]
pub struct Event {
    /// Order of events in the content database.
    pub sequence: i64,
    /// When.
    pub at: Timestamp,
    /// Who.
    pub actor: Id,
    /// The item.
    pub item: Id,
    /// What, such as `document.replace`.
    pub action: String,
    /// The item's path at that time, and what else matters.
    pub detail: String,
}

impl From<EventRow> for Event {
    fn from(row: EventRow) -> Self {
        Self {
            sequence: row.sequence,
            at: row.at,
            actor: row.actor_id,
            item: row.node_id,
            action: row.action,
            detail: row.detail,
        }
    }
}

impl Session {
    /// What happened to an item, newest first; needs the right to see versions.
    pub async fn activity(&self, target: &Target, before: Option<i64>, limit: usize) -> Result<Page<Event, i64>> {
        let limit = limit.clamp(1, MAX_PAGE);
        let (_, rows) = self
            .inspect(target, move |reader, located| {
                located.require(Right::ViewVersions)?;
                event::of_node(reader, located.node().id, before, limit + 1)
            })
            .await?;
        Ok(page(rows, limit))
    }

    /// The audit log of a site collection, newest first; needs the right to manage the site.
    pub async fn audit_log(&self, collection: Id, before: Option<i64>, limit: usize) -> Result<Page<Event, i64>> {
        let limit = limit.clamp(1, MAX_PAGE);
        let (_, rows) = self
            .inspect(&collection.into(), move |reader, located| {
                located.require(Right::ManageSite)?;
                event::of_collection(reader, located.collection.id, before, limit + 1)
            })
            .await?;
        Ok(page(rows, limit))
    }
}

fn page(mut rows: Vec<EventRow>, limit: usize) -> Page<Event, i64> {
    let next = (rows.len() > limit).then(|| rows[limit - 1].sequence);
    rows.truncate(limit);
    Page { items: rows.into_iter().map(Into::into).collect(), next }
}
