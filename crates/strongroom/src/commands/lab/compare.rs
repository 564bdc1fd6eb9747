//! `strongroom lab compare`.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use model::Result;
use serde_json::json;

use super::failure::into_command_error;
use crate::commands::output::show;

/// The two results to compare.
#[derive(Args)]
pub struct Compare {
    /// JSON file of the first result
    #[arg(value_name = "A.json")]
    first: PathBuf,
    /// JSON file of the second result
    #[arg(value_name = "B.json")]
    second: PathBuf,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Compare {
    /// Runs the command.
    pub fn run(self) -> Result<ExitCode> {
        let read = |path: &PathBuf| lab::report::read(path).map_err(|error| into_command_error(&error));
        let (first, second) = (read(&self.first)?, read(&self.second)?);
        let found = lab::compare::compare(&first, &second).map_err(|error| into_command_error(&error))?;
        let names = [&self.first, &self.second].map(|path| path.display().to_string());
        let text = lab::compare::markdown((&first, &names[0]), (&second, &names[1]), &found);
        let unlike = lab::compare::differing_conditions(&first, &second);
        show(self.json, &json!({ "unlike": unlike, "differences": found }), &text);
        Ok(ExitCode::SUCCESS)
    }
}
