//! `strongroom clock`: the farm's view of its clock.

use std::process::ExitCode;

use clap::{Args, Subcommand};
use model::{Result, counted};
use serde_json::json;

use super::farm;
use super::output::show;
use super::verdict::Verdict;
use crate::configuration::CommonArguments;

/// Arguments of `strongroom clock`.
#[derive(Args)]
pub struct Arguments {
    #[command(flatten)]
    common: CommonArguments,
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    /// Show how far the clock has jumped ahead without an explanation; exit status 1 if by a day or more
    Show,
    /// Accept the current time as correct; deletions that the jumps delayed happen when they are due
    Accept,
}

/// Runs `strongroom clock`.
pub async fn run(arguments: Arguments) -> Result<ExitCode> {
    let (repository, session) = farm::open(&arguments.common).await?;
    let outcome = async {
        if matches!(arguments.action, Action::Accept) {
            session.accept_clock().await?;
        }
        session.clock_ahead().await
    };
    let outcome = outcome.await;
    repository.close().await;
    let ahead = outcome?.as_secs();
    let (text, verdict) = judge(ahead);
    show(arguments.common.json, &json!({ "ahead_seconds": ahead }), &text);
    Ok(verdict.into())
}

/// The text for a clock that is ahead by these seconds, and the verdict. Like the health rule `clock-ahead`, both
/// tolerate less than a day.
fn judge(ahead: u64) -> (String, Verdict) {
    match ahead / (24 * 60 * 60) {
        0 => ("The clock is right: it has not jumped ahead by a day or more.\n".to_owned(), Verdict::Good),
        days => {
            let text = format!(
                "The clock has jumped ahead by {} without an explanation. Permanent deletions wait that much longer.\n\
                 Set the clock right; if it is right, run `strongroom clock accept`.\n",
                counted(days, "day")
            );
            (text, Verdict::Bad)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_and_exit_status_agree() {
        for (ahead, is_good) in [(0, true), (1, true), (86_399, true), (86_400, false)] {
            let (text, verdict) = judge(ahead);
            assert_eq!(matches!(verdict, Verdict::Good), is_good, "{ahead} s");
            assert_eq!(text.contains("The clock is right"), is_good, "{ahead} s: {text}");
        }
    }
}
