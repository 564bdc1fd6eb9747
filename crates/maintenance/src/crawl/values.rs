//! Values in columns whose library or column has changed, or that were computed again: their documents and rows are
//! written to the index again.

use std::collections::HashSet;

use database::Reader;
use database::content::node::NodeRow;
use database::content::sorted::{self, RowFilter, SortOrder};
use database::content::{column, feed, node};
use model::{Id, NodeKind, Result};

use super::blocking::blocking;
use super::comparison::{BATCH as BATCH_COMPARED, undamaged_entries};
use super::follow::{BATCH_BELOW, COMMIT_TEXTS, Follower};

impl Follower {
    /// Writes the documents and rows in a library or list with indexed values in columns that are gone.
    pub(super) async fn write_values(&mut self, library: Id) -> Result<()> {
        let read = move |reader: &mut Reader<'_>| column::list(reader, library);
        let columns = self.database.database.read(read).await?;
        let known: HashSet<Id> = columns.into_iter().map(|column| column.id).collect();
        let view = self.committed_view().await?;
        let documents = blocking(move || view.documents_with_other_values(library, &known)).await?;
        for documents in documents.chunks(BATCH_BELOW) {
            self.write_items(documents.to_vec(), COMMIT_TEXTS).await?;
        }
        Ok(())
    }

    /// Writes the documents and rows in a library or list with other values than the indexed ones. Computing leaves no
    /// event for each of them.
    pub(super) async fn write_computed(&mut self, library: Id) -> Result<()> {
        let view = self.committed_view().await?;
        let find = move |reader: &mut Reader<'_>| node::find(reader, library);
        let is_list = self.database.database.read(find).await?.is_some_and(|row| row.kind == NodeKind::List);
        let mut after = Id::NONE;
        loop {
            let read = move |reader: &mut Reader<'_>| match is_list {
                // There may be very many rows, all directly in the list.
                true => {
                    sorted::leaves(reader, library, &SortOrder::Id(after), false, &RowFilter::default(), BATCH_BELOW)
                }
                false => feed::valued_leaves_below(reader, library, after, BATCH_BELOW),
            };
            let leaves = self.database.database.read_long(read).await?;
            let Some(last) = leaves.last().map(|leaf| leaf.id) else { return Ok(()) };
            after = last;
            for some in leaves.chunks(BATCH_COMPARED) {
                let (some, view) = (some.to_vec(), view.clone());
                let read = move |reader: &mut Reader<'_>| undamaged_entries(reader, &some);
                let expected = self.database.database.read_long(read).await?;
                let differing = blocking(move || {
                    let mut differing = Vec::new();
                    for (id, expected) in expected {
                        if view.entries_between(id, id)?.remove(&id).unwrap_or_default() != expected {
                            differing.push(id);
                        }
                    }
                    Ok(differing)
                })
                .await?;
                self.write_items(differing, COMMIT_TEXTS).await?;
            }
        }
    }

    /// Writes the documents with values below a folder, as far as they were indexed in another library: values are
    /// shown only in the library of their columns.
    pub(super) async fn write_moved(&mut self, folder: Id) -> Result<()> {
        let is_folder = move |reader: &mut Reader<'_>| {
            Ok(node::find(reader, folder)?.is_some_and(|row| row.kind == NodeKind::Folder))
        };
        if !self.database.database.read(is_folder).await? {
            return Ok(());
        }
        let view = self.committed_view().await?;
        let mut after = Id::NONE;
        loop {
            let read = move |reader: &mut Reader<'_>| feed::valued_leaves_below(reader, folder, after, BATCH_BELOW);
            let mut documents: Vec<NodeRow> = self.database.database.read_long(read).await?;
            let Some(last) = documents.last().map(|document| document.id) else { return Ok(()) };
            after = last;
            let view = view.clone();
            let moved = blocking(move || {
                let mut libraries = Vec::with_capacity(documents.len());
                for document in &documents {
                    libraries.push(view.library_of(document.id)?);
                }
                let mut libraries = libraries.into_iter();
                documents.retain(|document| libraries.next() != Some(document.library_id));
                Ok(documents)
            })
            .await?;
            self.write(moved, COMMIT_TEXTS).await?;
        }
    }
}
