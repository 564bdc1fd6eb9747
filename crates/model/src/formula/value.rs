//! Values in formulas: faults, limits, comparison, and values as text.

use std::borrow::Cow;
use std::cmp::Ordering;

use super::calendar::{Civil, civil_of, day_of};
use crate::words::words;
use crate::{ColumnValue, MAX_NOTE, fold};

/// Limit on the characters of a text that a formula gives.
pub const MAX_TEXT: usize = MAX_NOTE;
/// Bytes that such a text can have.
pub const MAX_BYTES: usize = MAX_TEXT * 4;
/// Limit on the characters of a number without an exponent.
const MAX_DIGITS: usize = 21;

words! {
    /// The reason why a formula has no result for some values.
    FormulaFault: "the fault of a formula";
    /// A division by zero.
    Division = "division",
    /// A number that is too large, or the root of a negative one.
    Number = "number",
    /// A date that does not exist, or is outside the years 1 to 9999.
    Date = "date",
    /// A text that is not a number.
    Value = "value",
    /// A text of more than 60,000 characters.
    Length = "length",
    /// More than 10,000 steps.
    Steps = "steps",
}

/// A value, nothing, or a fault.
pub type Evaluated = Result<Option<ColumnValue>, FormulaFault>;

/// Returns a number as a value, if it is finite.
pub fn finite(number: f64) -> Evaluated {
    // The sum makes 0 of a negative 0, which people do not know.
    if number.is_finite() { Ok(Some(ColumnValue::Number(number + 0.0))) } else { Err(FormulaFault::Number) }
}

/// Returns a count as a value.
pub fn whole(number: i64) -> Evaluated {
    finite(number as f64)
}

/// Returns the bytes of a text, and 0 for other values.
pub fn bytes(value: &ColumnValue) -> usize {
    if let ColumnValue::Text(text) = value { text.len() } else { 0 }
}

/// Returns whether a value is nothing or an empty text.
pub fn is_blank(value: Option<&ColumnValue>) -> bool {
    value.is_none_or(|value| matches!(value, ColumnValue::Text(text) if text.is_empty()))
}

/// Returns the form of a value in which it is compared: a text is folded.
pub fn comparable(value: &ColumnValue) -> Cow<'_, ColumnValue> {
    match value {
        ColumnValue::Text(text) => Cow::Owned(ColumnValue::Text(fold(text))),
        other => Cow::Borrowed(other),
    }
}

/// Compares two values in the form of [`comparable`]; `None` if they have different types.
pub fn compare(a: &ColumnValue, b: &ColumnValue) -> Option<Ordering> {
    match (a, b) {
        (ColumnValue::Text(a), ColumnValue::Text(b)) => Some(a.cmp(b)),
        (ColumnValue::Number(a), ColumnValue::Number(b)) => a.partial_cmp(b),
        (ColumnValue::Date(a), ColumnValue::Date(b)) => Some(a.cmp(b)),
        (ColumnValue::YesNo(a), ColumnValue::YesNo(b)) => Some(a.cmp(b)),
        (ColumnValue::Person(a), ColumnValue::Person(b)) | (ColumnValue::Lookup(a), ColumnValue::Lookup(b)) => {
            Some(a.cmp(b))
        }
        _ => None,
    }
}

/// Returns the shortest text of a number that is not ambiguous, with an exponent only if it is very large or small.
pub fn shortest(number: f64) -> String {
    let text = number.to_string();
    if text.len() > MAX_DIGITS { format!("{number:e}") } else { text }
}

/// Returns a value as text: nothing as the empty text, a date as its day, a person or entry as an identifier.
pub fn said(value: Option<ColumnValue>) -> String {
    match value {
        None => String::new(),
        Some(ColumnValue::Text(text)) => text,
        Some(ColumnValue::Number(number)) => shortest(number),
        Some(ColumnValue::YesNo(yes)) => if yes { "yes" } else { "no" }.to_owned(),
        Some(ColumnValue::Person(id) | ColumnValue::Lookup(id)) => id.to_string(),
        Some(ColumnValue::Multiple(values)) => {
            values.into_iter().map(|value| said(Some(value))).collect::<Vec<_>>().join("; ")
        }
        Some(ColumnValue::Date(at)) => civil_of(day_of(at))
            .map_or_else(String::new, |Civil { year, month, day }| format!("{year:04}-{month:02}-{day:02}")),
    }
}
