//! Conditions on the values of a column, as people type them into a filter.

use model::{ColumnKind, ColumnValue, Timestamp};
use repository::{Column, ValueTest};

use crate::frame::texts::Language;
use crate::frame::value_format;
use http_core::transfer::typed;

/// Returns the beginning of the next day.
fn next_day(day: Timestamp) -> Timestamp {
    day.after(std::time::Duration::from_secs(24 * 60 * 60))
}

/// Parses the condition for a column, with the numbers of a language. `10..20` and `2026-01-01..2026-01-31` are ranges;
/// one end may be missing.
pub(super) fn value_test(language: Language, column: &Column, text: &str) -> Option<ValueTest> {
    let (low, high) = text.split_once("..").map_or((text, text), |(low, high)| (low.trim(), high.trim()));
    match column.kind.single() {
        ColumnKind::Text | ColumnKind::Note | ColumnKind::Link => Some(ValueTest::Contains(text.to_owned())),
        ColumnKind::Choice(_) => Some(ValueTest::Is(ColumnValue::Text(text.to_owned()))),
        ColumnKind::YesNo => Some(ValueTest::Is(ColumnValue::YesNo(text == "yes"))),
        ColumnKind::Number => {
            let end = |text: &str, far: f64| match text {
                "" => Some(far),
                text => value_format::read_number(language, text),
            };
            Some(ValueTest::Between(end(low, f64::MIN)?, end(high, f64::MAX)?))
        }
        ColumnKind::Date => {
            let end = |text: &str, far: i64| match text {
                "" => Some(Timestamp::from_micros(far)),
                text => typed::day(text),
            };
            let until = if high.is_empty() { end(high, i64::MAX)? } else { next_day(end(high, 0)?) };
            Some(ValueTest::During(end(low, i64::MIN)?, until))
        }
        ColumnKind::Person | ColumnKind::Lookup(_) | ColumnKind::Multiple(_) => None,
    }
}

/// Returns a condition on numbers as somebody would type it in another language; one that cannot be read as it is.
pub(super) fn in_language(text: &str, from: Language, to: Language) -> String {
    let end = |text: &str| match value_format::read_number(from, text) {
        Some(number) => value_format::number_to_edit(to, number),
        None => text.to_owned(),
    };
    match text.split_once("..") {
        Some((low, high)) => format!("{}..{}", end(low.trim()), end(high.trim())),
        None => end(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::Id;

    #[test]
    fn ranges_are_read() {
        let column = |kind| Column {
            id: Id::new(1),
            name: "c".into(),
            kind,
            required: false,
            content_type_id: None,
            role: None,
            options: repository::ColumnOptions::default(),
        };
        let number = column(ColumnKind::Number);
        let of = |text| value_test(Language::ENGLISH, &number, text);
        assert_eq!(of("1..2.5"), Some(ValueTest::Between(1.0, 2.5)));
        assert_eq!(of("7"), Some(ValueTest::Between(7.0, 7.0)));
        assert_eq!(of("7.."), Some(ValueTest::Between(7.0, f64::MAX)));
        assert_eq!(of("2,000"), Some(ValueTest::Between(2000.0, 2000.0)));
        assert_eq!(of("x"), None);
        let day = |text| typed::day(text).unwrap();
        let wanted = ValueTest::During(day("2026-01-01"), day("2026-02-01"));
        let days = column(ColumnKind::Date);
        assert_eq!(value_test(Language::ENGLISH, &days, "2026-01-01..2026-01-31"), Some(wanted));
    }

    #[test]
    fn conditions_are_shown_in_the_language_of_their_reader() {
        let german = Language::parse("de").unwrap();
        for (text, expected) in
            [("10..2,000.5", "10..2000,5"), ("1,299", "1299"), ("..0.5", "..0,5"), ("x", "x"), ("", "")]
        {
            assert_eq!(in_language(text, Language::ENGLISH, german), expected);
        }
    }
}
