//! The entries of a view that the caller may find. Phrase queries compare only these, because each comparison is slow.

use std::collections::HashMap;

use tantivy::DocId;
use tantivy::index::SegmentId;

use super::columns::Candidate;
use super::view::LocalView;
use crate::index::admission::Admission;
use crate::index::clock::Clock;

const BITS: usize = u64::BITS as usize;

/// The admitted entries of a view.
#[derive(Debug, Default)]
pub(super) struct AdmittedEntries {
    /// One bit for each entry.
    by_segment: HashMap<SegmentId, Vec<u64>>,
}

impl AdmittedEntries {
    /// Asks for each entry, until time is up.
    pub(super) fn of(view: &LocalView, admission: &dyn Admission, clock: &Clock) -> tantivy::Result<Self> {
        let columns = &view.columns()?.in_order;
        let segments = view.searcher.segment_readers().iter().zip(columns).map(|(segment, columns)| {
            let (alive, count) = (segment.alive_bitset(), segment.max_doc() as usize);
            let mut bits = vec![0_u64; count.div_ceil(BITS)];
            for (word, docs) in bits.iter_mut().zip((0..segment.max_doc()).step_by(BITS)) {
                if clock.is_over() {
                    break;
                }
                for doc in docs..segment.max_doc().min(docs + u64::BITS) {
                    let is_alive = alive.is_none_or(|alive| alive.is_alive(doc));
                    *word |= u64::from(is_alive && admission.admit(&Candidate { columns, doc })) << (doc - docs);
                }
            }
            (segment.segment_id(), bits)
        });
        Ok(Self { by_segment: segments.collect() })
    }

    /// Returns whether an entry is admitted.
    pub(super) fn has(&self, segment: SegmentId, doc: DocId) -> bool {
        let word = self.by_segment.get(&segment).and_then(|bits| bits.get(doc as usize / BITS));
        word.is_some_and(|word| word >> (doc as usize % BITS) & 1 == 1)
    }
}
