//! Evaluation of formulas.

use std::cmp::Ordering;

use super::expression::{Expression, Operator};
use super::function::Function;
use super::functions::{apply, days_between, later, start_of_day};
use super::kind::FormulaType;
use super::value::{Evaluated, FormulaFault, MAX_BYTES, MAX_TEXT, bytes, comparable, compare, finite, is_blank, said};
use crate::{ColumnValue, Id, Timestamp};

/// Limit on the steps of one evaluation. A step is an operation, or some hundred bytes of text.
pub const MAX_STEPS: usize = 10_000;
/// Bytes of text that count as a step.
const BYTES_PER_STEP: usize = 256;

/// Bytes of text that count as a step when a part is looked for in them.
const BYTES_PER_SEARCH: usize = 32;

/// The result of a formula for one item.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// A value.
    Value(ColumnValue),
    /// No value. A check passes, and a filter does not match.
    Empty,
    /// There is no result for these values.
    Error(FormulaFault),
}

/// The circumstances of an evaluation.
#[derive(Clone, Copy, Debug)]
pub struct FormulaContext {
    /// The present time.
    pub now: Timestamp,
    /// Identifier of the caller, the result of `me()`.
    pub me: Id,
}

impl Expression {
    /// Evaluates a part of a formula for one item, as [`crate::Formula::evaluate`] does for the whole.
    pub fn evaluate(&self, values: &dyn Fn(Id) -> Option<ColumnValue>, context: &FormulaContext) -> Outcome {
        self.evaluate_within(values, context, &mut { MAX_STEPS })
    }

    /// Evaluates a part of a formula, and takes the steps from those that are left.
    pub(super) fn evaluate_within(
        &self,
        values: &dyn Fn(Id) -> Option<ColumnValue>,
        context: &FormulaContext,
        left: &mut usize,
    ) -> Outcome {
        let mut evaluation = Evaluation { values, context, steps: 0, most: (*left).min(MAX_STEPS) };
        let outcome = evaluation.value(self);
        *left = left.saturating_sub(evaluation.steps);
        match outcome {
            Ok(Some(value)) => Outcome::Value(value),
            Ok(None) => Outcome::Empty,
            Err(fault) => Outcome::Error(fault),
        }
    }
}

struct Evaluation<'a> {
    values: &'a dyn Fn(Id) -> Option<ColumnValue>,
    context: &'a FormulaContext,
    steps: usize,
    most: usize,
}

impl Evaluation<'_> {
    fn value(&mut self, expression: &Expression) -> Evaluated {
        self.step(1)?;
        match expression {
            Expression::Text(text) => self.text(text.clone()),
            Expression::Number(number) => finite(*number),
            Expression::YesNo(yes) => Ok(Some(ColumnValue::YesNo(*yes))),
            Expression::Column(id, kind) => self.column(*id, *kind),
            Expression::Not(operand) => Ok(self.yes_no(operand)?.map(|yes| ColumnValue::YesNo(!yes))),
            Expression::Negate(operand) => match self.value(operand)? {
                Some(ColumnValue::Number(number)) => finite(-number),
                _ => Ok(None),
            },
            Expression::Binary(operator, left, right) => {
                let (left, right) = (self.value(left)?, self.value(right)?);
                let (Some(left), Some(right)) = (left, right) else { return Ok(None) };
                self.operation(*operator, &left, &right)
            }
            Expression::And(parts) => self.logical(parts, false),
            Expression::Or(parts) => self.logical(parts, true),
            Expression::Join(parts) => {
                let mut joined = String::new();
                for part in parts {
                    joined.push_str(&said(self.value(part)?));
                    if joined.len() > MAX_BYTES {
                        return Err(FormulaFault::Length);
                    }
                }
                self.text(joined)
            }
            Expression::In(value, list) => self.is_in(value, list),
            Expression::Call(function, arguments) => self.call(*function, arguments),
        }
    }

    fn step(&mut self, steps: usize) -> Result<(), FormulaFault> {
        self.steps += steps;
        if self.steps > self.most { Err(FormulaFault::Steps) } else { Ok(()) }
    }

    /// Returns a text as a value, if it is not too long.
    fn text(&mut self, text: String) -> Evaluated {
        self.step(text.len() / BYTES_PER_STEP)?;
        if text.len() > MAX_TEXT && text.chars().count() > MAX_TEXT {
            return Err(FormulaFault::Length);
        }
        Ok(Some(ColumnValue::Text(text)))
    }

    fn column(&mut self, id: Id, kind: FormulaType) -> Evaluated {
        match (self.values)(id).filter(|value| FormulaType::of_value(value) == Some(kind)) {
            Some(ColumnValue::Text(text)) => self.text(text),
            Some(ColumnValue::Number(number)) => finite(number),
            other => Ok(other),
        }
    }

    fn yes_no(&mut self, expression: &Expression) -> Result<Option<bool>, FormulaFault> {
        Ok(match self.value(expression)? {
            Some(ColumnValue::YesNo(yes)) => Some(yes),
            _ => None,
        })
    }

    /// Evaluates `and` and `or`: the first operand that decides is the result, and an empty one is unknown.
    fn logical(&mut self, parts: &[Expression], decides: bool) -> Evaluated {
        let mut known = true;
        for part in parts {
            match self.yes_no(part)? {
                Some(yes) if yes == decides => return Ok(Some(ColumnValue::YesNo(decides))),
                Some(_) => {}
                None => known = false,
            }
        }
        Ok(known.then_some(ColumnValue::YesNo(!decides)))
    }

    fn operation(&mut self, operator: Operator, left: &ColumnValue, right: &ColumnValue) -> Evaluated {
        use ColumnValue::{Date, Number};
        match (operator, left, right) {
            (Operator::Add, Number(a), Number(b)) => finite(a + b),
            (Operator::Subtract, Number(a), Number(b)) => finite(a - b),
            (Operator::Multiply, Number(a), Number(b)) => finite(a * b),
            (Operator::Divide, Number(_), Number(0.0)) => Err(FormulaFault::Division),
            (Operator::Divide, Number(a), Number(b)) => finite(a / b),
            (Operator::Add, Date(at), Number(days)) | (Operator::Add, Number(days), Date(at)) => later(*at, *days),
            (Operator::Subtract, Date(at), Number(days)) => later(*at, -days),
            (Operator::Subtract, Date(a), Date(b)) => finite(days_between(*b, *a)),
            (operator, left, right) => {
                self.step((bytes(left) + bytes(right)) / BYTES_PER_STEP)?;
                let order = compare(&comparable(left), &comparable(right));
                Ok(order.map(|order| ColumnValue::YesNo(holds(operator, order))))
            }
        }
    }

    fn is_in(&mut self, value: &Expression, list: &[Expression]) -> Evaluated {
        let Some(value) = self.value(value)? else { return Ok(None) };
        let (value, mut known) = (comparable(&value), true);
        for one in list {
            match self.value(one)? {
                Some(one) => {
                    self.step(bytes(&one) / BYTES_PER_STEP)?;
                    if compare(&value, &comparable(&one)) == Some(Ordering::Equal) {
                        return Ok(Some(ColumnValue::YesNo(true)));
                    }
                }
                None => known = false,
            }
        }
        Ok(known.then_some(ColumnValue::YesNo(false)))
    }

    fn call(&mut self, function: Function, arguments: &[Expression]) -> Evaluated {
        match (function, arguments) {
            (Function::If, [condition, yes, rest @ ..]) => match self.yes_no(condition)? {
                Some(true) => self.value(yes),
                Some(false) => rest.first().map_or(Ok(None), |no| self.value(no)),
                None => Ok(None),
            },
            (Function::Blank, [value]) => {
                let value = self.value(value)?;
                Ok(Some(ColumnValue::YesNo(is_blank(value.as_ref()))))
            }
            (Function::Coalesce, values) => {
                for value in values {
                    let value = self.value(value)?;
                    if !is_blank(value.as_ref()) {
                        return Ok(value);
                    }
                }
                Ok(None)
            }
            (Function::Text, [value]) => {
                let Some(value) = self.value(value)? else { return Ok(None) };
                self.text(said(Some(value)))
            }
            (Function::Today, []) => Ok(Some(ColumnValue::Date(start_of_day(self.context.now)))),
            (Function::Now, []) => Ok(Some(ColumnValue::Date(self.context.now))),
            (Function::Me, []) => Ok(Some(ColumnValue::Person(self.context.me))),
            (function, arguments) => {
                let mut values = Vec::with_capacity(arguments.len());
                for argument in arguments {
                    let Some(value) = self.value(argument)? else {
                        if function.skips_empty() {
                            continue;
                        }
                        return Ok(None);
                    };
                    self.step(bytes(&value) / BYTES_PER_STEP)?;
                    values.push(value);
                }
                if function.searches() {
                    self.step(values.iter().map(bytes).sum::<usize>() / BYTES_PER_SEARCH)?;
                }
                if values.is_empty() && function.skips_empty() {
                    return Ok(None);
                }
                match apply(function, &values)? {
                    Some(ColumnValue::Text(text)) => self.text(text),
                    other => Ok(other),
                }
            }
        }
    }
}

/// Returns whether a comparison holds for values in this order.
fn holds(operator: Operator, order: Ordering) -> bool {
    match operator {
        Operator::Equal => order.is_eq(),
        Operator::Unequal => order.is_ne(),
        Operator::Less => order.is_lt(),
        Operator::LessOrEqual => order.is_le(),
        Operator::Greater => order.is_gt(),
        // The other operators have no two texts, and are done before.
        _ => order.is_ge(),
    }
}
