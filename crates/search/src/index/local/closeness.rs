//! Second phase of ranking: how much of a name or title the query covers, and how many of its words are adjacent in the
//! text.

use tantivy::query::{EnableScoring, Query, Weight};
use tantivy::schema::Field;
use tantivy::{DocId, SegmentReader};

use super::columns::Columns;
use super::entry_test::EntryTest;
use super::matching::Matching;
use super::view::LocalView;
use crate::index::clock::Clock;
use crate::index::ranking::{closeness_bonus, coverage, ranking_words};
use crate::query::SearchQuery;

/// A query, prepared for comparison with single entries.
pub(super) struct Closeness {
    words: Vec<Word>,
    pairs: Vec<Pair>,
    /// Sum of the words' IDF.
    total_idf: f32,
    clock: Clock,
}

/// Queries for the forms of one word or pair. One that fits is enough.
type Alternatives = Vec<Box<dyn Weight>>;

/// A word of the query.
struct Word {
    in_name: Alternatives,
    in_title: Alternatives,
    idf: f32,
}

/// Two words of the query that follow each other.
struct Pair {
    in_text: Alternatives,
    idf: f32,
}

/// Tests for the entries of one segment.
pub(super) struct SegmentCloseness<'a> {
    closeness: &'a Closeness,
    segment: &'a SegmentReader,
    columns: &'a Columns,
    /// For each word, then for each pair.
    names: Vec<Tests<'a>>,
    titles: Vec<Tests<'a>>,
    pairs: Vec<Tests<'a>>,
}

/// Tests of which one is enough.
type Tests<'a> = Vec<EntryTest<'a>>;

impl Closeness {
    /// Prepares a query; `None` if it has no words.
    pub(super) fn of(
        view: &LocalView,
        matching: &Matching<'_>,
        query: &SearchQuery,
        clock: Clock,
    ) -> tantivy::Result<Option<Self>> {
        let sought = ranking_words(query);
        if sought.is_empty() {
            return Ok(None);
        }
        let weights = |queries: Vec<Box<dyn Query>>| -> tantivy::Result<Alternatives> {
            let scoring = || EnableScoring::disabled_from_searcher(&view.searcher);
            queries.into_iter().map(|query| query.weight(scoring())).collect()
        };
        let word = |word, field: Field| weights(matching.word(word, field));
        let mut words = Vec::with_capacity(sought.len());
        for one in &sought {
            let (in_name, in_title) = (word(one, view.fields.name)?, word(one, view.fields.title)?);
            words.push(Word { in_name, in_title, idf: matching.idf(one) });
        }
        let mut pairs = Vec::with_capacity(words.len());
        for (both, sought) in words.windows(2).zip(sought.windows(2)) {
            if let ([one, other], [first, second]) = (both, sought) {
                pairs.push(Pair { in_text: weights(matching.pair(first, second))?, idf: one.idf + other.idf });
            }
        }
        let total_idf = words.iter().map(|word| word.idf).sum();
        Ok(Some(Self { words, pairs, total_idf, clock }))
    }

    /// Prepares for the entries of a segment.
    pub(super) fn in_segment<'a>(&'a self, segment: &'a SegmentReader, columns: &'a Columns) -> SegmentCloseness<'a> {
        let tests = |weights: &'a Alternatives| weights.iter().map(|weight| EntryTest::new(weight.as_ref())).collect();
        SegmentCloseness {
            closeness: self,
            segment,
            columns,
            names: self.words.iter().map(|word| tests(&word.in_name)).collect(),
            titles: self.words.iter().map(|word| tests(&word.in_title)).collect(),
            pairs: self.pairs.iter().map(|pair| tests(&pair.in_text)).collect(),
        }
    }
}

impl SegmentCloseness<'_> {
    /// Returns the bonus of an entry; `None` if time is up. To be called in the order of the entries.
    pub(super) fn bonus(&mut self, doc: DocId) -> tantivy::Result<Option<f32>> {
        let (closeness, segment) = (self.closeness, self.segment);
        let fits = |tests: &mut Tests<'_>| -> tantivy::Result<bool> {
            for test in tests {
                if closeness.clock.is_over_now() {
                    return Ok(false);
                }
                if test.fits(segment, doc)? {
                    return Ok(true);
                }
            }
            Ok(false)
        };
        let covered = |words: &mut [Tests<'_>], length: u64| -> tantivy::Result<f32> {
            let (mut found, mut idf) = (0_u64, 0.0);
            for (word, tests) in closeness.words.iter().zip(words) {
                if fits(tests)? {
                    found += 1;
                    idf += word.idf;
                }
            }
            Ok(coverage(idf / closeness.total_idf, found, length))
        };
        let name = covered(&mut self.names, self.columns.name_words(doc))?;
        let title = covered(&mut self.titles, self.columns.title_words(doc))?;
        let (mut adjacent, mut all) = (0.0, 0.0);
        for (pair, tests) in closeness.pairs.iter().zip(&mut self.pairs) {
            all += pair.idf;
            if fits(tests)? {
                adjacent += pair.idf;
            }
        }
        if closeness.clock.was_over() {
            return Ok(None);
        }
        Ok(Some(closeness_bonus(closeness.total_idf, name, title, adjacent, all)))
    }
}
