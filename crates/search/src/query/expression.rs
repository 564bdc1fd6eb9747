//! The tree of a query.

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::Arc;

use model::{ColumnKind, Id, Timestamp};

use super::filter_values::{CheckOuts, Reference, SeenVersions, Status, Within};
use super::query_word::QueryWord;
use super::value_keys::signed_key;
use crate::language::ROW_EXTENSION;
use crate::language::text_languages::TextLanguage;

/// A condition that an entry must fulfil.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expression {
    /// Any entry.
    Everything,
    /// All of these.
    All(Vec<Self>),
    /// At least one of these.
    Any(Vec<Self>),
    /// Entries that do not fulfil this.
    Not(Box<Self>),
    /// Words in a field.
    Words(WordField, Sought),
    /// A property.
    Filter(Filter),
}

/// The field in which words are sought.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WordField {
    /// Words of the name, of the text with its stated title and author, and of texts in columns.
    All,
    /// Its name.
    Name,
    /// The title that its content states.
    Title,
    /// The author that its content states.
    StatedAuthor,
}

/// A word or several.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sought {
    /// A word, with its inflections.
    Word(QueryWord),
    /// Words with this beginning.
    Prefix(QueryWord),
    /// Words in this order.
    Phrase {
        /// The words.
        words: Vec<QueryWord>,
        /// Limit on the other words between them, all together. From 2 on, two words may also be swapped.
        gap: u32,
    },
    /// Any part of a name, folded by [`model::fold`].
    Part(String),
    /// Words with this ending.
    Ending(QueryWord),
}

/// A property that an entry must have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Filter {
    /// One of these extensions of the name, folded and without the full stop. Rows of lists have one of their own.
    Extension(Vec<String>),
    /// Size in bytes, with the end excluded.
    Size(Range<u64>),
    /// Time of creation.
    Created(Range<Timestamp>),
    /// Time of the last change.
    Modified(Range<Timestamp>),
    /// Creator among these people.
    Author(Vec<Id>),
    /// Author of the last change among these people.
    Editor(Vec<Id>),
    /// A version that was not seen.
    NotSeen(Arc<SeenVersions>),
    /// One of these documents.
    Documents(Arc<HashSet<Id>>),
    /// A place.
    Within(Within),
    /// Language of the text.
    Language(TextLanguage),
    /// What a document is to the caller. All but drafts have yet to be looked up, and are fulfilled by no entry.
    Status(Status),
    /// Checked out, as far as the index knows and rows do not know better.
    CheckedOut(CheckOuts),
    /// A condition on columns that have yet to be looked up; fulfilled by no entry.
    Column(ColumnCondition),
    /// Values of columns.
    Values(ValuesFilter),
    /// A name that has yet to be looked up; fulfilled by no entry.
    Reference(Reference),
}

/// A condition on a column of a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnCondition {
    /// The name, folded.
    pub name: String,
    /// True if any value fits.
    pub is_any: bool,
    /// What a text must contain; `None` if no text fits.
    pub words: Option<Box<Expression>>,
    /// The numbers that fit, by [`super::number_key`].
    pub numbers: Option<Range<u64>>,
    /// The times that fit.
    pub times: Option<Range<Timestamp>>,
    /// The answer that fits.
    pub answer: Option<bool>,
    /// Name of the person that fits.
    pub person: Option<String>,
    /// Where it stands, in bytes of the query.
    pub range: Range<usize>,
}

/// Values that documents must have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ValuesFilter {
    /// Columns with their conditions, of which one must be fulfilled.
    pub conditions: Vec<(Id, ValueCondition)>,
    /// Tells whether the indexed values of a document are those that it has now.
    pub is_current: Within,
}

/// A condition on a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ValueCondition {
    /// A key in this range, by [`super::value_key`].
    Between(Range<u64>),
    /// One of these keys.
    OneOf(Vec<u64>),
    /// A text that contains these words.
    Words(Expression),
}

impl ColumnCondition {
    /// Returns the condition for columns of a kind, with the people whom its name stands for; `None` if no value fits.
    pub fn of_kind(&self, kind: &ColumnKind, people: &[Id]) -> Option<ValueCondition> {
        if self.is_any {
            return Some(ValueCondition::Between(0..u64::MAX));
        }
        match kind {
            // One of several values is enough.
            ColumnKind::Multiple(kind) => self.of_kind(kind, people),
            ColumnKind::Text | ColumnKind::Note | ColumnKind::Choice(_) | ColumnKind::Link => {
                self.words.as_deref().cloned().map(ValueCondition::Words)
            }
            ColumnKind::Number => self.numbers.clone().map(ValueCondition::Between),
            ColumnKind::Date => {
                let keys = |times: &Range<Timestamp>| signed_key(times.start.micros())..signed_key(times.end.micros());
                self.times.as_ref().map(keys).map(ValueCondition::Between)
            }
            ColumnKind::Person => {
                let keys: Vec<u64> = people.iter().map(|person| signed_key(person.get())).collect();
                (!keys.is_empty()).then_some(ValueCondition::OneOf(keys))
            }
            // Entries have names that not everybody may see.
            ColumnKind::Lookup(_) => None,
            ColumnKind::YesNo => self.answer.map(|answer| ValueCondition::OneOf(vec![answer.into()])),
        }
    }
}

impl Filter {
    /// Selects rows of lists.
    pub fn rows() -> Self {
        Self::Extension(vec![ROW_EXTENSION.to_owned()])
    }
}

impl Expression {
    /// Calls `visit` for each part, from the outside to the inside, with false below an odd number of negations.
    pub fn each<'a>(&'a self, visit: &mut impl FnMut(&'a Self, bool)) {
        self.each_part(true, visit);
    }

    fn each_part<'a>(&'a self, is_wanted: bool, visit: &mut impl FnMut(&'a Self, bool)) {
        visit(self, is_wanted);
        match self {
            Self::All(parts) | Self::Any(parts) => parts.iter().for_each(|part| part.each_part(is_wanted, visit)),
            Self::Not(part) => part.each_part(!is_wanted, visit),
            Self::Everything | Self::Words(..) | Self::Filter(_) => {}
        }
    }

    /// Returns whether [`super::Tolerance::MostWords`] may ignore this part: a single word without a field.
    pub fn may_be_missing(&self) -> bool {
        matches!(self, Self::Words(WordField::All, Sought::Word(_)))
    }

    /// Replaces references by what they stand for.
    pub fn resolve(&mut self, meanings: &HashMap<Reference, Self>) {
        match self {
            Self::All(parts) | Self::Any(parts) => parts.iter_mut().for_each(|part| part.resolve(meanings)),
            Self::Not(part) => part.resolve(meanings),
            Self::Filter(Filter::Reference(reference)) => {
                if let Some(meaning) = meanings.get(reference) {
                    *self = meaning.clone();
                }
            }
            Self::Everything | Self::Words(..) | Self::Filter(_) => {}
        }
    }

    /// Replaces filters for which `meaning` returns another one.
    pub(super) fn replace_filters(&mut self, meaning: &mut dyn FnMut(&Filter) -> Option<Filter>) {
        match self {
            Self::All(parts) | Self::Any(parts) => parts.iter_mut().for_each(|part| part.replace_filters(meaning)),
            Self::Not(part) => part.replace_filters(meaning),
            Self::Filter(filter) => {
                if let Some(other) = meaning(filter) {
                    *filter = other;
                }
            }
            Self::Everything | Self::Words(..) => {}
        }
    }
}

impl Sought {
    /// Returns the words; none for parts of words.
    pub fn words(&self) -> &[QueryWord] {
        match self {
            Self::Word(word) => std::slice::from_ref(word),
            Self::Prefix(_) | Self::Part(_) | Self::Ending(_) => &[],
            Self::Phrase { words, .. } => words,
        }
    }
}
