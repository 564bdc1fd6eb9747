//! Formatting and parsing of column values: numbers and days in the user's language.
//!
//! This module does not depend on the repository. Its callers check the values against the column.

use http_core::transfer::typed;
use model::Timestamp;
use time::macros::format_description;
use time::{Date, OffsetDateTime, Time};

use super::texts::Language;

/// Formats a number as in `12,345.5`. Thousands are separated only from five digits on, so that years stay whole.
pub fn number(language: Language, value: f64) -> String {
    let plain = value.to_string();
    let (group, decimal) = language.marks();
    let (sign, digits) = plain.strip_prefix('-').map_or(("", plain.as_str()), |rest| ("-", rest));
    let (whole, part) = digits.split_once('.').map_or((digits, None), |(whole, part)| (whole, Some(part)));
    let mut text = sign.to_owned();
    for (i, digit) in whole.chars().enumerate() {
        if i > 0 && whole.len() > 4 && (whole.len() - i).is_multiple_of(3) {
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

/// Parses a day and returns its beginning in UTC. Accepts `2026-11-21`, as browsers send it, and `21.11.2026`, as
/// [`day`] writes it in German.
pub fn read_day(text: &str) -> Option<Timestamp> {
    let date = Date::parse(text, format_description!("[year]-[month]-[day]"))
        .or_else(|_| Date::parse(text, format_description!("[day padding:none].[month padding:none].[year]")))
        .ok()?;
    let seconds = OffsetDateTime::new_utc(date, Time::MIDNIGHT).unix_timestamp();
    Some(Timestamp::from_micros(seconds.checked_mul(1_000_000)?))
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
        let day_of = |text| read_day(text).map(|time| (day(Language::ENGLISH, time), day(german(), time)));
        let expected = ("3 Nov 2026".to_owned(), "03.11.2026".to_owned());
        assert_eq!(day_of("2026-11-03"), Some(expected.clone()));
        assert_eq!(day_of("3.11.2026"), Some(expected));
        for bad in ["", "2026-13-01", "2026-02-30", "now", "1.2"] {
            assert_eq!(day_of(bad), None, "{bad}");
        }
    }
}
