//! The result of a full crawl. It measures nothing itself.

use serde::{Deserialize, Serialize};

/// A full crawl of the target's search index, which read all its documents again.
#[derive(Clone, Debug, Default, Serialize, Deserialize, PartialEq)]
pub struct CrawlResult {
    /// Number of documents that were read.
    pub documents: u64,
    /// Number of documents among them whose text cannot be read.
    pub unreadable: u64,
    /// Their size in bytes.
    pub bytes: u64,
    /// Seconds from the request to the end.
    pub seconds: f64,
    /// Reason why it was not measured; `None` if it was.
    pub problem: Option<String>,
}

impl CrawlResult {
    /// Returns the result of a crawl that could not be measured.
    pub fn failed(problem: impl Into<String>) -> Self {
        Self { problem: Some(problem.into()), ..Self::default() }
    }

    /// Returns the documents per second; `None` if nothing was measured.
    pub fn rate(&self) -> Option<f64> {
        (self.problem.is_none() && self.seconds > 0.0).then(|| self.documents as f64 / self.seconds)
    }
}
