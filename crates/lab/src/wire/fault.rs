//! Faults: why an operation failed, with the beginning of what a target said. Knows no connection.

use std::fmt;

/// The fault of an operation, for counting and for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// For counting.
    pub kind: FaultKind,
    /// Description of what happened.
    pub message: String,
}

/// Kinds of faults.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FaultKind {
    /// No connection.
    Connect,
    /// The connection ended before the answer did.
    Closed,
    /// It took too long.
    Timeout,
    /// What came is no HTTP.
    Protocol,
    /// A status that was not expected.
    Status,
    /// The right status with the wrong content: an error page, other bytes.
    Content,
}

/// Most characters of a fault's text.
const LONGEST_TEXT: usize = 300;

/// The beginning of what a target sent, on one line and without anything that would steer a terminal.
pub fn excerpt(text: &str, most: usize) -> String {
    text.chars().take(most).map(|letter| if letter.is_control() { ' ' } else { letter }).collect()
}

impl Fault {
    /// A fault of a kind; of a long text, which may be what a target sent, the beginning.
    pub fn new(kind: FaultKind, message: impl AsRef<str>) -> Self {
        Self { kind, message: excerpt(message.as_ref(), LONGEST_TEXT) }
    }

    /// The right status with the wrong content.
    pub fn content(message: impl AsRef<str>) -> Self {
        Self::new(FaultKind::Content, message)
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}
