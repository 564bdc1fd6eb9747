//! Faults: the reason why an operation failed, with the beginning of the target's response. Independent of connections.

use std::fmt;

/// The fault of an operation, for statistics and for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Kind, for statistics.
    pub kind: FaultKind,
    /// Description of what happened.
    pub message: String,
}

/// Kinds of faults.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FaultKind {
    /// No connection could be made.
    Connect,
    /// The connection ended before the response did.
    Closed,
    /// Timeout.
    Timeout,
    /// The response is not HTTP.
    Protocol,
    /// Unexpected status.
    Status,
    /// The right status with the wrong content, such as an error page or other bytes.
    Content,
}

/// Limit on the characters of a fault message.
const MAX_TEXT: usize = 300;

/// Returns the beginning of a target's text, on one line and without characters that would control a terminal.
pub fn excerpt(text: &str, most: usize) -> String {
    text.chars().take(most).map(|letter| if letter.is_control() { ' ' } else { letter }).collect()
}

impl Fault {
    /// Creates a fault. A long message, which may quote a target, is truncated.
    pub fn new(kind: FaultKind, message: impl AsRef<str>) -> Self {
        Self { kind, message: excerpt(message.as_ref(), MAX_TEXT) }
    }

    /// Creates a fault for the right status with the wrong content.
    pub fn content(message: impl AsRef<str>) -> Self {
        Self::new(FaultKind::Content, message)
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}
