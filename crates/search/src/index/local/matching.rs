//! A query in terms of the index.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use model::Id;
use tantivy::Term;
use tantivy::query::{
    AllQuery, BooleanQuery, BoostQuery, DisjunctionMaxQuery, EmptyQuery, Occur, PhraseQuery, Query, TermQuery,
};
use tantivy::schema::{Field, IndexRecordOption};

use super::admitted::AdmittedEntries;
use super::analyzer::marked_value;
use super::filters::Filters;
use super::phrases::{Phrases, has_phrase, term_query};
use super::schema::Fields;
use super::until_time::UntilTime;
use super::view::LocalView;
use super::weights::Weights;
use super::word_query::{Beginning, Ending, Similar, WordQuery};
use crate::index::admission::Admission;
use crate::index::clock::Clock;
use crate::index::ranking::{NAME_WEIGHT, RARE, SIMILAR_WEIGHT, TITLE_WEIGHT, forms, ranking_words, tolerant_words_of};
use crate::language::parts::covering;
use crate::language::similar::{allowed_difference, is_part, suffix_key};
use crate::language::stems::Stems;
use crate::query::{
    Expression, Filter, QueryWord, SearchQuery, Sought, Tolerance, ValueCondition, ValuesFilter, WordField,
};

/// Translates queries into those of tantivy, for one search.
pub(super) struct Matching<'a> {
    fields: Fields,
    filters: Filters,
    phrases: Phrases<'a>,
    stems: &'a Stems,
    weights: &'a Weights,
    tolerance: Tolerance,
    /// Words of the query for which similar ones count too, folded.
    tolerant_words: BTreeSet<String>,
    /// Words that are similar to their forms, for those that may be mistakes.
    similar: HashMap<String, Similar>,
    clock: Clock,
}

impl<'a> Matching<'a> {
    pub(super) fn new(
        view: &LocalView,
        stems: &'a Stems,
        weights: &'a Weights,
        query: &SearchQuery,
        tolerance: Tolerance,
        admission: &dyn Admission,
        clock: Clock,
    ) -> tantivy::Result<Self> {
        let (tolerant_words, similar) = (BTreeSet::new(), HashMap::new());
        let admitted = match query.expression.as_ref().is_some_and(has_phrase) {
            true => AdmittedEntries::of(view, admission, &clock)?,
            false => AdmittedEntries::default(),
        };
        let filters = Filters::new(view.columns()?.by_segment.clone(), clock.clone());
        let phrases = Phrases::new(stems, Arc::new(admitted), clock.clone());
        let fields = view.fields;
        let mut matching = Self { fields, filters, phrases, stems, weights, tolerance, tolerant_words, similar, clock };
        if tolerance.allows_similar() {
            matching.tolerant_words = tolerant_words_of(query, |word| matching.idf(word));
            for form in matching.forms(&matching.tolerant_words) {
                if let Some(allowed) = allowed_difference(&form)
                    && matching.is_rare(&form)
                {
                    let similar = Similar::new(&form, allowed, matching.clock.clone())?;
                    matching.similar.insert(form, similar);
                }
            }
        }
        Ok(matching)
    }

    /// Returns the query for the index; `None` if nothing is looked for.
    pub(super) fn query(&self, query: &SearchQuery) -> Option<Box<dyn Query>> {
        let expression = query.expression.as_ref()?;
        let required = match (self.tolerance, expression) {
            (Tolerance::MostWords, Expression::All(parts)) => self.most(parts),
            _ => self.expression(expression, true),
        };
        let mut clauses = vec![(Occur::Must, required)];
        for word in ranking_words(query) {
            for (field, weight) in [(self.fields.name, NAME_WEIGHT), (self.fields.title, TITLE_WEIGHT)] {
                let found = any(self.exact_word(word, field));
                clauses.push((Occur::Should, Box::new(BoostQuery::new(found, weight))));
            }
        }
        Some(if clauses.len() > 1 { Box::new(BooleanQuery::new(clauses)) } else { clauses.pop()?.1 })
    }

    /// Returns the inverse document frequency of a word, by its most frequent form.
    pub(super) fn idf(&self, word: &QueryWord) -> f32 {
        let forms = self.forms(std::iter::once(&word.folded).chain(&word.written_out));
        self.weights.idf(forms.iter().map(String::as_str))
    }

    /// Returns a query for entries that fulfil all parts, except for some of the words.
    fn most(&self, parts: &[Expression]) -> Box<dyn Query> {
        let (words, others): (Vec<_>, Vec<_>) = parts.iter().cloned().partition(Expression::may_be_missing);
        let required = self.tolerance.required_words(words.len());
        // Tantivy merges all entries with any of the words until one has enough of them.
        let word =
            |word| -> Box<dyn Query> { Box::new(UntilTime::new(self.expression(word, true), self.clock.clone())) };
        let words = words.iter().map(word).collect();
        let mut clauses: Vec<(Occur, Box<dyn Query>)> =
            vec![(Occur::Must, Box::new(BooleanQuery::union_with_minimum_required_clauses(words, required)))];
        if !others.is_empty() {
            clauses.push((Occur::Must, self.expression(&Expression::All(others), true)));
        }
        Box::new(BooleanQuery::new(clauses))
    }

    /// Returns one query for each form of a word in a field, and for similar words if these are allowed.
    pub(super) fn word(&self, word: &QueryWord, field: Field) -> Vec<Box<dyn Query>> {
        let mut queries = self.exact_word(word, field);
        if self.tolerant_words.contains(&word.folded) {
            self.add_similar(word, field, &mut queries);
        }
        queries
    }

    /// Translates a part of a query. Similar words are not looked for in what is negated.
    fn expression(&self, expression: &Expression, is_wanted: bool) -> Box<dyn Query> {
        match expression {
            Expression::Everything => Box::new(AllQuery),
            Expression::All(parts) => {
                let mut clauses = Vec::with_capacity(parts.len() + 1);
                for part in parts {
                    clauses.push(match part {
                        Expression::Not(part) => (Occur::MustNot, self.expression(part, !is_wanted)),
                        part => (Occur::Must, self.expression(part, is_wanted)),
                    });
                }
                if clauses.iter().all(|(occur, _)| *occur == Occur::MustNot) {
                    clauses.push((Occur::Must, Box::new(AllQuery)));
                }
                Box::new(BooleanQuery::new(clauses))
            }
            Expression::Any(parts) => {
                Box::new(BooleanQuery::union(parts.iter().map(|part| self.expression(part, is_wanted)).collect()))
            }
            Expression::Not(part) => Box::new(BooleanQuery::new(vec![
                (Occur::Must, Box::new(AllQuery)),
                (Occur::MustNot, self.expression(part, !is_wanted)),
            ])),
            Expression::Words(field, sought) => self.sought(sought, self.field(*field), is_wanted),
            Expression::Filter(Filter::Values(values)) => self.values(values),
            Expression::Filter(filter) => self.filters.of(filter.clone()),
        }
    }

    fn field(&self, field: WordField) -> Field {
        match field {
            WordField::All => self.fields.text,
            WordField::Name => self.fields.name,
            WordField::Title => self.fields.title,
            WordField::StatedAuthor => self.fields.stated_author,
        }
    }

    fn sought(&self, sought: &Sought, field: Field, is_wanted: bool) -> Box<dyn Query> {
        match sought {
            Sought::Word(word) if is_wanted => any(self.word(word, field)),
            Sought::Word(word) => any(self.exact_word(word, field)),
            Sought::Prefix(prefix) => {
                let spelled = prefix.spellings().map(|spelling| self.beginning(spelling, field));
                any(spelled.chain(self.forms(prefix.spellings()).iter().map(|form| term_query(field, form))).collect())
            }
            Sought::Phrase { words, gap } => any(self.phrases.of(words, *gap, field, str::to_owned)),
            Sought::Part(part) => Box::new(UntilTime::new(self.part(part), self.clock.clone())),
            Sought::Ending(ending) => {
                let spelled = ending.spellings().map(|spelling| -> Box<dyn Query> {
                    Box::new(WordQuery::new(field, Ending::new(spelling, self.clock.clone())))
                });
                any(spelled.collect())
            }
        }
    }

    /// Returns a query for names with this part.
    fn part(&self, part: &str) -> Box<dyn Query> {
        let term = |(at, part): (usize, String)| (at, Term::from_field_text(self.fields.parts, &part));
        let terms: Vec<(usize, Term)> = covering(part, false).into_iter().map(term).collect();
        match terms.as_slice() {
            [] => Box::new(EmptyQuery),
            [(_, term)] => Box::new(TermQuery::new(term.clone(), IndexRecordOption::Basic)),
            _ => Box::new(PhraseQuery::new_with_offset(terms)),
        }
    }

    /// Returns a query for documents of which a value fulfils its condition.
    fn values(&self, filter: &ValuesFilter) -> Box<dyn Query> {
        let mut keys: Vec<(Id, ValueCondition)> = Vec::new();
        let mut found: Vec<Box<dyn Query>> = Vec::new();
        for (column, condition) in &filter.conditions {
            match condition {
                ValueCondition::Words(words) => found.push(self.value_words(*column, words)),
                condition => keys.push((*column, condition.clone())),
            }
        }
        if !keys.is_empty() {
            found.push(self.filters.values(keys));
        }
        let is_current = self.filters.of(Filter::Within(filter.is_current.clone()));
        let found =
            BooleanQuery::new(vec![(Occur::Must, Box::new(BooleanQuery::union(found))), (Occur::Must, is_current)]);
        Box::new(BoostQuery::new(Box::new(found), 0.0))
    }

    /// Returns a query for words in a text column.
    fn value_words(&self, column: Id, words: &Expression) -> Box<dyn Query> {
        let field = self.fields.values;
        match words {
            Expression::All(parts) => {
                Box::new(BooleanQuery::intersection(parts.iter().map(|part| self.value_words(column, part)).collect()))
            }
            Expression::Words(_, Sought::Prefix(prefix)) => {
                let spelled = prefix.spellings().map(|word| self.beginning(&marked_value(column, word), field));
                let forms = self.forms(prefix.spellings());
                any(spelled.chain(forms.iter().map(|form| term_query(field, &marked_value(column, form)))).collect())
            }
            Expression::Words(_, Sought::Word(word)) => {
                let forms = self.forms(word.spellings());
                any(forms.iter().map(|form| term_query(field, &marked_value(column, form))).collect())
            }
            Expression::Words(_, Sought::Phrase { words, gap }) => {
                any(self.phrases.of(words, *gap, field, |word| marked_value(column, word)))
            }
            _ => Box::new(EmptyQuery),
        }
    }

    fn exact_word(&self, word: &QueryWord, field: Field) -> Vec<Box<dyn Query>> {
        let strong = self.forms(std::iter::once(&word.folded).chain(&word.written_out));
        let weak = self.forms(&word.with_umlauts);
        let mut queries: Vec<Box<dyn Query>> = weak
            .difference(&strong)
            .map(|form| -> Box<dyn Query> { Box::new(BoostQuery::new(term_query(field, form), SIMILAR_WEIGHT)) })
            .collect();
        queries.extend(strong.iter().map(|form| term_query(field, form)));
        queries
    }

    /// Adds compounds that begin or end with the word, and words a letter or two off if the word is rare, so that it
    /// may be a mistake.
    fn add_similar(&self, word: &QueryWord, field: Field, queries: &mut Vec<Box<dyn Query>>) {
        for form in self.forms(std::iter::once(&word.folded)) {
            if allowed_difference(&form).is_none() {
                continue;
            }
            if let Some(similar) = self.similar.get(&form) {
                let similar = WordQuery::new(field, similar.clone());
                queries.push(Box::new(BoostQuery::new(Box::new(similar), SIMILAR_WEIGHT)));
            }
            if is_part(&form) {
                queries.push(self.beginning(&form, field));
            }
        }
        if field == self.fields.text
            && let Some(end) = suffix_key(&word.folded)
        {
            queries.push(self.beginning(&end, self.fields.ends));
        }
    }

    /// Returns a query for all words with a beginning.
    fn beginning(&self, text: &str, field: Field) -> Box<dyn Query> {
        let words = WordQuery::new(field, Beginning::new(text, self.clock.clone()));
        Box::new(BoostQuery::new(Box::new(words), SIMILAR_WEIGHT))
    }

    /// Returns one query for each form in which two words can follow each other in a text. It compares hidden entries
    /// too.
    pub(super) fn pair(&self, one: &QueryWord, other: &QueryWord) -> Vec<Box<dyn Query>> {
        self.phrases.of_all_entries(&[one.clone(), other.clone()], self.fields.text)
    }

    fn forms<'s>(&self, spellings: impl IntoIterator<Item = &'s String>) -> BTreeSet<String> {
        forms(spellings, self.stems)
    }

    fn is_rare(&self, form: &str) -> bool {
        self.weights.count_of(form).is_none_or(|count| count < RARE)
    }
}

/// Returns a query that the best of several decides.
fn any(mut queries: Vec<Box<dyn Query>>) -> Box<dyn Query> {
    match queries.len() {
        0 => Box::new(EmptyQuery),
        1 => queries.remove(0),
        _ => Box::new(DisjunctionMaxQuery::new(queries)),
    }
}
