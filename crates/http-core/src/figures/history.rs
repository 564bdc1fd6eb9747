//! History of samples: one hour in steps of ten seconds and one day in steps of two minutes. That is at most 1,080
//! samples of about 330 bytes, 360 KB in all.

use std::collections::VecDeque;
use std::time::Duration;

use model::Timestamp;

use super::reading::Reading;
use super::sample::Sample;

/// Step and capacity of a ring buffer of samples.
#[derive(Clone, Copy, Debug)]
pub struct Ring {
    /// Time between two samples.
    pub step: Duration,
    /// Maximum number of samples.
    pub capacity: usize,
}

/// The last hour.
pub const FINE: Ring = Ring { step: Duration::from_secs(10), capacity: 360 };
/// The last day.
pub const COARSE: Ring = Ring { step: Duration::from_secs(120), capacity: 720 };

/// Selection of samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Span {
    /// Every ten seconds of the last hour.
    Fine,
    /// Every two minutes of the last day.
    Coarse,
}

impl Span {
    /// Returns the step and capacity for this span.
    pub const fn ring(self) -> Ring {
        match self {
            Self::Fine => FINE,
            Self::Coarse => COARSE,
        }
    }
}

/// The samples of one server.
#[derive(Default)]
pub struct History {
    fine: VecDeque<Sample>,
    coarse: VecDeque<Sample>,
    /// The coarse sample being collected: its first reading and the fine samples since.
    open: Option<Open>,
}

struct Open {
    before: Reading,
    fine: Vec<Sample>,
}

impl History {
    /// Adds a sample for the time between two readings.
    pub fn add(&mut self, before: &Reading, after: &Reading, at: Timestamp) {
        let sample = Sample::between(before, after, at);
        push(&mut self.fine, FINE, sample);
        let open = self.open.get_or_insert_with(|| Open { before: before.clone(), fine: Vec::new() });
        open.fine.push(sample);
        if open.fine.len() as u32 * FINE.step >= COARSE.step {
            let mut coarse = Sample::between(&open.before, after, at);
            for sample in &open.fine {
                coarse.raise_levels(sample);
            }
            push(&mut self.coarse, COARSE, coarse);
            self.open = None;
        }
    }

    /// Returns the samples that are newer than `since`, oldest first.
    pub fn samples(&self, span: Span, since: Timestamp) -> Vec<Sample> {
        let ring = match span {
            Span::Fine => &self.fine,
            Span::Coarse => &self.coarse,
        };
        ring.iter().filter(|sample| sample.at > since).copied().collect()
    }
}

fn push(ring: &mut VecDeque<Sample>, bounds: Ring, sample: Sample) {
    if ring.len() == bounds.capacity {
        ring.pop_front();
    }
    ring.push_back(sample);
}

/// Summary of a figure over a span.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Summary {
    /// Value of the newest sample, or `None` when nothing could be measured in it.
    pub last: Option<f64>,
    /// Mean of all samples that have a value.
    pub mean: f64,
    /// Highest value.
    pub highest: f64,
}

impl Summary {
    /// Summarises values, oldest first. Returns `None` when no sample has a value.
    pub fn of(values: impl Iterator<Item = Option<f64>>) -> Option<Self> {
        let (mut sum, mut count, mut highest, mut last) = (0.0, 0_u32, f64::MIN, None);
        for value in values {
            last = value;
            if let Some(value) = value {
                (sum, count, highest) = (sum + value, count + 1, highest.max(value));
            }
        }
        (count > 0).then(|| Self { last, mean: sum / f64::from(count), highest })
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::super::sample::position;
    use super::*;

    #[test]
    fn an_hour_and_a_day_are_kept_and_no_more() {
        let (mut history, start) = (History::default(), Instant::now());
        let (requests, connections) = (position("uploads").unwrap(), position("connections").unwrap());
        let reading = |n: u32| {
            let level = if n % 12 == 5 { 50 } else { 2 };
            let text = format!("strongroom_uploads_total {}\nstrongroom_http_connections {level}\n", n * 30);
            Reading::of(&text, start + n * FINE.step)
        };
        let at = |n: u32| Timestamp::from_micros(i64::from(n) * 10_000_000);
        let day = 24 * 360 + 50;
        for n in 1..=day {
            history.add(&reading(n - 1), &reading(n), at(n));
        }
        let fine = history.samples(Span::Fine, Timestamp::from_micros(0));
        assert_eq!((fine.len(), fine.last().unwrap().at), (360, at(day)));
        assert!(fine.iter().all(|sample| sample.values[requests] == Some(3.0)));
        let coarse = history.samples(Span::Coarse, Timestamp::from_micros(0));
        assert_eq!(coarse.len(), 720);
        assert!(coarse.iter().all(|sample| sample.values[requests] == Some(3.0)));
        assert!(coarse.iter().all(|sample| sample.values[connections] == Some(50.0)), "a short peak is not lost");
        assert_eq!(history.samples(Span::Fine, at(day - 3)).len(), 3);
        assert!(history.samples(Span::Fine, at(day)).is_empty());
    }

    #[test]
    fn a_summary_leaves_out_what_was_not_measured() {
        let of = |values: &[Option<f64>]| Summary::of(values.iter().copied());
        assert_eq!(of(&[]), None);
        assert_eq!(of(&[None, None]), None);
        let found = of(&[Some(1.0), None, Some(5.0)]).unwrap();
        assert_eq!(found, Summary { last: Some(5.0), mean: 3.0, highest: 5.0 });
        assert_eq!(of(&[Some(1.0), None]).unwrap().last, None);
    }
}
