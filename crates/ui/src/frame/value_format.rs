//! Formatting and parsing of column values: numbers and days in the user's language.
//!
//! This module does not depend on the repository. Its callers check the values against the column.

use http_core::transfer::typed;
use model::Timestamp;
use time::OffsetDateTime;

use super::texts::Language;

/// Formats a number as in `12,345.5`. Thousands are separated, but not in whole numbers of four digits, so that years
/// stay as they are.
pub fn number(language: Language, value: f64) -> String {
    let plain = value.to_string();
    let (group, decimal) = language.marks();
    let (sign, digits) = plain.strip_prefix('-').map_or(("", plain.as_str()), |rest| ("-", rest));
    let (whole, part) = digits.split_once('.').map_or((digits, None), |(whole, part)| (whole, Some(part)));
    let mut text = sign.to_owned();
    for (i, digit) in whole.chars().enumerate() {
        if i > 0 && (whole.len() > 4 || part.is_some()) && (whole.len() - i).is_multiple_of(3) {
            text.push(group);
        }
        text.push(digit);
    }
    if let Some(part) = part {
        text.push(decimal);
        text.push_str(part);
    }
    text
}

/// Formats a number for a form field, without thousands separators.
pub fn number_to_edit(language: Language, value: f64) -> String {
    value.to_string().replace('.', &language.marks().1.to_string())
}

/// Parses a number as [`typed::number`] does, with the separators of a language.
pub fn read_number(language: Language, text: &str) -> Option<f64> {
    typed::number(text, language.marks())
}

/// Formats a day, as in `21 Nov 2026` or `21.11.2026`.
pub fn day(language: Language, time: Timestamp) -> String {
    let date = OffsetDateTime::from_unix_timestamp(time.seconds()).ok();
    date.map_or_else(|| "?".to_owned(), |date| language.day(date.year(), u8::from(date.month()), date.day()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn german() -> Language {
        Language::parse("de").unwrap()
    }

    #[test]
    fn numbers_are_written_and_read_in_both_languages() {
        for (value, in_english, in_german) in [
            (0.0, "0", "0"),
            (12_345.5, "12,345.5", "12.345,5"),
            (2026.0, "2026", "2026"),
            (1234.5, "1,234.5", "1.234,5"),
            (-1234.5, "-1,234.5", "-1.234,5"),
            (123.5, "123.5", "123,5"),
            (-1_234_567.0, "-1,234,567", "-1.234.567"),
            (-12.25, "-12.25", "-12,25"),
            (999.0, "999", "999"),
        ] {
            assert_eq!(
                (number(Language::ENGLISH, value).as_str(), number(german(), value).as_str()),
                (in_english, in_german)
            );
            for language in Language::all() {
                assert_eq!(read_number(language, &number(language, value)), Some(value));
                assert_eq!(read_number(language, &number_to_edit(language, value)), Some(value));
            }
        }
        for (language, text, value) in [
            (Language::ENGLISH, "1,5", Some(1.5)),
            (german(), "1.5", Some(1.5)),
            (german(), "1.234", Some(1234.0)),
            (Language::ENGLISH, "1 000", Some(1000.0)),
            (Language::ENGLISH, "1,23,456", None),
            (Language::ENGLISH, "12,3.4", None),
            (Language::ENGLISH, "NaN", None),
            (german(), "inf", None),
            (Language::ENGLISH, "1e999", None),
            (Language::ENGLISH, "", None),
            (german(), "zehn", None),
        ] {
            assert_eq!(read_number(language, text), value, "{text}");
        }
    }

    #[test]
    fn days_are_written_and_read() {
        for month in 1..=12 {
            let time = typed::day(&format!("2026-{month:02}-03")).unwrap();
            for language in Language::all() {
                assert_eq!(typed::day(&day(language, time)), Some(time));
            }
        }
        let time = typed::day("2026-11-03").unwrap();
        assert_eq!((day(Language::ENGLISH, time).as_str(), day(german(), time).as_str()), ("3 Nov 2026", "03.11.2026"));
    }
}
