//! A formula that was parsed and checked.

use super::columns::{Columns, FormulaColumn};
use super::evaluate::{FormulaContext, Outcome};
use super::expression::Expression;
use super::kind::FormulaType;
use super::parse::{Uses, parse};
use super::write::write;
use crate::{ColumnValue, Id, Result};

/// A formula that was parsed and checked.
#[derive(Clone, Debug, PartialEq)]
pub struct Formula {
    expression: Expression,
    kind: FormulaType,
}

impl Formula {
    /// Parses a formula over these columns. A column is named as in `[Due]`, in whatever case and with `]]` for a
    /// bracket in its name, or by identifier as in `[#252316839994986496]`, the form of [`Formula::stored`].
    ///
    /// # Errors
    /// `Invalid` with code `invalid_formula`, whose message names the place and the mistake.
    pub fn parse(text: &str, columns: &[FormulaColumn<'_>], uses: Uses) -> Result<Self> {
        let (expression, kind) = parse(text, &Columns::new(columns), uses)?;
        Ok(Self { expression, kind })
    }

    /// Returns the type of its result.
    pub const fn kind(&self) -> FormulaType {
        self.kind
    }

    /// Returns its expression, for code that finds parts of it in an index.
    pub const fn expression(&self) -> &Expression {
        &self.expression
    }

    /// Returns the columns that it reads, each once, in ascending order.
    pub fn columns(&self) -> Vec<Id> {
        self.expression.columns()
    }

    /// Returns its text with columns by identifier, which stays the same when a column is renamed.
    pub fn stored(&self) -> String {
        write(&self.expression, &Columns::new(&[]))
    }

    /// Returns its text with the present names of columns. A column without a name of its own stands by identifier.
    pub fn text(&self, columns: &[FormulaColumn<'_>]) -> String {
        write(&self.expression, &Columns::new(columns))
    }

    /// Returns the formula with each column replaced by what `replacement` returns for it, which must have the same
    /// type.
    #[must_use]
    pub fn with_columns(&self, replacement: &dyn Fn(Id) -> Id) -> Self {
        Self { expression: self.expression.with_columns(replacement), kind: self.kind }
    }

    /// Evaluates it for one item. `values` returns the value of a column, or nothing for an empty field. A value of
    /// another type than the column had when the formula was parsed counts as empty.
    pub fn evaluate(&self, values: &dyn Fn(Id) -> Option<ColumnValue>, context: &FormulaContext) -> Outcome {
        self.expression.evaluate(values, context)
    }

    /// Evaluates it as [`Formula::evaluate`] does, and takes the steps from those that are left for several formulas.
    /// Without enough of them, the outcome is the fault `steps`.
    pub fn evaluate_within(
        &self,
        values: &dyn Fn(Id) -> Option<ColumnValue>,
        context: &FormulaContext,
        left: &mut usize,
    ) -> Outcome {
        self.expression.evaluate_within(values, context, left)
    }
}
