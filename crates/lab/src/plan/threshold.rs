//! Thresholds of a plan: `p95 < 500ms`, `download p99 < 2s`, `errors < 0.1%`, `rate > 100`. Parses and compares them;
//! the measured values come from the result.

use serde::{Deserialize, Serialize};

use crate::quantity::Span;

/// A figure that must stay below or above a bound.
#[derive(Clone, Debug, PartialEq)]
pub struct Threshold {
    /// Text as written in the plan.
    pub text: String,
    /// Label of the operation; `None` for all operations together.
    pub operation: Option<String>,
    /// Figure to compare.
    pub figure: Figure,
    /// True if the figure must be below the bound; otherwise it must be above.
    pub below: bool,
    /// The bound: milliseconds, a share from 0 to 1, or a rate per second.
    pub bound: f64,
}

/// Figure that a threshold compares.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Figure {
    /// A percentile of latency, 0 to 100.
    Percentile(f64),
    /// Mean latency.
    Mean,
    /// Longest latency.
    Maximum,
    /// Share of operations that failed.
    Errors,
    /// Operations per second.
    Rate,
}

/// Outcome of a threshold.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
pub struct Verdict {
    /// Text of the threshold as written in the plan.
    pub threshold: String,
    /// Measured value, in the unit of the bound; `None` if nothing was measured, which counts as failed.
    pub measured: Option<f64>,
    /// True if the threshold holds.
    pub passed: bool,
}

impl Threshold {
    /// Parses a threshold.
    ///
    /// # Errors
    /// If the text is not a threshold; the message states the expected form.
    pub fn parse(text: &str) -> Result<Self, String> {
        let wrong = |what: &str| format!("the threshold \"{text}\" {what}: write for example \"download p95 < 500ms\"");
        let (left, below, right) = match (text.split_once('<'), text.split_once('>')) {
            (Some((left, right)), None) => (left, true, right),
            (None, Some((left, right))) => (left, false, right),
            _ => return Err(wrong("compares nothing")),
        };
        let (operation, figure) = match left.trim().rsplit_once(' ') {
            Some((operation, figure)) => (Some(operation.trim().to_owned()), figure),
            None => (None, left.trim()),
        };
        let (right, number) = (right.trim(), right.trim().trim_end_matches(['%', '/', 's', ' ']));
        let figure = match figure {
            "mean" => Figure::Mean,
            "max" => Figure::Maximum,
            "errors" => Figure::Errors,
            "rate" => Figure::Rate,
            other => {
                let percent = other.strip_prefix('p').and_then(|number| number.parse::<f64>().ok());
                let percent = percent.filter(|percent| (0.0..=100.0).contains(percent));
                Figure::Percentile(
                    percent.ok_or_else(|| wrong("names no figure (p50, p99.9, mean, max, errors, rate)"))?,
                )
            }
        };
        let number = number.parse::<f64>().ok().filter(|number| number.is_finite() && *number >= 0.0);
        let bound = match figure {
            Figure::Errors => number.ok_or_else(|| wrong("has no share such as 0.1%"))? / 100.0,
            Figure::Rate => number.ok_or_else(|| wrong("has no rate such as 100"))?,
            _ => Span::parse(right).map_err(|_| wrong("has no time such as 500ms"))?.0.as_secs_f64() * 1000.0,
        };
        Ok(Self { text: text.trim().to_owned(), operation, figure, below, bound })
    }

    /// Compares the bound with a measured value.
    pub fn judge(&self, measured: Option<f64>) -> Verdict {
        let passed = measured.is_some_and(|figure| if self.below { figure < self.bound } else { figure > self.bound });
        Verdict { threshold: self.text.clone(), measured, passed }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thresholds_are_read() {
        let threshold = Threshold::parse("read 100 KB p99.9 < 2s").unwrap();
        assert_eq!(threshold.operation.as_deref(), Some("read 100 KB"));
        assert_eq!((threshold.figure, threshold.bound), (Figure::Percentile(99.9), 2000.0));
        assert!((Threshold::parse("errors < 0.1%").unwrap().bound - 0.001).abs() < 1e-9);
        assert_eq!(Threshold::parse("rate > 100/s").unwrap().bound, 100.0);
        for wrong in ["", "p95", "p95 < fast", "p200 < 5s", "speed > 3", "errors < few"] {
            assert!(Threshold::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn what_was_not_measured_fails() {
        let threshold = Threshold::parse("p95 < 500ms").unwrap();
        assert!(!threshold.judge(None).passed);
        assert!(threshold.judge(Some(499.0)).passed);
        assert!(!threshold.judge(Some(500.0)).passed);
    }
}
