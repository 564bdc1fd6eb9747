//! Restrictions that a system lacks, with their public names.

/// A restriction that cannot be enforced on this system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MissingRestriction {
    /// Opening files: Landlock is missing.
    Files,
    /// System calls: seccomp filters are missing.
    Calls,
    /// Sending signals to other processes of the user: Landlock is older than in Linux 6.12.
    Signals,
}

impl MissingRestriction {
    /// Public name.
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
