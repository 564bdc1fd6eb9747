//! The revisions of a row: its fields as they are, and as they were.

use async_recursion::async_recursion as boxed;
use database::Reader;
use database::content::column::{self, ColumnRow};
use database::content::record;
use database::content::revision::{self, Revision};
use model::{ColumnValue, Id, NodeKind, Result, Right, Timestamp};

use crate::items::page::Page;
use crate::session::known::Viewed;
use crate::{Session, Target};

/// Limit on the revisions of a row on one page, since each can have 256 KiB.
const MAX_REVISIONS: usize = 100;

/// A number greater than that of any revision. The database has signed numbers.
const END: u32 = i32::MAX as u32;

/// The present or an earlier revision of a row.
#[derive(Clone, Debug)]
pub struct RowRevision {
    /// Identifier; the entity tag of the row while this is the present revision.
    pub id: Id,
    /// Number, from 1. Later revisions have greater numbers.
    pub number: u32,
    /// Time at which it was stored.
    pub at: Timestamp,
    /// The user who stored it.
    pub by: Id,
    /// Its values, in the order of the columns.
    pub values: Vec<(Id, ColumnValue)>,
}

impl RowRevision {
    fn new(columns: &[ColumnRow], stored: &Revision) -> Result<Self> {
        let mut values = Vec::new();
        for column in columns {
            values.extend(stored.fields.get(column.slot, &column.kind)?.map(|value| (column.id, value)));
        }
        Ok(Self { id: stored.id, number: stored.number, at: stored.at, by: stored.by, values })
    }
}

impl Session {
    /// Returns the revisions of a row, newest first, at most 100, beginning before the number `before`. Without it, the
    /// page begins with the present revision.
    ///
    /// # Errors
    /// `NotFound`; `Forbidden`; `Conflict` with code `wrong_kind` for an item that is not a row.
    #[boxed]
    pub async fn row_revisions(
        &self,
        row: &Target,
        before: Option<u32>,
        limit: usize,
    ) -> Result<Page<RowRevision, u32>> {
        let limit = limit.clamp(1, MAX_REVISIONS);
        let read = move |reader: &mut Reader<'_>, located: &Viewed| {
            located.require_kind(NodeKind::Row)?;
            located.require(Right::ViewVersions)?;
            let row = located.node();
            let columns = column::list(reader, row.library_id)?;
            let before = before.unwrap_or(END).min(END);
            let mut revisions = Vec::new();
            if let Some(id) = row.version_id.filter(|_| row.number.major < before) {
                let fields = record::find(reader, row.id)?.unwrap_or_default();
                let (number, at, by) = (row.number.major, row.modified_at, row.modified_by);
                revisions.push(RowRevision::new(&columns, &Revision { id, number, fields, at, by })?);
            }
            for earlier in revision::list(reader, row.id, before, limit + 1)? {
                revisions.push(RowRevision::new(&columns, &earlier)?);
            }
            let next = (revisions.len() > limit).then(|| revisions[limit - 1].number);
            revisions.truncate(limit);
            Ok(Page { items: revisions, next })
        };
        Ok(self.view(row, read).await?.1)
    }
}
