//! The expression of a formula, after its types were checked.

use super::function::Function;
use super::kind::FormulaType;
use crate::Id;

/// An operator between two operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operator {
    /// `=`.
    Equal,
    /// `<>`.
    Unequal,
    /// `<`.
    Less,
    /// `<=`.
    LessOrEqual,
    /// `>`.
    Greater,
    /// `>=`.
    GreaterOrEqual,
    /// `+`, also of a date and a number of days.
    Add,
    /// `-`, also of a date and a number of days, and of two dates, which gives days.
    Subtract,
    /// `*`.
    Multiply,
    /// `/`.
    Divide,
}

impl Operator {
    /// Returns the operator as it is written.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Equal => "=",
            Self::Unequal => "<>",
            Self::Less => "<",
            Self::LessOrEqual => "<=",
            Self::Greater => ">",
            Self::GreaterOrEqual => ">=",
            Self::Add => "+",
            Self::Subtract => "-",
            Self::Multiply => "*",
            Self::Divide => "/",
        }
    }

    /// Returns how tightly it binds.
    pub(super) const fn strength(self) -> u8 {
        match self {
            Self::Equal | Self::Unequal | Self::Less | Self::LessOrEqual | Self::Greater | Self::GreaterOrEqual => 4,
            Self::Add | Self::Subtract => 6,
            Self::Multiply | Self::Divide => 7,
        }
    }
}

/// Strength of `or`.
pub(super) const OR: u8 = 1;
/// Strength of `and`.
pub(super) const AND: u8 = 2;
/// Strength of `in`.
pub(super) const IN: u8 = 3;
/// Strength of `&`.
pub(super) const JOIN: u8 = 5;
/// Strength of the sign of a number.
pub(super) const NEGATE: u8 = 8;
/// Strength of `not`.
pub(super) const NOT: u8 = 9;

/// A checked expression. Its depth is limited, so code may descend into it by recursion.
#[derive(Clone, Debug, PartialEq)]
pub enum Expression {
    /// A text.
    Text(String),
    /// A finite number, not below 0.
    Number(f64),
    /// `true` or `false`.
    YesNo(bool),
    /// The value of a column, with its type.
    Column(Id, FormulaType),
    /// `not` and a yes/no value.
    Not(Box<Expression>),
    /// The negative of a number.
    Negate(Box<Expression>),
    /// Two operands.
    Binary(Operator, Box<Expression>, Box<Expression>),
    /// Two or more yes/no values joined by `and`.
    And(Vec<Expression>),
    /// Two or more yes/no values joined by `or`.
    Or(Vec<Expression>),
    /// Two or more values joined to a text by `&`.
    Join(Vec<Expression>),
    /// `in`: whether a value is one of these, which have its type.
    In(Box<Expression>, Vec<Expression>),
    /// The call of a function with arguments that fit its signature.
    Call(Function, Vec<Expression>),
}

impl Expression {
    /// Returns the columns that it reads, each once, in ascending order. Without any it has the same value for all
    /// items.
    pub fn columns(&self) -> Vec<Id> {
        let mut columns = Vec::new();
        self.collect_columns(&mut columns);
        columns.sort_unstable();
        columns.dedup();
        columns
    }

    /// Returns the expression with each column replaced by what `replacement` returns for it, which must have the same
    /// type.
    pub fn with_columns(&self, replacement: &dyn Fn(Id) -> Id) -> Self {
        let one = |operand: &Self| Box::new(operand.with_columns(replacement));
        let all = |operands: &[Self]| operands.iter().map(|operand| operand.with_columns(replacement)).collect();
        match self {
            Self::Text(_) | Self::Number(_) | Self::YesNo(_) => self.clone(),
            Self::Column(id, kind) => Self::Column(replacement(*id), *kind),
            Self::Not(operand) => Self::Not(one(operand)),
            Self::Negate(operand) => Self::Negate(one(operand)),
            Self::Binary(operator, left, right) => Self::Binary(*operator, one(left), one(right)),
            Self::And(parts) => Self::And(all(parts)),
            Self::Or(parts) => Self::Or(all(parts)),
            Self::Join(parts) => Self::Join(all(parts)),
            Self::In(value, list) => Self::In(one(value), all(list)),
            Self::Call(function, arguments) => Self::Call(*function, all(arguments)),
        }
    }

    fn collect_columns(&self, columns: &mut Vec<Id>) {
        match self {
            Self::Text(_) | Self::Number(_) | Self::YesNo(_) => {}
            Self::Column(id, _) => columns.push(*id),
            Self::Not(operand) | Self::Negate(operand) => operand.collect_columns(columns),
            Self::Binary(_, left, right) => {
                left.collect_columns(columns);
                right.collect_columns(columns);
            }
            Self::In(value, list) => {
                value.collect_columns(columns);
                list.iter().for_each(|one| one.collect_columns(columns));
            }
            Self::And(parts) | Self::Or(parts) | Self::Join(parts) | Self::Call(_, parts) => {
                parts.iter().for_each(|one| one.collect_columns(columns));
            }
        }
    }
}
