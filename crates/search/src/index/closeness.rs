//! How close the best entries are to a query: how much of their names and titles it covers, and whether its words
//! follow each other in the text.

use tantivy::query::{EnableScoring, Query, Weight};
use tantivy::schema::Field;
use tantivy::{DocId, SegmentReader};

use super::columns::Columns;
use super::entry_test::EntryTest;
use super::matching::{Matching, named_words};
use super::view::View;
use crate::query::SearchQuery;

/// Weights of a name and of a title that are the query, and of a text with all its words in their order, in sums of the
/// words' weights. They were chosen by the questions of `bench/relevance`, and judged by others.
const NAME_WEIGHT: f32 = 1.0;
const TITLE_WEIGHT: f32 = 1.0;
const ORDER_WEIGHT: f32 = 1.5;

/// A query, prepared for comparison with single entries.
pub(super) struct Closeness {
    words: Vec<Word>,
    pairs: Vec<Pair>,
    /// Sum of the weights of the words.
    importance: f32,
}

/// A word of the query.
struct Word {
    in_name: Box<dyn Weight>,
    in_title: Box<dyn Weight>,
    importance: f32,
}

/// Two words of the query that follow each other.
struct Pair {
    in_text: Box<dyn Weight>,
    importance: f32,
}

/// Tests for the entries of one segment.
pub(super) struct SegmentCloseness<'a> {
    closeness: &'a Closeness,
    segment: &'a SegmentReader,
    columns: &'a Columns,
    names: Vec<EntryTest<'a>>,
    titles: Vec<EntryTest<'a>>,
    pairs: Vec<EntryTest<'a>>,
}

impl Closeness {
    /// Prepares a query; `None` if it has no words.
    pub(super) fn of(view: &View, matching: &Matching<'_>, query: &SearchQuery) -> tantivy::Result<Option<Self>> {
        let sought = named_words(query);
        if sought.is_empty() {
            return Ok(None);
        }
        let weight = |query: Box<dyn Query>| query.weight(EnableScoring::disabled_from_searcher(&view.searcher));
        let word = |word, field: Field| weight(matching.word(word, field));
        let mut words = Vec::with_capacity(sought.len());
        for one in &sought {
            let (in_name, in_title) = (word(one, view.fields.name)?, word(one, view.fields.title)?);
            words.push(Word { in_name, in_title, importance: matching.importance(one) });
        }
        let mut pairs = Vec::with_capacity(words.len());
        for (both, sought) in words.windows(2).zip(sought.windows(2)) {
            if let ([one, other], [first, second]) = (both, sought) {
                let in_text = weight(matching.pair(first, second))?;
                pairs.push(Pair { in_text, importance: one.importance + other.importance });
            }
        }
        let importance = words.iter().map(|word| word.importance).sum();
        Ok(Some(Self { words, pairs, importance }))
    }

    /// Prepares for the entries of a segment.
    pub(super) fn in_segment<'a>(&'a self, segment: &'a SegmentReader, columns: &'a Columns) -> SegmentCloseness<'a> {
        let tests = |weights: Vec<&'a dyn Weight>| weights.into_iter().map(EntryTest::new).collect();
        SegmentCloseness {
            closeness: self,
            segment,
            columns,
            names: tests(self.words.iter().map(|word| word.in_name.as_ref()).collect()),
            titles: tests(self.words.iter().map(|word| word.in_title.as_ref()).collect()),
            pairs: tests(self.pairs.iter().map(|pair| pair.in_text.as_ref()).collect()),
        }
    }
}

impl SegmentCloseness<'_> {
    /// Returns the score that an entry gets for its closeness. To be called in the order of the entries.
    pub(super) fn score(&mut self, doc: DocId) -> tantivy::Result<f32> {
        let (closeness, segment) = (self.closeness, self.segment);
        let covered = |tests: &mut [EntryTest<'_>], length: u64| -> tantivy::Result<f32> {
            let (mut found, mut importance) = (0_u64, 0.0);
            for (word, test) in closeness.words.iter().zip(tests) {
                if test.fits(segment, doc)? {
                    found += 1;
                    importance += word.importance;
                }
            }
            let (share, share_of_field) =
                (importance / closeness.importance, found as f32 / length.max(found).max(1) as f32);
            Ok(share.powi(2) * share_of_field.sqrt())
        };
        let name = covered(&mut self.names, self.columns.name_words(doc))?;
        let title = covered(&mut self.titles, self.columns.title_words(doc))?;
        let (mut adjacent, mut all) = (0.0, 0.0);
        for (pair, test) in closeness.pairs.iter().zip(&mut self.pairs) {
            all += pair.importance;
            if test.fits(segment, doc)? {
                adjacent += pair.importance;
            }
        }
        let order = if all > 0.0 { adjacent / all } else { 0.0 };
        Ok(closeness.importance * (NAME_WEIGHT * name + TITLE_WEIGHT * title + ORDER_WEIGHT * order))
    }
}
