//! Words that follow each other. The phrases of tantivy compare hidden entries too, do not end when time is up, and
//! take memory without bound if words repeat and others may lie between them.

use std::sync::Arc;

use tantivy::fieldnorm::FieldNormReader;
use tantivy::index::SegmentId;
use tantivy::postings::{Postings, SegmentPostings};
use tantivy::query::{Bm25Weight, EmptyScorer, EnableScoring, Explanation, Query, Scorer, Weight};
use tantivy::schema::{Field, IndexRecordOption};
use tantivy::{DocId, DocSet, Score, SeekDangerResult, SegmentReader, TERMINATED, Term};

use super::admitted::AdmittedEntries;
use crate::index::clock::Clock;

/// Comparisons of positions between two checks of the clock.
const STRETCH: usize = 256;

/// A query for words in this order, with at most `gap` other words between them, all together. Two words may also be
/// swapped if `gap` is at least 2; that counts as two words between them.
#[derive(Clone, Debug)]
pub(super) struct Phrase {
    pub(super) field: Field,
    /// At least one.
    pub(super) words: Vec<String>,
    pub(super) gap: u32,
    /// The only entries that are compared; `None` for all.
    pub(super) admitted: Option<Arc<AdmittedEntries>>,
    pub(super) clock: Clock,
}

struct PhraseWeight {
    phrase: Phrase,
    /// The different words.
    terms: Vec<Term>,
    /// For each word, its position in `terms`.
    order: Vec<usize>,
    /// `None` without scores.
    ranking: Option<Bm25Weight>,
}

struct PhraseScorer {
    /// For each of the different words.
    postings: Vec<SegmentPostings>,
    positions: Vec<Vec<u32>>,
    order: Vec<usize>,
    gap: u32,
    segment: SegmentId,
    admitted: Option<Arc<AdmittedEntries>>,
    clock: Clock,
    ranking: Option<(Bm25Weight, FieldNormReader)>,
    doc: DocId,
    /// How often the phrase is in the entry.
    count: u32,
}

impl Query for Phrase {
    fn weight(&self, scoring: EnableScoring<'_>) -> tantivy::Result<Box<dyn Weight>> {
        let term = |word: &String| Term::from_field_text(self.field, word);
        let ranking = match scoring {
            EnableScoring::Enabled { statistics_provider, .. } => {
                let words: Vec<Term> = self.words.iter().map(term).collect();
                Some(Bm25Weight::for_terms(statistics_provider, &words)?)
            }
            EnableScoring::Disabled { .. } => None,
        };
        let mut different: Vec<&String> = self.words.iter().collect();
        different.sort_unstable();
        different.dedup();
        let order = self.words.iter().filter_map(|word| different.binary_search(&word).ok()).collect();
        let terms = different.into_iter().map(term).collect();
        Ok(Box::new(PhraseWeight { phrase: self.clone(), terms, order, ranking }))
    }
}

impl PhraseWeight {
    /// Returns a scorer that has not compared an entry yet; `None` if the segment lacks a word.
    fn unmoved_scorer(&self, segment: &SegmentReader, boost: Score) -> tantivy::Result<Option<PhraseScorer>> {
        let index = segment.inverted_index(self.phrase.field)?;
        let mut postings = Vec::with_capacity(self.terms.len());
        for term in &self.terms {
            let Some(found) = index.read_postings(term, IndexRecordOption::WithFreqsAndPositions)? else {
                return Ok(None);
            };
            postings.push(found);
        }
        let ranking = match &self.ranking {
            Some(ranking) => {
                // A field without them counts as one of a single word.
                let lengths = segment.fieldnorms_readers().get_field(self.phrase.field)?;
                let lengths = lengths.unwrap_or_else(|| FieldNormReader::constant(segment.max_doc(), 1));
                Some((ranking.boost_by(boost), lengths))
            }
            None => None,
        };
        Ok(Some(PhraseScorer {
            positions: vec![Vec::new(); postings.len()],
            postings,
            order: self.order.clone(),
            gap: self.phrase.gap,
            segment: segment.segment_id(),
            admitted: self.phrase.admitted.clone(),
            clock: self.phrase.clock.clone(),
            ranking,
            doc: 0,
            count: 0,
        }))
    }
}

impl Weight for PhraseWeight {
    fn scorer(&self, segment: &SegmentReader, boost: Score) -> tantivy::Result<Box<dyn Scorer>> {
        let Some(mut scorer) = self.unmoved_scorer(segment, boost)? else { return Ok(Box::new(EmptyScorer)) };
        scorer.find(0);
        Ok(Box::new(scorer))
    }

    fn scorer_danger(
        &self,
        segment: &SegmentReader,
        target: DocId,
        boost: Score,
    ) -> tantivy::Result<(SeekDangerResult, Box<dyn Scorer>)> {
        let Some(mut scorer) = self.unmoved_scorer(segment, boost)? else {
            return Ok((SeekDangerResult::SeekLowerBound(TERMINATED), Box::new(EmptyScorer)));
        };
        Ok((scorer.seek_danger(target), Box::new(scorer)))
    }

    fn explain(&self, segment: &SegmentReader, doc: DocId) -> tantivy::Result<Explanation> {
        let mut scorer = self.scorer(segment, 1.0)?;
        let fits = scorer.doc() == doc || scorer.doc() < doc && scorer.seek(doc) == doc;
        Ok(Explanation::new("a phrase", if fits { scorer.score() } else { 0.0 }))
    }
}

impl PhraseScorer {
    /// Goes to the first entry with the phrase from this one on.
    fn find(&mut self, from: DocId) -> DocId {
        let mut candidate = from;
        self.doc = TERMINATED;
        while candidate < TERMINATED && !self.clock.is_over() {
            let next = self.with_all_words(candidate);
            if next == candidate && self.compare(candidate) {
                break;
            }
            candidate = next.max(candidate + 1);
        }
        self.doc
    }

    /// Returns whether the phrase is in an entry with all words, and moves there if it is.
    fn compare(&mut self, doc: DocId) -> bool {
        let is_admitted = self.admitted.as_ref().is_none_or(|entries| entries.has(self.segment, doc));
        self.count = if is_admitted { self.occurrences() } else { 0 };
        if self.count > 0 {
            self.doc = doc;
        }
        self.count > 0
    }

    /// Returns the candidate if all words are in it, else one that comes later. No entry between them has all words.
    fn with_all_words(&mut self, candidate: DocId) -> DocId {
        for postings in &mut self.postings {
            let doc = if postings.doc() < candidate { postings.seek(candidate) } else { postings.doc() };
            if doc != candidate {
                return doc;
            }
        }
        candidate
    }

    /// Returns how often the phrase is in the present entry; without scores, 1 if it is there. Words have different
    /// positions, so that these take no more memory than a number for each word of the text.
    fn occurrences(&mut self) -> u32 {
        for (postings, positions) in self.postings.iter_mut().zip(&mut self.positions) {
            postings.positions(positions);
        }
        let words: Vec<&[u32]> = self.order.iter().map(|word| self.positions[*word].as_slice()).collect();
        let limit = if self.ranking.is_some() { u32::MAX } else { 1 };
        let in_order = occurrences(&words, self.gap, limit, &self.clock);
        match words.as_slice() {
            [one, other] if self.gap >= 2 && in_order < limit => {
                in_order + occurrences(&[other, one], self.gap - 2, limit - in_order, &self.clock)
            }
            _ => in_order,
        }
    }
}

impl DocSet for PhraseScorer {
    fn advance(&mut self) -> DocId {
        if self.doc == TERMINATED { TERMINATED } else { self.find(self.doc + 1) }
    }

    fn seek(&mut self, target: DocId) -> DocId {
        if target <= self.doc { self.doc } else { self.find(target) }
    }

    /// Compares the positions of this entry only, so that the time does not depend on the texts of others.
    fn seek_danger(&mut self, target: DocId) -> SeekDangerResult {
        if target >= TERMINATED || self.clock.is_over() {
            return SeekDangerResult::SeekLowerBound(TERMINATED);
        }
        if self.doc == target && self.count > 0 {
            return SeekDangerResult::Found;
        }
        let next = self.with_all_words(target);
        if next == target && self.compare(target) {
            return SeekDangerResult::Found;
        }
        SeekDangerResult::SeekLowerBound(next.max(target + 1))
    }

    fn doc(&self) -> DocId {
        self.doc
    }

    fn size_hint(&self) -> u32 {
        self.postings.iter().map(DocSet::size_hint).min().unwrap_or(0)
    }
}

impl Scorer for PhraseScorer {
    fn score(&mut self) -> Score {
        let Some((ranking, lengths)) = &self.ranking else { return 1.0 };
        ranking.score(lengths.fieldnorm_id(self.doc), self.count)
    }
}

/// Counts, up to a limit, the positions of the first word after which the others follow in their order, with at most
/// `gap` others between them. Stops when time is up. Takes steps in proportion to the number of positions.
fn occurrences(words: &[&[u32]], gap: u32, limit: u32, clock: &Clock) -> u32 {
    let Some((first, others)) = words.split_first() else { return 0 };
    let longest = gap.saturating_add(others.len() as u32);
    let (mut next, mut count, mut steps) = (vec![0; others.len()], 0, 0);
    for begin in *first {
        let mut last = *begin;
        for (positions, next) in others.iter().zip(&mut next) {
            // A later beginning needs no earlier position.
            while positions.get(*next).is_some_and(|position| *position <= last) {
                *next += 1;
                steps += 1;
            }
            let Some(position) = positions.get(*next) else { return count };
            last = *position;
            steps += 1;
        }
        count += u32::from(last - begin <= longest);
        if count >= limit || steps >= STRETCH && clock.is_over_now() {
            return count;
        }
        if steps >= STRETCH {
            steps = 0;
        }
    }
    count
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    fn count(words: &[&[u32]], gap: u32) -> u32 {
        occurrences(words, gap, u32::MAX, &Clock::new(Instant::now() + Duration::from_secs(60)))
    }

    #[test]
    fn words_follow_each_other_with_others_between_them() {
        assert_eq!(count(&[&[1, 7], &[2, 9]], 0), 1);
        assert_eq!(count(&[&[1, 7], &[2, 9]], 1), 2);
        assert_eq!(count(&[&[1], &[3], &[6]], 2), 0);
        assert_eq!(count(&[&[1], &[3], &[6]], 3), 1);
        assert_eq!(count(&[&[5], &[3]], 50), 0, "the order counts");
        let same = [3, 4, 9];
        assert_eq!(count(&[&same, &same], 0), 1, "a word that is sought twice is there twice");
        assert_eq!(count(&[&same, &same, &same], 0), 0);
        assert_eq!(count(&[&[1], &[]], 9), 0);
    }

    #[test]
    fn repeated_words_take_steps_in_proportion_and_end_with_the_time() {
        let every: Vec<u32> = (0..1_000_000).collect();
        let words = vec![every.as_slice(); 32];
        let over = Clock::new(Instant::now());
        assert!(occurrences(&words, 50, u32::MAX, &over) <= STRETCH as u32);
        assert_eq!(count(&words, 50), 1_000_000 - 31);
    }
}
