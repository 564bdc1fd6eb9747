//! The fields of a file: values as texts, and texts as values.

use std::borrow::Cow;

use model::{ColumnValue, Id, Timestamp, fold};
use repository::ValueNames;

use crate::protocol::time;
use crate::transfer::{typed, value_list};

/// Title of the column with the numbers of rows.
pub const NUMBER: &str = "#";
/// Mark at the beginning of a file, by which spreadsheets know that it is UTF-8.
pub const BYTE_ORDER_MARK: &str = "\u{feff}";

/// Formats one line.
pub fn line<'a>(fields: impl Iterator<Item = Cow<'a, str>>) -> String {
    let fields = fields.map(|field| {
        let plain = !field.contains([',', '"', '\r', '\n', '\t', ';']) && field.trim() == field;
        if plain { field.into_owned() } else { format!("\"{}\"", field.replace('"', "\"\"")) }
    });
    fields.collect::<Vec<_>>().join(",") + "\r\n"
}

/// Returns a text that no spreadsheet executes.
pub fn guarded(text: &str) -> Cow<'_, str> {
    let is_executed = text.starts_with(['=', '+', '-', '@', '\'']) || text.starts_with(char::is_control);
    if is_executed { Cow::Owned(format!("'{text}")) } else { Cow::Borrowed(text) }
}

/// Formats a value.
pub fn written<'a>(value: &'a ColumnValue, names: &ValueNames) -> Cow<'a, str> {
    match (value, text_of(value, names)) {
        (ColumnValue::Number(_) | ColumnValue::Date(_) | ColumnValue::YesNo(_), plain) => plain,
        (_, Cow::Borrowed(text)) => guarded(text),
        (_, Cow::Owned(text)) => guarded(&text).into_owned().into(),
    }
}

/// Returns the text of a value, whatever a spreadsheet makes of it.
pub fn text_of<'a>(value: &'a ColumnValue, names: &ValueNames) -> Cow<'a, str> {
    match value {
        ColumnValue::Text(text) => text.into(),
        ColumnValue::Number(number) => number.to_string().into(),
        ColumnValue::Date(at) => date(*at).into(),
        ColumnValue::Person(id) => person_name(names, *id).into_owned().into(),
        ColumnValue::YesNo(yes) => if *yes { "yes" } else { "no" }.into(),
        ColumnValue::Lookup(id) => names.typed_entry(*id).into(),
        ColumnValue::Multiple(values) => value_list::join(values.iter().map(|value| text_of(value, names))).into(),
    }
}

/// Formats a day, with its time unless that is midnight.
pub fn date(at: Timestamp) -> String {
    let text = time::format(at);
    text.strip_suffix("T00:00:00Z").unwrap_or(&text).to_owned()
}

/// Formats a number as short as it can be read back.
pub fn plain(number: f64) -> String {
    let text = number.to_string();
    if text.len() > 24 { format!("{number:e}") } else { text }
}

/// Formats a duration in milliseconds as hours, minutes and seconds.
pub fn elapsed(millis: u64) -> String {
    let seconds = millis / 1_000;
    let text = format!("{:02}:{:02}:{:02}", seconds / 3_600, seconds / 60 % 60, seconds % 60);
    if millis.is_multiple_of(1_000) { text } else { format!("{text}.{:03}", millis % 1_000) }
}

/// Returns the name by which a file names a person. A group that was deleted has its identifier for a name, so that the
/// file says so, and reading it back empties nothing.
pub fn person_name(names: &ValueNames, id: Id) -> Cow<'_, str> {
    let name = names.people.get(&id).map(|name| name.login.as_deref().unwrap_or(&name.name));
    name.map_or_else(|| id.to_string().into(), Cow::Borrowed)
}

/// How the fields of a table are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notation {
    /// As CSV with this separator.
    Csv(u8),
    /// As somebody typed or pasted them, with these separators of thousands and decimals.
    Typed((char, char)),
    /// As the cells of a workbook, whose texts need no apostrophe.
    Cells,
}

impl Notation {
    /// Removes the apostrophe that [`guarded`] added.
    pub fn bare(self, text: &str) -> &str {
        match self {
            Self::Csv(_) | Self::Typed(_) => bare(text),
            Self::Cells => text,
        }
    }

    /// Reads a number.
    pub fn number(self, text: &str) -> Option<f64> {
        match self {
            Self::Csv(separator) => number(text, separator),
            Self::Typed(marks) => typed::number(text, marks),
            Self::Cells => number(text, b','),
        }
    }
}

fn bare(text: &str) -> &str {
    text.strip_prefix('\'').unwrap_or(text)
}

/// Reads a number. Spreadsheets that separate fields by semicolons write the comma for decimals.
fn number(text: &str, separator: u8) -> Option<f64> {
    let plain = match separator {
        b';' | b'\t' if text.contains(',') && !text.contains('.') => text.replacen(',', ".", 1),
        _ => text.to_owned(),
    };
    let known = plain.chars().all(|c| c.is_ascii_digit() || matches!(c, '-' | '+' | '.' | 'e' | 'E'));
    plain.parse::<f64>().ok().filter(|number| known && number.is_finite())
}

/// Reads a day as [`typed::day`] does, or a time as in `2026-11-28T12:00:00Z`.
pub fn day(text: &str) -> Option<Timestamp> {
    typed::day(text).or_else(|| time::parse(text).ok())
}

/// Reads a Boolean, in the languages of the pages.
pub fn yes_or_no(text: &str) -> Option<bool> {
    match fold(text).as_str() {
        "yes" | "true" | "1" | "x" | "ja" | "wahr" => Some(true),
        "no" | "false" | "0" | "nein" | "falsch" => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_that_would_be_executed_come_back_as_they_were() {
        for text in ["=1+1", "+1", "-1", "@x", "'quoted'", "''", "\tx", "plain", "a=b", ""] {
            let sent = guarded(text);
            assert!(!sent.starts_with(['=', '+', '-', '@']) && !sent.starts_with('\t'), "{sent}");
            assert_eq!(bare(&sent), text);
        }
    }

    #[test]
    fn a_person_without_a_name_is_not_lost() {
        assert_eq!(written(&ColumnValue::Person(Id::new(77)), &ValueNames::default()), "77");
    }

    #[test]
    fn several_values_are_one_guarded_text() {
        let several = ["=1+1", "a; b", "c"].map(|text| ColumnValue::Text(text.into()));
        let several = ColumnValue::Multiple(several.into());
        let names = ValueNames::default();
        assert_eq!(text_of(&several, &names), "=1+1; \"a; b\"; c");
        assert_eq!(written(&several, &names), "'=1+1; \"a; b\"; c");
        let hidden = ColumnValue::Multiple([7, 8].map(|id| ColumnValue::Lookup(Id::new(id))).into());
        assert_eq!(written(&hidden, &names), "id:7; id:8");
    }

    #[test]
    fn numbers_and_days_are_read_as_people_write_them() {
        assert_eq!(number("1.5", b','), Some(1.5));
        assert_eq!(number("1,5", b';'), Some(1.5));
        assert_eq!(number("1,5", b','), None);
        assert_eq!(number("-2e3", b'\t'), Some(-2000.0));
        for bad in ["inf", "NaN", "1e999", "zehn", "1.2.3", "1,2,3"] {
            assert_eq!(number(bad, b';'), None, "{bad}");
        }
        assert_eq!(day("28.11.2026"), day("2026-11-28"));
        assert_eq!(day("3.1.2026"), day("2026-01-03"));
        assert!(day("2026-11-28T12:00:00Z").is_some());
        for bad in ["28.11.26", "31.02.2026", "tomorrow", "1.2", "..", "é.1.2026"] {
            assert_eq!(day(bad), None, "{bad}");
        }
        assert_eq!([yes_or_no("Ja"), yes_or_no("0"), yes_or_no("perhaps")], [Some(true), Some(false), None]);
    }
}
