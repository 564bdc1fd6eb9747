//! Tests of the order of calculated columns.

use super::*;
use crate::Code;

#[test]
fn each_column_comes_after_those_that_it_reads() {
    let (first, second, third) = (parsed("[Effort] + 1"), parsed("[Empty] * 2"), parsed("[Title] & [Effort]"));
    let order = |formulas: &[(Id, &Formula)]| order_of(formulas).unwrap();
    assert_eq!(order(&[(EMPTY, &first), (STATE, &second), (ODD, &third)]), [EMPTY, ODD, STATE]);
    assert_eq!(order(&[(STATE, &second), (EMPTY, &first)]), [EMPTY, STATE]);
    assert_eq!(order(&[(EMPTY, &first), (EMPTY, &first), (STATE, &second)]), [EMPTY, STATE]);
    assert_eq!(order(&[]), []);
}

#[test]
fn a_circle_is_named_without_what_only_leads_to_it() {
    let (effort, empty) = (parsed("[Effort] + 1"), parsed("[Empty] - 1"));
    let reader = parsed("[Empty] & [Effort]");
    let refused = order_of(&[(ODD, &reader), (EMPTY, &effort), (EFFORT, &empty)]).unwrap_err();
    assert_eq!(refused.code(), Code::InvalidFormula);
    assert_eq!(refused.named(), ["2", "7"]);
    let message = "calculated columns read each other in a circle: [#2], [#7]; change one of them";
    assert_eq!(refused.message(), message);
    assert_eq!(order_of(&[(EMPTY, &empty)]).unwrap_err().named(), ["7"]);
}

#[test]
fn long_chains_and_circles_need_no_recursion() {
    let number = &ColumnKind::Number;
    let ids: Vec<Id> = (1..=5_000).map(Id::new).collect();
    let reads = |id: i64| {
        let read = [FormulaColumn { id: Id::new(id), name: "", kind: number }];
        Formula::parse(&format!("[#{id}] + 1"), &read, ALL).unwrap()
    };
    let formulas: Vec<Formula> = (2..=5_001).map(|id| reads(if id > 5_000 { 1 } else { id })).collect();
    let circle: Vec<(Id, &Formula)> = ids.iter().copied().zip(&formulas).collect();
    let refused = order_of(&circle).unwrap_err();
    assert_eq!(refused.named().len(), 5_000);
    assert!(refused.message().len() < 300);
    let mut backwards = ids.clone();
    backwards.pop();
    backwards.reverse();
    assert_eq!(order_of(circle.get(..4_999).unwrap()).unwrap(), backwards);
}
