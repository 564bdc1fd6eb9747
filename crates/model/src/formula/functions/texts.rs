//! Functions of texts.

use unicode_normalization::char::is_combining_mark;

use super::super::function::Function;
use super::super::value::{Evaluated, FormulaFault, MAX_BYTES, finite};
use crate::ColumnValue;
use crate::ColumnValue::{Number, Text, YesNo};
use crate::fold;

/// Applies a function of texts.
pub fn apply(function: Function, values: &[ColumnValue]) -> Evaluated {
    let text = |text: String| Ok(Some(Text(text)));
    let yes_no = |yes| Ok(Some(YesNo(yes)));
    match (function, values) {
        (Function::Len, [Text(whole)]) => finite(whole.chars().count() as f64),
        (Function::Left, [Text(whole), Number(n)]) => text(whole.chars().take(count(*n)).collect()),
        (Function::Right, [Text(whole), Number(n)]) => {
            let skipped = whole.chars().count().saturating_sub(count(*n));
            text(whole.chars().skip(skipped).collect())
        }
        (Function::Mid, [Text(whole), Number(from), Number(n)]) => {
            text(whole.chars().skip(count(*from).saturating_sub(1)).take(count(*n)).collect())
        }
        (Function::Find, [Text(part), Text(whole)]) => finite(find(part, whole) as f64),
        (Function::Contains, [Text(whole), Text(part)]) => yes_no(fold(whole).contains(&fold(part))),
        (Function::Starts, [Text(whole), Text(part)]) => yes_no(fold(whole).starts_with(&fold(part))),
        (Function::Ends, [Text(whole), Text(part)]) => yes_no(fold(whole).ends_with(&fold(part))),
        (Function::Upper, [Text(whole)]) => text(whole.to_uppercase()),
        (Function::Lower, [Text(whole)]) => text(whole.to_lowercase()),
        (Function::Trim, [Text(whole)]) => text(whole.trim().to_owned()),
        (Function::Replace, [Text(whole), Text(old), Text(new)]) => replaced(whole, old, new),
        (Function::Value, [Text(whole)]) => number_in(whole),
        _ => Ok(None),
    }
}

/// Returns the count of characters that a number means; none below 0.
fn count(number: f64) -> usize {
    // Conversion to an integer saturates.
    number as usize
}

/// Returns the position of a part in a text, counted from 1 in the characters of the text itself; 0 if it is absent.
fn find(part: &str, whole: &str) -> usize {
    let Some(found) = fold(whole).find(&fold(part)) else { return 0 };
    if whole.is_ascii() {
        return found + 1;
    }
    // A character and the accents after it are folded together, and folding may make two characters of one.
    let (mut folded, mut position, mut rest) = (0, 1, whole);
    while let Some(first) = rest.chars().next() {
        let after = rest.split_at(first.len_utf8()).1;
        let end = after.find(|c| !is_combining_mark(c)).unwrap_or(after.len());
        let (piece, next) = rest.split_at(first.len_utf8() + end);
        folded += fold(piece).len();
        if folded > found {
            break;
        }
        position += piece.chars().count();
        rest = next;
    }
    position
}

fn replaced(whole: &str, old: &str, new: &str) -> Evaluated {
    if old.is_empty() {
        return Ok(Some(Text(whole.to_owned())));
    }
    let found = whole.matches(old).count();
    let bytes = whole.len().saturating_sub(found * old.len()).saturating_add(found.saturating_mul(new.len()));
    if bytes > MAX_BYTES { Err(FormulaFault::Length) } else { Ok(Some(Text(whole.replace(old, new)))) }
}

fn number_in(text: &str) -> Evaluated {
    let text = text.trim();
    // Words such as "inf" are numbers for the parser, and not for people.
    let is_plain = text.chars().all(|c| !c.is_alphabetic() || matches!(c, 'e' | 'E'));
    match text.parse::<f64>() {
        Ok(number) if is_plain && number.is_finite() => finite(number),
        _ => Err(FormulaFault::Value),
    }
}
