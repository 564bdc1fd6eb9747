//! Tests of the written forms of formulas.

use super::*;

#[test]
fn a_formula_is_written_as_it_was_meant() {
    let cases = [
        ("1-(2-3)", "1 - (2 - 3)"),
        ("(1-2)-3", "1 - 2 - 3"),
        ("(1+2)*3", "(1 + 2) * 3"),
        ("not(true and false)", "not (true and false)"),
        ("not not true", "not not true"),
        ("-(1+2)", "-(1 + 2)"),
        ("- -1", "--1"),
        ("(1=1)=(2=2)", "1 = 1 = (2 = 2)"),
        ("[STATE]  in(\"a\"\"b\")", "[State] in (\"a\"\"b\")"),
        ("[STATE] in (\"a\") = true", "([State] in (\"a\")) = true"),
        ("IF([done],1,[#2])", "if([Done], 1, [Effort])"),
        ("[A]]B \"c\"]", "[a]]b \"c\"]"),
        ("true or false and not true", "true or false and not true"),
        ("(true and true) and false", "true and true and false"),
        ("true and (true and false)", "true and (true and false)"),
        ("true and (true or false)", "true and (true or false)"),
        ("1&2&(3&4)", "1 & 2 & (3 & 4)"),
        ("not (1 in (1,2))", "not (1 in (1, 2))"),
        ("1e300 + 1E3 + .50", "1e300 + 1000 + 0.5"),
    ];
    for (text, expected) in cases {
        let formula = parsed(text);
        assert_eq!(formula.text(&columns()), expected);
        assert_eq!(parsed(expected), formula, "{text}");
        assert_eq!(Formula::parse(&formula.stored(), &columns(), ALL).unwrap(), formula, "{}", formula.stored());
    }
    assert_eq!(parsed("[Effort] + [Empty] + [Effort]").columns(), [EFFORT, EMPTY]);
    assert_eq!(parsed("[Due] + 1").kind(), FormulaType::Date);
}

#[test]
fn conditions_can_be_taken_apart() {
    let formula = parsed("[State] = \"open\" and [Due] < today() + 7 and ([Effort] > 1 or [Done])");
    let Expression::And(parts) = formula.expression() else { panic!("{formula:?}") };
    assert_eq!(parts.len(), 3);
    let Expression::Binary(Operator::Less, column, bound) = &parts[1] else { panic!("{parts:?}") };
    assert_eq!(**column, Expression::Column(DUE, FormulaType::Date));
    assert!(bound.columns().is_empty());
    let days = Timestamp::from_micros((20_786 + 7) * 86_400_000_000);
    assert_eq!(bound.evaluate(&|_| None, &CONTEXT), Outcome::Value(ColumnValue::Date(days)));
}

#[test]
fn columns_are_replaced_by_others() {
    let other = |id: Id| if id == EFFORT { Id::new(200) } else { id };
    let text = "if([Effort] in (1, [Effort]) and not [Done], -[Effort] + 2, [Effort]) > 7";
    let replaced = parsed(text).with_columns(&other);
    assert!(replaced.columns().contains(&Id::new(200)) && !replaced.columns().contains(&EFFORT));
    assert_eq!(replaced.stored(), parsed(text).stored().replace("[#2]", "[#200]"));
    assert_eq!(parsed("[State] & \"[#2]\" = \"\"").with_columns(&other), parsed("[State] & \"[#2]\" = \"\""));
}

#[test]
fn names_of_columns_may_change_and_be_odd() {
    let formula = parsed("[Effort] + 1");
    assert_eq!(formula.stored(), "[#2] + 1");
    let named = |name| [FormulaColumn { id: EFFORT, name, kind: &ColumnKind::Number }];
    assert_eq!(formula.text(&named("Work")), "[Work] + 1");
    // A name that reads as an identifier, or belongs to another column, is not used.
    assert_eq!(formula.text(&named("#2")), "[#2] + 1");
    assert_eq!(formula.text(&named("#17")), "[#2] + 1");
    assert_eq!(formula.text(&named("# 17")), "[# 17] + 1");
    assert_eq!(formula.text(&[]), "[#2] + 1");
    let twice = [FormulaColumn { id: TITLE, name: "WORK", kind: &ColumnKind::Number }, named("Work")[0]];
    assert_eq!(formula.text(&twice), "[#2] + 1");
    assert_eq!(Formula::parse("[work] + 1", &twice, ALL).unwrap().columns(), [TITLE]);
}

#[test]
fn what_was_accepted_is_accepted_in_its_written_forms() {
    let name = "]".repeat(255);
    let columns = [FormulaColumn { id: Id::new(i64::MAX), name: &name, kind: &ColumnKind::Number }];
    let short = [FormulaColumn { name: "a", ..columns[0] }];
    let arguments = vec!["[a]"; 29].join(",");
    let text = format!("sum({})", vec![format!("sum({arguments})"); 29].join(","));
    let formula = Formula::parse(&text, &short, ALL).unwrap();
    for written in [formula.text(&columns), formula.stored()] {
        assert!(written.len() > 15_000);
        assert_eq!(Formula::parse(&written, &columns, ALL).unwrap(), formula);
    }
    // Spaces and zeros that writing adds do not make a formula too long.
    let text = format!("sum({})", vec![format!("sum({})", vec![".5"; 29].join(",")); 23].join(","));
    let formula = parsed(&text);
    assert!(formula.stored().len() > 2_000);
    assert_eq!(parsed(&formula.stored()), formula);
}
