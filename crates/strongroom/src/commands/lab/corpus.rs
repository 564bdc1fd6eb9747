//! `strongroom lab corpus`.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use model::Result;
use serde_json::json;

use super::failure::into_command_error;
use super::live::Live;
use crate::commands::output::show;

/// Plan and destination of the corpus.
#[derive(Args)]
pub struct Corpus {
    /// Plan file, or the name of a built-in plan
    #[arg(value_name = "PLAN.toml")]
    plan: String,
    /// Destination directory, with one folder for each library; existing documents are kept, so that an interrupted run
    /// continues
    #[arg(long, value_name = "DIR")]
    folder: PathBuf,
    /// Fraction of the plan's corpus to use
    #[arg(long)]
    scale: Option<f64>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Corpus {
    /// Runs the command.
    pub async fn run(self) -> Result<ExitCode> {
        let plan = lab::read_plan(&self.plan).map_err(|error| into_command_error(&error))?;
        let changes = lab::PlanOverrides { scale: self.scale, ..lab::PlanOverrides::default() };
        let plan = changes.apply(&plan).map_err(|error| into_command_error(&error))?;
        let corpus = lab::Corpus::new(plan.corpus);
        let mut live = Live::new(self.json);
        let tell = |done, all| live.take(lab::Event::Loading(done, all));
        let written = tokio::task::block_in_place(|| lab::write_folder(&corpus, &self.folder, tell));
        let written = written.map_err(|error| into_command_error(&error))?;
        live.end();
        let folder = self.folder.display();
        let text = format!(
            "{} documents of {} are in {folder}, {} of them new ({}, {} s).\n\
             Import them with `strongroom import {folder} Documents`, then run the plan with `--root Documents`.\n",
            corpus.count(),
            lab::report::bytes(corpus.bytes() as f64),
            written.documents,
            lab::report::bytes(written.bytes as f64),
            lab::report::number(written.seconds)
        );
        let value = json!({ "documents": corpus.count(), "bytes": corpus.bytes(), "written": written });
        show(self.json, &value, &text);
        Ok(ExitCode::SUCCESS)
    }
}
