//! Time limits for reading a document for the search index.

use std::time::Duration;

const SHORT_TEXT: Duration = Duration::from_secs(3);
const LONG_TEXT: Duration = Duration::from_secs(60);

/// Time limit for reading a document for the search index. Documents that exceed the short one are read one by one with
/// the long one, so that they hold up no others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadLimit {
    /// 3 seconds, in one of several children.
    Short,
    /// A minute, in the only child for such documents.
    Long,
}

impl ReadLimit {
    /// The time limit.
    pub const fn time(self) -> Duration {
        match self {
            Self::Short => SHORT_TEXT,
            Self::Long => LONG_TEXT,
        }
    }
}
