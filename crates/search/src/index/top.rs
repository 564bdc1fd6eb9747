//! The best hits of a query among what the caller may find.
//!
//! The order depends only on the query and the admitted entries. Statistics of the whole index would reveal hidden
//! entries, so document frequencies and the average length are constant.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;
use std::time::Instant;

use model::{Id, Result, Timestamp};
use tantivy::columnar::Column;
use tantivy::query::{Bm25StatisticsProvider, BooleanQuery, EnableScoring, PhraseQuery, Query, TermQuery};
use tantivy::schema::{Field, IndexRecordOption};
use tantivy::{DocAddress, DocId, DocSet, Score, SegmentReader, TERMINATED, Term};

use super::entry::Face;
use super::error::index_failed;
use super::schema;
use super::view::View;
use crate::query::{SearchQuery, Sought};

/// Decides what the caller may find.
pub trait Admission {
    /// Returns whether the caller may find an entry.
    fn admits(&self, entry: &Candidate<'_>) -> bool;
}

/// An entry that fits a query and may be admitted. Its fields are read when they are asked for.
pub struct Candidate<'a> {
    columns: &'a Columns,
    doc: DocId,
}

impl Candidate<'_> {
    /// See [`super::entry::Entry::collection`].
    pub fn collection(&self) -> Id {
        Columns::id(&self.columns.collection, self.doc)
    }

    /// See [`super::entry::Entry::place`].
    pub fn place(&self) -> Id {
        Columns::id(&self.columns.place, self.doc)
    }

    /// See [`super::entry::Entry::face`]; `None` for an entry that nobody may find.
    pub fn face(&self) -> Option<Face> {
        Face::of(self.columns.face.first(self.doc)?)
    }

    /// See [`super::entry::Entry::author`].
    pub fn author(&self) -> Id {
        Columns::id(&self.columns.author, self.doc)
    }

    /// See [`super::entry::Entry::holder`].
    pub fn holder(&self) -> Id {
        Columns::id(&self.columns.holder, self.doc)
    }
}

/// The columns of a segment that decide about an entry, or that a hit is made of.
struct Columns {
    node: Column<i64>,
    version: Column<i64>,
    collection: Column<i64>,
    place: Column<i64>,
    face: Column<u64>,
    author: Column<i64>,
    holder: Column<i64>,
    modified: Column<i64>,
}

impl Columns {
    fn of(segment: &SegmentReader) -> tantivy::Result<Self> {
        let columns = segment.fast_fields();
        Ok(Self {
            node: columns.i64(schema::NODE)?,
            version: columns.i64(schema::VERSION)?,
            collection: columns.i64(schema::COLLECTION)?,
            place: columns.i64(schema::PLACE)?,
            face: columns.u64(schema::FACE)?,
            author: columns.i64(schema::AUTHOR)?,
            holder: columns.i64(schema::HOLDER)?,
            modified: columns.i64(schema::MODIFIED)?,
        })
    }

    fn id(column: &Column<i64>, doc: DocId) -> Id {
        column.first(doc).map_or(Id::NONE, Id::new)
    }

    fn hit(&self, doc: DocId, score: Score, segment: u32) -> Hit {
        Hit {
            node: Self::id(&self.node, doc),
            version: Self::id(&self.version, doc),
            modified: Timestamp::from_micros(self.modified.first(doc).unwrap_or_default()),
            score,
            address: DocAddress::new(segment, doc),
        }
    }
}

/// An entry that fits a query.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hit {
    /// The document.
    pub node: Id,
    /// The version whose text fits.
    pub version: Id,
    /// Time of its last change.
    pub modified: Timestamp,
    /// Relevance, comparable within one query only.
    pub(super) score: Score,
    pub(super) address: DocAddress,
}

impl Eq for Hit {}

impl Ord for Hit {
    /// Orders hits best first; ties by newest, then greatest identifier.
    fn cmp(&self, other: &Self) -> Ordering {
        let rest = |hit: &Self| (Reverse(hit.modified), Reverse(hit.node), Reverse(hit.version));
        other.score.total_cmp(&self.score).then_with(|| rest(self).cmp(&rest(other)))
    }
}

impl PartialOrd for Hit {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Best hits of a query.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TopHits {
    /// The hits, the best first.
    pub hits: Vec<Hit>,
    /// True if everything was searched. Otherwise time was up, and better hits may be missing.
    pub whole: bool,
}

/// Number of entries between two checks of the time.
const STRETCH: usize = 256;

impl View {
    /// Returns the best hits of a query; at most `limit`. Stops at `deadline`. Blocks while it reads the index.
    ///
    /// # Errors
    /// `Corrupt` or `Unavailable` if the index cannot be read.
    pub fn top(
        &self,
        query: &SearchQuery,
        limit: usize,
        admission: &dyn Admission,
        deadline: Instant,
    ) -> Result<TopHits> {
        self.best(query, limit, admission, deadline).map_err(index_failed)
    }

    fn best(
        &self,
        sought: &SearchQuery,
        limit: usize,
        admission: &dyn Admission,
        deadline: Instant,
    ) -> tantivy::Result<TopHits> {
        let Some(query) = matching(sought, self.fields.text) else {
            return Ok(TopHits { hits: Vec::new(), whole: true });
        };
        let mut clock = Clock { deadline, looks: 0 };
        let scoring = EnableScoring::enabled_from_statistics_provider(&ConstantStatistics, &self.searcher);
        let weight = query.weight(scoring)?;
        // The worst of the best hits is on top.
        let mut best: BinaryHeap<Hit> = BinaryHeap::with_capacity(limit + 1);
        for (ordinal, segment) in (0..).zip(self.searcher.segment_readers()) {
            let columns = Columns::of(segment)?;
            let alive = segment.alive_bitset();
            // Entries are not skipped by the bounds of blocks, which the library computes with the mean length of all
            // entries, hidden ones included.
            let mut scorer = weight.scorer(segment, 1.0)?;
            while scorer.doc() != TERMINATED && !clock.is_over() {
                let doc = scorer.doc();
                let is_deleted = alive.is_some_and(|alive| alive.is_deleted(doc));
                if !is_deleted && admission.admits(&Candidate { columns: &columns, doc }) {
                    best.push(columns.hit(doc, rounded(scorer.score()), ordinal));
                    if best.len() > limit {
                        best.pop();
                    }
                }
                scorer.advance();
            }
        }
        Ok(TopHits { hits: best.into_sorted_vec(), whole: !clock.was_over() })
    }
}

/// Rounds a score, so that the order in which its parts were added does not matter.
fn rounded(score: Score) -> Score {
    (score * 1_024.0).round() / 1_024.0
}

/// Tells when time is up, at the cost of a look at the clock for some entries only.
struct Clock {
    deadline: Instant,
    looks: usize,
}

impl Clock {
    const OVER: usize = usize::MAX;

    fn is_over(&mut self) -> bool {
        if self.looks == Self::OVER {
            return true;
        }
        if self.looks.is_multiple_of(STRETCH) && Instant::now() >= self.deadline {
            self.looks = Self::OVER;
            return true;
        }
        self.looks += 1;
        false
    }

    fn was_over(&self) -> bool {
        self.looks == Self::OVER
    }
}

/// Returns the query in terms of the index; `None` if it finds nothing.
fn matching(query: &SearchQuery, text: Field) -> Option<Box<dyn Query>> {
    let term = |word: &String| Term::from_field_text(text, word);
    let one = |term| TermQuery::new(term, IndexRecordOption::WithFreqs);
    let parts = query.all.iter().filter_map(|sought| -> Option<Box<dyn Query>> {
        match sought {
            Sought::Word(word) => Some(Box::new(one(term(word)))),
            Sought::Phrase(words) => match words.as_slice() {
                [] => None,
                [word] => Some(Box::new(one(term(word)))),
                words => Some(Box::new(PhraseQuery::new(words.iter().map(term).collect()))),
            },
        }
    });
    let mut parts: Vec<Box<dyn Query>> = parts.collect();
    match parts.len() {
        0 => None,
        1 => parts.pop(),
        _ => Some(Box::new(BooleanQuery::intersection(parts))),
    }
}

/// Statistics that are the same for each word and each caller.
struct ConstantStatistics;

const DOCUMENTS: u64 = 1_000_000;
const DOCUMENTS_WITH_WORD: u64 = 1_000;
/// Words of a document of usual length.
const USUAL_WORDS: u64 = 500;

impl Bm25StatisticsProvider for ConstantStatistics {
    fn total_num_tokens(&self, _: Field) -> tantivy::Result<u64> {
        Ok(DOCUMENTS * USUAL_WORDS)
    }

    fn total_num_docs(&self) -> tantivy::Result<u64> {
        Ok(DOCUMENTS)
    }

    fn doc_freq(&self, _: &Term) -> tantivy::Result<u64> {
        Ok(DOCUMENTS_WITH_WORD)
    }
}
