//! Tests of messages and limits.

use super::*;
use crate::{Code, ErrorKind};

#[test]
fn mistakes_are_told_with_their_place_and_a_remedy() {
    let cases = [
        ("", "at character 1: something is missing: put a column"),
        ("1 +", "at character 4: something is missing"),
        ("1 + )", "at character 5: something is missing"),
        ("and true", "at character 1: something is missing"),
        ("[Dui]", "at character 1: there is no column \"Dui\"; the list has Title, Effort, Due, "),
        ("ö", "at character 1: there is no function \"ö\""),
        ("\"ö\" = [#99]", "at character 7: there is no column \"#99\""),
        ("[Title", "at character 1: the name of a column is not closed"),
        ("\"ä\" & \"abc", "at character 7: a text is not closed"),
        ("\"abc\"\"", "at character 1: a text is not closed"),
        ("1 2", "at character 3: the formula should end here: put an operator"),
        ("[Title] + 1", "at character 9: \"+\" does not work for a text and a number: join texts with &"),
        ("[Due] + [Due]", "\"+\" does not work for a date and a date: use numbers, or dates and days"),
        ("[Owner] = [Project]", "does not work for a person and an entry of another list: compare values of one type"),
        ("[Owner] < [Owner]", "does not work for a person and a person: compare with = or <>"),
        ("[Title] = 1", "does not work for a text and a number: compare values of one type"),
        ("not 1", "at character 1: \"not\" needs a yes/no value, and this is a number"),
        ("not [State] in (\"a\")", "\"not\" needs a yes/no value, and this is a text; put parentheses around"),
        ("-[Title]", "\"-\" needs a number, and this is a text"),
        ("true and 1", "at character 6: \"and\" needs a yes/no value, and this is a number"),
        ("true or true or 1", "at character 14: \"or\" needs"),
        ("foo(1)", "there is no function \"foo\": write texts in double quotes"),
        ("len(1)", "at character 5: len() needs a text here, and this is a number"),
        ("len()", "len() takes 1 value in its parentheses, and here it has 0"),
        ("coalesce()", "coalesce() takes 1 or more values in its parentheses, and here it has 0"),
        ("if(true)", "if() takes 2 to 3 values in its parentheses, and here it has 1"),
        ("if(true, 1, \"x\")", "at character 13: if() needs a number here, and this is a text"),
        ("max(\"a\", \"b\")", "at character 5: max() needs a number or a date here, and this is a text"),
        ("max(1, [Due])", "at character 8: max() needs a number here, and this is a date"),
        ("len(\"a\",)", "at character 9: something is missing"),
        ("len(\"a\" \"b\")", "at character 9: a comma or a closing parenthesis is missing"),
        ("len \"a\"", "at character 5: an opening parenthesis after \"len\" is missing"),
        ("[State] in 1", "an opening parenthesis after \"in\" is missing"),
        ("[State] in ()", "at character 13: something is missing"),
        ("[State] in (1)", "at character 13: this is a number, but before \"in\" is a text"),
        ("(1", "at character 3: a closing parenthesis is missing: put it here"),
        ("a", "there is no function \"a\""),
        ("1 ; 2", "at character 3: \";\" has no meaning here"),
        ("1 \u{7} 2", "\"\\u{7}\" has no meaning here"),
        ("1e999", "this number is too large"),
        (".", "a dot alone is no number"),
    ];
    for (text, expected) in cases {
        let error = Formula::parse(text, &columns(), ALL).unwrap_err();
        assert_eq!((error.kind(), error.code()), (ErrorKind::Invalid, Code::InvalidFormula));
        assert!(error.message().contains(expected), "{text}: {}", error.message());
    }
    let error = Formula::parse("[x]", &[], ALL).unwrap_err();
    assert_eq!(error.message(), "at character 1: there is no column \"x\"; the list has no columns");
}

#[test]
fn stored_results_do_not_depend_on_time_and_caller() {
    let stored = Uses { today_and_me: false };
    for text in ["today()", "[Due] > now()", "if([Owner] = ME(), 1, 2)"] {
        let error = Formula::parse(text, &columns(), stored).unwrap_err();
        assert!(error.message().contains("cannot be used here"), "{}", error.message());
    }
    assert!(Formula::parse("[Due] > date(2026, 1, 1)", &columns(), stored).is_ok());
}

#[test]
fn columns_with_several_values_cannot_be_read() {
    let kind = ColumnKind::Person.taking_multiple(true).unwrap();
    let columns = [FormulaColumn { id: Id::new(1), name: "Team", kind: &kind }];
    for text in ["[Team]", "[#1] = me()", "blank([Team])"] {
        let error = Formula::parse(text, &columns, ALL).unwrap_err();
        assert!(error.message().contains("Team takes several values"), "{}", error.message());
    }
}

#[test]
fn messages_are_short() {
    let long = "x".repeat(250);
    let names: Vec<String> = (0..30).map(|number| format!("{long}{number}")).collect();
    let columns: Vec<FormulaColumn<'_>> = names
        .iter()
        .zip(1..)
        .map(|(name, id)| FormulaColumn { id: Id::new(id), name, kind: &ColumnKind::Text })
        .collect();
    for text in [format!("[{long}]"), format!("{long}(1)"), format!("[{}]", "\u{1}".repeat(1_000))] {
        let error = Formula::parse(&text, &columns, ALL).unwrap_err();
        assert!(error.message().chars().count() < 700, "{}", error.message());
    }
}

#[test]
fn hostile_formulas_are_refused_and_end_soon() {
    let deep = |open: &str, inner: &str, close: &str, n: usize| open.repeat(n) + inner + &close.repeat(n);
    for text in [
        deep("(", "1", ")", 900),
        deep("(", "", "", 1_000_000),
        deep("-", "1", "", 900),
        deep("not ", "true", "", 400),
        deep("abs(", "1", ")", 300),
        deep("1 in (", "1", ")", 200),
        deep("1-(", "1", ")", 200),
        deep("abs(", "1", ")", 32),
        "1+".repeat(900) + "1",
        "1+".repeat(32) + "1",
        "1".repeat(2_001),
        format!("\"{}\"", "x".repeat(2_000)),
        format!("{} 1", "[Title] ".repeat(2_000)),
        " ".repeat(2_000_000),
        format!("1 in ({}1)", "1,".repeat(100)),
        format!("sum({}1)", "1,".repeat(30)),
    ] {
        let start = text.get(..20).unwrap_or(&text);
        assert!(Formula::parse(&text, &columns(), ALL).is_err(), "{start}");
    }
    for text in [
        deep("abs(", "1", ")", 31),
        deep("(", "1", ")", 60),
        deep("1-(", "1", ")", 31),
        "1+".repeat(31) + "1",
        "\"a\" & ".repeat(400) + "1",
        "true and ".repeat(280) + "true",
        format!("\"{}\"", "x".repeat(1_998)),
        format!("1 in ({}1)", "1,".repeat(99)),
        format!("sum({}1)", "1,".repeat(29)),
    ] {
        let formula = parsed(&text);
        assert_ne!(formula.evaluate(&value, &CONTEXT), Outcome::Empty);
        assert_eq!(parsed(&formula.text(&columns())), formula);
    }
}

#[test]
fn long_texts_and_long_work_are_faults() {
    let long = |part: &'static str, times: usize| move |_: Id| Some(ColumnValue::Text(part.repeat(times)));
    let outcome = |text: &str, values: &dyn Fn(Id) -> Option<ColumnValue>| parsed(text).evaluate(values, &CONTEXT);
    let values = long("ä", 60_000);
    assert!(matches!(outcome("[Title]", &values), Outcome::Value(_)));
    for text in ["[Title] & \"y\"", "replace([Title], \"ä\", [Title])", "replace([Title], \"ä\", \"ab\")"] {
        assert_eq!(outcome(text, &values), Outcome::Error(FormulaFault::Length), "{text}");
    }
    assert_eq!(outcome("upper([Title])", &long("ß", 60_000)), Outcome::Error(FormulaFault::Length));
    assert_eq!(outcome("[Title]", &long("x", 60_001)), Outcome::Error(FormulaFault::Length));
    let many = format!("[Title] in ({}\"x\")", "lower([State] & \"\"), ".repeat(60));
    assert!(matches!(outcome(&many, &long("x", 1_000)), Outcome::Value(_)));
    let many = format!("[Title] in ({}\"x\")", "\"a\" & [State], ".repeat(60));
    assert_eq!(outcome(&many, &long("x", 50_000)), Outcome::Error(FormulaFault::Steps));
}
