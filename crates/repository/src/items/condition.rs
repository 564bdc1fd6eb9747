//! Conditions of listings: formulas that items must fulfil.

use database::content::column::ColumnRow;
use database::content::fields::Fields;
use model::{
    ColumnKind, ColumnValue, Error, Formula, FormulaColumn, FormulaContext, FormulaType, Id, Outcome, Result, Timestamp,
};

use crate::Column;
use crate::columns::{WITH_NOW_AND_ME, invalid_formula};

/// Limit on the steps that the condition takes for one item. What is beyond counts as not fulfilled.
const MAX_STEPS: usize = 5_000;

/// A condition, parsed once and evaluated for many items.
pub(super) struct Condition {
    formula: Formula,
    context: FormulaContext,
}

impl Condition {
    /// Reads the condition of a filter; `None` for none.
    ///
    /// # Errors
    /// `Invalid` with code `invalid_formula`.
    pub(super) fn read(text: &str, columns: &[ColumnRow], caller: Id) -> Result<Option<Self>> {
        if text.is_empty() {
            return Ok(None);
        }
        let columns = columns.iter().map(|column| (column.id, column.name.as_str(), &column.kind));
        let formula = parse(text, &formula_columns(columns))?;
        Ok(Some(Self { formula, context: FormulaContext { now: Timestamp::now(), me: caller } }))
    }

    /// Returns whether the fields of an item fulfil the condition. An empty or faulty result does not.
    pub(super) fn is_met(&self, columns: &[ColumnRow], content_type: Option<Id>, fields: &Fields) -> bool {
        let value = |id: Id| {
            let column = columns.iter().find(|column| column.id == id && column.is_for(content_type))?;
            fields.get(column.slot, &column.kind).ok().flatten()
        };
        let mut steps = MAX_STEPS;
        let outcome = self.formula.evaluate_within(&value, &self.context, &mut steps);
        outcome == Outcome::Value(ColumnValue::YesNo(true))
    }
}

/// Checks a condition for the items of a library or list with these columns, and returns it with identifiers in place
/// of names, so that it stays right when a column is renamed. [`crate::Filter`] takes both forms.
///
/// # Errors
/// `Invalid` with code `invalid_formula`.
pub fn stored_condition(text: &str, columns: &[Column]) -> Result<String> {
    Ok(parse(text, &of_columns(columns))?.stored())
}

/// Returns a condition with the names of columns; one that cannot be read as it is.
pub fn named_condition(text: &str, columns: &[Column]) -> String {
    let columns = of_columns(columns);
    parse(text, &columns).map_or_else(|_| text.to_owned(), |formula| formula.text(&columns))
}

fn of_columns(columns: &[Column]) -> Vec<FormulaColumn<'_>> {
    formula_columns(columns.iter().map(|column| (column.id, column.name.as_str(), &column.kind)))
}

fn formula_columns<'a>(columns: impl Iterator<Item = (Id, &'a str, &'a ColumnKind)>) -> Vec<FormulaColumn<'a>> {
    columns.map(|(id, name, kind)| FormulaColumn { id, name, kind }).collect()
}

/// Reads a condition.
///
/// # Errors
/// `Invalid` with code `invalid_formula`.
pub(crate) fn parse(text: &str, columns: &[FormulaColumn<'_>]) -> Result<Formula> {
    let formula = Formula::parse(text, columns, WITH_NOW_AND_ME).map_err(|error| unusable(&error))?;
    match formula.kind() {
        FormulaType::YesNo => Ok(formula),
        kind => Err(unusable(&Error::invalid(format!("it gives a {} value, and not a yes-no one", kind.as_str())))),
    }
}

fn unusable(error: &Error) -> Error {
    invalid_formula(format!("the condition cannot be used: {}", error.message()))
}
