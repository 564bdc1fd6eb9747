//! Options of columns: formulas that give and check values, uniqueness, and descriptions.

use std::collections::HashMap;

use database::content::column::ColumnRow;
use model::{
    Code, ColumnKind, ColumnRole, Error, Formula, FormulaColumn, FormulaContext, FormulaType, Id, NodeKind, Outcome,
    Result, Timestamp, Uses, order_of,
};
use serde::{Deserialize, Serialize};

/// Limit on the unique columns of one library or list. Each is looked up for each item that changes.
const MAX_UNIQUE: usize = 10;
/// Limit on the bytes of the stored options of all columns of a library or list. Every change of an item reads them.
const MAX_STORED: usize = 64 << 10;
/// Limit on the columns that one formula names. Its text has their names, which are longer than what is stored.
const MAX_READ: usize = 100;
/// Limit on the characters of the message of a check.
pub(crate) const MAX_MESSAGE: usize = 255;
/// Limit on the characters of a description.
pub(crate) const MAX_DESCRIPTION: usize = 1_000;

/// Options of a column. Formulas name columns as in `[Due]`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ColumnOptions {
    /// The formula that gives the values. Nobody can set them.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub formula: String,
    /// The formula that gives a new item its value if its author sets none.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub default: String,
    /// The formula that must not give "no" for an item.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub check: String,
    /// Message to authors whose values do not pass the check.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// Set when no two items may have the same value.
    #[serde(skip_serializing_if = "is_false")]
    pub unique: bool,
    /// Description of what to enter.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub description: String,
}

fn is_false(yes: &bool) -> bool {
    !yes
}

/// Formulas whose results are stored may not depend on the time and the caller.
pub(super) const WITHOUT_NOW_AND_ME: Uses = Uses { today_and_me: false };
/// Formulas that are evaluated when they are needed may ask for the time and the caller.
pub(crate) const WITH_NOW_AND_ME: Uses = Uses { today_and_me: true };

impl ColumnOptions {
    /// Reads the stored options of a column, in which formulas name columns by identifier.
    ///
    /// # Errors
    /// `Corrupt`.
    pub(super) fn stored(column: &ColumnRow) -> Result<Self> {
        if column.options.is_empty() {
            return Ok(Self::default());
        }
        serde_json::from_str(&column.options)
            .map_err(|_| Error::corrupt(format!("the options of the column \"{}\" cannot be read", column.name)))
    }

    /// Returns the text to store.
    fn to_stored(&self) -> Result<String> {
        if *self == Self::default() {
            return Ok(String::new());
        }
        serde_json::to_string(self).map_err(|_| Error::corrupt("the options of a column cannot be written"))
    }

    /// Returns the text to store of these stored options for the copy of a column, whose formulas read the copies of
    /// columns.
    ///
    /// # Errors
    /// `Corrupt` for a formula that cannot be read.
    pub(super) fn for_copy(mut self, columns: &[FormulaColumn<'_>], copy: &dyn Fn(Id) -> Id) -> Result<String> {
        let replace = |text: &mut String, uses| -> Result<()> {
            if !text.is_empty() {
                let formula = Formula::parse(text, columns, uses).map_err(|error| {
                    Error::corrupt(format!("the formula {text:?} of a column cannot be read: {}", error.message()))
                })?;
                *text = formula.with_columns(copy).stored();
            }
            Ok(())
        };
        replace(&mut self.formula, WITHOUT_NOW_AND_ME)?;
        replace(&mut self.check, WITH_NOW_AND_ME)?;
        self.to_stored()
    }

    /// Returns these stored options with formulas that name the columns of the library or list.
    pub(super) fn named(mut self, columns: &[FormulaColumn<'_>]) -> Self {
        let name = |text: &mut String, uses| {
            // A formula that cannot be read is shown as it is stored.
            if let Ok(formula) = Formula::parse(text, columns, uses) {
                *text = formula.text(columns);
            }
        };
        name(&mut self.formula, WITHOUT_NOW_AND_ME);
        name(&mut self.check, WITH_NOW_AND_ME);
        self
    }
}

/// Returns columns as formulas see them.
pub(super) fn formula_columns(columns: &[ColumnRow]) -> Vec<FormulaColumn<'_>> {
    columns.iter().map(|column| FormulaColumn { id: column.id, name: &column.name, kind: &column.kind }).collect()
}

/// Checks options for the column `id`, which is among `columns`, and returns the text to store. [`check_all`] checks
/// what the options of several columns must fulfil together.
///
/// # Errors
/// `Invalid`, with code `invalid_formula` for a formula.
pub(crate) fn checked(options: &ColumnOptions, id: Id, holder: NodeKind, columns: &[ColumnRow]) -> Result<String> {
    let column = columns.iter().find(|column| column.id == id).ok_or_else(|| Error::not_found("no such column"))?;
    check_texts(options)?;
    check_together(options, column, holder)?;
    let mut stored = options.clone();
    let known = formula_columns(columns);
    if !options.formula.is_empty() {
        let formula = parse(&options.formula, "formula", &known, WITHOUT_NOW_AND_ME)?;
        require_type(&formula, "formula", FormulaType::of(&column.kind))?;
        stored.formula = formula.stored();
    }
    if !options.default.is_empty() {
        let default = parse(&options.default, "default value", &known, WITH_NOW_AND_ME)?;
        if !default.columns().is_empty() {
            return Err(said_of(
                "default value",
                &Error::invalid(
                    "it cannot read columns, because a new item has no values yet: use a constant, today() or me()",
                ),
            ));
        }
        require_type(&default, "default value", FormulaType::of(&column.kind))?;
        check_default(&default, &column.kind)?;
        stored.default = default.stored();
    }
    if !options.check.is_empty() {
        let check = parse(&options.check, "check", &known, WITH_NOW_AND_ME)?;
        require_type(&check, "check", FormulaType::YesNo)?;
        stored.check = check.stored();
    }
    stored.to_stored()
}

fn check_texts(options: &ColumnOptions) -> Result<()> {
    let fits = |text: &str, most: usize| text.chars().count() <= most && !text.chars().any(char::is_control);
    if !fits(&options.message, MAX_MESSAGE) {
        return Err(invalid(format!(
            "the message of a check has at most {MAX_MESSAGE} characters, and no control characters"
        )));
    }
    if !fits(&options.description, MAX_DESCRIPTION) {
        return Err(invalid(format!(
            "the description of a column has at most {MAX_DESCRIPTION} characters, and no control characters"
        )));
    }
    match options.check.is_empty() && !options.message.is_empty() {
        true => Err(invalid("a message needs a check: enter the check as well")),
        false => Ok(()),
    }
}

/// Refuses options that exclude each other, or that the column cannot have.
fn check_together(options: &ColumnOptions, column: &ColumnRow, holder: NodeKind) -> Result<()> {
    let ColumnOptions { formula, default, check, unique, .. } = options;
    let has_some = !formula.is_empty() || !default.is_empty() || !check.is_empty() || *unique;
    if has_some && column.kind.takes_multiple() {
        return Err(invalid(format!(
            "\"{}\" takes several values: it cannot have a formula, a default value, a check or the rule against \
             duplicates",
            column.name
        )));
    }
    if *unique && !default.is_empty() && holder == NodeKind::Library {
        return Err(invalid(format!(
            "\"{}\" has a default value, which all new documents would share: leave out the default value or the rule \
             against duplicates",
            column.name
        )));
    }
    if formula.is_empty() {
        return Ok(());
    }
    let reason = match &column.kind {
        _ if !default.is_empty() || !check.is_empty() || *unique || column.required => {
            "leave required, no duplicates, default value and check out"
        }
        _ if column.role == Some(ColumnRole::Title) => "the titles of rows cannot be calculated",
        ColumnKind::Choice(_) => "a choice cannot be calculated: create a text column",
        ColumnKind::Lookup(_) => "entries of other lists cannot be calculated",
        _ => return Ok(()),
    };
    Err(invalid(format!("the values of \"{}\" are calculated: {reason}", column.name)))
}

fn parse(text: &str, what: &str, columns: &[FormulaColumn<'_>], uses: Uses) -> Result<Formula> {
    let formula = Formula::parse(text, columns, uses).map_err(|error| said_of(what, &error))?;
    match formula.stored().matches("[#").count() <= MAX_READ {
        true => Ok(formula),
        false => Err(said_of(what, &Error::invalid(format!("it names more than {MAX_READ} columns")))),
    }
}

/// Returns an error that says which of the formulas of the column it is about.
fn said_of(what: &str, error: &Error) -> Error {
    invalid(format!("the {what} cannot be used: {}", error.message()))
}

pub(crate) fn invalid(message: impl Into<String>) -> Error {
    let message = message.into();
    Error::invalid(message.clone()).with_code(Code::InvalidFormula).naming(&[message.as_str()])
}

fn require_type(formula: &Formula, what: &str, wanted: FormulaType) -> Result<()> {
    match formula.kind() == wanted {
        true => Ok(()),
        false => Err(said_of(
            what,
            &Error::invalid(format!("it gives a {} value, and not a {} one", formula.kind().as_str(), wanted.as_str())),
        )),
    }
}

/// Refuses a default value that the column can never take.
fn check_default(default: &Formula, kind: &ColumnKind) -> Result<()> {
    let context = FormulaContext { now: Timestamp::now(), me: Id::NONE };
    let fits = match default.evaluate(&|_| None, &context) {
        Outcome::Value(value) => kind.check(&value),
        Outcome::Empty => Ok(()),
        Outcome::Error(fault) => Err(Error::invalid(format!("it has no result ({})", fault.as_str()))),
    };
    fits.map_err(|error| said_of("default value", &error))
}

/// Refuses formulas that need their own results, through whatever other columns, and options that are too long
/// together.
///
/// # Errors
/// `Invalid` with code `invalid_formula`; `Exhausted` with code `too_many`.
pub(crate) fn check_all(columns: &[ColumnRow]) -> Result<()> {
    if columns.iter().map(|column| column.options.len()).sum::<usize>() > MAX_STORED {
        return Err(Error::exhausted(format!(
            "the formulas and descriptions of all columns have at most {} KiB together: shorten some",
            MAX_STORED >> 10
        ))
        .with_code(Code::TooMany));
    }
    let known = formula_columns(columns);
    let (mut formulas, mut unique) = (Vec::new(), 0);
    for column in columns {
        let stored = ColumnOptions::stored(column)?;
        unique += usize::from(stored.unique);
        if !stored.formula.is_empty() {
            formulas.push((column.id, Formula::parse(&stored.formula, &known, WITHOUT_NOW_AND_ME)?));
        }
    }
    if unique > MAX_UNIQUE {
        return Err(Error::exhausted(format!(
            "a library or list has at most {MAX_UNIQUE} columns that take no value twice"
        ))
        .with_code(Code::TooMany));
    }
    let all: Vec<(Id, &Formula)> = formulas.iter().map(|(id, formula)| (*id, formula)).collect();
    let names: HashMap<String, &str> = columns.iter().map(|column| (column.id.to_string(), &*column.name)).collect();
    order_of(&all).map(drop).map_err(|circle| {
        let path: Vec<String> =
            circle.named().iter().filter_map(|id| names.get(id)).take(10).map(|name| format!("[{name}]")).collect();
        let reason = match path.as_slice() {
            [one] => format!("{one} needs its own value"),
            several => format!("{} need each other's values", several.join(", ")),
        };
        said_of("formula", &Error::invalid(reason))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The form is stored in databases and must never change.
    #[test]
    fn the_stored_form_stays() {
        let all = ColumnOptions {
            formula: "[#1] * 2".into(),
            default: "today()".into(),
            check: "[#2] > 1".into(),
            message: "More".into(),
            unique: true,
            description: "D".into(),
        };
        let stored = concat!(
            r##"{"formula":"[#1] * 2","default":"today()","check":"[#2] > 1","message":"More","##,
            r#""unique":true,"description":"D"}"#
        );
        assert_eq!(all.to_stored().unwrap(), stored);
        assert_eq!(serde_json::from_str::<ColumnOptions>(stored).unwrap(), all);
        assert_eq!(ColumnOptions::default().to_stored().unwrap(), "");
        let some = ColumnOptions { unique: true, ..ColumnOptions::default() };
        assert_eq!(some.to_stored().unwrap(), r#"{"unique":true}"#);
    }
}
