//! The fields of a query, and comparisons with their values.

use std::ops::Range;

use super::expression::WordField;
use super::filter_values::{ReferenceKind, Status};
use super::known_columns::KnownColumns;
use crate::language::text_languages::TextLanguage;
use crate::language::words::Words;

/// Signs between the name of a field and its value.
pub(super) const SIGNS: [char; 4] = [':', '=', '<', '>'];

/// Signs with which a comparison begins that may stand apart from the name.
pub(super) const COMPARISONS: [char; 3] = ['=', '<', '>'];

/// A field of a query.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Field {
    /// Words of the document.
    Words(WordField),
    /// A property of the document.
    Property(Property),
    /// A column of libraries, by its number among those that are known.
    Column(usize),
}

/// A property of a document.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Property {
    /// A kind of document, or an extension.
    Type,
    /// An extension.
    Extension,
    Reference(ReferenceKind),
    Size,
    Created,
    Modified,
    Language,
    Status,
}

/// Comparison of a field with a value.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Comparison {
    Equal,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

impl Field {
    /// Returns whether values are smaller and greater.
    fn is_ordered(self, columns: &KnownColumns) -> bool {
        match self {
            Self::Column(number) => columns.at(number).1.are_ordered(),
            _ => matches!(self, Self::Property(Property::Size | Property::Created | Property::Modified)),
        }
    }

    /// Returns whether a comma separates values.
    pub(super) fn has_lists(self) -> bool {
        matches!(self, Self::Property(Property::Type | Property::Extension | Property::Language | Property::Status))
    }
}

/// Splits a chunk into a field, a comparison and a value; `None` if it does not begin with the name of a field.
pub(super) fn split_field<'a>(chunk: &'a str, columns: &KnownColumns) -> Option<(Field, Comparison, &'a str)> {
    let end = chunk.find(SIGNS)?;
    let own = field_named(&folded(&chunk[..end]));
    let field = own.or_else(|| columns.named(&chunk[..end]).map(Field::Column))?;
    compared(field, &chunk[end..], columns)
}

/// Returns the name with which a chunk begins, if it may be that of a column.
pub(super) fn possible_column(chunk: &str) -> Option<&str> {
    let name = &chunk[..chunk.find(SIGNS)?];
    (!name.is_empty() && field_named(&folded(name)).is_none()).then_some(name)
}

/// Returns the column of a name in quotation marks, with the comparison and the value in the chunk behind it.
pub(super) fn quoted_column<'a>(
    name: &str,
    chunk: &'a str,
    columns: &KnownColumns,
) -> Option<(Field, Comparison, &'a str)> {
    if !chunk.starts_with(SIGNS) {
        return None;
    }
    compared(columns.named(name).map(Field::Column)?, chunk, columns)
}

/// Returns the field with a name, if a text behind it begins with a comparison of values; with the comparison and the
/// rest of the text.
pub(super) fn compared_field<'a>(
    name: &str,
    text: &'a str,
    columns: &KnownColumns,
) -> Option<(Field, Comparison, &'a str)> {
    if !text.starts_with(COMPARISONS) {
        return None;
    }
    let field = field_named(&folded(name)).or_else(|| columns.named(name).map(Field::Column))?;
    field.is_ordered(columns).then(|| compared(field, text, columns)).flatten()
}

/// Returns the name of a filter that a chunk seems to begin with, such as "from" in "from:anna". Addresses have none.
pub(super) fn unknown_field(chunk: &str) -> Option<&str> {
    let (name, value) = chunk.split_once(':')?;
    let is_name = (2..=20).contains(&name.chars().count()) && name.chars().all(char::is_alphabetic);
    (is_name && value.starts_with(char::is_alphanumeric)).then_some(name)
}

/// Reads the comparison with which a text begins.
fn compared<'a>(field: Field, text: &'a str, columns: &KnownColumns) -> Option<(Field, Comparison, &'a str)> {
    let value = text.strip_prefix(':').unwrap_or(text);
    let comparisons = [
        ("<=", Comparison::LessOrEqual),
        (">=", Comparison::GreaterOrEqual),
        ("<", Comparison::Less),
        (">", Comparison::Greater),
        ("=", Comparison::Equal),
    ];
    let sign = comparisons.into_iter().find_map(|(sign, comparison)| Some((comparison, value.strip_prefix(sign)?)));
    let (comparison, value) = sign.unwrap_or((Comparison::Equal, value));
    (comparison == Comparison::Equal || field.is_ordered(columns)).then_some((field, comparison, value))
}

/// Returns the field with a name in English or German, folded.
fn field_named(name: &str) -> Option<Field> {
    let property = match name {
        "name" => return Some(Field::Words(WordField::Name)),
        "title" | "titel" => return Some(Field::Words(WordField::Title)),
        "text" => return Some(Field::Words(WordField::All)),
        "type" | "typ" | "filetype" | "dateityp" => Property::Type,
        "ext" | "extension" | "endung" => Property::Extension,
        "author" | "autor" | "verfasser" => Property::Reference(ReferenceKind::Author),
        "creator" | "ersteller" => Property::Reference(ReferenceKind::Creator),
        "editor" | "bearbeiter" => Property::Reference(ReferenceKind::Editor),
        "site" | "website" => Property::Reference(ReferenceKind::Site),
        "library" | "bibliothek" => Property::Reference(ReferenceKind::Library),
        "in" | "folder" | "ordner" => Property::Reference(ReferenceKind::Container),
        "lang" | "language" | "sprache" => Property::Language,
        "is" | "ist" => Property::Status,
        "size" | "grosse" | "groesse" => Property::Size,
        "created" | "erstellt" => Property::Created,
        "modified" | "changed" | "geandert" | "geaendert" => Property::Modified,
        _ => return None,
    };
    Some(Field::Property(property))
}

/// Reads a language.
pub(super) fn language(text: &str) -> Option<TextLanguage> {
    match folded(text).as_str() {
        "de" | "deu" | "ger" | "german" | "deutsch" => Some(TextLanguage::German),
        "en" | "eng" | "english" | "englisch" => Some(TextLanguage::English),
        _ => None,
    }
}

/// Reads what a document is to the caller.
pub(super) fn status(text: &str) -> Option<Status> {
    match folded(text).as_str() {
        "mine" | "mein" | "meine" | "meins" => Some(Status::Mine),
        "draft" | "entwurf" => Some(Status::Draft),
        "followed" | "gefolgt" | "verfolgt" => Some(Status::Followed),
        "checkedout" | "checked out" | "ausgecheckt" => Some(Status::CheckedOut),
        _ => None,
    }
}

fn folded(text: &str) -> String {
    Words::of(text).map(|word| word.folded).collect::<Vec<_>>().join(" ")
}

/// Reads a value, or a range of values such as `1..2`, with a comparison. Returns the half-open range of values that
/// fulfil the comparison; `None` if a value cannot be read.
pub(super) fn bounded<T: Copy + PartialOrd>(
    value: &str,
    comparison: Comparison,
    (first, last): (T, T),
    read: impl Fn(&str) -> Option<Range<T>>,
) -> Option<Range<T>> {
    if let Some((from, to)) = value.split_once("..") {
        let from = if from.is_empty() { first } else { read(from)?.start };
        let to = if to.is_empty() { last } else { read(to)?.end };
        return (comparison == Comparison::Equal && from < to).then_some(from..to);
    }
    let value = read(value)?;
    Some(match comparison {
        Comparison::Equal => value,
        Comparison::Less => first..value.start,
        Comparison::LessOrEqual => first..value.end,
        Comparison::Greater => value.end..last,
        Comparison::GreaterOrEqual => value.start..last,
    })
}
