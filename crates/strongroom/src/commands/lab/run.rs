//! `strongroom lab run`.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use model::{Error, Result};
use serde_json::json;

use super::failure::said;
use super::live::Live;
use super::target::TargetFlags;
use crate::commands::output::show;

/// Which plan, where.
#[derive(Args)]
pub struct Run {
    /// A file, or the name of a plan that comes with the program (see `lab plans`)
    #[arg(value_name = "PLAN.toml")]
    plan: String,
    #[command(flatten)]
    target: TargetFlags,
    /// Directory for the result: a page, Markdown and JSON
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// What the run is called in files and comparisons; the plan's name when absent
    #[arg(long, value_name = "NAME")]
    label: Option<String>,
    /// The share of the plan's corpus
    #[arg(long)]
    scale: Option<f64>,
    /// Virtual users, instead of the plan's; with steps, those of the highest, and the others in proportion
    #[arg(long)]
    users: Option<u32>,
    /// Seconds that are counted, instead of the plan's; steps share them in proportion
    #[arg(long, value_name = "SECONDS")]
    seconds: Option<u64>,
    /// Send the load from agents instead of this process
    #[arg(long, value_name = "HOST:PORT,...", value_delimiter = ',')]
    agents: Vec<String>,
    /// The word that the agents ask for
    #[arg(long, env = "STRONGROOM_LAB_TOKEN", hide_env_values = true, value_name = "WORD", default_value = "")]
    token: String,
    /// End the run when an agent is lost, instead of going on without it
    #[arg(long)]
    stop_without_agent: bool,
    /// Serve a page that follows the run, on an address of this machine such as 127.0.0.1:8098
    #[arg(long, value_name = "ADDRESS")]
    live: Option<SocketAddr>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Run {
    /// Runs the command.
    pub async fn run(self) -> Result<ExitCode> {
        if !self.agents.is_empty() && self.token.is_empty() {
            return Err(Error::invalid(
                "agents ask for a word: give the one that they were started with by --token, or in the environment variable \
                 STRONGROOM_LAB_TOKEN",
            ));
        }
        let plan = lab::read_plan(&self.plan).map_err(|error| said(&error))?;
        if let Some(label) = &self.label {
            lab::report::check_label(label).map_err(|error| said(&error))?;
        }
        if let Some(directory) = &self.out {
            // Before the load, not after it: a result that has no place is lost.
            lab::report::prepare(directory).map_err(|error| said(&error))?;
        }
        let wishes = self.target.wishes();
        let changes =
            lab::Changes { scale: self.scale, users: self.users, seconds: self.seconds, ..wishes.changes.clone() };
        let wishes = lab::Wishes {
            changes,
            label: self.label.clone(),
            agents: self.agents.clone(),
            agent_token: self.token.clone(),
            stop_without_agent: self.stop_without_agent,
            stop: lab::Stop::on_signals().map_err(|error| said(&error))?,
            ..wishes
        };
        let page = match self.live {
            Some(listen) => {
                let title = self.label.as_ref().unwrap_or(&self.plan);
                let page = lab::live::Live::serve(listen, title).await.map_err(|error| said(&error))?;
                eprintln!("the run can be followed at {}", page.url());
                Some(page)
            }
            None => None,
        };
        let mut live = Live::new(self.json);
        let tell = |event| {
            if let Some(page) = &page {
                page.take(&event);
            }
            live.take(event);
        };
        let result = lab::run(&plan, &wishes, tell).await.map_err(|error| said(&error))?;
        live.end();
        if let Some(page) = page {
            page.end();
        }
        let mut text = lab::report::markdown(&result);
        let saved = match &self.out {
            Some(directory) => lab::report::save(&result, directory, &file_name(&result.label)),
            None => Ok(Vec::new()),
        };
        let files: Vec<String> = saved.iter().flatten().map(|file| file.display().to_string()).collect();
        if !files.is_empty() {
            text += &format!("\nwritten: {}\n", files.join("\nwritten: "));
        }
        let passed = result.passed();
        show(self.json, &json!({ "passed": passed, "result": result, "files": files }), &text);
        // What was measured is not lost with the files: on a full disk it is still said.
        saved.map_err(|error| said(&error))?;
        Ok(if passed { ExitCode::SUCCESS } else { ExitCode::from(1) })
    }
}

/// A label as the name of files.
pub fn file_name(label: &str) -> String {
    // A dot at the beginning would hide it.
    let kept = |at: usize, c: char| c.is_ascii_alphanumeric() || c == '-' || c == '.' && at > 0;
    label.char_indices().map(|(at, c)| if kept(at, c) { c } else { '-' }).collect()
}
