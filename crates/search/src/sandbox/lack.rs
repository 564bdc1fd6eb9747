//! Restrictions that a system lacks, by the words that people read.

/// What a child cannot be kept from on this system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lack {
    /// Opening files: there is no Landlock.
    Files,
    /// Calling the system: there are no seccomp filters.
    Calls,
    /// Sending signals to other processes of the user: Landlock is older than Linux 6.12.
    Signals,
}

impl Lack {
    /// The public word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Files => "files",
            Self::Calls => "calls",
            Self::Signals => "signals",
        }
    }

    pub(super) fn parse(word: &str) -> Option<Self> {
        [Self::Files, Self::Calls, Self::Signals].into_iter().find(|lack| lack.as_str() == word)
    }
}
