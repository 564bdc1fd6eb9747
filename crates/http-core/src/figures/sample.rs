//! The figures: name, unit, and computation from two readings of the metrics.

use model::Timestamp;

use super::reading::{Reading, Total};

/// Unit of a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Events per second.
    PerSecond,
    /// Bytes per second.
    BytesPerSecond,
    /// Seconds.
    Seconds,
    /// Size in bytes.
    Bytes,
    /// A plain number.
    Number,
}

impl Unit {
    /// Public name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::PerSecond => "per_second",
            Self::BytesPerSecond => "bytes_per_second",
            Self::Seconds => "seconds",
            Self::Bytes => "bytes",
            Self::Number => "number",
        }
    }
}

/// Computation of a figure from two readings.
#[derive(Clone, Copy)]
enum How {
    /// Increase of a counter per second.
    Rate(Total),
    /// Mean: the increase of a sum divided by the increase of a count.
    Mean(Total, Total),
    /// Time within which this share of the requests was answered.
    Quantile(f64),
    /// Current level of a gauge.
    Level(Total),
}

/// One metric.
pub struct Figure {
    /// Public name.
    pub name: &'static str,
    /// Its unit.
    pub unit: Unit,
    how: How,
}

const fn figure(name: &'static str, unit: Unit, how: How) -> Figure {
    Figure { name, unit, how }
}

/// Number of figures.
pub const COUNT: usize = 20;

/// All figures, in the order of [`Sample::values`].
pub const FIGURES: [Figure; COUNT] = [
    figure("requests", Unit::PerSecond, How::Rate(Total::Requests)),
    figure("refused", Unit::PerSecond, How::Rate(Total::Refused)),
    figure("failed", Unit::PerSecond, How::Rate(Total::Failed)),
    figure("answer_p50", Unit::Seconds, How::Quantile(0.5)),
    figure("answer_p99", Unit::Seconds, How::Quantile(0.99)),
    figure("received", Unit::BytesPerSecond, How::Rate(Total::Received)),
    figure("sent", Unit::BytesPerSecond, How::Rate(Total::Sent)),
    figure("connections", Unit::Number, How::Level(Total::Connections)),
    figure("uploads", Unit::PerSecond, How::Rate(Total::Uploads)),
    figure("downloads", Unit::PerSecond, How::Rate(Total::Downloads)),
    figure("blob_writes", Unit::PerSecond, How::Rate(Total::BlobWrites)),
    figure("blob_reads", Unit::PerSecond, How::Rate(Total::BlobReads)),
    figure("blob_write_time", Unit::Seconds, How::Mean(Total::BlobWriteSeconds, Total::BlobWrites)),
    figure("blob_read_time", Unit::Seconds, How::Mean(Total::BlobReadSeconds, Total::BlobReads)),
    figure("database_reads", Unit::PerSecond, How::Rate(Total::DatabaseReads)),
    figure("database_writes", Unit::PerSecond, How::Rate(Total::DatabaseWrites)),
    figure("database_wait", Unit::Seconds, How::Mean(Total::DatabaseWaitSeconds, Total::DatabaseWaits)),
    figure("database_commit", Unit::Seconds, How::Mean(Total::DatabaseCommitSeconds, Total::DatabaseCommits)),
    figure("memory", Unit::Bytes, How::Level(Total::Memory)),
    figure("jobs", Unit::Number, How::Level(Total::Jobs)),
];

/// Returns the index of a figure in the values of a sample.
pub fn position(name: &str) -> Option<usize> {
    FIGURES.iter().position(|figure| figure.name == name)
}

/// All figures of one interval.
#[derive(Clone, Copy, Debug)]
pub struct Sample {
    /// End of the interval.
    pub at: Timestamp,
    /// Values in the order of [`FIGURES`]. `None` where nothing could be measured.
    pub values: [Option<f64>; COUNT],
}

impl Sample {
    /// Computes the figures for the interval between two readings.
    pub fn between(before: &Reading, after: &Reading, at: Timestamp) -> Self {
        let seconds = after.at.duration_since(before.at).as_secs_f64();
        let risen = |total| Some(after.total(total) - before.total(total)).filter(|rise| *rise >= 0.0);
        let value = |figure: &Figure| match figure.how {
            How::Rate(total) => risen(total).filter(|_| seconds > 0.0).map(|rise| rise / seconds),
            How::Mean(sum, count) => risen(count).filter(|count| *count > 0.0).and_then(|n| Some(risen(sum)? / n)),
            How::Quantile(share) => after.within(before, share),
            How::Level(total) => Some(after.total(total)).filter(|level| total != Total::Memory || *level > 0.0),
        };
        Self { at, values: std::array::from_fn(|at| value(&FIGURES[at])) }
    }

    /// Raises each level to the one in `other` where that is higher.
    pub fn raise_levels(&mut self, other: &Self) {
        for (at, figure) in FIGURES.iter().enumerate() {
            if matches!(figure.how, How::Level(_)) {
                self.values[at] = self.values[at].into_iter().chain(other.values[at]).reduce(f64::max);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    #[test]
    fn counters_become_rates_and_sums_become_means() {
        let start = Instant::now();
        let text = |uploads: u32, opened: u32, took: f64| {
            format!(
                "strongroom_uploads_total {uploads}\nstrongroom_blob_open_seconds_count {opened}\n\
                 strongroom_blob_open_seconds_sum {took}\nstrongroom_http_connections 4\n"
            )
        };
        let before = Reading::of(&text(100, 10, 1.0), start);
        let after = Reading::of(&text(150, 14, 1.5), start + Duration::from_secs(10));
        let sample = Sample::between(&before, &after, Timestamp::now());
        let value = |name: &str| sample.values[position(name).unwrap()];
        assert_eq!((value("uploads"), value("blob_reads")), (Some(5.0), Some(0.4)));
        assert_eq!((value("blob_read_time"), value("connections")), (Some(0.125), Some(4.0)));
        assert_eq!(value("blob_write_time"), None, "nothing was written");
        assert_eq!((value("answer_p99"), value("memory")), (None, None));
        let back = Sample::between(&after, &before, Timestamp::now());
        assert_eq!(back.values[position("uploads").unwrap()], None, "a counter that fell says nothing");
    }
}
