//! `strongroom lab plans` and `strongroom lab operations`.

use std::process::ExitCode;

use clap::Args;
use model::Result;
use serde_json::json;

use super::failure::into_command_error;
use crate::commands::output::{show, table};

/// Arguments of `strongroom lab plans`.
#[derive(Args)]
pub struct Plans {
    /// Print this plan, as a starting point for your own
    #[arg(value_name = "NAME")]
    name: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Plans {
    /// Runs the command.
    pub fn run(self) -> Result<ExitCode> {
        if let Some(name) = &self.name {
            let text = lab::read_plan(name).map_err(|error| into_command_error(&error))?;
            show(self.json, &json!({ "plan": text }), &text);
            return Ok(ExitCode::SUCCESS);
        }
        let mut rows = Vec::new();
        for shipped in lab::SHIPPED {
            let plan = lab::Plan::parse(shipped.text).map_err(|error| into_command_error(&error))?;
            rows.push([plan.name, plan.description]);
        }
        let value: Vec<_> = rows.iter().map(|[name, what]| json!({ "name": name, "description": what })).collect();
        show(self.json, &json!({ "plans": value }), &table(["Plan", "What it shows"], &rows));
        Ok(ExitCode::SUCCESS)
    }
}

/// Arguments of `strongroom lab operations`.
#[derive(Args)]
pub struct Operations {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Operations {
    /// Runs the command.
    pub fn run(self) -> ExitCode {
        let value: Vec<_> = lab::OPERATIONS
            .iter()
            .map(|operation| {
                json!({
                    "name": operation.name,
                    "offered_by": operation.offered_by,
                    "changes": operation.changes,
                    "description": operation.description,
                })
            })
            .collect();
        show(self.json, &json!({ "operations": value }), &operations());
        ExitCode::SUCCESS
    }
}

fn operations() -> String {
    let rows: Vec<[String; 4]> = lab::OPERATIONS
        .iter()
        .map(|operation| {
            let webdav = if operation.offered_by.contains(&lab::TargetKind::Webdav) {
                "any WebDAV server"
            } else {
                "Strongroom"
            };
            let changes = if operation.changes { "changes" } else { "reads" };
            [operation.name.to_owned(), webdav.to_owned(), changes.to_owned(), operation.description.to_owned()]
        })
        .collect();
    table(["Operation", "Offered by", "Effect", "What it does"], &rows)
}
