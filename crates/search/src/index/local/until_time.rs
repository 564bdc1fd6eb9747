//! A query that ends when time is up. Combined queries of tantivy look at many entries before they return one, so
//! that a check between results is not enough.

use tantivy::query::{EnableScoring, Explanation, Query, Scorer, Weight};
use tantivy::{DocId, DocSet, Result, Score, SegmentReader, TERMINATED};

use crate::index::clock::Clock;

/// Finds what another query finds, until time is up.
#[derive(Debug)]
pub(super) struct UntilTime {
    inner: Box<dyn Query>,
    clock: Clock,
}

impl UntilTime {
    pub(super) fn new(inner: Box<dyn Query>, clock: Clock) -> Self {
        Self { inner, clock }
    }
}

impl Clone for UntilTime {
    fn clone(&self) -> Self {
        Self { inner: self.inner.box_clone(), clock: self.clock.clone() }
    }
}

impl Query for UntilTime {
    fn weight(&self, scoring: EnableScoring<'_>) -> Result<Box<dyn Weight>> {
        Ok(Box::new(TimedWeight { inner: self.inner.weight(scoring)?, clock: self.clock.clone() }))
    }
}

struct TimedWeight {
    inner: Box<dyn Weight>,
    clock: Clock,
}

impl Weight for TimedWeight {
    fn scorer(&self, segment: &SegmentReader, boost: Score) -> Result<Box<dyn Scorer>> {
        let inner = self.inner.scorer(segment, boost)?;
        Ok(Box::new(TimedScorer { inner, clock: self.clock.clone(), has_ended: false }))
    }

    fn explain(&self, segment: &SegmentReader, doc: DocId) -> Result<Explanation> {
        self.inner.explain(segment, doc)
    }
}

struct TimedScorer {
    inner: Box<dyn Scorer>,
    clock: Clock,
    has_ended: bool,
}

impl TimedScorer {
    fn unless_over(&mut self, find: impl FnOnce(&mut Box<dyn Scorer>) -> DocId) -> DocId {
        self.has_ended |= self.clock.is_over();
        if self.has_ended { TERMINATED } else { find(&mut self.inner) }
    }
}

impl DocSet for TimedScorer {
    fn advance(&mut self) -> DocId {
        self.unless_over(|inner| inner.advance())
    }

    fn seek(&mut self, target: DocId) -> DocId {
        self.unless_over(|inner| inner.seek(target))
    }

    fn doc(&self) -> DocId {
        if self.has_ended { TERMINATED } else { self.inner.doc() }
    }

    fn size_hint(&self) -> u32 {
        self.inner.size_hint()
    }
}

impl Scorer for TimedScorer {
    fn score(&mut self) -> Score {
        self.inner.score()
    }
}
