//! Typed columns of libraries and lists.

use crate::words::words;
use crate::{Error, Id, MAX_COLUMN_TEXT, MAX_NOTE, Result, Timestamp, fold};

/// Number of characters of a folded text that take part in sorting.
pub const SORTED_CHARS: usize = 100;
/// Number of choices that a message names.
const MOST_NAMED: usize = 10;
/// Limit on the values in one field of a column that takes several.
pub const MAX_VALUES_PER_FIELD: usize = 20;

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
    /// Several values of a kind: of choices, people, or entries of a list. See [`ColumnKind::taking_multiple`].
    Multiple(Box<Self>),
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
    /// Values of a column that takes several: 1 to 20, none of them twice, and none of them several itself.
    Multiple(Vec<Self>),
}

impl ColumnKind {
    /// Returns the name used in the database and in the API, which is that of the kind of each value.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Multiple(kind) => kind.as_str(),
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
        matches!(self.single(), Self::Lookup(_))
    }

    /// Returns whether a field has several values.
    pub const fn takes_multiple(&self) -> bool {
        matches!(self, Self::Multiple(_))
    }

    /// Returns the kind of each value.
    pub const fn single(&self) -> &Self {
        match self {
            Self::Multiple(kind) => kind,
            kind => kind,
        }
    }

    /// Returns whether a column of this kind can take several values.
    pub const fn may_take_multiple(&self) -> bool {
        matches!(self.single(), Self::Choice(_) | Self::Person | Self::Lookup(_))
    }

    /// Returns this kind for several values, or for one.
    ///
    /// # Errors
    /// `Invalid` for several values of a kind that does not have them.
    pub fn taking_multiple(self, multiple: bool) -> Result<Self> {
        match self {
            Self::Multiple(kind) if !multiple => Ok(*kind),
            Self::Multiple(_) => Ok(self),
            _ if !multiple => Ok(self),
            _ if self.may_take_multiple() => Ok(Self::Multiple(Box::new(self))),
            _ => Err(Error::invalid("only columns of the kinds choice, person and lookup take several values")),
        }
    }

    /// Returns the choices of a choice column, or the list of a lookup column, as [`Self::parse`] reads them.
    pub fn choices(&self) -> Vec<String> {
        match self.single() {
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
            (Self::Multiple(kind), ColumnValue::Multiple(values)) => check_multiple(kind, values),
            (Self::Multiple(_), _) => Err(Error::invalid("the column takes several values")),
            (_, ColumnValue::Multiple(_)) => Err(Error::invalid("the column takes only one value")),
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
    /// Returns the position of the value in its column: of several values, that of the first.
    pub fn sort_value(&self) -> SortValue {
        match self {
            Self::Text(text) => SortValue::text(text),
            Self::Number(number) => SortValue::number(*number),
            Self::Date(time) => SortValue::number(time.micros() as f64),
            Self::Person(id) | Self::Lookup(id) => SortValue { number: 0.0, text: id.to_string() },
            Self::YesNo(yes) => SortValue::number(f64::from(u8::from(*yes))),
            Self::Multiple(values) => values.first().map_or(SortValue::EMPTY, Self::sort_value),
        }
    }

    /// Returns each of several values, or the only one.
    pub fn each(&self) -> &[Self] {
        match self {
            Self::Multiple(values) => values,
            one => std::slice::from_ref(one),
        }
    }

    /// Returns each of several values, or the only one.
    pub fn into_each(self) -> Vec<Self> {
        match self {
            Self::Multiple(values) => values,
            one => vec![one],
        }
    }

    /// Returns values as a column of a kind has them, each of them once; `None` if there are none, or if the
    /// column takes one value and there are several.
    pub fn joined(kind: &ColumnKind, values: Vec<Self>) -> Option<Self> {
        let mut known: Vec<Self> = Vec::with_capacity(values.len());
        for value in values {
            if !known.contains(&value) {
                known.push(value);
            }
        }
        match kind {
            ColumnKind::Multiple(_) => (!known.is_empty()).then_some(Self::Multiple(known)),
            _ if known.len() == 1 => known.pop(),
            _ => None,
        }
    }
}

fn check_multiple(kind: &ColumnKind, values: &[ColumnValue]) -> Result<()> {
    if values.is_empty() {
        return Err(Error::invalid("a list of values has at least one: leave the field empty"));
    }
    if values.len() > MAX_VALUES_PER_FIELD {
        return Err(Error::invalid(format!("a field has at most {MAX_VALUES_PER_FIELD} values")));
    }
    for (at, value) in values.iter().enumerate() {
        kind.check(value)?;
        if values[..at].contains(value) {
            return Err(Error::invalid("a field has no value twice"));
        }
    }
    Ok(())
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
    fn several_values_are_few_different_and_flat() {
        let kind = ColumnKind::Choice((0..30).map(|n| n.to_string()).collect()).taking_multiple(true).unwrap();
        let text = |n: usize| ColumnValue::Text(n.to_string());
        let several = |numbers: &[usize]| ColumnValue::Multiple(numbers.iter().map(|n| text(*n)).collect());
        assert!(kind.check(&several(&[3, 1, 2])).is_ok());
        assert!(kind.check(&several(&(0..MAX_VALUES_PER_FIELD).collect::<Vec<_>>())).is_ok());
        let nested = ColumnValue::Multiple(vec![several(&[1])]);
        let many = several(&(0..=MAX_VALUES_PER_FIELD).collect::<Vec<_>>());
        for bad in [many, several(&[]), several(&[1, 1]), several(&[99]), nested, text(1)] {
            assert!(kind.check(&bad).is_err(), "{bad:?}");
        }
        assert!(kind.single().check(&several(&[1])).is_err());
        assert!(ColumnKind::Person.check(&ColumnValue::Multiple(vec![ColumnValue::Person(Id::new(1))])).is_err());
        assert_eq!(several(&[3, 1]).sort_value(), text(3).sort_value());
    }

    #[test]
    fn only_some_kinds_take_several_values() {
        for kind in [ColumnKind::Text, ColumnKind::Number, ColumnKind::Date, ColumnKind::YesNo, ColumnKind::Link] {
            assert!(!kind.may_take_multiple() && kind.clone().taking_multiple(true).is_err());
            assert_eq!(kind.clone().taking_multiple(false).unwrap(), kind);
        }
        let lookup = ColumnKind::Lookup(Id::new(5));
        let several = lookup.clone().taking_multiple(true).unwrap();
        assert_eq!(several.clone().taking_multiple(true).unwrap(), several);
        assert_eq!((several.as_str(), several.choices(), several.is_lookup()), ("lookup", vec!["5".to_owned()], true));
        assert_eq!(several.taking_multiple(false).unwrap(), lookup);
    }

    #[test]
    fn values_are_joined_for_a_column() {
        let person = |id| ColumnValue::Person(Id::new(id));
        let several = ColumnKind::Person.taking_multiple(true).unwrap();
        let joined = ColumnValue::joined(&several, vec![person(2), person(1), person(2)]);
        assert_eq!(joined, Some(ColumnValue::Multiple(vec![person(2), person(1)])));
        assert_eq!(ColumnValue::joined(&several, vec![]), None);
        assert_eq!(ColumnValue::joined(&ColumnKind::Person, vec![person(2), person(2)]), Some(person(2)));
        assert_eq!(ColumnValue::joined(&ColumnKind::Person, vec![person(2), person(1)]), None);
    }

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
