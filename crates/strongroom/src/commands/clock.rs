//! `strongroom clock`: the farm's view of its clock.

use std::process::ExitCode;

use clap::{Args, Subcommand};
use model::{Result, counted};
use serde_json::json;

use super::farm;
use super::output::show;
use crate::configuration::CommonArguments;

/// Arguments of `strongroom clock`.
#[derive(Args)]
pub struct Arguments {
    #[command(flatten)]
    place: CommonArguments,
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    /// Show how far the clock has jumped ahead without an explanation; exit status 1 if it has
    Show,
    /// Accept the current time as correct; deletions that the jumps delayed happen when they are due
    Accept,
}

/// Runs `strongroom clock`.
pub async fn run(arguments: Arguments) -> Result<ExitCode> {
    let (repository, session) = farm::open(&arguments.place).await?;
    let outcome = async {
        if matches!(arguments.action, Action::Accept) {
            session.accept_clock().await?;
        }
        session.clock_ahead().await
    };
    let outcome = outcome.await;
    repository.close().await;
    let ahead = outcome?.as_secs();
    let text = match ahead / (24 * 60 * 60) {
        0 => "the clock goes as time does\n".to_owned(),
        days => format!(
            "the clock went {} ahead of time: what is deleted for good after a time waits so much longer\n\
             set the clock right; if it is right, run `strongroom clock accept`\n",
            counted(days, "day")
        ),
    };
    show(arguments.place.json, &json!({ "ahead_seconds": ahead }), &text);
    Ok(ExitCode::from(u8::from(ahead > 0)))
}
