//! `strongroom lab corpus`.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use model::Result;
use serde_json::json;

use super::failure::said;
use super::live::Live;
use crate::commands::output::show;

/// Whose corpus, where to.
#[derive(Args)]
pub struct Corpus {
    /// A file, or the name of a plan that comes with the program
    #[arg(value_name = "PLAN.toml")]
    plan: String,
    /// The folder that takes it: a folder for each library. What is there already stays, so that one that was interrupted goes on
    #[arg(long, value_name = "DIR")]
    folder: PathBuf,
    /// The share of the plan's corpus
    #[arg(long)]
    scale: Option<f64>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Corpus {
    /// Runs the command.
    pub async fn run(self) -> Result<ExitCode> {
        let plan = lab::read_plan(&self.plan).map_err(|error| said(&error))?;
        let changes = lab::Changes { scale: self.scale, ..lab::Changes::default() };
        let plan = changes.apply(&plan).map_err(|error| said(&error))?;
        let corpus = lab::Corpus::new(plan.corpus);
        let mut live = Live::new(self.json);
        let tell = |done, all| live.take(lab::Event::Loading(done, all));
        let written = tokio::task::block_in_place(|| lab::write_folder(&corpus, &self.folder, tell));
        let written = written.map_err(|error| said(&error))?;
        live.end();
        let folder = self.folder.display();
        let text = format!(
            "{} documents of {} are in {folder}, {} of them new ({}, {} s)\n\
             take them in: strongroom import {folder} Documents; then run the plan with --root Documents\n",
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
