//! Tests of single entries against a query.

use tantivy::query::{Scorer, Weight};
use tantivy::{DocId, SeekDangerResult, SegmentReader};

/// Tests entries of one segment against a query, one at a time, so that time limits hold.
pub(super) struct EntryTest<'a> {
    weight: &'a dyn Weight,
    scorer: Option<Box<dyn Scorer>>,
    /// No entry before this one fits.
    bound: DocId,
}

impl<'a> EntryTest<'a> {
    pub(super) fn new(weight: &'a dyn Weight) -> Self {
        Self { weight, scorer: None, bound: 0 }
    }

    /// Returns whether an entry fits. To be called in the order of the entries.
    pub(super) fn fits(&mut self, segment: &SegmentReader, doc: DocId) -> tantivy::Result<bool> {
        if doc < self.bound {
            return Ok(false);
        }
        let result = match &mut self.scorer {
            Some(scorer) => scorer.seek_danger(doc),
            None => {
                let (result, scorer) = self.weight.scorer_danger(segment, doc, 1.0)?;
                self.scorer = Some(scorer);
                result
            }
        };
        Ok(match result {
            SeekDangerResult::Found => true,
            SeekDangerResult::SeekLowerBound(bound) => {
                self.bound = bound;
                false
            }
        })
    }
}
