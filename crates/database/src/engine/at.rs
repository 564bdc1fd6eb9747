//! Owns the location of an error, which is reported to the log and to operators of the machine. The error message
//! itself contains no location, because any user may see it.

use std::error::Error as StdError;
use std::fmt;

/// A location (a file, or a server without its password) and the cause reported there.
#[derive(Debug)]
pub(super) struct ErrorLocation {
    place: String,
    cause: Option<Box<dyn StdError + Send + Sync>>,
}

impl ErrorLocation {
    pub(super) fn new(place: impl fmt::Display, cause: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        Self { place: place.to_string(), cause: Some(cause.into()) }
    }

    pub(super) fn silent(place: impl fmt::Display) -> Self {
        Self { place: place.to_string(), cause: None }
    }
}

impl fmt::Display for ErrorLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.cause {
            Some(cause) => write!(f, "{}: {cause}", self.place),
            None => f.write_str(&self.place),
        }
    }
}

impl StdError for ErrorLocation {}
