//! One reading of the metrics: the totals, over all labels, from which the figures are computed.

use std::collections::BTreeMap;
use std::time::Instant;

use super::names::{CONNECTIONS, MEMORY, RECEIVED, REQUESTS, SENT};

/// A counter or gauge from which figures are computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Total {
    Requests,
    Refused,
    Failed,
    Received,
    Sent,
    Uploads,
    Downloads,
    BlobWrites,
    BlobWriteSeconds,
    BlobReads,
    BlobReadSeconds,
    DatabaseReads,
    DatabaseWrites,
    DatabaseWaits,
    DatabaseWaitSeconds,
    DatabaseCommits,
    DatabaseCommitSeconds,
    Memory,
    Connections,
    Jobs,
}

/// Source of each total: the name of its metric, and a label that a line must contain to be counted.
const SOURCES: [(Total, &str, &str); 20] = [
    (Total::Requests, "strongroom_http_request_seconds_count", ""),
    (Total::Refused, "strongroom_http_request_seconds_count", "status=\"4xx\""),
    (Total::Failed, "strongroom_http_request_seconds_count", "status=\"5xx\""),
    (Total::Received, RECEIVED, ""),
    (Total::Sent, SENT, ""),
    (Total::Uploads, "strongroom_uploads_total", ""),
    (Total::Downloads, "strongroom_downloads_total", ""),
    (Total::BlobWrites, "strongroom_blob_put_seconds_count", ""),
    (Total::BlobWriteSeconds, "strongroom_blob_put_seconds_sum", ""),
    (Total::BlobReads, "strongroom_blob_open_seconds_count", ""),
    (Total::BlobReadSeconds, "strongroom_blob_open_seconds_sum", ""),
    (Total::DatabaseReads, "database_transactions_total", "kind=\"read\""),
    (Total::DatabaseWrites, "database_transactions_total", "kind=\"write\""),
    (Total::DatabaseWaits, "database_queue_seconds_count", ""),
    (Total::DatabaseWaitSeconds, "database_queue_seconds_sum", ""),
    (Total::DatabaseCommits, "database_commit_seconds_count", ""),
    (Total::DatabaseCommitSeconds, "database_commit_seconds_sum", ""),
    (Total::Memory, MEMORY, ""),
    (Total::Connections, CONNECTIONS, ""),
    (Total::Jobs, "strongroom_jobs_running", ""),
];

/// The metrics at one point in time.
#[derive(Clone, Debug)]
pub struct Reading {
    pub at: Instant,
    totals: [f64; SOURCES.len()],
    /// Cumulative number of requests by upper bound in microseconds. The last bucket has no bound.
    buckets: BTreeMap<u64, f64>,
}

/// Label of the conversion route.
const CONVERSIONS: &str = "route=\"/items/{id}/pages\"";

impl Reading {
    /// Parses the Prometheus text format.
    pub fn of(text: &str, at: Instant) -> Self {
        let mut reading = Self { at, totals: [0.0; SOURCES.len()], buckets: BTreeMap::new() };
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            let Some((series, value)) = line.rsplit_once(' ') else { continue };
            let Ok(value) = value.parse::<f64>() else { continue };
            let (name, labels) = series.split_once('{').unwrap_or((series, ""));
            // Conversions wait for an external program, so their durations say nothing about this server.
            if name.strip_prefix(REQUESTS) == Some("_bucket") && !labels.contains(CONVERSIONS) {
                *reading.buckets.entry(bound(labels)).or_default() += value;
            }
            for (total, metric, label) in SOURCES {
                if metric == name && labels.contains(label) {
                    reading.totals[total as usize] += value;
                }
            }
        }
        reading
    }

    /// Returns the sum of a counter, or the level of a gauge.
    pub fn total(&self, total: Total) -> f64 {
        self.totals[total as usize]
    }

    /// Returns the time in seconds within which this share of the requests since `before` was answered, interpolated
    /// within its bucket. Returns `None` when there was no request.
    pub fn within(&self, before: &Self, share: f64) -> Option<f64> {
        let since = |(bound, count): (&u64, &f64)| (*bound, count - before.buckets.get(bound).unwrap_or(&0.0));
        let counts: Vec<(u64, f64)> = self.buckets.iter().map(since).collect();
        let all = counts.last().map(|(_, count)| *count).filter(|all| *all > 0.0)?;
        let (mut lower, mut below) = (0, 0.0);
        for (upper, count) in counts {
            if count >= all * share {
                // The last bucket is unbounded. Its lower bound is all that is known.
                let upper = if upper == u64::MAX { lower } else { upper };
                let part = if count > below { (all * share - below) / (count - below) } else { 0.0 };
                return Some((lower as f64 + (upper - lower) as f64 * part) / 1e6);
            }
            (lower, below) = (upper, count);
        }
        None
    }
}

/// Returns the upper bound of a bucket in microseconds.
fn bound(labels: &str) -> u64 {
    let bound = labels.split("le=\"").nth(1).and_then(|rest| rest.split('"').next());
    match bound.and_then(|text| text.parse::<f64>().ok()) {
        Some(seconds) if seconds.is_finite() => (seconds * 1e6).round() as u64,
        _ => u64::MAX,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(text: &str) -> Reading {
        Reading::of(text, Instant::now())
    }

    #[test]
    fn each_source_stands_at_its_own_place() {
        for (at, (total, ..)) in SOURCES.iter().enumerate() {
            assert_eq!(*total as usize, at, "{total:?}");
        }
    }

    #[test]
    fn lines_of_one_metric_are_summed_and_told_apart_by_labels() {
        let read = reading(
            "# TYPE strongroom_http_request_seconds histogram\n\
             strongroom_http_request_seconds_count{route=\"/a {*path}\",status=\"2xx\"} 7\n\
             strongroom_http_request_seconds_count{route=\"/b\",status=\"4xx\"} 2\n\
             strongroom_http_request_seconds_count{route=\"/b\",status=\"5xx\"} 1\n\
             database_transactions_total{engine=\"sqlite\",kind=\"read\"} 5\n\
             database_transactions_total{engine=\"postgres\",kind=\"read\"} 6\n\
             database_transactions_total{engine=\"sqlite\",kind=\"write\"} 4\n\
             strongroom_uploads_total 3\n\
             strongroom_uploads_total_of_others 9\n\
             broken\n\n",
        );
        let totals = [Total::Requests, Total::Refused, Total::Failed, Total::DatabaseReads, Total::DatabaseWrites];
        assert_eq!(totals.map(|total| read.total(total)), [10.0, 2.0, 1.0, 11.0, 4.0]);
        assert_eq!((read.total(Total::Uploads), read.total(Total::Downloads)), (3.0, 0.0));
    }

    #[test]
    fn the_time_within_which_most_were_answered_lies_between_the_bounds_of_a_bucket() {
        let text = |counts: [u32; 3]| {
            let lines = ["0.001", "0.01", "+Inf"].iter().zip(counts);
            let line =
                |(bound, count)| format!("{REQUESTS}_bucket{{route=\"/\",status=\"2xx\",le=\"{bound}\"}} {count}\n");
            reading(&lines.map(line).collect::<String>())
        };
        let before = text([100, 100, 100]);
        assert_eq!(before.within(&before, 0.5), None, "nothing was asked");
        let after = text([110, 120, 120]);
        assert_eq!(after.within(&before, 0.5), Some(0.001));
        assert!((after.within(&before, 0.75).unwrap() - 0.0055).abs() < 1e-9);
        assert_eq!(text([100, 100, 101]).within(&before, 0.5), Some(0.01), "as much as is known");
        assert_eq!(text([101, 101, 101]).within(&reading(""), 0.99).map(|s| s < 0.001), Some(true));
    }
}
