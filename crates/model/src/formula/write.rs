//! The text of a formula.

use super::columns::Columns;
use super::expression::{AND, Expression, IN, JOIN, NEGATE, NOT, OR};
use super::value::shortest;

/// Writes an expression. A column that is not found by its name is written by identifier.
pub fn write(expression: &Expression, columns: &Columns<'_>) -> String {
    let mut out = String::new();
    put(&mut out, expression, columns, 0);
    out
}

/// Writes an operand; in parentheses, if its operator binds no more tightly than `loosest`.
fn put(out: &mut String, expression: &Expression, columns: &Columns<'_>, loosest: u8) {
    let strength = match expression {
        Expression::Binary(operator, _, _) => operator.strength(),
        Expression::Or(_) => OR,
        Expression::And(_) => AND,
        Expression::In(_, _) => IN,
        Expression::Join(_) => JOIN,
        Expression::Negate(_) => NEGATE,
        Expression::Not(_) => NOT,
        _ => u8::MAX,
    };
    let enclosed = strength <= loosest;
    if enclosed {
        out.push('(');
    }
    match expression {
        Expression::Text(text) => {
            out.push('"');
            out.push_str(&text.replace('"', "\"\""));
            out.push('"');
        }
        Expression::Number(number) => out.push_str(&shortest(*number)),
        Expression::YesNo(yes) => out.push_str(if *yes { "true" } else { "false" }),
        Expression::Column(id, _) => {
            out.push('[');
            match columns.name(*id) {
                Some(name) => out.push_str(&name.replace(']', "]]")),
                None => out.push_str(&format!("#{id}")),
            }
            out.push(']');
        }
        Expression::Not(operand) => {
            out.push_str("not ");
            put(out, operand, columns, NOT - 1);
        }
        Expression::Negate(operand) => {
            out.push('-');
            put(out, operand, columns, NEGATE - 1);
        }
        Expression::Binary(operator, left, right) => {
            // Operators of one strength are read from the left.
            put(out, left, columns, operator.strength() - 1);
            out.push(' ');
            out.push_str(operator.as_str());
            out.push(' ');
            put(out, right, columns, operator.strength());
        }
        Expression::Or(parts) => separated(out, parts, " or ", columns, OR),
        Expression::And(parts) => separated(out, parts, " and ", columns, AND),
        Expression::Join(parts) => separated(out, parts, " & ", columns, JOIN),
        Expression::In(value, list) => {
            put(out, value, columns, IN - 1);
            out.push_str(" in (");
            separated(out, list, ", ", columns, 0);
            out.push(')');
        }
        Expression::Call(function, arguments) => {
            out.push_str(function.signature().name);
            out.push('(');
            separated(out, arguments, ", ", columns, 0);
            out.push(')');
        }
    }
    if enclosed {
        out.push(')');
    }
}

fn separated(out: &mut String, list: &[Expression], separator: &str, columns: &Columns<'_>, loosest: u8) {
    for (number, one) in list.iter().enumerate() {
        if number > 0 {
            out.push_str(separator);
        }
        put(out, one, columns, loosest);
    }
}
