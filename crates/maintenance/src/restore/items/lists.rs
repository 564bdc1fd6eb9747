//! Lists and their rows.

use std::collections::HashSet;

use async_recursion::async_recursion as boxed;
use database::Reader;
use database::content::node::NodeRow;
use database::content::sorted::{self, RowFilter, SortOrder};
use database::content::{attachment, record};
use model::{ColumnValue, Digest, ErrorKind, Id, NodePath, Result};
use repository::Target;

use super::context::Walk;
use super::places::{Columns, comes_back};

const PAGE: usize = 200;

impl Walk<'_> {
    /// Restores a list. A row that the list still has is left as it is; the others are added with new numbers, as the
    /// caller's. Their earlier versions do not come back. Attachments of both are restored.
    #[boxed]
    pub async fn list(&mut self, path: &NodePath, row: &NodeRow) -> Result<()> {
        let columns = self.library(path, row).await?;
        let target = Target::Path(path.clone());
        let present = self.session.item(&target).await?;
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
                let own = values.iter().filter(|(id, _, _)| *id == row.id);
                let known = own.filter_map(|(_, column, value)| {
                    let (new, kind) = columns.columns.get(column)?;
                    comes_back(kind, value).then(|| (*new, value.clone()))
                });
                let known: Vec<(Id, ColumnValue)> = known.collect();
                let returned = self.return_row(present.id, row.id, &known).await;
                self.progress.count(1, 0);
                self.progress.add_files(1);
                match returned {
                    Ok(returned) => {
                        self.summary.created += 1;
                        if with_attachments.contains(&row.id) {
                            self.attachments(returned, row.id).await?;
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

    /// Adds a row, unless an earlier restore added it, and it is still there. Each time that it was deleted again, it
    /// gets another idempotency key.
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
