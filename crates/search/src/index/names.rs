//! Entries by parts of their names.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use model::{Id, Result, Timestamp};
use tantivy::query::{BooleanQuery, EmptyQuery, EnableScoring, Occur, PhraseQuery, Query, TermQuery};
use tantivy::schema::IndexRecordOption;
use tantivy::{DocSet, TERMINATED, Term};

use super::clock::Clock;
use super::columns::{Admission, Candidate};
use super::error::index_failed;
use super::view::View;
use crate::language::parts::covering;

/// Request for entries by parts of their names.
#[derive(Clone, Debug)]
pub struct NameRequest<'a> {
    /// Parts that a name must contain, folded by [`model::fold`], of at least [`SHORTEST_PART`] characters and without
    /// control characters.
    pub parts: &'a [String],
    /// A folded beginning; names with it come first.
    pub beginning: &'a str,
    /// Limit on the hits.
    pub limit: usize,
    /// Time limit.
    pub clock: Clock,
}

/// Number of characters in the shortest part that is looked up.
pub const SHORTEST_PART: usize = 2;

/// An entry whose name fits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct NameHit {
    /// True if the name begins with the text.
    pub begins: bool,
    /// Time of the last change.
    pub modified: Timestamp,
    /// The document.
    pub node: Id,
}

/// Entries whose names fit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NameHits {
    /// Those that begin with the text first; newest first.
    pub hits: Vec<NameHit>,
    /// True if there are more than the limit.
    pub more: bool,
    /// True if everything was searched. Otherwise time was up.
    pub whole: bool,
}

impl View {
    /// Returns admitted entries by parts of their names. Blocks while it reads the index.
    ///
    /// # Errors
    /// `Corrupt` or `Unavailable` if the index cannot be read.
    pub fn named(&self, request: &NameRequest<'_>, admission: &dyn Admission) -> Result<NameHits> {
        self.best_named(request, admission).map_err(index_failed)
    }

    fn best_named(&self, request: &NameRequest<'_>, admission: &dyn Admission) -> tantivy::Result<NameHits> {
        let parts = request.parts.iter().map(|part| (Occur::Must, self.with_part(part, false))).collect();
        let parts = BooleanQuery::new(parts).weight(EnableScoring::disabled_from_searcher(&self.searcher))?;
        let beginning = self.with_part(request.beginning, true);
        let beginning = beginning.weight(EnableScoring::disabled_from_searcher(&self.searcher))?;
        let clock = &request.clock;
        // The worst of the best hits is on top.
        let mut best: BinaryHeap<Reverse<NameHit>> = BinaryHeap::with_capacity(request.limit + 1);
        let mut more = false;
        for (segment, columns) in self.searcher.segment_readers().iter().zip(self.columns()?) {
            if clock.is_over_now() {
                break;
            }
            let alive = segment.alive_bitset();
            let (mut found, mut begins) = (parts.scorer(segment, 1.0)?, beginning.scorer(segment, 1.0)?);
            while found.doc() != TERMINATED && !clock.is_over() {
                let doc = found.doc();
                let is_alive = alive.is_none_or(|alive| alive.is_alive(doc));
                if is_alive && admission.admit(&Candidate { columns, doc }).is_some() {
                    let begins = begins.doc() == doc || begins.doc() < doc && begins.seek(doc) == doc;
                    best.push(Reverse(NameHit { begins, modified: columns.modified(doc), node: columns.node(doc) }));
                    if best.len() > request.limit {
                        best.pop();
                        more = true;
                    }
                }
                found.advance();
            }
        }
        // The order of reversed hits is that of the best first.
        let hits = best.into_sorted_vec().into_iter().map(|Reverse(hit)| hit).collect();
        Ok(NameHits { hits, more, whole: !clock.was_over() })
    }

    fn with_part(&self, part: &str, is_beginning: bool) -> Box<dyn Query> {
        let terms: Vec<(usize, Term)> = covering(part, is_beginning)
            .into_iter()
            .map(|(position, part)| (position, Term::from_field_text(self.fields.parts, &part)))
            .collect();
        match terms.as_slice() {
            [] => Box::new(EmptyQuery),
            [(_, term)] => Box::new(TermQuery::new(term.clone(), IndexRecordOption::Basic)),
            _ => Box::new(PhraseQuery::new_with_offset(terms)),
        }
    }
}
