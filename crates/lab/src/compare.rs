//! Comparison of two results: the differences, and the probability that they are due to chance.

use crate::error::{Error, Result};
use crate::measure::Window;
use crate::report::{bytes, date, in_markdown, milliseconds, number, table_of};
use crate::result::RunResult;
use crate::stats::{median, ratio, ratio_interval, same_distribution};

/// Significance level: a difference with a larger p-value is not reported as one.
const SIGNIFICANCE: f64 = 0.01;
/// Minimum number of counted seconds in each result.
const LEAST: usize = 8;
/// Ratio from which on the first figure was practically zero, so that a ratio is not shown.
const MAX_RATIO: f64 = 1e6;

/// One figure, compared between two results.
#[derive(Clone, Debug, serde::Serialize)]
pub struct Difference {
    /// Name of the figure.
    pub figure: String,
    /// Median over the seconds of the first result.
    pub first: f64,
    /// Median over the seconds of the second result.
    pub second: f64,
    /// Second figure divided by the first, at most 1e12.
    pub ratio: f64,
    /// 95 % confidence interval of the ratio.
    pub interval: (f64, f64),
    /// Probability that the difference is due to chance (p-value).
    pub chance: f64,
    /// True if the difference is statistically significant.
    pub significant: bool,
}

/// Compares two results second by second.
///
/// # Errors
/// If the results have different operations, or too few counted seconds.
pub fn compare(first: &RunResult, second: &RunResult) -> Result<Vec<Difference>> {
    let labels = |result: &RunResult| result.operations.iter().map(|of| of.label.clone()).collect::<Vec<_>>();
    if labels(first) != labels(second) {
        return Err(Error::new("these results are of different mixes and cannot be compared"));
    }
    let windows =
        |result: &RunResult| result.windows.iter().filter(|window| window.counted).cloned().collect::<Vec<_>>();
    let (a, b) = (windows(first), windows(second));
    if a.len() < LEAST || b.len() < LEAST {
        return Err(Error::new(format!("a result needs at least {LEAST} counted seconds for a comparison")));
    }
    let rates = |windows: &[Window]| series(windows, |window| Some(window.done as f64));
    let mut found = vec![difference("responses per second", &rates(&a), &rates(&b))];
    let mut add = |figure: &str, of: &dyn Fn(&Window) -> Option<f64>| {
        let (a, b) = (series(&a, of), series(&b, of));
        if a.len() >= LEAST && b.len() >= LEAST {
            found.push(difference(figure, &a, &b));
        }
    };
    add("p50, ms", &|window| some(window.p50));
    add("p95, ms", &|window| some(window.p95));
    add("p99, ms", &|window| some(window.p99));
    for (at, label) in labels(first).into_iter().enumerate() {
        let of =
            |window: &Window| window.operations.iter().find(|of| of.operation == at && of.done > 0).map(|of| of.p50);
        add(&format!("{label}: p50, ms"), &of);
    }
    Ok(found)
}

fn some(value: f64) -> Option<f64> {
    (value > 0.0).then_some(value)
}

fn series(windows: &[Window], of: impl Fn(&Window) -> Option<f64>) -> Vec<f64> {
    windows.iter().filter_map(of).collect()
}

fn difference(figure: &str, a: &[f64], b: &[f64]) -> Difference {
    let (first, second) = (median(a), median(b));
    let interval = ratio_interval(a, b);
    let chance = same_distribution(a, b);
    // The seconds of one run are not independent of each other, so the interval must also exclude 1.
    let significant = chance < SIGNIFICANCE && (interval.0 > 1.02 || interval.1 < 0.98);
    Difference { figure: figure.to_owned(), first, second, ratio: ratio(first, second), interval, chance, significant }
}

/// Lists the differences between the conditions of two runs. A difference between the figures may be due to them.
pub fn differing_conditions(first: &RunResult, second: &RunResult) -> Vec<String> {
    let facts = |result: &RunResult| {
        [
            ("target", result.target.clone()),
            ("kind of target", format!("{:?}", result.kind).to_lowercase()),
            ("load", result.load.clone()),
            ("corpus", format!("{} documents, {}", result.corpus.documents, bytes(result.corpus.bytes as f64))),
            ("counted time", format!("{} s", result.seconds)),
        ]
    };
    let pairs = facts(first).into_iter().zip(facts(second));
    // Results of older versions do not record their load.
    let told = pairs.filter(|((_, a), (_, b))| a != b && !a.is_empty() && !b.is_empty());
    told.map(|((what, a), (_, b))| format!("{what}: {a} in A, {b} in B")).collect()
}

/// Formats the comparison of two results, each with the name of its file, as Markdown.
pub fn markdown(first: (&RunResult, &str), second: (&RunResult, &str), found: &[Difference]) -> String {
    let show = |difference: &Difference, value: f64| {
        if difference.figure.ends_with("ms") { milliseconds(value) } else { number(value) }
    };
    let times = |ratio: f64| if ratio < MAX_RATIO { number(ratio) } else { "-".to_owned() };
    let rows: Vec<Vec<String>> = found
        .iter()
        .map(|of| {
            let verdict = match (of.significant, of.ratio > 1.0) {
                (false, _) => "may be chance".to_owned(),
                (true, true) => "more".to_owned(),
                (true, false) => "less".to_owned(),
            };
            let interval = format!("{} to {}", times(of.interval.0), times(of.interval.1));
            vec![of.figure.clone(), show(of, of.first), show(of, of.second), times(of.ratio), interval, verdict]
        })
        .collect();
    let mut text = "# Comparison of A and B\n\n".to_owned();
    for (name, (result, file)) in [("A", first), ("B", second)] {
        let version = if result.target_version.is_empty() { "" } else { ", version " };
        text += &format!(
            "- {name}: {}, began {}, {}{version}{}, in {}\n",
            in_markdown(&result.label),
            date(result.started_at),
            in_markdown(&result.target),
            in_markdown(&result.target_version),
            in_markdown(file)
        );
    }
    text.push('\n');
    for (name, (result, _)) in [("A", first), ("B", second)] {
        for reason in &result.invalid_because {
            text += &format!("**The figures of {name} say nothing about its target: {}.**\n\n", in_markdown(reason));
        }
    }
    for difference in differing_conditions(first.0, second.0) {
        text += &format!("**A and B differ in their {}.**\n\n", in_markdown(&difference));
    }
    text += "Figures are medians of the counted seconds (the median of the p95 of each second, for example), and so \
             differ from those of the reports, which are of all operations together.\n\
             \n";
    let heading = ["figure", "A, median of seconds", "B, median of seconds", "B / A", "95 % of B / A", "difference"];
    text + &table_of(&heading, &rows)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::corpus::Loaded;
    use crate::result::{CorpusResult, sample};

    /// Ten seconds with `done` responses each, at a latency of `p50` milliseconds.
    fn run(done: u64, p50: f64) -> RunResult {
        let window = |second| Window { second, counted: true, done, p50, p95: p50, p99: p50, ..Window::default() };
        RunResult {
            label: "same".to_owned(),
            target: "http://a".to_owned(),
            load: "closed model, 2 users".to_owned(),
            seconds: 10,
            windows: (0..10).map(window).collect(),
            ..sample()
        }
    }

    fn told(first: &RunResult, second: &RunResult) -> String {
        markdown((first, "one.json"), (second, "two|\u{1b}[2J.json"), &compare(first, second).unwrap())
    }

    #[test]
    fn two_runs_of_the_same_label_are_told_apart() {
        let (first, mut second) = (run(100, 5.0), run(200, 5.0));
        second.started_at = 1_709_209_800;
        second.target_version = "0.9.1".to_owned();
        let text = told(&first, &second);
        assert!(text.contains("- A: same, began 1970-01-01 00:00 UTC, http://a, in one.json\n"), "{text}");
        assert!(text.contains("- B: same, began 2024-02-29 12:30 UTC, http://a, version 0.9.1, in two\\|"), "{text}");
        assert!(!text.contains('\u{1b}'), "{text}");
        assert!(!text.contains("A and B differ"), "{text}");
        assert!(text.contains("| responses per second | 100 | 200 | 2.00 | 2.00 to 2.00 | more |"), "{text}");
        assert!(text.contains("| p95, ms | 5.00 ms | 5.00 ms | 1.00 | 1.00 to 1.00 | may be chance |"), "{text}");
    }

    #[test]
    fn runs_that_are_not_alike_are_called_so() {
        let (first, mut second) = (run(100, 5.0), run(100, 5.0));
        second.target = "http://b".to_owned();
        second.kind = crate::wire::TargetKind::Strongroom;
        second.load = "closed model, 9 users".to_owned();
        second.corpus = CorpusResult { documents: 3, bytes: 2_000, loaded: Loaded::default() };
        second.seconds = 12;
        let text = told(&first, &second);
        for said in [
            "target: http://a in A, http://b in B",
            "kind of target: webdav in A, strongroom in B",
            "load: closed model, 2 users in A, closed model, 9 users in B",
            "corpus: 0 documents, 0 B in A, 3 documents, 2.00 KB in B",
            "counted time: 10 s in A, 12 s in B",
        ] {
            assert!(text.contains(&format!("**A and B differ in their {said}.**")), "{said}: {text}");
        }
        second = RunResult { load: String::new(), ..run(100, 5.0) };
        assert_eq!(
            differing_conditions(&first, &second),
            Vec::<String>::new(),
            "an old result does not record its load"
        );
    }

    #[test]
    fn absurd_figures_are_told_in_few_characters() {
        for (first, second) in
            [(run(0, 0.0), run(200, 5.0)), (run(0, 0.0), run(0, 0.0)), (run(1, 1e-300), run(1, 1e300))]
        {
            let text = told(&first, &second);
            let longest = text.split_whitespace().map(str::len).max();
            assert!(longest < Some(40), "{text}");
        }
        let text = told(&run(0, 0.0), &run(200, 5.0));
        assert!(text.contains("| responses per second | 0 | 200 | - | - to - | more |"), "{text}");
    }
}
