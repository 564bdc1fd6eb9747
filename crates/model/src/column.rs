//! Typed columns of libraries and lists.

use crate::words::words;
use crate::{Error, Id, MAX_COLUMN_TEXT, MAX_NOTE, Result, Timestamp, fold};

/// Number of characters of a folded text that take part in sorting.
const SORTED_CHARS: usize = 100;
/// Number of choices that a message names.
const MOST_NAMED: usize = 10;

words! {
    /// What the program uses the values of a column for.
    ColumnRole: "the role of a column";
    /// The title of a row.
    Title = "title",
}

words! {
    /// How the values of a column are summed up.
    Total: "the total of a column";
    /// The number of values.
    Count = "count",
    /// The sum.
    Sum = "sum",
    /// The mean.
    Average = "average",
    /// The smallest value.
    Min = "min",
    /// The largest value.
    Max = "max",
}

impl Total {
    /// Returns whether a column of a kind has this total: counts for all, extremes for numbers and dates, the others
    /// for numbers.
    pub fn fits(self, kind: &ColumnKind) -> bool {
        match self {
            Self::Count => true,
            Self::Min | Self::Max => matches!(kind, ColumnKind::Number | ColumnKind::Date),
            Self::Sum | Self::Average => *kind == ColumnKind::Number,
        }
    }
}

/// The kind of value in a column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ColumnKind {
    /// Text of up to 10,000 characters.
    Text,
    /// Text of several lines, up to 60,000 characters.
    Note,
    /// A decimal number.
    Number,
    /// A point in time.
    Date,
    /// One of the named choices.
    Choice(Vec<String>),
    /// A user or group of the farm.
    Person,
    /// Yes or no.
    YesNo,
    /// A URL that a browser may open: http, https or mailto.
    Link,
    /// An entry of the list with this identifier, which is in the same site collection.
    Lookup(Id),
}

/// Value of one column of one item.
#[derive(Clone, Debug, PartialEq)]
pub enum ColumnValue {
    /// Value of a text, note, choice or link column.
    Text(String),
    /// Value of a number column; never NaN or infinite.
    Number(f64),
    /// Value of a date column.
    Date(Timestamp),
    /// Value of a person column.
    Person(Id),
    /// Value of a yes/no column.
    YesNo(bool),
    /// Value of a lookup column: the identifier of a row.
    Lookup(Id),
}

impl ColumnKind {
    /// Returns the name used in the database and in the API.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Note => "note",
            Self::Number => "number",
            Self::Date => "date",
            Self::Choice(_) => "choice",
            Self::Person => "person",
            Self::YesNo => "yes-no",
            Self::Link => "link",
            Self::Lookup(_) => "lookup",
        }
    }

    /// Returns whether values are entries of another list.
    pub const fn is_lookup(&self) -> bool {
        matches!(self, Self::Lookup(_))
    }

    /// Returns the choices of a choice column, or the list of a lookup column, as [`Self::parse`] reads them.
    pub fn choices(&self) -> Vec<String> {
        match self {
            Self::Choice(choices) => choices.clone(),
            Self::Lookup(list) => vec![list.to_string()],
            _ => Vec::new(),
        }
    }

    /// Parses the word. `choices` are those of a choice column. For a lookup column they are the identifier of its
    /// list, and for others they are ignored.
    pub fn parse(word: &str, choices: Vec<String>) -> Result<Self> {
        match word {
            "text" => Ok(Self::Text),
            "note" => Ok(Self::Note),
            "number" => Ok(Self::Number),
            "date" => Ok(Self::Date),
            "choice" if choices.is_empty() => Err(Error::invalid("a choice column needs at least one choice")),
            "choice" => Ok(Self::Choice(choices)),
            "person" => Ok(Self::Person),
            "yes-no" => Ok(Self::YesNo),
            "link" => Ok(Self::Link),
            "lookup" => match choices.as_slice() {
                [list] => Ok(Self::Lookup(list.parse()?)),
                _ => Err(Error::invalid("a lookup column needs the list whose entries it takes")),
            },
            _ => Err(Error::invalid(
                "the kind of a column is one of text, note, number, date, choice, person, yes-no, link, lookup",
            )),
        }
    }

    /// Rejects a value that a column of this kind cannot hold.
    pub fn check(&self, value: &ColumnValue) -> Result<()> {
        match (self, value) {
            (Self::Text, ColumnValue::Text(text)) => check_text(text, MAX_COLUMN_TEXT),
            (Self::Note, ColumnValue::Text(text)) => check_text(text, MAX_NOTE),
            (Self::Choice(choices), ColumnValue::Text(text)) if choices.contains(text) => Ok(()),
            (Self::Choice(choices), ColumnValue::Text(_)) => {
                Err(Error::invalid(format!("the value must be one of: {}", some_of(choices))))
            }
            (Self::Link, ColumnValue::Text(text)) => check_text(text, MAX_COLUMN_TEXT).and_then(|()| check_link(text)),
            (Self::Number, ColumnValue::Number(number)) if number.is_finite() => Ok(()),
            (Self::Date, ColumnValue::Date(_))
            | (Self::Person, ColumnValue::Person(_))
            | (Self::Lookup(_), ColumnValue::Lookup(_))
            | (Self::YesNo, ColumnValue::YesNo(_)) => Ok(()),
            _ => Err(Error::invalid(format!("the value does not fit a {} column", self.as_str()))),
        }
    }
}

/// The position of a value among the values of its column: numbers, dates and Booleans by number, everything else by
/// text. All values without one come last.
#[derive(Clone, Debug, PartialEq)]
pub struct SortValue {
    /// The number; 0 for a text, infinity for an empty field.
    pub number: f64,
    /// The folded text, at most 100 characters; empty for a number. A person or entry stands by identifier.
    pub text: String,
}

impl SortValue {
    /// The position of an empty field.
    pub const EMPTY: Self = Self { number: f64::INFINITY, text: String::new() };

    /// The position of a number.
    pub const fn number(number: f64) -> Self {
        Self { number, text: String::new() }
    }

    /// The position of a text. Control characters are left out.
    pub fn text(text: &str) -> Self {
        // Folding makes a character at most three, and shortens none to nothing, so the rest of a long text does not
        // matter.
        let end = text.char_indices().nth(SORTED_CHARS * 4).map_or(text.len(), |(end, _)| end);
        let text = fold(&text[..end]).chars().filter(|c| !c.is_control()).take(SORTED_CHARS).collect();
        Self { number: 0.0, text }
    }
}

impl ColumnValue {
    /// Returns the position of the value in its column.
    pub fn sort_value(&self) -> SortValue {
        match self {
            Self::Text(text) => SortValue::text(text),
            Self::Number(number) => SortValue::number(*number),
            Self::Date(time) => SortValue::number(time.micros() as f64),
            Self::Person(id) | Self::Lookup(id) => SortValue { number: 0.0, text: id.to_string() },
            Self::YesNo(yes) => SortValue::number(f64::from(u8::from(*yes))),
        }
    }
}

fn check_text(text: &str, most: usize) -> Result<()> {
    if text.chars().count() > most {
        return Err(Error::invalid(format!("the text is longer than {most} characters")));
    }
    match text.chars().find(|c| c.is_control() && !matches!(c, '\t' | '\n' | '\r')) {
        None => Ok(()),
        Some(control) => Err(Error::invalid(format!(
            "the text contains the control character U+{:04X}: remove it",
            u32::from(control)
        ))),
    }
}

/// Returns the first of the choices, for a message.
fn some_of(choices: &[String]) -> String {
    let mut shown: Vec<String> = choices.iter().take(MOST_NAMED).map(|one| one.chars().take(40).collect()).collect();
    if choices.len() > MOST_NAMED {
        shown.push("…".to_owned());
    }
    shown.join(", ")
}

fn check_link(text: &str) -> Result<()> {
    let lower = text.to_ascii_lowercase();
    let known = ["http://", "https://", "mailto:"].iter().any(|scheme| lower.starts_with(scheme));
    if !known || text.chars().any(|c| c.is_control() || c.is_whitespace()) {
        return Err(Error::invalid("a link must begin with http://, https:// or mailto: and contain no spaces"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_that_run_script_are_refused() {
        for bad in ["javascript:alert(1)", "data:text/html,x", "JAVASCRIPT:x", "http://a b", "https://x\n", ""] {
            assert!(ColumnKind::Link.check(&ColumnValue::Text(bad.into())).is_err(), "{bad}");
        }
        assert!(ColumnKind::Link.check(&ColumnValue::Text("https://example.org/?a=1".into())).is_ok());
    }

    #[test]
    fn values_must_fit_their_column() {
        let choice = ColumnKind::Choice(vec!["red".into(), "green".into()]);
        assert!(choice.check(&ColumnValue::Text("red".into())).is_ok());
        assert!(choice.check(&ColumnValue::Text("blue".into())).is_err());
        assert!(ColumnKind::Number.check(&ColumnValue::Number(f64::NAN)).is_err());
        assert!(ColumnKind::Text.check(&ColumnValue::Number(1.0)).is_err());
        assert!(ColumnKind::Text.check(&ColumnValue::Text("x".repeat(10_001))).is_err());
        assert!(ColumnKind::Note.check(&ColumnValue::Text("a\tb\r\nc".into())).is_ok());
        for bad in ["\0", "a\u{1b}[0m", "\u{85}"] {
            assert!(ColumnKind::Note.check(&ColumnValue::Text(bad.into())).is_err(), "{bad:?}");
        }
        let many = ColumnKind::Choice(vec!["c".repeat(255); 500]);
        let refused = many.check(&ColumnValue::Text("?".into())).unwrap_err();
        assert!(refused.message().len() < 600, "{}", refused.message());
    }
}
