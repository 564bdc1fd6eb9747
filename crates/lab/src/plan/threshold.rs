//! Thresholds of a plan: `p95 < 500ms`, `download p99 < 2s`, `errors < 0.1%`, `rate > 100`. Reads and compares; what they are
//! compared with comes from the result.

use serde::{Deserialize, Serialize};

use crate::quantity::Span;

/// A figure that must stay on one side of a bound.
#[derive(Clone, Debug, PartialEq)]
pub struct Threshold {
    /// As it was written.
    pub text: String,
    /// The operation by its label; all together when absent.
    pub operation: Option<String>,
    /// What is compared.
    pub figure: Figure,
    /// Whether the figure must be below the bound; otherwise above it.
    pub below: bool,
    /// The bound: milliseconds, a share from 0 to 1, or a rate per second.
    pub bound: f64,
}

/// What a threshold compares.
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
    /// Operations each second.
    Rate,
}

/// How a threshold came out.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
pub struct Verdict {
    /// The threshold as it was written.
    pub threshold: String,
    /// What was measured, in the unit of the bound; none when nothing was measured, which fails.
    pub measured: Option<f64>,
    /// Whether it holds.
    pub passed: bool,
}

impl Threshold {
    /// Reads a threshold.
    ///
    /// # Errors
    /// What is expected instead, when the text is no threshold.
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

    /// Compares with what was measured.
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
