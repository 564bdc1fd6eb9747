//! Tests of formulas over one list, and what they share.

mod functions;
mod mistakes;
mod operators;
mod order;
mod random;
mod writing;

use super::*;
use crate::{ColumnKind, ColumnValue, Id, Timestamp};

const TITLE: Id = Id::new(1);
const EFFORT: Id = Id::new(2);
const DUE: Id = Id::new(3);
const OWNER: Id = Id::new(4);
const DONE: Id = Id::new(5);
const STATE: Id = Id::new(6);
const EMPTY: Id = Id::new(7);
const ODD: Id = Id::new(8);
const NOTE: Id = Id::new(9);
const LATE: Id = Id::new(10);
const NOBODY: Id = Id::new(11);
const UNSURE: Id = Id::new(12);
const PROJECT: Id = Id::new(13);
const UNSET: Id = Id::new(14);

fn columns() -> Vec<FormulaColumn<'static>> {
    const CHOICES: &ColumnKind = &ColumnKind::Choice(Vec::new());
    const LOOKUP: &ColumnKind = &ColumnKind::Lookup(Id::new(90));
    [
        (TITLE, "Title", &ColumnKind::Text),
        (EFFORT, "Effort", &ColumnKind::Number),
        (DUE, "Due", &ColumnKind::Date),
        (OWNER, "Owner", &ColumnKind::Person),
        (DONE, "Done", &ColumnKind::YesNo),
        (STATE, "State", CHOICES),
        (EMPTY, "Empty", &ColumnKind::Number),
        (ODD, "a]b \"c\"", &ColumnKind::Link),
        (NOTE, "Note", &ColumnKind::Note),
        (LATE, "Late", &ColumnKind::Date),
        (NOBODY, "Nobody", &ColumnKind::Person),
        (UNSURE, "Unsure", &ColumnKind::YesNo),
        (PROJECT, "Project", LOOKUP),
        (UNSET, "Unset", LOOKUP),
    ]
    .into_iter()
    .map(|(id, name, kind)| FormulaColumn { id, name, kind })
    .collect()
}

/// The fields of one row, of which *Empty*, *Note*, *Late*, *Nobody*, *Unsure* and *Unset* are empty.
fn value(id: Id) -> Option<ColumnValue> {
    let text = |text: &str| Some(ColumnValue::Text(text.to_owned()));
    match id {
        TITLE => text("Größe of the House"),
        EFFORT => Some(ColumnValue::Number(2.5)),
        // Saturday, 28 November 2026, 13:45.
        DUE => Some(ColumnValue::Date(Timestamp::from_micros((20_785 * 86_400 + 13 * 3_600 + 45 * 60) * 1_000_000))),
        OWNER => Some(ColumnValue::Person(Id::new(77))),
        DONE => Some(ColumnValue::YesNo(false)),
        STATE => text("open"),
        ODD => text("odd"),
        PROJECT => Some(ColumnValue::Lookup(Id::new(91))),
        _ => None,
    }
}

/// Sunday, 29 November 2026, just after midnight.
const CONTEXT: FormulaContext =
    FormulaContext { now: Timestamp::from_micros(20_786 * 86_400_000_000 + 5), me: Id::new(77) };
const ALL: Uses = Uses { today_and_me: true };

fn parsed(text: &str) -> Formula {
    Formula::parse(text, &columns(), ALL).unwrap_or_else(|error| panic!("{text}: {}", error.message()))
}

/// The result as it is joined to a text, `empty`, or the word of a fault.
fn result(text: &str) -> String {
    match parsed(text).evaluate(&value, &CONTEXT) {
        Outcome::Empty => "empty".to_owned(),
        Outcome::Error(fault) => format!("error {fault}"),
        Outcome::Value(found) => {
            assert_eq!(FormulaType::of_value(&found), Some(parsed(text).kind()), "{text}");
            super::value::said(Some(found))
        }
    }
}

fn check(cases: &[(&str, &str)]) {
    for (text, expected) in cases {
        assert_eq!(result(text), *expected, "{text}");
    }
}
