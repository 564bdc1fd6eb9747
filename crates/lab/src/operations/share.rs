//! The `[[mix]]` section of a plan: an operation and its frequency. Performs nothing itself.

use serde::Deserialize;

use crate::quantity::Size;

/// An operation and its frequency in the mix.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Share {
    /// Name of the operation, one of `strongroom lab operations`.
    pub operation: String,
    /// Frequency relative to the other shares.
    pub weight: f64,
    /// Restricts the operation to documents of this size in the corpus.
    #[serde(default)]
    pub size: Option<Size>,
    /// Label in reports; by default the name of the operation, with the size.
    #[serde(default)]
    pub label: Option<String>,
}

impl Share {
    /// Label in reports.
    pub fn label(&self) -> String {
        match (&self.label, self.size) {
            (Some(label), _) => label.clone(),
            (None, Some(size)) => format!("{} {size}", self.operation),
            (None, None) => self.operation.clone(),
        }
    }
}
