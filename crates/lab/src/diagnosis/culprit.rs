//! Finds the operation that a problem affects most: the one whose latency rose by the largest factor.

use crate::measure::Window;
use crate::result::RunResult;
use crate::stats::median;

/// Factor by which an operation must have slowed down more than the others to be named.
const MIN_FACTOR: f64 = 1.5;

/// Returns the operation whose latency rose most from `before` to `after`, if it stands out.
pub fn most_affected(result: &RunResult, before: &[Window], after: &[Window]) -> Option<String> {
    let latency = |windows: &[Window], operation: usize| {
        let of =
            windows.iter().flat_map(|window| &window.operations).filter(|of| of.operation == operation && of.done > 0);
        let values: Vec<f64> = of.map(|of| of.p50).collect();
        (values.len() >= 3).then(|| median(&values)).filter(|value| *value > 0.0)
    };
    let mut factors: Vec<(usize, f64)> = (0..result.operations.len())
        .filter_map(|operation| Some((operation, latency(after, operation)? / latency(before, operation)?)))
        .collect();
    factors.sort_by(|a, b| b.1.total_cmp(&a.1));
    let (worst, factor) = *factors.first()?;
    let others = median(&factors[1..].iter().map(|(_, factor)| *factor).collect::<Vec<_>>());
    let stands_out = factors.len() == 1 || factor > others * MIN_FACTOR;
    stands_out.then(|| result.operations[worst].label.clone())
}
