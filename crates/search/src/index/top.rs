//! The best hits of a query among what the caller may find, and how many there are.
//!
//! Every answer depends only on the request and the admitted entries.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use model::{Id, Result, Timestamp};
use tantivy::query::EnableScoring;
use tantivy::{DocAddress, DocId, DocSet, Score, TERMINATED};

use super::admission::Admission;
use super::clock::Clock;
use super::closeness::Closeness;
use super::columns::{Candidate, Columns};
use super::entry::Face;
use super::error::index_failed;
use super::facets::{Facets, SegmentCounts};
use super::matching::{Matching, terms};
use super::view::LocalView;
use super::weights::Weights;
use crate::language::stems::Stems;
use crate::query::{SearchQuery, Tolerance};

/// An order of hits. Hits that are equal in it are ordered by the time of their last change, newest first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HitOrder {
    /// The best first.
    #[default]
    Relevance,
    /// Most recently changed first.
    Newest,
    /// Least recently changed first.
    Oldest,
    /// Largest first.
    Largest,
    /// Smallest first.
    Smallest,
}

impl HitOrder {
    /// All orders.
    pub const ALL: [Self; 5] = [Self::Relevance, Self::Newest, Self::Oldest, Self::Largest, Self::Smallest];

    /// Returns the word by which an order is stored and sent.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Relevance => "relevance",
            Self::Newest => "newest",
            Self::Oldest => "oldest",
            Self::Largest => "largest",
            Self::Smallest => "smallest",
        }
    }

    /// Returns the order with a word; `None` if there is none.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|order| order.as_str() == word)
    }
}

/// Request for the best hits of a query.
#[derive(Clone, Debug)]
pub struct TopRequest<'a> {
    /// The query.
    pub query: &'a SearchQuery,
    /// How exactly entries must fulfil it.
    pub tolerance: Tolerance,
    /// Limit on the hits.
    pub limit: usize,
    /// Their order.
    pub order: HitOrder,
    /// True if hits are counted by their properties.
    pub counts_facets: bool,
    /// Current time, by which the age of hits is judged.
    pub now: Timestamp,
    /// Time limit.
    pub clock: Clock,
}

/// An entry that fits a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hit {
    /// The document.
    pub node: Id,
    /// The version whose text fits.
    pub version: Id,
    /// Time of its last change.
    pub modified: Timestamp,
    /// Print of the name under which it was indexed.
    pub name_print: u64,
    /// Position in the order, comparable within one request only; greater is earlier.
    rank: i64,
    pub(super) address: EntryAddress,
}

/// Where an entry is in its view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EntryAddress {
    /// In a directory.
    Local(DocAddress),
    /// On a search server, which knows entries by document and face.
    Shared(Face),
}

impl Hit {
    pub(super) fn new(
        (node, version): (Id, Id),
        modified: Timestamp,
        name_print: u64,
        rank: i64,
        address: EntryAddress,
    ) -> Self {
        Self { node, version, modified, name_print, rank, address }
    }

    /// Adds to its rank.
    pub(super) fn add(&mut self, bonus: i64) {
        self.rank += bonus;
    }

    /// Returns its segment and number in a directory.
    fn place(&self) -> Option<DocAddress> {
        match self.address {
            EntryAddress::Local(address) => Some(address),
            EntryAddress::Shared(_) => None,
        }
    }
}

impl Ord for Hit {
    /// Orders hits by rank; ties by newest, then greatest identifier.
    fn cmp(&self, other: &Self) -> Ordering {
        let key = |hit: &Self| (Reverse(hit.rank), Reverse(hit.modified), Reverse(hit.node), Reverse(hit.version));
        key(self).cmp(&key(other))
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
    /// The hits, in the order that was asked for.
    pub hits: Vec<Hit>,
    /// Number of admitted entries that fit; at least this many if `whole` is false.
    pub total: u64,
    /// Their numbers by properties, if these were asked for.
    pub facets: Facets,
    /// True if everything was searched. Otherwise time was up, and better hits may be missing.
    pub whole: bool,
}

/// Number of the best entries by their words that are reranked.
pub(super) const MAX_RERANKED: usize = 100;

/// Score added for a document that changed just now. It halves every [`HALF_LIFE`] seconds.
pub(super) const RECENCY: f64 = 1.0;
pub(super) const HALF_LIFE: f64 = 180.0 * 86_400.0;

impl LocalView {
    /// Returns the best hits of a query among the admitted entries. Blocks while it reads the index.
    ///
    /// # Errors
    /// `Corrupt` or `Unavailable` if the index cannot be read.
    pub fn top(&self, request: &TopRequest<'_>, admission: &dyn Admission) -> Result<TopHits> {
        self.best(request, admission).map_err(index_failed)
    }

    fn best(&self, request: &TopRequest<'_>, admission: &dyn Admission) -> tantivy::Result<TopHits> {
        let (clock, stems) = (&request.clock, Stems::default());
        let segments = self.searcher.segment_readers();
        let columns = &self.columns()?.in_order;
        let terms = terms(request.query, &stems);
        // The weights also tell which words may be mistakes, whatever the order.
        let weights = if request.order == HitOrder::Relevance || request.tolerance.allows_similar() {
            Weights::count(self, columns, terms, admission, clock)?
        } else {
            Weights::equal(self.fields)
        };
        let matching =
            Matching::new(self, &stems, &weights, request.query, request.tolerance, admission, clock.clone())?;
        let Some(query) = matching.query(request.query) else {
            return Ok(TopHits { whole: true, ..TopHits::default() });
        };
        let weight = query.weight(EnableScoring::enabled_from_statistics_provider(&weights, &self.searcher))?;
        let kept = match request.order {
            HitOrder::Relevance if request.limit > 0 => request.limit.max(MAX_RERANKED),
            _ => request.limit,
        };
        // The worst of the best hits is on top.
        let mut best: BinaryHeap<Hit> = BinaryHeap::with_capacity(kept + 1);
        let (mut total, mut facets) = (0, Facets::default());
        for (ordinal, (segment, columns)) in (0..).zip(segments.iter().zip(columns)) {
            let (alive, mut counts) = (segment.alive_bitset(), SegmentCounts::default());
            if clock.is_over_now() {
                break;
            }
            // Entries are not skipped by the bounds of blocks, which the library computes with the mean length of all
            // entries, hidden ones included.
            let mut scorer = weight.scorer(segment, 1.0)?;
            while scorer.doc() != TERMINATED && !clock.is_over() {
                let doc = scorer.doc();
                let entry = Candidate { columns, doc };
                if alive.is_none_or(|alive| alive.is_alive(doc)) && admission.admit(&entry) {
                    total += 1;
                    if request.counts_facets {
                        counts.count(columns, doc, admission.place(&entry));
                    }
                    let worst = if best.len() < kept { None } else { best.peek().map(|hit| hit.rank) };
                    if kept > 0
                        && let Some(rank) = rank(request, columns, doc, worst, || scorer.score())
                    {
                        best.push(hit(columns, doc, rank, ordinal));
                        if best.len() > kept {
                            best.pop();
                        }
                    }
                }
                scorer.advance();
            }
            counts.finish(columns, &mut facets)?;
        }
        let mut hits = best.into_vec();
        if request.order == HitOrder::Relevance
            && !hits.is_empty()
            && let Some(closeness) = Closeness::of(self, &matching, request.query, clock.clone())?
        {
            // No bonus is negative, so what comes later stays behind.
            hits.sort_unstable();
            let reranked = hits.len().min(MAX_RERANKED);
            self.rerank(&closeness, &mut hits[..reranked])?;
        }
        hits.sort_unstable();
        hits.truncate(request.limit);
        // Without counts, all words may be mistakes.
        let is_cut = clock.was_over() || weights.was_cut && request.tolerance.allows_similar();
        Ok(TopHits { hits, total, facets, whole: !is_cut })
    }

    /// Adds to the ranks of hits how close they are to a query. Changes nothing if time is up, because how many were
    /// compared depends on hidden entries.
    fn rerank(&self, closeness: &Closeness, hits: &mut [Hit]) -> tantivy::Result<()> {
        hits.sort_unstable_by_key(Hit::place);
        let segments = self.searcher.segment_readers();
        let mut bonuses = Vec::with_capacity(hits.len());
        let segment_of = |hit: &Hit| hit.place().map(|address| address.segment_ord);
        for hits in hits.chunk_by(|one, other| segment_of(one) == segment_of(other)) {
            let Some(ordinal) = hits.first().and_then(segment_of).map(|ordinal| ordinal as usize) else { continue };
            let (Some(segment), Some(columns)) = (segments.get(ordinal), self.columns()?.in_order.get(ordinal)) else {
                continue;
            };
            let mut closeness = closeness.in_segment(segment, columns);
            for hit in hits {
                let Some(address) = hit.place() else { continue };
                let Some(bonus) = closeness.bonus(address.doc_id)? else { return Ok(()) };
                bonuses.push(scaled(f64::from(bonus)));
            }
        }
        hits.iter_mut().zip(bonuses).for_each(|(hit, bonus)| hit.rank += bonus);
        Ok(())
    }
}

/// Returns a score as a rank. It is rounded, so that the order in which its parts were added does not matter.
pub(super) fn scaled(score: f64) -> i64 {
    (score * 1_024.0).round() as i64
}

/// Returns the rank of an entry; `None` if it is less than `worst`.
fn rank(
    request: &TopRequest<'_>,
    columns: &Columns,
    doc: DocId,
    worst: Option<i64>,
    score: impl FnOnce() -> Score,
) -> Option<i64> {
    let size = || i64::try_from(columns.size(doc)).unwrap_or(i64::MAX);
    let is_less = |rank: i64| worst.is_some_and(|worst| rank < worst);
    let rank = match request.order {
        HitOrder::Relevance => {
            let score = f64::from(score());
            if is_less(scaled(score + RECENCY)) {
                return None;
            }
            let age = request.now.seconds().saturating_sub(columns.modified(doc).seconds()).max(0);
            scaled(score + RECENCY * (-(age as f64) / HALF_LIFE).exp2())
        }
        HitOrder::Newest => columns.modified(doc).micros(),
        HitOrder::Oldest => columns.modified(doc).micros().saturating_neg(),
        HitOrder::Largest => size(),
        HitOrder::Smallest => -size(),
    };
    (!is_less(rank)).then_some(rank)
}

fn hit(columns: &Columns, doc: DocId, rank: i64, segment: u32) -> Hit {
    let of = (columns.node(doc), columns.version(doc));
    let address = EntryAddress::Local(DocAddress::new(segment, doc));
    Hit::new(of, columns.modified(doc), columns.name_print(doc), rank, address)
}
