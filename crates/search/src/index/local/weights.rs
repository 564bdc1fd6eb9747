//! Weights of words in BM25 (as in Lucene and tantivy): the rarer a word, the more it counts.
//!
//! The statistics of the whole index would reveal hidden entries. How often a word occurs is counted among the admitted
//! entries, up to a limit; the number of entries and their usual length are constant.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use tantivy::query::Bm25StatisticsProvider;
use tantivy::schema::{Field, IndexRecordOption};
use tantivy::{DocSet, TERMINATED, Term};

use super::columns::{Candidate, Columns};
use super::schema::Fields;
use super::view::LocalView;
use crate::index::admission::Admission;
use crate::index::clock::Clock;
use crate::index::ranking::{ENTRIES, MAX_COUNTED, TIME_SHARE, USUAL_NAME_WORDS, USUAL_TEXT_WORDS, idf_of};

/// How often words occur among the admitted entries.
pub(super) struct Weights {
    text: Field,
    counts: HashMap<String, u64>,
    /// True if the count took too long.
    pub(super) was_cut: bool,
}

impl Weights {
    /// Returns statistics by which all words have the same weight.
    pub(super) fn equal(fields: Fields) -> Self {
        Self { text: fields.text, counts: HashMap::new(), was_cut: false }
    }

    /// Counts the admitted entries that contain each term. Returns equal weights if that takes too long, because it
    /// depends on hidden entries how far the count got.
    pub(super) fn count(
        view: &LocalView,
        segments: &[Arc<Columns>],
        terms: BTreeSet<String>,
        admission: &dyn Admission,
        clock: &Clock,
    ) -> tantivy::Result<Self> {
        let (text, clock) = (view.fields.text, clock.part(TIME_SHARE));
        let mut counts = HashMap::with_capacity(terms.len());
        for term in terms {
            let (wanted, mut count) = (Term::from_field_text(text, &term), 0);
            for (segment, columns) in view.searcher.segment_readers().iter().zip(segments) {
                let postings = segment.inverted_index(text)?.read_postings(&wanted, IndexRecordOption::Basic)?;
                let Some(mut postings) = postings else { continue };
                while postings.doc() != TERMINATED && count < MAX_COUNTED && !clock.is_over() {
                    let doc = postings.doc();
                    count += u64::from(!segment.is_deleted(doc) && admission.admit(&Candidate { columns, doc }));
                    postings.advance();
                }
            }
            counts.insert(term, count);
        }
        if clock.was_over() {
            return Ok(Self { was_cut: true, ..Self::equal(view.fields) });
        }
        Ok(Self { text, counts, was_cut: false })
    }

    /// Returns the inverse document frequency of a word in BM25, by the most frequent of its forms.
    pub(super) fn idf<'t>(&self, forms: impl Iterator<Item = &'t str>) -> f32 {
        let counts = forms.filter_map(|form| self.count_of(form));
        idf_of(counts.max())
    }

    /// Returns the number of admitted entries with a term, as far as it was counted; `None` if it was not.
    pub(super) fn count_of(&self, term: &str) -> Option<u64> {
        self.counts.get(term).copied()
    }
}

impl Bm25StatisticsProvider for Weights {
    fn total_num_tokens(&self, field: Field) -> tantivy::Result<u64> {
        Ok(ENTRIES * if field == self.text { USUAL_TEXT_WORDS } else { USUAL_NAME_WORDS })
    }

    fn total_num_docs(&self) -> tantivy::Result<u64> {
        Ok(ENTRIES)
    }

    fn doc_freq(&self, term: &Term) -> tantivy::Result<u64> {
        let count = term.value().as_str().and_then(|word| self.count_of(word));
        Ok(count.unwrap_or(MAX_COUNTED / 2))
    }
}
