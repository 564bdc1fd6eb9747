//! Tests of operators, literals and columns.

use super::*;

#[test]
fn operators_bind_as_people_expect() {
    check(&[
        ("1 + 2 * 3", "7"),
        ("(1 + 2) * 3", "9"),
        ("-2 - -3", "1"),
        ("- -2", "2"),
        ("--2", "2"),
        ("-2 * -3", "6"),
        ("10 - 2 - 3", "5"),
        ("12 / 2 / 3", "2"),
        ("1 / 4", "0.25"),
        ("1 + 1 & 2 * 2", "24"),
        ("\"a\" & 1 = \"A1\"", "yes"),
        ("1 <= 1 and 2 >= 3 or 2 > 1", "yes"),
        ("true or false and false", "yes"),
        ("(true or false) and false", "no"),
        ("not false and false", "no"),
        ("not (false and false)", "yes"),
        ("not [Done] = true", "yes"),
        ("not not true", "yes"),
        ("1 = 1 in (true)", "yes"),
        ("1 in (1, 2) and 3 in (1, 2)", "no"),
        ("1 + 1 in (2)", "yes"),
    ]);
}

#[test]
fn literals_and_columns_have_their_values() {
    check(&[
        ("1e3 + .5", "1000.5"),
        ("1.", "1"),
        ("1.5e-2", "0.015"),
        ("0.1 + 0.2 = 0.3", "no"),
        ("\"a\"\"b\"", "a\"b"),
        ("\"\"", ""),
        ("TRUE and not False", "yes"),
        ("[a]]b \"c\"]", "odd"),
        ("[ title ]", "Größe of the House"),
        ("[#2] = 2.5", "yes"),
        ("[STATE]", "open"),
        ("[Due]", "2026-11-28"),
        ("[Owner]", "77"),
        ("[Note]", "empty"),
    ]);
}

#[test]
fn arithmetic_knows_its_limits() {
    check(&[
        ("1 / 0", "error division"),
        ("1 / -0", "error division"),
        ("1e308 * 10", "error number"),
        ("1e308 + 1e308", "error number"),
        ("-1e308 - 1e308", "error number"),
        ("1 / 1e-320", "error number"),
        ("1e-300 * 1e-300", "0"),
        ("-0", "0"),
        ("0 * -1", "0"),
        ("1e300", "1e300"),
        ("1e20", "100000000000000000000"),
        ("1e-7", "0.0000001"),
        ("[Effort] * 2", "5"),
        ("false and 1 / 0 = 1", "no"),
        ("true or 1 / 0 = 1", "yes"),
        ("true and 1 / 0 = 1", "error division"),
    ]);
}

#[test]
fn dates_are_counted_in_days() {
    check(&[
        ("date(2026, 12, 1) - date(2026, 11, 28)", "3"),
        ("date(2026, 12, 31) + 1", "2027-01-01"),
        ("1 + date(2026, 12, 31)", "2027-01-01"),
        ("date(2026, 1, 1) - 1", "2025-12-31"),
        ("hour(date(2026, 1, 1) + 0.5)", "12"),
        ("[Due] - date(2026, 11, 28)", "0.5729166666666666"),
        ("date(9999, 12, 31) + 1", "error date"),
        ("date(1, 1, 1) - 1", "error date"),
        ("date(2026, 1, 1) + 1e300", "error date"),
        ("date(2026, 1, 1) - 1e300", "error date"),
        ("[Due] < now()", "yes"),
        ("[Due] >= today()", "no"),
    ]);
}

#[test]
fn texts_are_compared_without_case() {
    check(&[
        ("[State] = \"OPEN\"", "yes"),
        ("[State] <> \"open\"", "no"),
        ("\"straße\" = \"STRASSE\"", "yes"),
        ("\"e\u{301}\" = \"\u{c9}\"", "yes"),
        ("[State] < \"P\" and not [Done]", "yes"),
        ("\"a\" < \"B\" and \"B\" < \"c\"", "yes"),
        ("[State] in (\"done\", \"Open\")", "yes"),
        ("not ([State] in (\"done\", \"late\"))", "yes"),
        ("[Owner] = me()", "yes"),
        ("[Project] = [Project]", "yes"),
        ("[Unset] = [Project]", "empty"),
        ("blank([Unset])", "yes"),
        ("[Owner] <> me()", "no"),
        ("[Owner] in (me())", "yes"),
        ("[Done] = false", "yes"),
        ("[Due] in ([Due], today())", "yes"),
    ]);
}

#[test]
fn empty_operands_give_empty_results_with_known_exceptions() {
    check(&[
        ("[Empty] + 1", "empty"),
        ("1 - [Empty]", "empty"),
        ("[Empty] * [Empty]", "empty"),
        ("[Empty] / 0", "empty"),
        ("-[Empty]", "empty"),
        ("[Late] + 1", "empty"),
        ("[Due] - [Late]", "empty"),
        ("[Empty] = 1", "empty"),
        ("[Empty] = [Empty]", "empty"),
        ("[Empty] <> 1", "empty"),
        ("[Empty] < 1", "empty"),
        ("[Note] = \"\"", "empty"),
        ("[Nobody] = me()", "empty"),
        ("not [Unsure]", "empty"),
        // `&` takes nothing for an empty text.
        ("[Title] & \" / \" & [Empty] & [Effort]", "Größe of the House / 2.5"),
        ("[Empty] & [Note]", ""),
        // In `and` and `or`, nothing is unknown.
        ("[Unsure] and true", "empty"),
        ("[Unsure] and false", "no"),
        ("false and [Unsure]", "no"),
        ("[Unsure] or true", "yes"),
        ("true or [Unsure]", "yes"),
        ("[Unsure] or false", "empty"),
        ("[Unsure] or false or true", "yes"),
        ("[Unsure] and [Unsure]", "empty"),
        // `in` is the same as comparisons joined by `or`.
        ("[Empty] in (1, 2)", "empty"),
        ("1 in (1, [Empty])", "yes"),
        ("1 in ([Empty], 1)", "yes"),
        ("2 in (1, [Empty])", "empty"),
        ("2 in (1, 3)", "no"),
    ]);
}

#[test]
fn values_that_do_not_fit_any_more_are_empty_or_faults() {
    let outcome = |text: &str, value: ColumnValue| parsed(text).evaluate(&|_| Some(value.clone()), &CONTEXT);
    assert_eq!(outcome("[Effort] + 1", ColumnValue::Text("a".into())), Outcome::Empty);
    assert_eq!(outcome("[Title]", ColumnValue::Number(1.0)), Outcome::Empty);
    assert_eq!(outcome("[Effort]", ColumnValue::Number(f64::NAN)), Outcome::Error(FormulaFault::Number));
    for micros in [i64::MIN, i64::MAX] {
        let far = || ColumnValue::Date(Timestamp::from_micros(micros));
        assert_eq!(outcome("[Due] + 1", far()), Outcome::Error(FormulaFault::Date));
        assert_eq!(outcome("addmonths([Due], 1)", far()), Outcome::Error(FormulaFault::Date));
        assert_eq!(outcome("year([Due])", far()), Outcome::Error(FormulaFault::Date));
        assert_eq!(outcome("[Due] & \"\"", far()), Outcome::Value(ColumnValue::Text(String::new())));
        assert!(matches!(outcome("workdays([Due], today())", far()), Outcome::Value(_)));
        assert!(matches!(outcome("days(today(), [Due])", far()), Outcome::Value(_)));
        assert!(matches!(outcome("hour([Due]) + minute([Due]) + weekday([Due])", far()), Outcome::Value(_)));
    }
}
