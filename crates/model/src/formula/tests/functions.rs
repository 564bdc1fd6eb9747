//! Tests of functions.

use super::*;

const TRIED: &str = include_str!("functions.rs");

#[test]
fn each_function_is_tried_with_an_empty_value_and_described() {
    for function in Function::ALL {
        let signature = function.signature();
        let name = signature.name;
        assert!(TRIED.matches(&format!("{name}(")).count() > 0, "{name} is not tried");
        assert!(!signature.help.is_empty() && !signature.help.ends_with('.'), "{name}");
        assert!(signature.optional < signature.parameters.len().max(1), "{name}");
        assert!(
            signature.parameters.iter().all(|parameter| *parameter != Parameter::Same)
                || signature.result == ResultType::Same
        );
        let exempt = [Function::If, Function::Blank, Function::Coalesce];
        for empty in (0..signature.parameters.len()).filter(|_| !exempt.contains(&function)) {
            let arguments: Vec<&str> = signature
                .parameters
                .iter()
                .enumerate()
                .map(|(number, parameter)| match parameter {
                    Parameter::Of(FormulaType::Text) => ["[Title]", "[Note]"],
                    Parameter::Of(FormulaType::Date) => ["[Due]", "[Late]"],
                    Parameter::Of(FormulaType::YesNo) => ["[Done]", "[Unsure]"],
                    Parameter::Of(FormulaType::Person) => ["[Owner]", "[Nobody]"],
                    Parameter::Of(FormulaType::Lookup) => ["[Project]", "[Unset]"],
                    _ => ["[Effort]", "[Empty]"],
                }[usize::from(number == empty)])
                .collect();
            let text = format!("{name}({})", arguments.join(", "));
            assert_eq!(result(&text), "empty", "{text}");
        }
    }
    let mut names = Function::ALL.map(|function| function.signature().name);
    names.sort_unstable();
    assert!(names.windows(2).all(|pair| pair[0] != pair[1]));
    assert!(names.len() >= 40);
}

#[test]
fn names_have_no_case() {
    check(&[("ABS(-1) & Len(\"ab\") & iF(TRUE, 1, 2)", "121")]);
}

#[test]
fn choices() {
    check(&[
        ("if([Done], \"x\", \"y\")", "y"),
        ("if([Done], \"x\")", "empty"),
        ("if(not [Done], \"x\")", "x"),
        ("if([Unsure], \"x\", \"y\")", "empty"),
        ("if(true, [Empty], 1)", "empty"),
        ("if(true, 1, 1 / 0)", "1"),
        ("if(false, 1, 1 / 0)", "error division"),
        ("if(blank([Nobody]), me(), [Nobody])", "77"),
        ("blank([Empty])", "yes"),
        ("blank([Title])", "no"),
        ("blank(\"\")", "yes"),
        ("blank([Nobody])", "yes"),
        ("blank(1 / 0)", "error division"),
        ("coalesce([Empty], 3, 1 / 0)", "3"),
        ("coalesce([Empty], [Empty])", "empty"),
        ("coalesce([Note], \"\", \"x\")", "x"),
        ("coalesce(1 / 0, 3)", "error division"),
    ]);
}

#[test]
fn numbers() {
    check(&[
        ("abs(-3)", "3"),
        ("round(2.345, 2)", "2.35"),
        ("round(1.005, 2)", "1.01"),
        ("round(-1.005, 2)", "-1.01"),
        ("round(2.5)", "3"),
        ("round(-2.5)", "-3"),
        ("round(2.4999)", "2"),
        ("round(-0.4)", "0"),
        ("round(9.99, 1)", "10"),
        ("round(1234, -2)", "1200"),
        ("round(5, -1)", "10"),
        ("round(4, -1)", "0"),
        ("round(5, -2)", "0"),
        ("round(1234.5678, 2.9)", "1234.57"),
        ("round(0, 5)", "0"),
        ("round(1e300, 2)", "1e300"),
        ("round(1e300, -1000)", "0"),
        ("round(1.5, 1e300)", "1.5"),
        ("round(1.79e308, -308)", "error number"),
        ("floor(-1.5) & \" \" & ceiling(-1.5) & \" \" & floor(1.5) & \" \" & ceiling(1.5)", "-2 -1 1 2"),
        ("ceiling(-0.5)", "0"),
        ("mod(7, 3) & mod(-7, 3) & mod(7, -3) & mod(-7, -3) & mod(6, -3)", "12-2-10"),
        ("mod(5.5, 2)", "1.5"),
        ("mod(1e308, 3)", "2"),
        ("mod(1, 0)", "error division"),
        ("power(2, 10)", "1024"),
        ("power(10, 309)", "error number"),
        ("power(-8, 0.5)", "error number"),
        ("power(0, -1)", "error number"),
        ("sqrt(9)", "3"),
        ("sqrt(-1)", "error number"),
        ("min(3, 1, 2)", "1"),
        ("max(3, 1, 2)", "3"),
        ("max([Due], date(2026, 12, 1))", "2026-12-01"),
        ("min([Due], date(2026, 12, 1))", "2026-11-28"),
        ("min(1)", "1"),
        ("min(3, [Empty], 1)", "1"),
        ("sum(1, 2, 3.5)", "6.5"),
        ("sum(1, [Empty], 2)", "3"),
        ("sum([Empty], [Empty])", "empty"),
        ("min([Empty], 4, 3)", "3"),
        ("max([Late], [Due])", "2026-11-28"),
        ("sum(1, coalesce([Empty], 0), 2)", "3"),
        ("sum(1e308, 1e308)", "error number"),
        ("average(1, 2)", "1.5"),
        ("average(1, [Empty], 2)", "1.5"),
    ]);
}

#[test]
fn texts() {
    check(&[
        ("len([Title])", "18"),
        ("len(\"\")", "0"),
        ("left([Title], 5) & right([Title], 5)", "GrößeHouse"),
        ("left(\"ab\", -1) & right(\"ab\", 0)", ""),
        ("left(\"ab\", 1e300) & right(\"ab\", 1e300)", "abab"),
        ("mid([Title], 7, 2)", "of"),
        ("mid(\"abc\", 0, 2)", "ab"),
        ("mid(\"abc\", 9, 2)", ""),
        ("find(\"HOUSE\", [Title])", "14"),
        ("mid([Title], find(\"house\", [Title]), 5)", "House"),
        ("find(\"SS\", [Title])", "4"),
        ("find(\"b\", \"e\u{301}b\")", "3"),
        ("find(\"x\", [Title])", "0"),
        ("find(\"\", \"abc\")", "1"),
        ("contains([Title], \"GRÖSSE\")", "yes"),
        ("contains([Title], \"mouse\")", "no"),
        ("starts([Title], \"grö\") and ends([Title], \"house\")", "yes"),
        ("starts([Title], \"house\") or ends([Title], \"grö\")", "no"),
        ("upper(\"straße\") & lower(\"ÄB\")", "STRASSEäb"),
        ("trim(\"  a b \")", "a b"),
        ("replace(\"aXbX\", \"X\", \"-\")", "a-b-"),
        ("replace(\"aXbx\", \"x\", \"\")", "aXb"),
        ("replace(\"a\", \"\", \"b\")", "a"),
        ("text(1.5) & text(true) & text([Due]) & text(\"a\")", "1.5yes2026-11-28a"),
        ("text([Empty])", "empty"),
        ("value(\" 1.5 \")", "1.5"),
        ("value(\"-1e3\")", "-1000"),
        ("value(\"inf\")", "error value"),
        ("value(\"nan\")", "error value"),
        ("value(\"1e999\")", "error value"),
        ("value(\"1,5\")", "error value"),
        ("value(\"\")", "error value"),
    ]);
}

#[test]
fn dates() {
    check(&[
        ("date(2024, 2, 29)", "2024-02-29"),
        ("date(2026, 2, 29)", "error date"),
        ("date(1900, 2, 29)", "error date"),
        ("date(2000, 2, 29)", "2000-02-29"),
        ("date(2024, 2, 1.5)", "error date"),
        ("date(2024, 13, 1)", "error date"),
        ("date(0, 1, 1)", "error date"),
        ("date(1, 1, 1)", "0001-01-01"),
        ("date(1e300, 1, 1)", "error date"),
        ("year([Due]) * 10000 + month([Due]) * 100 + day([Due])", "20261128"),
        ("weekday([Due]) & weekday(date(2026, 11, 29)) & weekday(date(2026, 11, 30))", "671"),
        ("weekday(date(1969, 12, 31))", "3"),
        ("hour([Due]) & \":\" & minute([Due])", "13:45"),
        ("hour(date(1969, 12, 31) + 0.25)", "6"),
        ("days([Due], date(2026, 12, 1))", "3"),
        ("days(date(2026, 12, 1), [Due])", "-3"),
        ("adddays(date(2026, 2, 28), 1)", "2026-03-01"),
        ("adddays(date(2026, 2, 28), -28)", "2026-01-31"),
        ("adddays(date(2026, 2, 28), 1e9)", "error date"),
        ("addmonths(date(2026, 1, 31), 1)", "2026-02-28"),
        ("addmonths(date(2026, 1, 31), -13)", "2024-12-31"),
        ("addmonths(date(2024, 2, 29), 12)", "2025-02-28"),
        ("hour(addmonths([Due], 1))", "13"),
        ("addmonths(date(9999, 12, 1), 1)", "error date"),
        ("addmonths(date(1, 1, 1), -1)", "error date"),
        ("addmonths([Due], 1e300)", "error date"),
        ("workdays(date(2026, 11, 27), date(2026, 11, 30))", "2"),
        ("workdays(date(2026, 11, 30), date(2026, 11, 27))", "-2"),
        ("workdays(date(2026, 11, 28), date(2026, 11, 29))", "0"),
        ("workdays(date(2026, 11, 30), date(2026, 11, 30))", "1"),
        ("workdays(date(2026, 1, 1), date(2026, 12, 31))", "261"),
        ("today()", "2026-11-29"),
        ("now() - today() > 0", "yes"),
        ("me() = [Owner]", "yes"),
    ]);
}
