//! What the lab says when it cannot do what was asked. Not what a target answers: that is measured, as a fault.

use std::fmt;

/// What every fallible function of the lab returns.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why the lab cannot do what was asked: what happened, to what, and what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error(String);

impl Error {
    /// An error with a message that a person can act on.
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
