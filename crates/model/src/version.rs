//! Version numbers.

use std::fmt;
use std::str::FromStr;

use crate::{Error, Result};

/// A version `major.minor`: minor 0 is published, any other is a draft of the next major version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct VersionNumber {
    /// Number of the published version, 0 before the first.
    pub major: u32,
    /// Number of the draft on top of it, 0 for the published version itself.
    pub minor: u32,
}

impl VersionNumber {
    /// The version `major.minor`.
    pub const fn new(major: u32, minor: u32) -> Self {
        Self { major, minor }
    }

    /// Returns whether this is a major version, which is published.
    pub const fn is_major(self) -> bool {
        self.minor == 0 && self.major > 0
    }

    /// Returns the next draft.
    #[must_use]
    pub const fn next_minor(self) -> Self {
        Self { major: self.major, minor: self.minor.saturating_add(1) }
    }

    /// Returns the next published version.
    #[must_use]
    pub const fn next_major(self) -> Self {
        Self { major: self.major.saturating_add(1), minor: 0 }
    }
}

impl fmt::Display for VersionNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

impl FromStr for VersionNumber {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let parse = |part: &str| part.parse::<u32>().ok().filter(|_| !part.starts_with('+'));
        text.split_once('.')
            .and_then(|(major, minor)| Some(Self { major: parse(major)?, minor: parse(minor)? }))
            .ok_or_else(|| Error::invalid("a version is written like 2.0 or 2.1"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_ordered_and_read_back() {
        let draft = VersionNumber::new(1, 2);
        assert!(draft > VersionNumber::new(1, 0));
        assert!(draft < VersionNumber::new(2, 0));
        assert_eq!("1.2".parse::<VersionNumber>().unwrap(), draft);
        assert_eq!(draft.next_major().to_string(), "2.0");
        for bad in ["", "1", "1.", ".1", "1.2.3", "+1.0", "99999999999.0"] {
            assert!(bad.parse::<VersionNumber>().is_err(), "{bad}");
        }
    }
}
