//! `strongroom lab run`.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use model::{Error, Result};
use serde_json::json;

use super::failure::into_command_error;
use super::live::Live;
use super::target::TargetFlags;
use crate::commands::output::show;
use crate::commands::size::whole;

/// Arguments of `strongroom lab run`.
#[derive(Args)]
pub struct Run {
    /// Plan file, or the name of a built-in plan (see `lab plans`)
    #[arg(value_name = "PLAN.toml")]
    plan: String,
    #[command(flatten)]
    target: TargetFlags,
    /// Directory for the result as HTML, Markdown and JSON
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Name of the run in files and comparisons [default: the plan's name]
    #[arg(long, value_name = "NAME")]
    label: Option<String>,
    /// Fraction of the plan's corpus to use
    #[arg(long)]
    scale: Option<f64>,
    /// Number of virtual users [default: the plan's]; for a plan with steps the highest step gets this number and the
    /// others scale in proportion
    #[arg(long, value_parser = whole::<u32>)]
    users: Option<u32>,
    /// Measured seconds [default: the plan's]; steps are scaled in proportion
    #[arg(long, value_name = "SECONDS", value_parser = whole::<u64>)]
    seconds: Option<u64>,
    /// Generate the load from these agents instead of this process
    #[arg(long, value_name = "HOST:PORT,...", value_delimiter = ',')]
    agents: Vec<String>,
    /// Shared secret of the agents
    #[arg(long, env = "STRONGROOM_LAB_TOKEN", hide_env_values = true, value_name = "TOKEN", default_value = "")]
    token: String,
    /// Abort the run if an agent is lost, instead of continuing without it
    #[arg(long)]
    stop_without_agent: bool,
    /// Serve a page with live progress on a loopback address such as 127.0.0.1:8098
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
                "agents require a token: give the one that they were started with, by --token or in the environment \
                 variable STRONGROOM_LAB_TOKEN",
            ));
        }
        let plan = lab::read_plan(&self.plan).map_err(|error| into_command_error(&error))?;
        if let Some(label) = &self.label {
            lab::report::check_label(label).map_err(|error| into_command_error(&error))?;
        }
        if let Some(directory) = &self.out {
            // Checked before the load starts: a result that cannot be written is lost.
            lab::report::prepare(directory).map_err(|error| into_command_error(&error))?;
        }
        let wishes = self.target.run_options();
        let changes = lab::PlanOverrides {
            scale: self.scale,
            users: self.users,
            seconds: self.seconds,
            ..wishes.changes.clone()
        };
        let wishes = lab::RunOptions {
            changes,
            label: self.label.clone(),
            agents: self.agents.clone(),
            agent_token: self.token.clone(),
            stop_without_agent: self.stop_without_agent,
            stop: lab::Stop::on_signals().map_err(|error| into_command_error(&error))?,
            ..wishes
        };
        let page = match self.live {
            Some(listen) => {
                let title = self.label.as_ref().unwrap_or(&self.plan);
                let page = lab::live::Live::serve(listen, title).await.map_err(|error| into_command_error(&error))?;
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
        let result = lab::run(&plan, &wishes, tell).await.map_err(|error| into_command_error(&error))?;
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
        // The measurements are shown even if the files could not be written, as on a full disk.
        saved.map_err(|error| into_command_error(&error))?;
        Ok(if passed { ExitCode::SUCCESS } else { ExitCode::from(1) })
    }
}

/// Converts a label into a file name.
pub fn file_name(label: &str) -> String {
    // A leading dot would make the file hidden.
    let kept = |at: usize, c: char| c.is_ascii_alphanumeric() || c == '-' || c == '.' && at > 0;
    label.char_indices().map(|(at, c)| if kept(at, c) { c } else { '-' }).collect()
}
