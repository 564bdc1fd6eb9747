//! A query in terms of the index.

use std::collections::BTreeSet;

use tantivy::query::doc_predicate_query::{DocPredicateQuery, FunctionPredicate};
use tantivy::query::{
    AllQuery, BooleanQuery, BoostQuery, DisjunctionMaxQuery, EmptyQuery, FuzzyTermQuery, Occur, PhraseQuery, Query,
    TermQuery,
};
use tantivy::schema::{Field, IndexRecordOption};
use tantivy::{DocId, Score, SegmentReader, Term};

use super::columns::Columns;
use super::schema::Fields;
use crate::language::similar::{allowed_difference, backwards, is_part};
use crate::language::stems::{LANGUAGES, Stems};
use crate::query::{Expression, Filter, QueryWord, SearchQuery, Sought, WordField};

/// Weights of words in names and titles, beside that of words in the text.
const NAME_WEIGHT: Score = 2.0;
const TITLE_WEIGHT: Score = 1.0;
/// Weight of words that are merely similar.
const SIMILAR_WEIGHT: Score = 0.5;

/// Translates queries.
pub(super) struct Matching {
    fields: Fields,
    stems: Stems,
    /// True if similar words and compounds fit as well.
    is_similar: bool,
}

impl Matching {
    pub(super) fn new(fields: Fields, is_similar: bool) -> Self {
        Self { fields, stems: Stems::default(), is_similar }
    }

    /// Returns the query for the index; `None` if nothing is looked for.
    pub(super) fn query(&self, query: &SearchQuery) -> Option<Box<dyn Query>> {
        let required = self.expression(query.expression.as_ref()?);
        let mut clauses = vec![(Occur::Must, required)];
        for (field, sought) in query.sought() {
            let words = match (field, sought) {
                (WordField::Writer, _) | (_, Sought::Prefix(_)) => continue,
                (_, Sought::Word(word)) => std::slice::from_ref(word),
                (_, Sought::Phrase { words, .. }) => words.as_slice(),
            };
            for word in words {
                for (field, weight) in [(self.fields.name, NAME_WEIGHT), (self.fields.title, TITLE_WEIGHT)] {
                    let found = self.exact_word(word, field);
                    clauses.push((Occur::Should, Box::new(BoostQuery::new(found, weight))));
                }
            }
        }
        Some(if clauses.len() > 1 { Box::new(BooleanQuery::new(clauses)) } else { clauses.pop()?.1 })
    }

    /// Returns the terms whose frequency decides about the order.
    pub(super) fn terms(&self, query: &SearchQuery) -> BTreeSet<String> {
        let mut terms = BTreeSet::new();
        for (_, sought) in query.sought() {
            match sought {
                Sought::Word(word) => terms.extend(self.forms(word)),
                Sought::Phrase { words, .. } => words.iter().for_each(|word| terms.extend(self.forms(word))),
                Sought::Prefix(_) => {}
            }
        }
        terms
    }

    fn expression(&self, expression: &Expression) -> Box<dyn Query> {
        match expression {
            Expression::Everything => Box::new(AllQuery),
            Expression::All(parts) => {
                let mut clauses = Vec::with_capacity(parts.len() + 1);
                for part in parts {
                    clauses.push(match part {
                        Expression::Not(part) => (Occur::MustNot, self.expression(part)),
                        part => (Occur::Must, self.expression(part)),
                    });
                }
                if clauses.iter().all(|(occur, _)| *occur == Occur::MustNot) {
                    clauses.push((Occur::Must, Box::new(AllQuery)));
                }
                Box::new(BooleanQuery::new(clauses))
            }
            Expression::Any(parts) => {
                Box::new(BooleanQuery::union(parts.iter().map(|part| self.expression(part)).collect()))
            }
            Expression::Not(part) => Box::new(BooleanQuery::new(vec![
                (Occur::Must, Box::new(AllQuery)),
                (Occur::MustNot, self.expression(part)),
            ])),
            Expression::Words(field, sought) => self.sought(sought, self.field(*field)),
            Expression::Filter(filter) => filtered(filter.clone()),
        }
    }

    fn field(&self, field: WordField) -> Field {
        match field {
            WordField::All => self.fields.text,
            WordField::Name => self.fields.name,
            WordField::Title => self.fields.title,
            WordField::Writer => self.fields.writer,
        }
    }

    fn sought(&self, sought: &Sought, field: Field) -> Box<dyn Query> {
        match sought {
            Sought::Word(word) if self.is_similar => self.similar_word(word, field),
            Sought::Word(word) => self.exact_word(word, field),
            Sought::Prefix(prefix) => {
                let mut queries = vec![self.beginning(prefix, field)];
                queries.extend(self.stems.of_each(prefix).map(|stem| one(field, &stem)));
                any(queries)
            }
            Sought::Phrase { words, gap } => self.phrase(words, *gap, field),
        }
    }

    fn exact_word(&self, word: &QueryWord, field: Field) -> Box<dyn Query> {
        any(self.forms(word).into_iter().map(|form| one(field, &form)).collect())
    }

    /// Returns words a letter or two off, and compounds that begin or end with the word.
    fn similar_word(&self, word: &QueryWord, field: Field) -> Box<dyn Query> {
        let mut queries = vec![self.exact_word(word, field)];
        for form in self.forms(word) {
            let Some(allowed) = allowed_difference(&form) else { continue };
            let fuzzy = FuzzyTermQuery::new(Term::from_field_text(field, &form), allowed, true);
            queries.push(Box::new(BoostQuery::new(Box::new(fuzzy), SIMILAR_WEIGHT)));
            if is_part(&form) {
                queries.push(self.beginning(&form, field));
                if field == self.fields.text {
                    queries.push(self.beginning(&backwards(&form), self.fields.ends));
                }
            }
        }
        any(queries)
    }

    /// Returns a query for all words with a beginning.
    fn beginning(&self, text: &str, field: Field) -> Box<dyn Query> {
        let term = Term::from_field_text(field, text);
        Box::new(BoostQuery::new(Box::new(FuzzyTermQuery::new_prefix(term, 0, false)), SIMILAR_WEIGHT))
    }

    /// Returns a query for a phrase, stemmed by the rules of one language after the other.
    fn phrase(&self, words: &[QueryWord], gap: u32, field: Field) -> Box<dyn Query> {
        let stems: Vec<_> = words.iter().map(|word| self.stems.of_each(&word.folded)).collect();
        let others: Vec<_> =
            words.iter().map(|word| self.stems.of_each(word.others.first().unwrap_or(&word.folded))).collect();
        let mut phrases = BTreeSet::new();
        for spelling in [&stems, &others] {
            for language in 0..LANGUAGES {
                phrases.insert(spelling.iter().map(|stems| stems[language].as_str()).collect::<Vec<&str>>());
            }
        }
        let phrase = |words: Vec<&str>| -> Box<dyn Query> {
            match words.as_slice() {
                [] => Box::new(EmptyQuery),
                [word] => one(field, word),
                words => {
                    let terms = words.iter().map(|word| Term::from_field_text(field, word)).enumerate().collect();
                    Box::new(PhraseQuery::new_with_offset_and_slop(terms, gap))
                }
            }
        };
        any(phrases.into_iter().map(phrase).collect())
    }

    /// Returns the forms under which a word is in the index.
    fn forms(&self, word: &QueryWord) -> BTreeSet<String> {
        let spellings = std::iter::once(&word.folded).chain(&word.others);
        spellings.flat_map(|spelling| self.stems.of_each(spelling)).collect()
    }
}

fn one(field: Field, word: &str) -> Box<dyn Query> {
    Box::new(TermQuery::new(Term::from_field_text(field, word), IndexRecordOption::WithFreqs))
}

/// Returns a query that the best of several decides.
fn any(mut queries: Vec<Box<dyn Query>>) -> Box<dyn Query> {
    match queries.len() {
        0 => Box::new(EmptyQuery),
        1 => queries.remove(0),
        _ => Box::new(DisjunctionMaxQuery::new(queries)),
    }
}

/// Returns a query for a property.
fn filtered(filter: Filter) -> Box<dyn Query> {
    let predicate = FunctionPredicate::from(move |segment: &SegmentReader| fits(&filter, segment));
    Box::new(BoostQuery::new(Box::new(DocPredicateQuery::from(predicate)), 0.0))
}

type Fits = Box<dyn Fn(DocId) -> bool + Send + Sync>;

/// Returns a function that tells which entries of a segment fit.
fn fits(filter: &Filter, segment: &SegmentReader) -> tantivy::Result<Fits> {
    let columns = Columns::of(segment)?;
    Ok(match filter.clone() {
        Filter::Extension(extensions) => {
            let mut numbers = Vec::new();
            for extension in &extensions {
                numbers.extend(columns.number_of(extension)?);
            }
            Box::new(move |doc| columns.extension(doc).is_some_and(|number| numbers.contains(&number)))
        }
        Filter::Size(sizes) => Box::new(move |doc| sizes.contains(&columns.size(doc))),
        Filter::Created(time) => Box::new(move |doc| time.contains(&columns.created(doc))),
        Filter::Modified(time) => Box::new(move |doc| time.contains(&columns.modified(doc))),
        Filter::Author(people) => Box::new(move |doc| people.contains(&columns.author(doc))),
        Filter::Editor(people) => Box::new(move |doc| people.contains(&columns.editor(doc))),
        Filter::Within(within) => Box::new(move |doc| within.0(columns.position(doc))),
        Filter::Reference(_) => Box::new(|_| false),
    })
}
