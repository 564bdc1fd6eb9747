//! Lists and their rows.

use std::collections::HashSet;

use database::Reader;
use database::content::sorted::{self, RowFilter, SortOrder};
use database::content::{attachment, record};
use model::{ColumnValue, Digest, ErrorKind, Id, Result};
use repository::{MAX_CHANGES, RowChange, Target};

use super::context::Walk;
use super::lookups::in_order;
use super::places::{Columns, Place};

const PAGE: usize = 200;

/// A value of a restored row that names a row which has not come back yet.
struct Early {
    list: Id,
    row: Id,
    column: Id,
    /// The named row, as the set identifies it.
    named: Id,
}

impl Walk<'_> {
    /// Brings the rows of lists back, each list after those whose rows it names as far as that is possible.
    pub async fn lists(&mut self, lists: Vec<Place>) -> Result<()> {
        let mut early = Vec::new();
        for place in in_order(lists) {
            self.rows(&place, &mut early).await?;
        }
        self.name_rows(early).await
    }

    /// Brings the rows of a list back. A row that the list still has is left as it is; the others are added with new
    /// numbers, as the caller's. Their earlier versions do not come back. Adds those that name rows which come later to
    /// `early`. Attachments of both are restored.
    async fn rows(&mut self, place: &Place, early: &mut Vec<Early>) -> Result<()> {
        let Place { path, row, columns, .. } = place;
        let present = self.session.item(&Target::Path(path.clone())).await?;
        let mut after = Id::NONE;
        loop {
            let list = row.id;
            let read = move |reader: &mut Reader<'_>| {
                let rows = sorted::leaves(reader, list, &SortOrder::Id(after), false, &RowFilter::default(), PAGE)?;
                let ids: Vec<Id> = rows.iter().map(|row| row.id).collect();
                let with_attachments = attachment::counts(reader, &ids)?.iter().map(|counted| counted.row).collect();
                Ok((record::values_of_many(reader, &ids, list)?, rows, with_attachments))
            };
            let (values, rows, with_attachments): (_, _, HashSet<Id>) = self.source.database.read_long(read).await?;
            let Some(last) = rows.last() else { return Ok(()) };
            after = last.id;
            for row in rows {
                if self.has_row(present.id, row.id).await? {
                    self.summary.unchanged += 1;
                    if with_attachments.contains(&row.id) {
                        self.attachments(row.id, row.id).await?;
                    }
                    continue;
                }
                let own: Vec<_> = values.iter().filter(|(id, _, _)| *id == row.id).collect();
                let known = own.iter().filter_map(|(_, column, value)| self.value(columns, *column, value));
                let known: Vec<(Id, ColumnValue)> = known.collect();
                let returned = self.return_row(present.id, row.id, &known).await;
                self.progress.count(1, 0);
                self.progress.add_files(1);
                match returned {
                    Ok(new) => {
                        self.summary.created += 1;
                        self.lookups.row_is_back(list, row.id, new);
                        let waiting = own.iter().filter_map(|(_, column, value)| {
                            let (column, kind) = columns.columns.get(column)?;
                            Some((*column, self.lookups.missing(kind, value)?))
                        });
                        early.extend(waiting.map(|(column, named)| Early {
                            list: present.id,
                            row: new,
                            column,
                            named,
                        }));
                        if with_attachments.contains(&row.id) {
                            self.attachments(new, row.id).await?;
                        }
                    }
                    Err(error) if matches!(error.kind(), ErrorKind::Invalid | ErrorKind::Exhausted) => {
                        self.fault(&path.to_string(), &row.name, &error)?;
                    }
                    Err(error) => return Err(error),
                }
            }
        }
    }

    /// Completes rows that came back before those that they name.
    async fn name_rows(&mut self, early: Vec<Early>) -> Result<()> {
        for some in early.chunk_by(|a, b| a.list == b.list).flat_map(|of_list| of_list.chunks(MAX_CHANGES)) {
            let mut changes: Vec<RowChange> = Vec::with_capacity(some.len());
            for Early { row, column, named, .. } in some {
                let Some(named) = self.lookups.restored_row(*named) else { continue };
                let field = (*column, Some(ColumnValue::Lookup(named)));
                match changes.last_mut() {
                    Some(RowChange::Edit { row: last, set, .. }) if last == row => set.push(field),
                    _ => changes.push(RowChange::Edit { row: *row, revision: None, was: Vec::new(), set: vec![field] }),
                }
            }
            let Some(list) = some.first().map(|first| first.list).filter(|_| !changes.is_empty()) else { continue };
            for outcome in self.session.change_rows(&list.into(), changes, false).await? {
                if let Some(error) = outcome.error {
                    self.note(format!("a row was restored without an entry that it named: {}", error.message()));
                }
            }
        }
        Ok(())
    }

    /// Restores the attachments that a row had, as documents are restored into a folder.
    async fn attachments(&mut self, to: Id, row: Id) -> Result<()> {
        let folder = self.session.import_attachments(&to.into()).await?;
        let mut after = String::new();
        loop {
            let from = after.clone();
            let read = move |reader: &mut Reader<'_>| {
                sorted::leaves(reader, row, &SortOrder::Name(&from), false, &RowFilter::default(), PAGE)
            };
            let page = self.source.database.read_long(read).await?;
            let Some(last) = page.last() else { return Ok(()) };
            after.clone_from(&last.folded);
            self.documents(&folder, page, &Columns::default(), false).await?;
        }
    }

    /// Returns whether the list still has a row.
    async fn has_row(&self, list: Id, row: Id) -> Result<bool> {
        match self.session.item(&row.into()).await {
            Ok(item) => Ok(item.parent_id == list),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Adds a row, unless an earlier restore added it, and it is still there. Returns its identifier. Each time that it
    /// was deleted again, it gets another idempotency key.
    async fn return_row(&self, list: Id, row: Id, values: &[(Id, ColumnValue)]) -> Result<Id> {
        let mut round = 0;
        loop {
            let key = format!("restore {row} to {list}, round {round}");
            let session = self.session.clone().idempotent(&key, Digest::new([0; 32]));
            let returned = session.return_row(&list.into(), values.to_vec()).await?;
            if self.has_row(list, returned).await? {
                return Ok(returned);
            }
            round += 1;
        }
    }
}
