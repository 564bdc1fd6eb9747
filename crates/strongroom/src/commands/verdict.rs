//! Verdicts: how a command that looks at the farm found it, and its exit status. Looks at nothing.

use std::process::ExitCode;

use serde_json::Value;

/// The findings of a command: for programs, for people, and whether all is well.
pub type Shown = (Value, String, Verdict);

/// The judgement of a command on what it looked at.
#[derive(Clone, Copy)]
pub enum Verdict {
    Good,
    Bad,
    /// Nothing is known to be wrong, but not everything could be looked at.
    Incomplete,
}

impl From<bool> for Verdict {
    fn from(is_good: bool) -> Self {
        if is_good { Self::Good } else { Self::Bad }
    }
}

impl From<Verdict> for ExitCode {
    fn from(verdict: Verdict) -> Self {
        match verdict {
            Verdict::Good => Self::SUCCESS,
            Verdict::Bad => Self::from(1),
            Verdict::Incomplete => Self::from(3),
        }
    }
}
