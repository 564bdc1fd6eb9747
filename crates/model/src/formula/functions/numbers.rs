//! Functions of numbers.

use std::cmp::Ordering;

use super::super::function::Function;
use super::super::value::{Evaluated, FormulaFault, compare, finite};
use crate::ColumnValue;
use crate::ColumnValue::Number;

/// Applies a function of numbers.
pub fn apply(function: Function, values: &[ColumnValue]) -> Evaluated {
    match (function, values) {
        (Function::Abs, [Number(n)]) => finite(n.abs()),
        (Function::Round, [Number(n)]) => finite(rounded(*n, 0.0)),
        (Function::Round, [Number(n), Number(places)]) => finite(rounded(*n, *places)),
        (Function::Floor, [Number(n)]) => finite(n.floor()),
        (Function::Ceiling, [Number(n)]) => finite(n.ceil()),
        (Function::Mod, [Number(_), Number(0.0)]) => Err(FormulaFault::Division),
        (Function::Mod, [Number(a), Number(b)]) => {
            let rest = a % b;
            finite(if rest != 0.0 && (rest < 0.0) != (*b < 0.0) { rest + b } else { rest })
        }
        (Function::Power, [Number(a), Number(b)]) => finite(a.powf(*b)),
        (Function::Sqrt, [Number(n)]) => finite(n.sqrt()),
        (Function::Sum, numbers) => finite(sum(numbers)),
        (Function::Average, numbers) => finite(sum(numbers) / numbers.len() as f64),
        _ => Ok(None),
    }
}

/// Returns the smallest or largest value.
pub fn extreme(function: Function, values: &[ColumnValue]) -> Option<ColumnValue> {
    let by = |a: &&ColumnValue, b: &&ColumnValue| compare(a, b).unwrap_or(Ordering::Equal);
    let found = if function == Function::Min { values.iter().min_by(by) } else { values.iter().max_by(by) };
    found.cloned()
}

fn sum(numbers: &[ColumnValue]) -> f64 {
    numbers.iter().map(|number| if let Number(n) = number { *n } else { 0.0 }).sum()
}

/// Rounds the decimal digits of a number, a 5 away from zero: people see 1.005 and not the binary number below it.
fn rounded(number: f64, places: f64) -> f64 {
    // Conversion to an integer saturates, and no number has that many places.
    let places = (places as i32).clamp(-400, 400);
    let written = format!("{:e}", number.abs());
    let (mantissa, exponent) = written.split_once('e').unwrap_or((&written, "0"));
    let digits: Vec<u64> = mantissa.chars().filter_map(|c| c.to_digit(10)).map(u64::from).collect();
    // Digits that stay; below 0 even the first one stands right of the place that is rounded to.
    let Ok(kept) = usize::try_from(exponent.parse().unwrap_or(0) + 1 + places) else { return 0.0 };
    let Some(next) = digits.get(kept) else { return number };
    // A number has at most 17 digits.
    let whole = digits.iter().take(kept).fold(0, |whole, digit| whole * 10 + digit) + u64::from(*next >= 5);
    format!("{whole}e{}", -places).parse().unwrap_or(number).copysign(number)
}
