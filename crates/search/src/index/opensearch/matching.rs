//! A query in the language of the search server. It finds what the same query finds in an index in a directory.

use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};

use model::Id;
use serde_json::{Value, json};

use super::admission_filter::AdmissionFilter;
use super::clauses::{MAX_CLAUSES, clauses, trim};
use super::document::value_text;
use super::tokens::{ANALYZER, has_digits, in_column, marked, plain, with_mark};
use super::view::SharedView;
use crate::index::clock::Clock;
use crate::index::entry::Audience;
use crate::index::ranking::{
    NAME_WEIGHT, RARE, SIMILAR_WEIGHT, TITLE_WEIGHT, forms, idf_of, phrase_forms, ranking_words, tolerant_words_of,
};
use crate::index::top::TopRequest;
use crate::language::parts::{SHORTEST, each_part};
use crate::language::similar::{allowed_difference, is_part, suffix_key};
use crate::language::stems::Stems;
use crate::query::{
    Expression, Filter, QueryWord, SearchQuery, Sought, Status, Tolerance, ValueCondition, ValuesFilter, Within,
    WordField,
};

/// Most characters of a part of a name. No name is longer.
const MAX_PART: usize = 300;
/// Most values in one clause. The server takes 65,536.
const MAX_VALUES: usize = 60_000;

/// Translates queries, for one search.
pub(super) struct SharedMatching<'a> {
    view: &'a SharedView,
    admitted: &'a AdmissionFilter,
    stems: &'a Stems,
    /// Numbers of admitted entries by words.
    counts: &'a HashMap<String, u64>,
    tolerance: Tolerance,
    clock: &'a Clock,
    /// Where indexed values are those of now. All conditions on columns in a query ask for the same.
    current: RefCell<Option<(Within, Value)>>,
    /// Words of the query for which similar ones count too, folded.
    tolerant_words: BTreeSet<String>,
}

impl<'a> SharedMatching<'a> {
    pub(super) fn new(
        view: &'a SharedView,
        admitted: &'a AdmissionFilter,
        stems: &'a Stems,
        counts: &'a HashMap<String, u64>,
        request: &'a TopRequest<'_>,
    ) -> Self {
        let (tolerance, clock, current, tolerant_words) =
            (request.tolerance, &request.clock, RefCell::default(), BTreeSet::new());
        let mut matching = Self { view, admitted, stems, counts, tolerance, clock, current, tolerant_words };
        if tolerance.allows_similar() {
            matching.tolerant_words = tolerant_words_of(request.query, |word| matching.idf(word));
        }
        matching
    }

    /// Returns the query for the server, and whether it finds all that fits: the server takes a limited number of
    /// clauses. `None` if nothing is looked for.
    pub(super) fn query(&self, query: &SearchQuery) -> Option<(Value, bool)> {
        let expression = query.expression.as_ref()?;
        let mut required = match (self.tolerance, expression) {
            (Tolerance::MostWords, Expression::All(parts)) => self.most(parts),
            _ => self.expression(expression, true),
        };
        let mut optional = Vec::new();
        for word in ranking_words(query) {
            for (field, weight) in [("name", NAME_WEIGHT), ("title", TITLE_WEIGHT)] {
                optional.push(json!({"dis_max": {"queries": self.exact_word(word, field), "boost": weight}}));
            }
        }
        let is_all = trim(&mut required, MAX_CLAUSES);
        // Those only order what is found.
        let mut left = MAX_CLAUSES - clauses(&required);
        optional.retain(|query| {
            let needed = clauses(query);
            let fits = needed <= left;
            left -= if fits { needed } else { 0 };
            fits
        });
        let query = json!({"bool": {"must": [required], "should": optional, "filter": [self.admitted.filter]}});
        Some((query, is_all))
    }

    /// Returns the inverse document frequency of a word, by its most frequent form.
    pub(super) fn idf(&self, word: &QueryWord) -> f32 {
        let forms = forms(std::iter::once(&word.folded).chain(&word.written_out), self.stems);
        idf_of(forms.iter().filter_map(|form| self.counts.get(form)).max().copied())
    }

    /// Returns queries for the forms of a word in a field, and for similar words if these are allowed.
    pub(super) fn word(&self, word: &QueryWord, field: &str) -> Vec<Value> {
        let mut queries = self.exact_word(word, field);
        if self.tolerant_words.contains(&word.folded) {
            self.add_similar(word, field, &mut queries);
        }
        queries
    }

    /// Returns one query for each form in which two words can follow each other in a text.
    pub(super) fn pair(&self, one: &QueryWord, other: &QueryWord) -> Vec<Value> {
        self.phrase(&[one.clone(), other.clone()], 0, "text", &marked)
    }

    /// Returns a query for entries that fulfil all parts, except for some of the words.
    fn most(&self, parts: &[Expression]) -> Value {
        let (words, others): (Vec<_>, Vec<_>) = parts.iter().cloned().partition(Expression::may_be_missing);
        let required = self.tolerance.required_words(words.len());
        let words: Vec<Value> = words.iter().map(|word| self.expression(word, true)).collect();
        let mut clauses = vec![json!({"bool": {"should": words, "minimum_should_match": required}})];
        if !others.is_empty() {
            clauses.push(self.expression(&Expression::All(others), true));
        }
        json!({"bool": {"must": clauses}})
    }

    /// Translates a part of a query. Similar words are not looked for in what is negated.
    fn expression(&self, expression: &Expression, is_wanted: bool) -> Value {
        match expression {
            Expression::Everything => json!({"match_all": {}}),
            Expression::All(parts) => {
                let (mut wanted, mut unwanted) = (Vec::new(), Vec::new());
                for part in parts {
                    match part {
                        Expression::Not(part) => unwanted.push(self.expression(part, !is_wanted)),
                        part => wanted.push(self.expression(part, is_wanted)),
                    }
                }
                if wanted.is_empty() {
                    wanted.push(json!({"match_all": {}}));
                }
                json!({"bool": {"must": wanted, "must_not": unwanted}})
            }
            Expression::Any(parts) => any_of(parts.iter().map(|part| self.expression(part, is_wanted)).collect()),
            Expression::Not(part) => {
                json!({"bool": {"must": [{"match_all": {}}], "must_not": [self.expression(part, !is_wanted)]}})
            }
            Expression::Words(field, sought) => self.sought(sought, field_of(*field), is_wanted),
            Expression::Filter(filter) => json!({"bool": {"filter": [self.filter(filter)]}}),
        }
    }

    fn sought(&self, sought: &Sought, field: &str, is_wanted: bool) -> Value {
        match sought {
            Sought::Word(word) if is_wanted => best(self.word(word, field)),
            Sought::Word(word) => best(self.exact_word(word, field)),
            Sought::Prefix(prefix) => {
                let mut queries: Vec<Value> =
                    prefix.spellings().flat_map(|spelling| beginnings(spelling, field)).collect();
                queries.extend(forms(prefix.spellings(), self.stems).iter().map(|form| self.one(field, form, 1.0)));
                best(queries)
            }
            Sought::Phrase { words, gap } => best(self.phrase(words, *gap, field, &marked)),
            Sought::Part(part) => part_of_name(part),
            Sought::Ending(ending) => best(ending.spellings().map(|spelling| with_ending(spelling, field)).collect()),
        }
    }

    fn exact_word(&self, word: &QueryWord, field: &str) -> Vec<Value> {
        let strong = forms(std::iter::once(&word.folded).chain(&word.written_out), self.stems);
        let weak = forms(&word.with_umlauts, self.stems);
        let mut queries: Vec<Value> =
            weak.difference(&strong).map(|form| self.one(field, form, SIMILAR_WEIGHT)).collect();
        queries.extend(strong.iter().map(|form| self.one(field, form, 1.0)));
        queries
    }

    /// Returns a query for one form of a word.
    fn one(&self, field: &str, form: &str, weight: f32) -> Value {
        json!({"term": {field: {"value": marked(form), "boost": weight * self.weight(form)}}})
    }

    fn weight(&self, form: &str) -> f32 {
        idf_of(self.counts.get(form).copied())
    }

    /// Adds compounds that begin or end with the word, and words a letter or two off if the word is rare, so that it
    /// may be a mistake.
    fn add_similar(&self, word: &QueryWord, field: &str, queries: &mut Vec<Value>) {
        for form in forms(std::iter::once(&word.folded), self.stems) {
            let Some(allowed) = allowed_difference(&form) else { continue };
            if self.counts.get(&form).is_none_or(|count| *count < RARE) {
                queries.push(similar(&form, allowed, field));
            }
            if is_part(&form) {
                queries.extend(beginnings(&form, field));
            }
        }
        if field == "text"
            && let Some(end) = suffix_key(&word.folded)
        {
            queries.push(json!({"prefix": {"ends": {"value": end, "boost": SIMILAR_WEIGHT}}}));
        }
    }

    /// Returns one query for each form of a phrase, stemmed by the rules of one language after the other.
    fn phrase(&self, words: &[QueryWord], gap: u32, field: &str, term: &dyn Fn(&str) -> String) -> Vec<Value> {
        let phrase = |words: Vec<String>| {
            let weight: f32 = words.iter().map(|word| self.weight(word)).sum();
            let terms: Vec<String> = words.iter().map(|word| term(word)).collect();
            match terms.as_slice() {
                [] => nothing(),
                [term] => json!({"term": {field: {"value": term, "boost": weight}}}),
                terms => {
                    let fields = json!({"query": terms.join(" "), "analyzer": ANALYZER, "slop": gap, "boost": weight});
                    json!({"match_phrase": {field: fields}})
                }
            }
        };
        phrase_forms(words, self.stems).into_iter().map(phrase).collect()
    }

    /// Returns a filter for a property.
    fn filter(&self, filter: &Filter) -> Value {
        let ids = |ids: &[Id]| ids.iter().map(|id| id.get()).collect::<Vec<_>>();
        match filter {
            Filter::Extension(extensions) => json!({"terms": {"extension": extensions}}),
            Filter::Size(sizes) => {
                let end = i64::try_from(sizes.end).unwrap_or(i64::MAX);
                json!({"range": {"size": {"gte": i64::try_from(sizes.start).unwrap_or(i64::MAX), "lt": end}}})
            }
            Filter::Created(time) => between("created", time.start.micros(), time.end.micros()),
            Filter::Modified(time) => between("modified", time.start.micros(), time.end.micros()),
            Filter::Author(people) => json!({"terms": {"author": ids(people)}}),
            Filter::Editor(people) => json!({"terms": {"editor": ids(people)}}),
            Filter::NotSeen(seen) => {
                let versions: Vec<i64> = seen.versions.iter().map(|version| version.get()).collect();
                json!({"bool": {
                    "filter": [{"range": {"modified": {"gte": seen.through.micros()}}}],
                    "must_not": [{"terms": {"version": versions}}],
                }})
            }
            Filter::Documents(documents) => {
                let documents: Vec<i64> = documents.iter().map(|document| document.get()).collect();
                json!({"terms": {"node": documents}})
            }
            Filter::Within(within) => self.admitted.at(self.view, self.clock, |position| within.0(position)),
            Filter::Language(language) => json!({"term": {"language": language.number()}}),
            Filter::Status(Status::Draft) => json!({"term": {"face": Audience::Draft.number()}}),
            Filter::CheckedOut(now) => {
                let changed = self.admitted.changed.iter().map(|document| document.node);
                let out: Vec<i64> = changed.filter(|node| now.0(*node) == Some(true)).map(Id::get).collect();
                any_of(vec![
                    json!({"bool": {"filter": [{"exists": {"field": "checked_out_by"}}],
                        "must_not": self.admitted.is_changed()}}),
                    json!({"terms": {"node": out}}),
                ])
            }
            Filter::Values(values) => self.values(values),
            Filter::Reference(_) | Filter::Column(_) | Filter::Status(_) => nothing(),
        }
    }

    /// Returns a filter for documents of which a value fulfils its condition.
    fn values(&self, filter: &ValuesFilter) -> Value {
        // Keys and single words of all columns are one clause each.
        let (mut found, mut keys, mut single) = (Vec::new(), Vec::new(), Vec::new());
        for (column, condition) in &filter.conditions {
            match condition {
                ValueCondition::Words(Expression::Words(_, Sought::Word(word))) => {
                    single.extend(forms(word.spellings(), self.stems).iter().map(|form| in_column(*column, form)));
                }
                ValueCondition::Words(words) => found.push(self.value_words(*column, words)),
                ValueCondition::Between(keys) => {
                    let (start, end) = (value_text(*column, keys.start), value_text(*column, keys.end));
                    found.push(json!({"range": {"value_keys": {"gte": start, "lt": end}}}));
                }
                ValueCondition::OneOf(some) => keys.extend(some.iter().map(|key| value_text(*column, *key))),
            }
        }
        for (field, values) in [("value_keys", keys), ("values", single)] {
            found.extend(values.chunks(MAX_VALUES).map(|values| json!({"terms": {field: values}})));
        }
        json!({"bool": {"filter": [any_of(found), self.is_current(&filter.is_current)]}})
    }

    /// Returns a filter for documents whose indexed values are those of now. It is made once.
    fn is_current(&self, within: &Within) -> Value {
        let mut current = self.current.borrow_mut();
        if let Some((_, filter)) = current.as_ref().filter(|(known, _)| known == within) {
            return filter.clone();
        }
        let filter = self.admitted.at(self.view, self.clock, |position| within.0(position));
        *current = Some((within.clone(), filter.clone()));
        filter
    }

    /// Returns a query for words in a text column.
    fn value_words(&self, column: Id, words: &Expression) -> Value {
        let one_of = |forms: BTreeSet<String>| {
            let forms: Vec<String> = forms.iter().map(|form| in_column(column, form)).collect();
            json!({"terms": {"values": forms}})
        };
        match words {
            Expression::All(parts) => {
                let parts: Vec<Value> = parts.iter().map(|part| self.value_words(column, part)).collect();
                json!({"bool": {"must": parts}})
            }
            Expression::Words(_, Sought::Prefix(prefix)) => {
                let spelled = prefix.spellings().map(|word| json!({"prefix": {"values": in_column(column, word)}}));
                any_of(spelled.chain([one_of(forms(prefix.spellings(), self.stems))]).collect())
            }
            Expression::Words(_, Sought::Word(word)) => one_of(forms(word.spellings(), self.stems)),
            Expression::Words(_, Sought::Phrase { words, gap }) => {
                any_of(self.phrase(words, *gap, "values", &|word| in_column(column, word)))
            }
            _ => nothing(),
        }
    }
}

fn field_of(field: WordField) -> &'static str {
    match field {
        WordField::All => "text",
        WordField::Name => "name",
        WordField::Title => "title",
        WordField::StatedAuthor => "stated_author",
    }
}

fn between(field: &str, start: i64, end: i64) -> Value {
    json!({"range": {field: {"gte": start, "lt": end}}})
}

pub(super) fn nothing() -> Value {
    json!({"match_none": {}})
}

/// Returns a query that one of several fulfils; their scores are added.
pub(super) fn any_of(queries: Vec<Value>) -> Value {
    if queries.is_empty() { nothing() } else { json!({"bool": {"should": queries, "minimum_should_match": 1}}) }
}

/// Returns a query that the best of several decides.
fn best(queries: Vec<Value>) -> Value {
    if queries.is_empty() { nothing() } else { json!({"dis_max": {"queries": queries}}) }
}

/// Returns queries for all words with a beginning, without digits and with them.
fn beginnings(text: &str, field: &str) -> Vec<Value> {
    let of = |text: String| json!({"prefix": {field: {"value": text, "boost": SIMILAR_WEIGHT}}});
    let plain = (!has_digits(text)).then(|| of(plain(text)));
    plain.into_iter().chain([of(with_mark(text))]).collect()
}

fn with_ending(text: &str, field: &str) -> Value {
    json!({"wildcard": {field: {"value": format!("*{}", plain(text)), "boost": SIMILAR_WEIGHT}}})
}

/// Returns a query for words a letter or two off. Of words with digits, only one letter may differ, and no digit.
fn similar(form: &str, allowed: u8, field: &str) -> Value {
    if !has_digits(form) {
        return json!({"fuzzy": {field: {"value": form, "fuzziness": allowed, "prefix_length": 1,
            "transpositions": true, "rewrite": "constant_score", "boost": SIMILAR_WEIGHT}}});
    }
    let letters: Vec<char> = form.chars().collect();
    let text = |letters: &[char]| letters.iter().collect::<String>();
    let mut spellings = BTreeSet::new();
    // The first letter stays.
    for at in 1..=letters.len() {
        let (before, after) = (text(&letters[..at]), letters.get(at..).unwrap_or_default());
        spellings.insert(format!("{before}[^0-9]{}", text(after)));
        let Some((first, rest)) = after.split_first() else { continue };
        if !first.is_ascii_digit() {
            spellings.insert(format!("{before}[^0-9]?{}", text(rest)));
        }
        if let Some((second, rest)) = rest.split_first()
            && !(first.is_ascii_digit() && second.is_ascii_digit())
        {
            spellings.insert(format!("{before}{second}{first}{}", text(rest)));
        }
    }
    let spellings: Vec<String> = spellings.into_iter().collect();
    let expression = format!("{}({})", with_mark(""), spellings.join("|"));
    json!({"regexp": {field: {"value": expression, "flags": "NONE", "boost": SIMILAR_WEIGHT}}})
}

/// Returns a query for names with a folded part.
pub(super) fn part_of_name(part: &str) -> Value {
    let length = part.chars().count();
    if !(SHORTEST..=MAX_PART).contains(&length) {
        return nothing();
    }
    // The first part that `each_part` returns is the mark of the beginning with what follows.
    sequence(part, length, false)
}

/// Returns a query for names that begin with a folded text.
pub(super) fn beginning_of_name(text: &str) -> Value {
    let length = text.chars().count();
    if length == 0 || length > MAX_PART { nothing() } else { sequence(text, length + 1, true) }
}

/// Returns a query for the longest parts of a text, one after the other.
fn sequence(text: &str, length: usize, is_beginning: bool) -> Value {
    let longest = length.min(3);
    let mut parts = Vec::new();
    each_part(text, |position, part| {
        if part.chars().count() == longest && (is_beginning || position > 0) {
            parts.push(plain(part));
        }
    });
    match parts.as_slice() {
        [] => nothing(),
        [part] => json!({"term": {"parts": part}}),
        parts => json!({"match_phrase": {"parts": {"query": parts.join(" "), "analyzer": ANALYZER}}}),
    }
}
