//! Entries by parts of their names, in an index in a directory.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use model::Result;
use tantivy::query::{BooleanQuery, EmptyQuery, EnableScoring, Occur, PhraseQuery, Query, TermQuery};
use tantivy::schema::IndexRecordOption;
use tantivy::{DocSet, TERMINATED, Term};

use super::columns::Candidate;
use super::entry_test::EntryTest;
use super::error::index_failed;
use super::view::LocalView;
use crate::index::admission::Admission;
use crate::index::names::{NameHit, NameHits, NameRequest};
use crate::language::parts::covering;

impl LocalView {
    /// Returns admitted entries whose names contain all parts. Blocks while it reads the index.
    ///
    /// # Errors
    /// `Corrupt` or `Unavailable` if the index cannot be read.
    pub fn named(&self, request: &NameRequest<'_>, admission: &dyn Admission) -> Result<NameHits> {
        self.best_named(request, admission).map_err(index_failed)
    }

    fn best_named(&self, request: &NameRequest<'_>, admission: &dyn Admission) -> tantivy::Result<NameHits> {
        let scoring = || EnableScoring::disabled_from_searcher(&self.searcher);
        let covering_parts: Vec<Vec<(usize, Term)>> =
            request.parts.iter().map(|part| self.terms(part, false)).collect();
        let candidates = covering_parts.iter().flatten().map(|(_, term)| {
            let query: Box<dyn Query> = Box::new(TermQuery::new(term.clone(), IndexRecordOption::Basic));
            (Occur::Must, query)
        });
        let candidates = BooleanQuery::new(candidates.collect()).weight(scoring())?;
        let phrases = covering_parts.iter().filter(|terms| terms.len() > 1);
        let phrases = phrases.map(|terms| PhraseQuery::new_with_offset(terms.clone()).weight(scoring()));
        let phrases = phrases.collect::<tantivy::Result<Vec<_>>>()?;
        let beginning = self.beginning(request.beginning).weight(scoring())?;
        let clock = &request.clock;
        // The worst of the best hits is on top.
        let mut best: BinaryHeap<Reverse<NameHit>> = BinaryHeap::with_capacity(request.limit + 1);
        let mut more = false;
        for (segment, columns) in self.segments()? {
            if clock.is_over_now() {
                break;
            }
            let mut phrases: Vec<_> = phrases.iter().map(|weight| EntryTest::new(weight.as_ref())).collect();
            let mut beginning = EntryTest::new(beginning.as_ref());
            let mut found = candidates.scorer(segment, 1.0)?;
            'documents: while found.doc() != TERMINATED && !clock.is_over() {
                let doc = found.doc();
                found.advance();
                if segment.is_deleted(doc) {
                    continue;
                }
                for phrase in &mut phrases {
                    if !phrase.fits(segment, doc)? {
                        continue 'documents;
                    }
                }
                if !admission.admit(&Candidate { columns, doc }) {
                    continue;
                }
                let begins = beginning.fits(segment, doc)?;
                best.push(Reverse(NameHit { begins, modified: columns.modified(doc), node: columns.node(doc) }));
                if best.len() > request.limit {
                    best.pop();
                    more = true;
                }
            }
        }
        // The order of reversed hits is that of the best first.
        let hits = best.into_sorted_vec().into_iter().map(|Reverse(hit)| hit).collect();
        Ok(NameHits { hits, more, whole: !clock.was_over() })
    }

    fn beginning(&self, text: &str) -> Box<dyn Query> {
        let terms = self.terms(text, true);
        match terms.as_slice() {
            [] => Box::new(EmptyQuery),
            [(_, term)] => Box::new(TermQuery::new(term.clone(), IndexRecordOption::Basic)),
            _ => Box::new(PhraseQuery::new_with_offset(terms)),
        }
    }

    /// Returns the terms that together cover a part, with their positions in it.
    fn terms(&self, part: &str, is_beginning: bool) -> Vec<(usize, Term)> {
        let term = |(position, part): (usize, String)| (position, Term::from_field_text(self.fields.parts, &part));
        covering(part, is_beginning).into_iter().map(term).collect()
    }
}
