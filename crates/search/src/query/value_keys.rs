//! Values of columns in a form in which they can be compared.

use model::{ColumnValue, fold};

/// Returns a number that orders values of one kind as they are ordered themselves; 0 for a text. Several values have
/// that of the first; entries have them one by one.
pub(crate) fn value_key(value: &ColumnValue) -> u64 {
    match value {
        ColumnValue::Text(_) => 0,
        ColumnValue::Number(number) => number_key(*number),
        ColumnValue::Date(at) => signed_key(at.micros()),
        ColumnValue::Person(id) | ColumnValue::Lookup(id) => signed_key(id.get()),
        ColumnValue::YesNo(answer) => (*answer).into(),
        ColumnValue::Multiple(values) => values.first().map_or(0, value_key),
    }
}

/// Returns a number that orders finite decimal numbers as they are ordered themselves.
pub fn number_key(number: f64) -> u64 {
    const SIGN: u64 = 1 << 63;
    // Negative zero is zero.
    let bits = (number + 0.0).to_bits();
    if bits & SIGN == 0 { bits | SIGN } else { !bits }
}

pub(super) fn signed_key(number: i64) -> u64 {
    number.cast_unsigned() ^ (1 << 63)
}

/// Reads a decimal number, with a full stop or a comma.
pub(super) fn number(text: &str) -> Option<f64> {
    let is_number = text.chars().all(|c| c.is_ascii_digit() || matches!(c, '.' | ',' | '-' | '+'));
    let number: f64 = text.trim().replace(',', ".").parse().ok().filter(|_| is_number)?;
    number.is_finite().then_some(number)
}

/// Reads yes or no.
pub(super) fn answer(text: &str) -> Option<bool> {
    match fold(text.trim()).as_str() {
        "yes" | "true" | "1" | "ja" | "wahr" => Some(true),
        "no" | "false" | "0" | "nein" | "falsch" => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_ordered_as_values() {
        let numbers = [-1e300, -2.5, -1.0, -1e-9, 0.0, 1e-9, 1.0, 2.5, 1e300];
        assert!(numbers.is_sorted_by(|one, other| number_key(*one) < number_key(*other)));
        assert_eq!(number_key(-0.0), number_key(0.0));
        assert!([i64::MIN, -1, 0, 1, i64::MAX].is_sorted_by(|one, other| signed_key(*one) < signed_key(*other)));
    }

    #[test]
    fn numbers_are_read_with_either_sign_of_decimals() {
        assert_eq!([number("1,5"), number("-2.25"), number("7")], [Some(1.5), Some(-2.25), Some(7.0)]);
        for wrong in ["", "1.2.3", "ten", "inf", "NaN", "1e5", "-", "1 000"] {
            assert_eq!(number(wrong), None, "{wrong}");
        }
    }
}
