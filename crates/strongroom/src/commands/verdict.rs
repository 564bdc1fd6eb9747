//! Verdicts of commands that inspect the farm, and their exit statuses. Inspects nothing itself.

use std::process::ExitCode;

use serde_json::Value;

/// The result of a command: JSON, text and verdict.
pub type CommandResult = (Value, String, Verdict);

/// The judgement of a command on what it inspected.
#[derive(Clone, Copy)]
pub enum Verdict {
    Good,
    Bad,
    /// Nothing is known to be wrong, but not everything could be checked.
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
