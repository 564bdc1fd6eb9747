//! The best hits of a query in an index in a directory, and how many there are.

use std::collections::BinaryHeap;

use model::Result;
use tantivy::query::EnableScoring;
use tantivy::{DocAddress, DocId, DocSet, Score, TERMINATED};

use super::closeness::Closeness;
use super::columns::{Candidate, Columns};
use super::error::index_failed;
use super::matching::Matching;
use super::segment_counts::SegmentCounts;
use super::view::LocalView;
use super::weights::Weights;
use crate::index::admission::Admission;
use crate::index::facets::Facets;
use crate::index::ranking::{HALF_LIFE, MAX_RERANKED, RECENCY, scaled, terms};
use crate::index::top::{EntryAddress, Hit, HitOrder, TopHits, TopRequest};
use crate::language::stems::Stems;

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
            let mut counts = SegmentCounts::default();
            if clock.is_over_now() {
                break;
            }
            // Entries are not skipped by the bounds of blocks, which tantivy computes with the mean length of all
            // entries, hidden ones included.
            let mut scorer = weight.scorer(segment, 1.0)?;
            while scorer.doc() != TERMINATED && !clock.is_over() {
                let doc = scorer.doc();
                let entry = Candidate { columns, doc };
                if !segment.is_deleted(doc) && admission.admit(&entry) {
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
