//! The fields of a query, and comparisons with their values.

use std::ops::Range;

use super::expression::{ReferenceKind, WordField};
use crate::language::words::Words;

/// A field of a query.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Field {
    /// Words of the document.
    Words(WordField),
    /// A property of the document.
    Property(Property),
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
    fn is_ordered(self) -> bool {
        matches!(self, Self::Property(Property::Size | Property::Created | Property::Modified))
    }

    /// Returns whether a comma separates values.
    pub(super) fn has_lists(self) -> bool {
        matches!(self, Self::Property(Property::Type | Property::Extension))
    }
}

/// Splits a chunk into a field, a comparison and a value; `None` if it does not begin with the name of a field.
pub(super) fn split_field(chunk: &str) -> Option<(Field, Comparison, &str)> {
    let end = chunk.find([':', '=', '<', '>'])?;
    let field = field_named(&Words::of(&chunk[..end]).map(|word| word.folded).collect::<Vec<_>>().join(" "))?;
    let value = &chunk[end..];
    let value = value.strip_prefix(':').unwrap_or(value);
    let comparisons = [
        ("<=", Comparison::LessOrEqual),
        (">=", Comparison::GreaterOrEqual),
        ("<", Comparison::Less),
        (">", Comparison::Greater),
        ("=", Comparison::Equal),
    ];
    let sign = comparisons.into_iter().find_map(|(sign, comparison)| Some((comparison, value.strip_prefix(sign)?)));
    let (comparison, value) = sign.unwrap_or((Comparison::Equal, value));
    (comparison == Comparison::Equal || field.is_ordered()).then_some((field, comparison, value))
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
        "size" | "grosse" | "groesse" => Property::Size,
        "created" | "erstellt" => Property::Created,
        "modified" | "changed" | "geandert" | "geaendert" => Property::Modified,
        _ => return None,
    };
    Some(Field::Property(property))
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
