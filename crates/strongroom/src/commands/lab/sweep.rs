//! `strongroom lab sweep`.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use model::Result;
use serde_json::json;

use super::failure::into_command_error;
use super::live::Live;
use super::run::file_name;
use super::target::TargetFlags;
use crate::commands::output::show;

/// Arguments of `strongroom lab sweep`.
#[derive(Args)]
pub struct Sweep {
    /// Plan file, or the name of a built-in plan
    #[arg(value_name = "PLAN.toml")]
    plan: String,
    #[command(flatten)]
    target: TargetFlags,
    /// First level: users, or operations per second for an open plan
    #[arg(long, default_value_t = 10.0)]
    from: f64,
    /// Last level
    #[arg(long, default_value_t = 640.0)]
    to: f64,
    /// Factor between one level and the next
    #[arg(long, default_value_t = 2.0)]
    factor: f64,
    /// Seconds per level
    #[arg(long, default_value_t = 15, value_parser = clap::value_parser!(u64).range(4..=3600))]
    seconds: u64,
    /// Maximum acceptable 95th percentile of latency, in milliseconds
    #[arg(long, default_value_t = 1000.0, value_name = "MS")]
    p95: f64,
    /// Fraction of the plan's corpus to use
    #[arg(long)]
    scale: Option<f64>,
    /// Directory for the result
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Sweep {
    /// Runs the command.
    pub async fn run(self) -> Result<ExitCode> {
        let plan = lab::read_plan(&self.plan).map_err(|error| into_command_error(&error))?;
        if let Some(directory) = &self.out {
            lab::report::prepare(directory).map_err(|error| into_command_error(&error))?;
        }
        let levels = lab::sweep::levels(self.from, self.to, self.factor).map_err(|error| into_command_error(&error))?;
        let mut wishes = self.target.run_options();
        wishes.changes.scale = self.scale;
        wishes.changes.steps = levels.into_iter().map(|level| (level, self.seconds)).collect();
        wishes.label = Some(format!("sweep-{}", file_name(&self.plan)));
        let stop = lab::Stop::on_signals().map_err(|error| into_command_error(&error))?;
        wishes.stop = stop.clone();
        let mut judge = lab::sweep::SweepObserver::new(stop, self.p95);
        let mut live = Live::new(self.json);
        let tell = |event| {
            judge.take(&event);
            live.take(event);
        };
        let result = lab::run(&plan, &wishes, tell).await.map_err(|error| into_command_error(&error))?;
        live.end();
        let found = judge.end();
        let capacity = found.capacity();
        let interrupted = found.ended == lab::sweep::Ended::Interrupted;
        let text = found.markdown(&result);
        // Shown before the files are written, so that the result is not lost on a full disk.
        show(self.json, &json!({ "capacity": capacity, "levels": found.levels, "interrupted": interrupted }), &text);
        if let Some(directory) = &self.out {
            lab::report::save(&result, directory, &file_name(&result.label))
                .map_err(|error| into_command_error(&error))?;
            let path = directory.join("capacity.md");
            lab::report::write(&path, &text).map_err(|error| into_command_error(&error))?;
        }
        Ok(if capacity.is_some() && !interrupted { ExitCode::SUCCESS } else { ExitCode::from(1) })
    }
}
