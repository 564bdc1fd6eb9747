//! Properties of formulas that hold for any text and any values.

use proptest::prelude::*;

use super::*;

/// Tokens in any order.
fn soup() -> impl Strategy<Value = String> {
    let words = vec![
        "1",
        "2.5",
        "\"a\"",
        "\"\"",
        "[Title]",
        "[Effort]",
        "[Due]",
        "[Done]",
        "[Empty]",
        "[Owner]",
        "[#2]",
        "+",
        "-",
        "*",
        "/",
        "&",
        "=",
        "<>",
        "<",
        ">=",
        "(",
        ")",
        ",",
        "and",
        "or",
        "not",
        "in",
        "in (",
        "if(",
        "len(",
        "date(",
        "text(",
        "round(",
        "left(",
        "adddays(",
        "replace(",
        "true",
        "false",
        "today()",
        "me()",
        "1e300",
        "[",
        "]",
        "\"",
        ".",
        "]]",
        "#",
        ";",
        "\u{1f600}",
    ];
    prop::collection::vec(prop::sample::select(words), 0..40).prop_map(|words| words.join(" "))
}

/// A formula of the given type and depth.
fn of(kind: FormulaType, depth: u32) -> BoxedStrategy<String> {
    let leaves: &[&str] = match kind {
        FormulaType::Text => &["\"a\"", "\"Ä \"\"\"", "[Title]", "[Note]", "[a]]b \"c\"]", "[State]"],
        FormulaType::Number => &["0", "1", "2.5", "1e300", "1e-300", "12345", "[Effort]", "[Empty]"],
        FormulaType::Date => &["[Due]", "[Late]", "today()", "now()", "date(9999, 12, 31)", "date(1, 1, 1)"],
        FormulaType::YesNo => &["true", "false", "[Done]", "[Unsure]"],
        FormulaType::Person => &["[Owner]", "[Nobody]", "me()"],
        FormulaType::Lookup => &["[Project]", "[Unset]"],
    };
    let leaf = prop::sample::select(leaves).prop_map(str::to_owned);
    if depth == 0 {
        return leaf.boxed();
    }
    let shapes: Vec<BoxedStrategy<String>> =
        std::iter::once(leaf.boxed()).chain(calls(kind, depth)).chain(operations(kind, depth)).collect();
    prop::sample::select(shapes).prop_flat_map(|shape| shape).boxed()
}

/// Calls of all functions with this result.
fn calls(kind: FormulaType, depth: u32) -> Vec<BoxedStrategy<String>> {
    let fits = |function: &Function| match function.signature().result {
        ResultType::Of(result) => result == kind,
        ResultType::Same => {
            let only_numbers = function.signature().parameters.contains(&Parameter::NumberOrDate);
            !only_numbers || matches!(kind, FormulaType::Number | FormulaType::Date)
        }
    };
    let functions: Vec<Function> = Function::ALL.into_iter().filter(fits).collect();
    let call = prop::sample::select(functions).prop_flat_map(move |function| {
        let signature = function.signature();
        let arguments: Vec<BoxedStrategy<String>> = signature
            .parameters
            .iter()
            .map(|parameter| match parameter {
                Parameter::Of(wanted) => of(*wanted, depth - 1),
                Parameter::Same | Parameter::NumberOrDate => of(kind, depth - 1),
                Parameter::Any => of(FormulaType::Date, depth - 1),
            })
            .collect();
        let name = signature.name;
        arguments.prop_map(move |arguments| format!("{name}({})", arguments.join(", ")))
    });
    if matches!(kind, FormulaType::Person | FormulaType::Lookup) { Vec::new() } else { vec![call.boxed()] }
}

fn operations(kind: FormulaType, depth: u32) -> Vec<BoxedStrategy<String>> {
    let two = |left, operators: &'static [&'static str], right| {
        (of(left, depth - 1), prop::sample::select(operators), of(right, depth - 1), any::<bool>())
            .prop_map(|(a, operator, b, bare)| match bare {
                true => format!("({a}{operator} {b})"),
                false => format!("(({a}){operator} ({b}))"),
            })
            .boxed()
    };
    match kind {
        FormulaType::Text => vec![two(kind, &["&"], FormulaType::Number), two(FormulaType::YesNo, &["&"], kind)],
        FormulaType::Number => vec![
            two(kind, &["+", "-", "*", "/"], kind),
            two(FormulaType::Date, &["-"], FormulaType::Date),
            of(kind, depth - 1).prop_map(|a| format!("(- {a})")).boxed(),
        ],
        FormulaType::Date => vec![two(kind, &["+", "-"], FormulaType::Number)],
        FormulaType::YesNo => vec![
            two(kind, &[" and", " or", "=", "<>"], kind),
            two(FormulaType::Text, &["=", "<>", "<", ">="], FormulaType::Text),
            two(FormulaType::Date, &["=", "<=", ">"], FormulaType::Date),
            (of(FormulaType::Number, depth - 1), of(FormulaType::Number, depth - 1))
                .prop_map(|(a, b)| format!("({a} in ({b}, 1))"))
                .boxed(),
            of(kind, depth - 1).prop_map(|a| format!("(not {a})")).boxed(),
        ],
        FormulaType::Person | FormulaType::Lookup => Vec::new(),
    }
}

fn any_value() -> impl Strategy<Value = Option<ColumnValue>> {
    prop_oneof![
        Just(None),
        any::<String>().prop_map(|text| Some(ColumnValue::Text(text))),
        any::<f64>().prop_map(|number| Some(ColumnValue::Number(number))),
        any::<i64>().prop_map(|micros| Some(ColumnValue::Date(Timestamp::from_micros(micros)))),
        any::<bool>().prop_map(|yes| Some(ColumnValue::YesNo(yes))),
        (1..i64::MAX).prop_map(|id| Some(ColumnValue::Person(Id::new(id)))),
        (1..i64::MAX).prop_map(|id| Some(ColumnValue::Lookup(Id::new(id)))),
    ]
}

/// Writes a formula and reads it again, in both forms.
fn written_and_read(formula: &Formula) -> Result<(), TestCaseError> {
    for written in [formula.text(&columns()), formula.stored()] {
        let again = Formula::parse(&written, &columns(), ALL);
        prop_assert_eq!(again.as_ref().ok(), Some(formula), "{}", written);
        let again = again.map(|again| (again.text(&columns()), again.stored())).ok();
        prop_assert_eq!(again, Some((formula.text(&columns()), formula.stored())));
    }
    Ok(())
}

/// Checks what each outcome promises.
fn proper(formula: &Formula, outcome: &Outcome) -> Result<(), TestCaseError> {
    if let Outcome::Value(value) = outcome {
        prop_assert_eq!(FormulaType::of_value(value), Some(formula.kind()));
        match value {
            ColumnValue::Number(number) => prop_assert!(number.is_finite()),
            ColumnValue::Text(text) => prop_assert!(text.chars().count() <= 60_000),
            _ => {}
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4_000))]

    #[test]
    fn no_text_panics(text in any::<String>()) {
        let _ = Formula::parse(&text, &columns(), ALL);
    }

    #[test]
    fn no_tokens_panic(text in soup()) {
        if let Ok(formula) = Formula::parse(&text, &columns(), ALL) {
            proper(&formula, &formula.evaluate(&value, &CONTEXT))?;
            written_and_read(&formula)?;
        }
    }

    #[test]
    fn a_formula_is_the_same_after_writing(text in prop_oneof![
        of(FormulaType::Text, 3), of(FormulaType::Number, 3), of(FormulaType::Date, 3), of(FormulaType::YesNo, 3),
    ]) {
        let formula = match Formula::parse(&text, &columns(), ALL) {
            Ok(formula) => formula,
            Err(error) => {
                prop_assert!(error.message().contains("at most 2,000 characters"), "{text}: {}", error.message());
                return Ok(());
            }
        };
        written_and_read(&formula)?;
    }

    #[test]
    fn no_values_panic(
        text in prop_oneof![
            of(FormulaType::Text, 2), of(FormulaType::Number, 2), of(FormulaType::Date, 2), of(FormulaType::YesNo, 2),
        ],
        values in prop::collection::vec(any_value(), 14),
        now in any::<i64>(),
    ) {
        let context = FormulaContext { now: Timestamp::from_micros(now), me: Id::new(1) };
        let any = |id: Id| values.get(id.get() as usize - 1).cloned().flatten();
        // The same, with values that fit the columns.
        let kinds: Vec<(Id, Option<FormulaType>)> =
            columns().iter().map(|c| (c.id, Some(FormulaType::of(c.kind)))).collect();
        let fits = |id, found: &ColumnValue| kinds.contains(&(id, FormulaType::of_value(found)));
        let fitting = |id: Id| any(id).filter(|found| fits(id, found)).or_else(|| value(id));
        if let Ok(formula) = Formula::parse(&text, &columns(), ALL) {
            proper(&formula, &formula.evaluate(&any, &context))?;
            proper(&formula, &formula.evaluate(&fitting, &context))?;
        }
    }

    #[test]
    fn numbers_are_written_so_that_they_are_read_again(number in any::<f64>()) {
        let number = number.abs();
        if number.is_finite() {
            let text = super::super::value::shortest(number);
            let formula = parsed(&text);
            prop_assert_eq!(formula.expression(), &Expression::Number(number), "{}", text);
        }
    }

    #[test]
    fn rounding_is_that_of_decimal_digits(number in -1e6..1e6_f64, places in 0..6_i32) {
        let Outcome::Value(ColumnValue::Number(rounded)) =
            parsed(&format!("round([Effort], {places})")).evaluate(&|_| Some(ColumnValue::Number(number)), &CONTEXT)
        else { panic!("no number") };
        prop_assert!((rounded - number).abs() <= 0.5000001 * 10_f64.powi(-places), "{rounded}");
        let text = rounded.to_string();
        prop_assert!(text.split_once('.').is_none_or(|(_, digits)| digits.len() <= places as usize), "{text}");
    }
}
