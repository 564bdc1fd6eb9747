//! Typed columns of libraries and lists.

use crate::{Error, Id, MAX_COLUMN_TEXT, Result, Timestamp};

/// The kind of value in a column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ColumnKind {
    /// Text of up to 10,000 characters.
    Text,
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
}

/// Value of one column of one item.
#[derive(Clone, Debug, PartialEq)]
pub enum ColumnValue {
    /// Value of a text, choice or link column.
    Text(String),
    /// Value of a number column; never NaN or infinite.
    Number(f64),
    /// Value of a date column.
    Date(Timestamp),
    /// Value of a person column.
    Person(Id),
    /// Value of a yes/no column.
    YesNo(bool),
}

impl ColumnKind {
    /// Returns the name used in the database and in the API.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Number => "number",
            Self::Date => "date",
            Self::Choice(_) => "choice",
            Self::Person => "person",
            Self::YesNo => "yes-no",
            Self::Link => "link",
        }
    }

    /// Parses the word. `choices` belong to a choice column and are ignored for others.
    pub fn parse(word: &str, choices: Vec<String>) -> Result<Self> {
        match word {
            "text" => Ok(Self::Text),
            "number" => Ok(Self::Number),
            "date" => Ok(Self::Date),
            "choice" if choices.is_empty() => Err(Error::invalid("a choice column needs at least one choice")),
            "choice" => Ok(Self::Choice(choices)),
            "person" => Ok(Self::Person),
            "yes-no" => Ok(Self::YesNo),
            "link" => Ok(Self::Link),
            _ => Err(Error::invalid("the kind of a column is one of text, number, date, choice, person, yes-no, link")),
        }
    }

    /// Rejects a value that a column of this kind cannot hold.
    pub fn check(&self, value: &ColumnValue) -> Result<()> {
        match (self, value) {
            (Self::Text, ColumnValue::Text(text)) => check_length(text),
            (Self::Choice(choices), ColumnValue::Text(text)) if choices.contains(text) => Ok(()),
            (Self::Choice(choices), ColumnValue::Text(_)) => {
                Err(Error::invalid(format!("the value must be one of: {}", choices.join(", "))))
            }
            (Self::Link, ColumnValue::Text(text)) => check_length(text).and_then(|()| check_link(text)),
            (Self::Number, ColumnValue::Number(number)) if number.is_finite() => Ok(()),
            (Self::Date, ColumnValue::Date(_))
            | (Self::Person, ColumnValue::Person(_))
            | (Self::YesNo, ColumnValue::YesNo(_)) => Ok(()),
            _ => Err(Error::invalid(format!("the value does not fit a {} column", self.as_str()))),
        }
    }
}

fn check_length(text: &str) -> Result<()> {
    if text.chars().count() > MAX_COLUMN_TEXT {
        return Err(Error::invalid(format!("a text column holds at most {MAX_COLUMN_TEXT} characters")));
    }
    Ok(())
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
    }
}
