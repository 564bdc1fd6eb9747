//! The types of operators and functions: what fits, what comes out, and what to do if it does not fit.

use super::expression::Operator;
use super::function::{Function, Parameter, ResultType};
use super::kind::FormulaType;
use super::lexer::mistake;
use crate::Result;

/// Returns nothing if the operand of a word or sign has the type that it needs.
pub fn require(wanted: FormulaType, kind: FormulaType, operator: &str, at: usize) -> Result<()> {
    if kind == wanted {
        return Ok(());
    }
    let hint = if operator == "not" { "; put parentheses around all that it applies to" } else { "" };
    Err(mistake(at, format!("\"{operator}\" needs {}, and this is {}{hint}", wanted.named(), kind.named())))
}

/// Returns the type of an operation's result.
pub fn result_of(operator: Operator, left: FormulaType, right: FormulaType, at: usize) -> Result<FormulaType> {
    use FormulaType::{Date, Number, Person, YesNo};
    use Operator::{Add, Divide, Equal, Greater, GreaterOrEqual, Less, LessOrEqual, Multiply, Subtract, Unequal};
    let hint = match (operator, left, right) {
        (Equal | Unequal, left, right) if left == right => return Ok(YesNo),
        (Less | LessOrEqual | Greater | GreaterOrEqual, left, right) if left == right => {
            if !matches!(left, Person | YesNo) {
                return Ok(YesNo);
            }
            "compare with = or <>"
        }
        (Add, Date, Number) | (Add, Number, Date) | (Subtract, Date, Number) => return Ok(Date),
        (Subtract, Date, Date) | (Add | Subtract | Multiply | Divide, Number, Number) => return Ok(Number),
        (Add, FormulaType::Text, _) | (Add, _, FormulaType::Text) => "join texts with &, or use value() for a number",
        (Equal | Unequal | Less | LessOrEqual | Greater | GreaterOrEqual, _, _) => "compare values of one type",
        _ => "use numbers, or dates and days",
    };
    let (left, right) = (left.named(), right.named());
    Err(mistake(at, format!("\"{}\" does not work for {left} and {right}: {hint}", operator.as_str())))
}

/// Returns the type of a function's result. The arguments have positions and types.
pub fn result_of_call(function: Function, arguments: &[(usize, FormulaType)], at: usize) -> Result<FormulaType> {
    let signature = function.signature();
    let (most, name) = (signature.parameters.len(), signature.name);
    let least = most - signature.optional;
    if arguments.len() < least || (arguments.len() > most && !signature.repeats) {
        let more = if signature.repeats { " or more" } else { "" };
        let count = if least == most { format!("{most}{more}") } else { format!("{least} to {most}") };
        let s = if count == "1" { "" } else { "s" };
        let given = arguments.len();
        return Err(mistake(
            at,
            format!("{name}() takes {count} value{s} in its parentheses, and here it has {given}"),
        ));
    }
    let mut same = None;
    for (number, (at, kind)) in arguments.iter().enumerate() {
        let parameter = signature.parameters.get(number).or(signature.parameters.last());
        let wanted = match parameter {
            Some(Parameter::Of(wanted)) => Some(*wanted),
            Some(Parameter::Same) => Some(*same.get_or_insert(*kind)),
            Some(Parameter::NumberOrDate) => {
                if !matches!(kind, FormulaType::Number | FormulaType::Date) {
                    let given = kind.named();
                    return Err(mistake(*at, format!("{name}() needs a number or a date here, and this is {given}")));
                }
                Some(*same.get_or_insert(*kind))
            }
            Some(Parameter::Any) | None => None,
        };
        if let Some(wanted) = wanted.filter(|wanted| wanted != kind) {
            let (wanted, given) = (wanted.named(), kind.named());
            return Err(mistake(*at, format!("{name}() needs {wanted} here, and this is {given}")));
        }
    }
    Ok(match signature.result {
        ResultType::Of(kind) => kind,
        ResultType::Same => same.unwrap_or(FormulaType::Text),
    })
}
