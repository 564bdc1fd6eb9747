//! Lists and their rows.

use std::collections::HashSet;

use async_recursion::async_recursion as boxed;
use database::Reader;
use database::content::node::NodeRow;
use database::content::sorted::{self, RowFilter, SortOrder};
use database::content::{attachment, record};
use model::{Code, ColumnKind, ColumnValue, Digest, Error, ErrorKind, Id, MAX_PAGE, NodePath, Result};
use repository::{MAX_CHANGES, RowChange, Sort, Target};

use super::context::{TOLD, Walk};
use super::destination::{Columns, Place, in_order};

const PAGE: usize = 200;

/// A value of a restored row that names rows of which some have not come back yet.
struct Early {
    list: Id,
    row: Id,
    column: Id,
    /// The value and the kind of its column in the set.
    value: ColumnValue,
    kind: ColumnKind,
    /// Value that the row has meanwhile. If somebody changes it, the change stays.
    was: Option<ColumnValue>,
}

impl Walk<'_> {
    /// Brings the rows of lists back, each list after those whose rows it names as far as that is possible.
    #[boxed]
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
                let with_attachments = attachment::rows_with(reader, &ids)?.iter().map(|row| row.id).collect();
                Ok((record::values_of_many(reader, &ids, list)?, rows, with_attachments))
            };
            let (values, rows, with_attachments): (_, _, HashSet<Id>) = self.source.database.read_long(read).await?;
            let Some(last) = rows.last() else { return Ok(()) };
            after = last.id;
            for row in rows {
                if self.has_row(present.id, row.id).await? {
                    self.summary.unchanged += 1;
                    if with_attachments.contains(&row.id) {
                        self.attachments(path, row.id, &row).await?;
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
                            if !self.lookups.is_early(kind, value) {
                                return None;
                            }
                            let was = known.iter().find(|(known, _)| known == column).map(|(_, value)| value.clone());
                            let (list, column) = (present.id, *column);
                            Some(Early { list, row: new, column, value: value.clone(), kind: kind.clone(), was })
                        });
                        early.extend(waiting);
                        // Before its attachments, which inherit them.
                        self.grants(&new.into(), &row, &format!("{path}/{}", row.name)).await?;
                        if with_attachments.contains(&row.id) {
                            self.attachments(path, new, &row).await?;
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
        let mut waiting: Vec<&[Early]> = early.chunk_by(|a, b| a.list == b.list).collect();
        while let Some(some) = waiting.pop() {
            let Some(first) = some.first() else { continue };
            let edit = |Early { row, column, value, kind, was, .. }: &Early| {
                let value = self.lookups.value(kind, value).filter(|value| Some(value) != was.as_ref())?;
                let set = vec![(*column, Some(value))];
                Some(RowChange::Edit { row: *row, revision: None, was: vec![(*column, was.clone())], set })
            };
            // A request names each row once, and takes so many rows and so much text.
            let is_distinct = some.windows(2).all(|pair| pair[0].row != pair[1].row);
            if some.len() > 1 && (some.len() > MAX_CHANGES || !is_distinct) {
                waiting.extend(halves(some));
                continue;
            }
            let changes: Vec<RowChange> = some.iter().filter_map(edit).collect();
            match self.session.change_rows(&first.list.into(), changes, false).await {
                Ok(outcomes) => {
                    for error in outcomes.into_iter().filter_map(|outcome| outcome.error) {
                        if error.code() != Code::ValueChanged {
                            self.lose_entry(&error);
                        }
                    }
                }
                Err(error) if error.code() == Code::TooMuchAtOnce && some.len() > 1 => waiting.extend(halves(some)),
                Err(error) if error.kind() == ErrorKind::Unavailable => return Err(error),
                Err(error) => self.lose_entry(&error),
            }
        }
        Ok(())
    }

    fn lose_entry(&mut self, error: &Error) {
        if self.summary.faults.len() < TOLD {
            self.summary.faults.push(format!("a row is back without an entry that it named: {}", error.message()));
        }
    }

    /// Restores the attachments that a row had, as documents are restored into a folder. Those that a row has now stay
    /// as they are.
    async fn attachments(&mut self, list: &NodePath, to: Id, row: &NodeRow) -> Result<()> {
        let folder = match self.session.import_attachments(&to.into()).await {
            // Somebody has deleted the row meanwhile.
            Err(error) if error.kind() == ErrorKind::NotFound => {
                return self.fault(&list.to_string(), &row.name, &error);
            }
            folder => folder?,
        };
        let (_, present) = self.session.list(&to.into(), Sort::Name, false, None, MAX_PAGE).await?;
        let present: HashSet<String> = present.items.iter().map(|item| model::fold(&item.name)).collect();
        let (mut after, row) = (String::new(), row.id);
        loop {
            let from = after.clone();
            let read = move |reader: &mut Reader<'_>| {
                sorted::leaves(reader, row, &SortOrder::Name(&from), false, &RowFilter::default(), PAGE)
            };
            let mut page = self.source.database.read_long(read).await?;
            let Some(last) = page.last() else { return Ok(()) };
            after.clone_from(&last.folded);
            let count = page.len();
            page.retain(|attachment| !present.contains(&attachment.folded));
            self.summary.unchanged += (count - page.len()) as u64;
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

/// Returns the halves of more than one value.
fn halves(some: &[Early]) -> [&[Early]; 2] {
    let (one, other) = some.split_at(some.len() / 2);
    [one, other]
}
