//! Errors of the lab itself. Failures of a target are not errors: they are measured, as faults.

use std::fmt;

/// Result of every fallible function of the lab.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Error message of the lab: the problem, the object concerned, and the remedy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error(String);

impl Error {
    /// Creates an error with a message that the user can act on.
    pub fn new(message: impl Into<String>) -> Self {
        Self(message.into())
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Error {}
