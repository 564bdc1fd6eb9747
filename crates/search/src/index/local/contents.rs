//! Entries of documents by their identifiers, for comparisons with their database.

use std::collections::{BTreeMap, HashSet};

use model::{Id, Result};
use tantivy::schema::{Field, IndexRecordOption};
use tantivy::{DocSet, SegmentReader, TERMINATED, Term};

use super::columns::Columns;
use super::error::index_failed;
use super::view::LocalView;
use crate::index::entry::IndexedEntry;

impl LocalView {
    /// Returns the entries of the documents from `first` to `last`, in their order. Blocks while it reads the index.
    ///
    /// # Errors
    /// `Corrupt` or `Unavailable` if the index cannot be read.
    pub fn entries_between(&self, first: Id, last: Id) -> Result<BTreeMap<Id, Vec<IndexedEntry>>> {
        let mut found: BTreeMap<Id, Vec<IndexedEntry>> = BTreeMap::new();
        let term = |id: Id| Term::from_field_i64(self.fields.node, id.get());
        self.each_between(&term(first), &term(last), |columns, doc| {
            found.entry(columns.node(doc)).or_default().push(columns.indexed(doc));
        })
        .map_err(index_failed)?;
        found.values_mut().for_each(|entries| entries.sort_unstable());
        Ok(found)
    }

    /// Returns the library in whose columns the entries of a document have values; [`Id::NONE`] if they have none or
    /// there are none. Blocks while it reads the index.
    ///
    /// # Errors
    /// `Corrupt` or `Unavailable` if the index cannot be read.
    pub fn library_of(&self, node: Id) -> Result<Id> {
        let (mut library, term) = (Id::NONE, Term::from_field_i64(self.fields.node, node.get()));
        self.each_between(&term, &term, |columns, doc| library = columns.library(doc)).map_err(index_failed)?;
        Ok(library)
    }

    /// Returns the documents with values of a library in other columns than these. Blocks while it reads the index.
    ///
    /// # Errors
    /// `Corrupt` or `Unavailable` if the index cannot be read.
    pub fn documents_with_other_values(&self, library: Id, known: &HashSet<Id>) -> Result<Vec<Id>> {
        let mut found = Vec::new();
        for (segment, columns) in self.segments().map_err(index_failed)? {
            for doc in segment.doc_ids_alive().filter(|doc| columns.library(*doc) == library) {
                if columns.values(doc).any(|(column, _)| !known.contains(&column)) {
                    found.push(columns.node(doc));
                }
            }
        }
        found.sort_unstable();
        found.dedup();
        Ok(found)
    }

    /// Calls `take` with each entry that has a term from `first` to `last`.
    fn each_between(&self, first: &Term, last: &Term, mut take: impl FnMut(&Columns, u32)) -> tantivy::Result<()> {
        for (segment, columns) in self.segments()? {
            for doc in docs_between(segment, self.fields.node, first, last)? {
                take(columns, doc);
            }
        }
        Ok(())
    }
}

fn docs_between(segment: &SegmentReader, field: Field, first: &Term, last: &Term) -> tantivy::Result<Vec<u32>> {
    let (terms, mut docs) = (segment.inverted_index(field)?, Vec::new());
    let range = terms.terms().range().ge(first.serialized_value_bytes()).le(last.serialized_value_bytes());
    let mut range = range.into_stream()?;
    while let Some((_, info)) = range.next() {
        let mut postings = terms.read_postings_from_terminfo(info, IndexRecordOption::Basic)?;
        while postings.doc() != TERMINATED {
            let doc = postings.doc();
            if !segment.is_deleted(doc) {
                docs.push(doc);
            }
            postings.advance();
        }
    }
    Ok(docs)
}
