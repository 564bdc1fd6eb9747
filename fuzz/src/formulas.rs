//! Fuzzes formulas. The input is a formula; its bytes are also the values of the columns.

use model::{
    ColumnKind, ColumnValue, Formula, FormulaColumn, FormulaContext, FormulaType, Id, Outcome, Timestamp, Uses,
};

/// Parses a formula, evaluates it, and writes it in both forms, which are read as the same formula.
pub fn read(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    let kinds = [
        ("Text", &ColumnKind::Text),
        ("Number", &ColumnKind::Number),
        ("Date", &ColumnKind::Date),
        ("Person", &ColumnKind::Person),
        ("Yes", &ColumnKind::YesNo),
        ("a]b", &ColumnKind::Note),
    ];
    let columns: Vec<FormulaColumn<'_>> =
        kinds.iter().zip(1..).map(|((name, kind), id)| FormulaColumn { id: Id::new(id), name, kind }).collect();
    let Ok(formula) = Formula::parse(&text, &columns, Uses { today_and_me: true }) else { return };
    let mut bytes = [0; 8];
    bytes.iter_mut().zip(input.iter().rev()).for_each(|(to, from)| *to = *from);
    let value = |id: Id| match id.get() {
        1 | 6 => Some(ColumnValue::Text(text.repeat(bytes[0].into()))),
        2 => Some(ColumnValue::Number(f64::from_le_bytes(bytes))),
        3 => Some(ColumnValue::Date(Timestamp::from_micros(i64::from_le_bytes(bytes)))),
        4 => Some(ColumnValue::Person(Id::new(i64::from(bytes[0])))),
        _ => Some(ColumnValue::YesNo(bytes[0] % 2 == 0)),
    };
    let context = FormulaContext { now: Timestamp::from_micros(1_795_730_400_000_000), me: Id::new(7) };
    for outcome in [formula.evaluate(&value, &context), formula.evaluate(&|_| None, &context)] {
        if let Outcome::Value(value) = outcome {
            assert_eq!(FormulaType::of_value(&value), Some(formula.kind()));
            assert!(!matches!(value, ColumnValue::Number(number) if !number.is_finite()));
        }
    }
    for written in [formula.text(&columns), formula.stored()] {
        assert!(Formula::parse(&written, &columns, Uses { today_and_me: true }).is_ok_and(|again| again == formula));
    }
}
