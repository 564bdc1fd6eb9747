//! Parsing of formulas, with the check of all types.

use super::columns::Columns;
use super::expression::{AND, Expression, IN, JOIN, NEGATE, NOT, OR, Operator};
use super::function::Function;
use super::kind::FormulaType;
use super::lexer::{Placed, Token, mistake, shown, tokens};
use super::types::{require, result_of, result_of_call};
use crate::{Error, Result};

/// Limit on the depth of an expression.
const MAX_DEPTH: usize = 32;
/// Limit on the recursion of the parser. A level of an expression takes two of it: as an operand and in parentheses.
const MAX_NESTING: usize = 2 * MAX_DEPTH + 2;
/// Limit on the values of one `in`.
const MAX_LIST: usize = 100;
/// Limit on the arguments of one function.
const MAX_ARGUMENTS: usize = 30;
/// Limit on the columns that a message lists.
const MAX_NAMED: usize = 10;

/// Things besides columns that a formula may use.
#[derive(Clone, Copy, Debug)]
pub struct Uses {
    /// True if it is evaluated whenever its result is needed, so that it may ask for the time and the caller. The
    /// results of calculated columns are stored.
    pub today_and_me: bool,
}

/// An expression with its type and its depth.
struct Typed {
    expression: Expression,
    kind: FormulaType,
    depth: usize,
}

/// A token that can stand after an operand.
#[derive(Clone, Copy, PartialEq)]
enum Infix {
    Binary(Operator),
    And,
    Or,
    Join,
    In,
}

impl Infix {
    fn of(token: &Token) -> Option<Self> {
        match token {
            Token::Operator(operator) => Some(Self::Binary(*operator)),
            Token::Join => Some(Self::Join),
            Token::Word(word) => match word.as_str() {
                "and" => Some(Self::And),
                "or" => Some(Self::Or),
                "in" => Some(Self::In),
                _ => None,
            },
            _ => None,
        }
    }

    const fn strength(self) -> u8 {
        match self {
            Self::Or => OR,
            Self::And => AND,
            Self::In => IN,
            Self::Join => JOIN,
            Self::Binary(operator) => operator.strength(),
        }
    }
}

/// Parses a formula and returns its expression and the type of its result.
pub fn parse(text: &str, columns: &Columns<'_>, uses: Uses) -> Result<(Expression, FormulaType)> {
    let (tokens, end) = tokens(text)?;
    let mut parser = Parser { tokens, next: 0, end, columns, uses, nesting: 0 };
    let typed = parser.expression(0)?;
    match parser.tokens.get(parser.next) {
        None => Ok((typed.expression, typed.kind)),
        Some(placed) => {
            Err(mistake(placed.at, "the formula should end here: put an operator before this, or take it away"))
        }
    }
}

struct Parser<'a> {
    tokens: Vec<Placed>,
    next: usize,
    /// Position after the last character.
    end: usize,
    columns: &'a Columns<'a>,
    uses: Uses,
    nesting: usize,
}

impl Parser<'_> {
    fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.next).map(|placed| &placed.token)
    }

    fn at(&self) -> usize {
        self.tokens.get(self.next).map_or(self.end, |placed| placed.at)
    }

    fn take(&mut self, token: &Token) -> bool {
        let found = self.peek() == Some(token);
        self.next += usize::from(found);
        found
    }

    fn expect(&mut self, token: &Token, what: &str) -> Result<()> {
        if self.take(token) { Ok(()) } else { Err(mistake(self.at(), format!("{what} is missing: put it here"))) }
    }

    /// Parses an expression of operators that bind more tightly than `loosest`.
    fn expression(&mut self, loosest: u8) -> Result<Typed> {
        self.nesting += 1;
        if self.nesting > MAX_NESTING {
            return Err(self.too_deep());
        }
        let mut left = self.prefix()?;
        while let Some(infix) = self.peek().and_then(Infix::of).filter(|infix| infix.strength() > loosest) {
            let at = self.at();
            self.next += 1;
            left = match infix {
                Infix::In => self.list(left, at)?,
                Infix::Binary(operator) => {
                    let right = self.expression(infix.strength())?;
                    let kind = result_of(operator, left.kind, right.kind, at)?;
                    let depth = left.depth.max(right.depth);
                    let (left, right) = (Box::new(left.expression), Box::new(right.expression));
                    self.above(Expression::Binary(operator, left, right), kind, depth)?
                }
                Infix::And | Infix::Or | Infix::Join => self.chain(infix, left, at)?,
            };
        }
        self.nesting -= 1;
        Ok(left)
    }

    /// Parses operands of `and`, `or` or `&` after the first one.
    fn chain(&mut self, infix: Infix, first: Typed, at: usize) -> Result<Typed> {
        let (word, kind) = match infix {
            Infix::And => ("and", Some(FormulaType::YesNo)),
            Infix::Or => ("or", Some(FormulaType::YesNo)),
            _ => ("&", None),
        };
        let fits = |operand: &Typed, at| kind.map_or(Ok(()), |kind| require(kind, operand.kind, word, at));
        fits(&first, at)?;
        // The depth of a chain in parentheses counts as one level more than that of its operands.
        let (mut depth, mut parts) = match (infix, first.expression) {
            (Infix::And, Expression::And(parts))
            | (Infix::Or, Expression::Or(parts))
            | (Infix::Join, Expression::Join(parts)) => (first.depth - 1, parts),
            (_, other) => (first.depth, vec![other]),
        };
        let mut at = at;
        loop {
            let right = self.expression(infix.strength())?;
            fits(&right, at)?;
            depth = depth.max(right.depth);
            parts.push(right.expression);
            if self.peek().and_then(Infix::of) != Some(infix) {
                break;
            }
            at = self.at();
            self.next += 1;
        }
        let expression = match infix {
            Infix::And => Expression::And(parts),
            Infix::Or => Expression::Or(parts),
            _ => Expression::Join(parts),
        };
        self.above(expression, kind.unwrap_or(FormulaType::Text), depth)
    }

    fn prefix(&mut self) -> Result<Typed> {
        let at = self.at();
        match self.peek() {
            Some(Token::Word(word)) if word == "not" => {
                self.next += 1;
                let operand = self.expression(NOT)?;
                require(FormulaType::YesNo, operand.kind, "not", at)?;
                self.above(Expression::Not(Box::new(operand.expression)), FormulaType::YesNo, operand.depth)
            }
            Some(Token::Operator(Operator::Subtract)) => {
                self.next += 1;
                let operand = self.expression(NEGATE)?;
                require(FormulaType::Number, operand.kind, "-", at)?;
                self.above(Expression::Negate(Box::new(operand.expression)), FormulaType::Number, operand.depth)
            }
            _ => self.primary(),
        }
    }

    fn primary(&mut self) -> Result<Typed> {
        let at = self.at();
        let Some(token) = self.peek().cloned() else {
            return Err(Self::misplaced(at));
        };
        self.next += 1;
        let leaf = |expression, kind| Ok(Typed { expression, kind, depth: 1 });
        match token {
            Token::Text(text) => leaf(Expression::Text(text), FormulaType::Text),
            Token::Number(number) => leaf(Expression::Number(number), FormulaType::Number),
            Token::Column(name) => {
                let column = self.columns.find(&name).ok_or_else(|| self.unknown_column(&name, at))?;
                if column.kind.takes_multiple() {
                    let name = shown(column.name);
                    return Err(mistake(at, format!("{name} takes several values, which no formula can read")));
                }
                let kind = FormulaType::of(column.kind);
                leaf(Expression::Column(column.id, kind), kind)
            }
            Token::Open => {
                let inner = self.expression(0)?;
                self.expect(&Token::Close, "a closing parenthesis")?;
                Ok(inner)
            }
            Token::Word(word) => match word.as_str() {
                "true" | "false" => leaf(Expression::YesNo(word == "true"), FormulaType::YesNo),
                "and" | "or" | "in" => Err(Self::misplaced(at)),
                _ => self.call(&word, at),
            },
            Token::Close | Token::Comma | Token::Join | Token::Operator(_) => Err(Self::misplaced(at)),
        }
    }

    /// Parses the list after `in`.
    fn list(&mut self, left: Typed, at: usize) -> Result<Typed> {
        self.expect(&Token::Open, "an opening parenthesis after \"in\"")?;
        let (mut list, mut depth) = (Vec::new(), left.depth);
        loop {
            let (at, value) = (self.at(), self.expression(0)?);
            if value.kind != left.kind {
                let (this, that) = (value.kind.named(), left.kind.named());
                return Err(mistake(
                    at,
                    format!("this is {this}, but before \"in\" is {that}: use values of one type"),
                ));
            }
            depth = depth.max(value.depth);
            list.push(value.expression);
            if !self.take(&Token::Comma) {
                break;
            }
        }
        self.expect(&Token::Close, "a comma or a closing parenthesis")?;
        if list.len() > MAX_LIST {
            return Err(mistake(at, format!("\"in\" takes at most {MAX_LIST} values: join several with \"or\"")));
        }
        self.above(Expression::In(Box::new(left.expression), list), FormulaType::YesNo, depth)
    }

    fn call(&mut self, word: &str, at: usize) -> Result<Typed> {
        let Some(function) = Function::named(word) else {
            let hint = "write texts in double quotes, and columns in brackets";
            return Err(mistake(at, format!("there is no function \"{}\": {hint}", shown(word))));
        };
        if function.is_momentary() && !self.uses.today_and_me {
            let reason = "because the result is stored and would not change with it: use a column instead";
            return Err(mistake(at, format!("{word}() cannot be used here, {reason}")));
        }
        self.expect(&Token::Open, &format!("an opening parenthesis after \"{word}\""))?;
        let (mut arguments, mut kinds, mut depth) = (Vec::new(), Vec::new(), 0);
        while !self.take(&Token::Close) {
            if !arguments.is_empty() {
                self.expect(&Token::Comma, "a comma or a closing parenthesis")?;
            }
            let (at, argument) = (self.at(), self.expression(0)?);
            kinds.push((at, argument.kind));
            depth = depth.max(argument.depth);
            arguments.push(argument.expression);
            if arguments.len() > MAX_ARGUMENTS {
                let hint = "call it again for the others";
                return Err(mistake(at, format!("{word}() takes at most {MAX_ARGUMENTS} values: {hint}")));
            }
        }
        let kind = result_of_call(function, &kinds, at)?;
        self.above(Expression::Call(function, arguments), kind, depth)
    }

    /// Returns an expression whose operands have this depth, if it is not too deep.
    fn above(&self, expression: Expression, kind: FormulaType, depth: usize) -> Result<Typed> {
        if depth < MAX_DEPTH { Ok(Typed { expression, kind, depth: depth + 1 }) } else { Err(self.too_deep()) }
    }

    fn too_deep(&self) -> Error {
        let hint = "put a part of it into a column";
        mistake(self.at(), format!("the formula is nested more than {MAX_DEPTH} levels deep: {hint}"))
    }

    fn misplaced(at: usize) -> Error {
        mistake(at, "something is missing: put a column, a text, a number or a function here")
    }

    fn unknown_column(&self, name: &str, at: usize) -> Error {
        let (names, more) = self.columns.first(MAX_NAMED);
        let mut known: Vec<String> = names.map(shown).collect();
        if more {
            known.push("...".to_owned());
        }
        let known = if known.is_empty() { "no columns".to_owned() } else { known.join(", ") };
        mistake(at, format!("there is no column \"{}\"; the list has {known}", shown(name)))
    }
}
