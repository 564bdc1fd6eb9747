//! Formulas, default values and checks of the columns in a template, which name columns as the template does.

use database::content::column::ColumnRow;
use model::{
    ColumnKind, ColumnValue, Error, Formula, FormulaColumn, FormulaContext, Id, NodeKind, Outcome, Result, Timestamp,
    Uses,
};

use super::format::{ColumnTemplate, invalid};
use crate::columns::{ColumnOptions, check_all, checked_options};
use crate::items::condition;

/// Gives the columns of a new list the options that its template has for them. Both are in the same order.
///
/// # Errors
/// `Invalid` with code `invalid_template` for a formula that cannot be used.
pub(super) fn set_options(
    template: &[ColumnTemplate],
    holder: NodeKind,
    rows: &mut [ColumnRow],
    language: &str,
) -> Result<()> {
    for (at, column) in template.iter().enumerate() {
        let set = options_of(template, rows, at, language)
            .and_then(|options| checked_options(&options, rows[at].id, holder, rows));
        rows[at].options =
            set.map_err(|error| invalid(format!("column {:?}: {}", column.name.key(), error.message())))?;
    }
    check_all(rows).map_err(|error| invalid(error.message().to_owned()))
}

/// Returns the condition of a view, with identifiers in place of the names that the template has for columns.
///
/// # Errors
/// `Invalid` with code `invalid_template`.
pub(super) fn condition_of(template: &[ColumnTemplate], rows: &[ColumnRow], text: &str) -> Result<String> {
    let formula = condition::parse(text, &named(template, rows));
    Ok(formula.map_err(|error| invalid(error.message().to_owned()))?.stored())
}

/// Returns columns by the names that the template has for them.
fn named<'a>(template: &'a [ColumnTemplate], rows: &'a [ColumnRow]) -> Vec<FormulaColumn<'a>> {
    let named = template.iter().zip(rows);
    named.map(|(column, row)| FormulaColumn { id: row.id, name: column.name.key(), kind: &row.kind }).collect()
}

/// Returns the options of one column, with formulas that name columns by identifier.
fn options_of(template: &[ColumnTemplate], rows: &[ColumnRow], at: usize, language: &str) -> Result<ColumnOptions> {
    let column = &template[at];
    let known = named(template, rows);
    let stored = |text: &Option<String>, today_and_me| match text {
        Some(text) => Ok(Formula::parse(text, &known, Uses { today_and_me })?.stored()),
        None => Ok::<_, Error>(String::new()),
    };
    let said = |text: &Option<super::format::Text>| {
        text.as_ref().map(|text| text.in_language(language).to_owned()).unwrap_or_default()
    };
    Ok(ColumnOptions {
        formula: stored(&column.formula, false)?,
        default: default_of(column, &rows[at].kind, language)?,
        check: stored(&column.check, true)?,
        message: said(&column.message),
        unique: column.unique,
        description: said(&column.description),
    })
}

/// Returns the formula of a default value. One that is a choice is the choice in the language.
fn default_of(column: &ColumnTemplate, kind: &ColumnKind, language: &str) -> Result<String> {
    let Some(text) = &column.default else { return Ok(String::new()) };
    let formula = Formula::parse(text, &[], Uses { today_and_me: true })?;
    let context = FormulaContext { now: Timestamp::from_micros(0), me: Id::NONE };
    match (kind, formula.evaluate(&|_| None, &context)) {
        (ColumnKind::Choice(_), Outcome::Value(ColumnValue::Text(key))) => {
            let choice = column.choices.iter().find(|choice| choice.key() == key);
            let choice = choice.ok_or_else(|| Error::invalid("the default value is none of the choices"))?;
            Ok(format!("\"{}\"", choice.in_language(language).replace('"', "\"\"")))
        }
        _ => Ok(text.clone()),
    }
}
