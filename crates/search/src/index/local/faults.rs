//! Documents whose text cannot be read, as the index knows them.

use std::collections::BTreeMap;

use model::{Id, Result};
use tantivy::columnar::{Column, StrColumn};
use tantivy::schema::Value;
use tantivy::{DocAddress, SegmentReader, TantivyDocument};

use super::columns::Candidate;
use super::error::index_failed;
use super::schema;
use super::view::LocalView;
use crate::index::admission::Admission;
use crate::index::entry::{Fault, FaultyDocument, WantedFaults};

impl LocalView {
    /// Returns the number of entries without a readable text, and of those that wait for it, by error code. Blocks
    /// while it reads the index.
    ///
    /// # Errors
    /// `Corrupt` or `Unavailable` if the index cannot be read.
    pub fn fault_counts(&self) -> Result<BTreeMap<String, u64>> {
        let mut counts = BTreeMap::new();
        self.each_fault(|code, _, _| {
            *counts.entry(code.to_owned()).or_default() += 1;
            Ok(())
        })
        .map_err(index_failed)?;
        Ok(counts)
    }

    /// See [`crate::index::View::faults`].
    pub fn faults(
        &self,
        before: Option<(Id, Id)>,
        limit: usize,
        wanted: WantedFaults<'_>,
    ) -> Result<Vec<FaultyDocument>> {
        self.newest_faults(before, limit, wanted).map_err(index_failed)
    }

    /// Returns whether the text of an admitted entry is still to be read. Blocks while it reads the index.
    ///
    /// # Errors
    /// `Corrupt` or `Unavailable` if the index cannot be read.
    pub fn has_waiting(&self, admission: &dyn Admission) -> Result<bool> {
        self.waiting(|candidate| admission.admit(candidate)).map_err(index_failed)
    }

    /// Returns whether the text of a version is still to be read. Blocks while it reads the index.
    ///
    /// # Errors
    /// `Corrupt` or `Unavailable` if the index cannot be read.
    pub fn waits_for_text_of(&self, document: Id, version: Id) -> Result<bool> {
        let is_it = |entry: &Candidate<'_>| (entry.node(), entry.version()) == (document, version);
        self.waiting(is_it).map_err(index_failed)
    }

    /// Returns whether the text of an entry that fits is still to be read.
    fn waiting(&self, fits: impl Fn(&Candidate<'_>) -> bool) -> tantivy::Result<bool> {
        for (segment, columns) in self.segments()? {
            let mut waiting = columns.waiting().iter().copied();
            if waiting.any(|doc| !segment.is_deleted(doc) && fits(&Candidate { columns, doc })) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn newest_faults(
        &self,
        before: Option<(Id, Id)>,
        limit: usize,
        wanted: WantedFaults<'_>,
    ) -> tantivy::Result<Vec<FaultyDocument>> {
        // The oldest leave while others are found, so that memory depends on `limit` alone.
        let mut newest: BTreeMap<(Id, Id), DocAddress> = BTreeMap::new();
        self.each_fault(|code, segment, address| {
            if !wanted.has(code) {
                return Ok(());
            }
            let column = |name| segment.fast_fields().i64(name);
            let id = |column: Column<i64>| Id::new(column.first(address.doc_id).unwrap_or_default());
            let key = (id(column(schema::NODE)?), id(column(schema::VERSION)?));
            if before.is_none_or(|before| key < before) {
                newest.insert(key, address);
                if newest.len() > limit {
                    newest.pop_first();
                }
            }
            Ok(())
        })?;
        let faulty = |((node, version), address)| {
            let stored: TantivyDocument = self.searcher.doc(address)?;
            let text = |field| stored.get_first(field).and_then(|value| value.as_str()).unwrap_or_default().to_owned();
            let fault = Fault { code: text(self.fields.fault), reason: text(self.fields.reason) };
            Ok(FaultyDocument { node, version, fault })
        };
        newest.into_iter().rev().map(faulty).collect()
    }

    /// Calls `take` with the error code of each entry that has one.
    fn each_fault(
        &self,
        mut take: impl FnMut(&str, &SegmentReader, DocAddress) -> tantivy::Result<()>,
    ) -> tantivy::Result<()> {
        for (ordinal, segment) in (0..).zip(self.searcher.segment_readers()) {
            let Some(codes) = segment.fast_fields().str(schema::FAULT)? else { continue };
            let names = names(&codes)?;
            for doc in segment.doc_ids_alive() {
                if let Some(code) = codes.ords().first(doc).and_then(|code| names.get(code as usize)) {
                    take(code, segment, DocAddress::new(ordinal, doc))?;
                }
            }
        }
        Ok(())
    }
}

/// All codes in a segment by their numbers.
fn names(codes: &StrColumn) -> tantivy::Result<Vec<String>> {
    (0..codes.num_terms() as u64)
        .map(|number| {
            let mut name = String::new();
            codes.ord_to_str(number, &mut name)?;
            Ok(name)
        })
        .collect()
}
