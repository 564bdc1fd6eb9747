//! Weights of words: the rarer a word, the more it counts.
//!
//! The statistics of the whole index would reveal hidden entries. How often a word occurs is counted among the admitted
//! entries, up to a limit; the number of entries and their usual length are constant.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use tantivy::query::Bm25StatisticsProvider;
use tantivy::schema::{Field, IndexRecordOption};
use tantivy::{DocSet, TERMINATED, Term};

use super::admission::Admission;
use super::clock::Clock;
use super::columns::{Candidate, Columns};
use super::schema::Fields;
use super::view::LocalView;

/// Limit on the admitted entries that are counted for a word. Words in more entries have the weight of this number.
pub(super) const MAX_COUNTED: u64 = 5_000;

/// Share of the time for counting: one third.
pub(super) const TIME_SHARE: u32 = 3;

/// Number of entries for the formula of the weights: so many that the most frequent words still have a weight.
const ENTRIES: u64 = 20_000;
/// Usual numbers of words in a text, and in a name or title.
pub(super) const USUAL_TEXT_WORDS: u64 = 500;
pub(super) const USUAL_NAME_WORDS: u64 = 5;

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
                let alive = segment.alive_bitset();
                while postings.doc() != TERMINATED && count < MAX_COUNTED && !clock.is_over() {
                    let doc = postings.doc();
                    let is_deleted = alive.is_some_and(|alive| alive.is_deleted(doc));
                    count += u64::from(!is_deleted && admission.admit(&Candidate { columns, doc }));
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

/// Returns the inverse document frequency in BM25 of a word that so many admitted entries contain; `None` if they were
/// not counted.
pub(super) fn idf_of(count: Option<u64>) -> f32 {
    let count = count.unwrap_or(MAX_COUNTED / 2) as f32;
    (1.0 + (ENTRIES as f32 - count + 0.5) / (count + 0.5)).ln()
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
