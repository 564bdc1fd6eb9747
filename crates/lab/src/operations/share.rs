//! The part `[[mix]]` of a plan: an operation, and how often it is done. Does nothing itself.

use serde::Deserialize;

use crate::quantity::Size;

/// One kind of operation and how often it is done.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Share {
    /// Its name, one of `strongroom lab operations`.
    pub operation: String,
    /// How often, in proportion to the others.
    pub weight: f64,
    /// Only with documents of the corpus of this size.
    #[serde(default)]
    pub size: Option<Size>,
    /// What it is called in reports; the operation's name, with the size, when absent.
    #[serde(default)]
    pub label: Option<String>,
}

impl Share {
    /// What it is called in reports.
    pub fn label(&self) -> String {
        match (&self.label, self.size) {
            (Some(label), _) => label.clone(),
            (None, Some(size)) => format!("{} {size}", self.operation),
            (None, None) => self.operation.clone(),
        }
    }
}
