//! Contents of sites, libraries, lists and folders in figures.

use model::Id;
use repository::UsageReport;
use serde::Serialize;
use utoipa::ToSchema;

use http_core::protocol::time;

/// Figures of an item, with everything below it. The figures are null until it is measured, and again from a change
/// of permissions below it until the next measurement.
#[derive(Serialize, ToSchema)]
pub struct UsageJson {
    /// Number of documents.
    pub documents: Option<u64>,
    /// Number of rows of lists.
    pub rows: Option<u64>,
    /// Bytes of all versions.
    pub bytes: Option<u64>,
    /// Time of the last change; null too if there is nothing.
    pub changed_at: Option<String>,
    /// Time of the measurement; null before the first one.
    pub measured_at: Option<String>,
    /// True if a measurement is running or will begin.
    pub pending: bool,
}

impl UsageJson {
    /// Creates the JSON form of the figures of one item.
    pub fn new(id: Id, report: &UsageReport) -> Self {
        let usage = report.items.get(&id);
        Self {
            documents: usage.map(|usage| usage.documents),
            rows: usage.map(|usage| usage.rows),
            bytes: usage.map(|usage| usage.bytes),
            changed_at: usage.and_then(|usage| usage.changed_at).map(time::format),
            measured_at: report.measured_at.map(time::format),
            pending: report.is_pending,
        }
    }
}
