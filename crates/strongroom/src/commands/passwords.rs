//! `strongroom passwords`: the list of forbidden passwords.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use clap::{Args, Subcommand};
use model::{Result, counted};
use repository::{PasswordList, Session};
use serde_json::{Value, json};

use super::farm;
use super::output::{show, time};
use super::progress::{new_bar, pace, shows_progress};
use crate::configuration::CommonArguments;

/// Arguments of `strongroom passwords`.
#[derive(Args)]
pub struct Arguments {
    #[command(flatten)]
    common: CommonArguments,
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    /// Create the list from a sorted file of SHA-1 hashes, one per line, replacing the previous list
    Import {
        /// Hash file, such as one from "Have I Been Pwned"; text after a colon is ignored
        file: PathBuf,
    },
    /// Show the number of passwords on the list
    Show,
    /// Remove the list
    Remove,
}

/// Runs `strongroom passwords`.
pub async fn run(arguments: Arguments) -> Result<ExitCode> {
    let (repository, session) = farm::open(&arguments.common).await?;
    let shown = shows_progress(arguments.common.json);
    let outcome = act(&session, arguments.action, shown).await;
    repository.close().await;
    let (value, text) = outcome?;
    show(arguments.common.json, &value, &text);
    Ok(ExitCode::SUCCESS)
}

async fn act(session: &Session, action: Action, shown: bool) -> Result<(Value, String)> {
    match action {
        Action::Import { file } => {
            let (bar, started) = (shown.then(new_bar), Instant::now());
            let tell = |read: u64, all: u64| {
                if let Some(bar) = &bar {
                    bar.set_length(all.max(1));
                    bar.set_position(read.min(all));
                    bar.set_message(pace(read, all, started.elapsed(), true));
                }
            };
            let list = session.import_password_list(&file, tell).await?;
            if let Some(bar) = bar {
                bar.finish_and_clear();
            }
            let text = format!(
                "The list was imported: {}. They can no longer be chosen, and users who have one must choose another \
                 at the next sign-in.\n",
                counted(list.entries, "password")
            );
            Ok((list_json(Some(&list)), text))
        }
        Action::Show => {
            let list = session.password_list().await?;
            let text = match &list {
                Some(list) => {
                    format!("The list has {}, imported {}.\n", counted(list.entries, "password"), time(list.made_at))
                }
                None => "There is no list. `strongroom passwords import FILE` imports one.\n".to_owned(),
            };
            Ok((list_json(list.as_ref()), text))
        }
        Action::Remove => {
            let removed = session.remove_password_list().await?;
            let text = if removed { "The list was removed.\n" } else { "There is no list.\n" };
            Ok((json!({ "removed": removed }), text.to_owned()))
        }
    }
}

fn list_json(list: Option<&PasswordList>) -> Value {
    json!({ "entries": list.map_or(0, |list| list.entries), "imported_at": list.map(|list| time(list.made_at)) })
}
