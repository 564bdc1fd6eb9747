//! Lists and their rows.

use async_recursion::async_recursion as boxed;
use database::Reader;
use database::content::node::NodeRow;
use database::content::record;
use database::content::sorted::{self, RowFilter, SortOrder};
use model::{Digest, ErrorKind, Id, NodePath, Result};
use repository::{RowChange, Target};

use super::context::Walk;

const PAGE: usize = 200;

impl Walk<'_> {
    /// Restores a list. A row that the list still has is left as it is; the others are added with new numbers, as the
    /// caller's. Their earlier versions do not come back.
    #[boxed]
    pub async fn list(&mut self, path: &NodePath, row: &NodeRow) -> Result<()> {
        let columns = self.library(path, row).await?;
        let target = Target::Path(path.clone());
        let present = self.session.item(&target).await?;
        let mut after = Id::NONE;
        loop {
            let list = row.id;
            let read = move |reader: &mut Reader<'_>| {
                let rows = sorted::documents(reader, list, &SortOrder::Id(after), false, &RowFilter::default(), PAGE)?;
                let ids: Vec<Id> = rows.iter().map(|row| row.id).collect();
                Ok((record::values_of_many(reader, &ids, list)?, ids))
            };
            let (values, ids) = self.source.database.read_long(read).await?;
            let Some(last) = ids.last() else { return Ok(()) };
            after = *last;
            let mut changes = Vec::new();
            for id in ids {
                if self.stands(present.id, id).await? {
                    self.summary.unchanged += 1;
                    continue;
                }
                let own = values.iter().filter(|(row, _, _)| *row == id);
                let set = own.filter_map(|(_, column, value)| {
                    let (new, kind) = columns.columns.get(column)?;
                    kind.check(value).is_ok().then(|| (*new, Some(value.clone())))
                });
                changes.push((id, RowChange::Add { set: set.collect() }));
            }
            self.add_rows(path, present.id, changes).await?;
        }
    }

    /// Returns whether the list still has a row.
    async fn stands(&self, list: Id, row: Id) -> Result<bool> {
        match self.session.item(&row.into()).await {
            Ok(item) => Ok(item.parent_id == list),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Adds rows once, however often an interrupted restore is repeated.
    async fn add_rows(&mut self, path: &NodePath, list: Id, changes: Vec<(Id, RowChange)>) -> Result<()> {
        for (id, change) in changes {
            let key = format!("restore {id} to {list}");
            let session = self.session.clone().idempotent(&key, Digest::new([0; 32]));
            let outcome = session.change_rows(&list.into(), vec![change], true).await?.pop().unwrap_or_default();
            self.progress.count(1, 0);
            self.progress.add_files(1);
            match outcome.error {
                None => self.summary.created += 1,
                Some(error) => self.fault(&path.to_string(), &id.to_string(), &error)?,
            }
        }
        Ok(())
    }
}
