//! Formulas: the one small language of calculated columns, defaults, checks of values, and filters.
//!
//! A formula reads the fields of one item. It has no loops and no side effects. Its types are checked when it is saved,
//! so that evaluating it can fail only for values: division by zero, a date that does not exist, a text that is too
//! long.
//!
//! An operator or function with an empty argument gives an empty result, with these exceptions. `&` takes an empty
//! value for an empty text, and `blank` and `coalesce` look at it. `if` looks only at its condition and at the value
//! that it chooses. For `and` and `or` an empty operand is unknown: it does not matter if the others decide. `in` is
//! the same as comparisons with `=` joined by `or`. `sum`, `min`, `max` and `average` leave empty arguments out.
//!
//! **A check that gives an empty result passes; a filter that does so does not match.** Callers decide that.

mod calendar;
mod checked;
mod columns;
mod evaluate;
mod expression;
mod function;
mod functions;
mod kind;
mod lexer;
mod order;
mod parse;
mod types;
mod value;
mod write;

pub use checked::Formula;
pub use columns::FormulaColumn;
pub use evaluate::{FormulaContext, Outcome};
pub use expression::{Expression, Operator};
pub use function::{Function, Parameter, ResultType, Signature};
pub use kind::FormulaType;
pub use order::order_of;
pub use parse::Uses;
pub use value::FormulaFault;

#[cfg(test)]
mod tests;
