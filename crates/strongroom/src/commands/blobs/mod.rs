//! `strongroom blobs`: status and integrity of BLOBs, storage policies, stores, migration and collection. One file for
//! each group of actions.

mod check;
mod collect;
mod faults;
mod health;
mod migrate;
mod policy;
mod repair;
mod run_job;
mod status;
mod stores;

use std::process::ExitCode;

use clap::{Args, Subcommand};
use model::{Digest, Result};

use super::output::show;
use crate::commands::farm;
use crate::configuration::CommonArguments;

pub use run_job::{job_json, outcome_with_fault_hint, watcher};

/// Arguments of `strongroom blobs`.
#[derive(Args)]
pub struct Arguments {
    #[command(flatten)]
    common: CommonArguments,
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    /// Show content databases and BLOB stores, their contents, and BLOBs waiting for deletion
    Status,
    /// Re-read every BLOB and follow every reference; exit status 1 if anything is missing or damaged and its loss is
    /// not accepted, 3 if nothing else is wrong but a store or content database did not respond
    Check(check::Check),
    /// Show or change the policies that choose a store for new BLOBs
    Policy {
        #[command(subcommand)]
        action: policy::Action,
    },
    /// Add, test, activate, drain and remove BLOB stores
    Stores {
        #[command(subcommand)]
        action: stores::Action,
    },
    /// Move BLOBs from store to store while the farm is in use
    Migrate(migrate::Migrate),
    /// Remove unreferenced BLOBs
    Collect(collect::Collect),
    /// Show what needs an administrator's attention, and what to do; exit status 1 if there are findings, 3 if there
    /// are none but a database was not checked completely
    Health(health::Health),
    /// List BLOBs that a check found missing or damaged
    Faults,
    /// Restore missing or damaged BLOBs from another store or from a backup
    Repair(repair::Repair),
    /// Record that the loss of a missing or damaged BLOB is accepted
    AcceptLoss {
        /// Digest of the BLOB
        digest: Digest,
    },
}

/// Runs `strongroom blobs`.
pub async fn run(arguments: Arguments) -> Result<ExitCode> {
    if let Action::Repair(repair) = &arguments.action {
        repair.check()?;
    }
    let (repository, session) = farm::open(&arguments.common).await?;
    let as_json = arguments.common.json;
    let outcome = match arguments.action {
        Action::Status => status::status(&session).await,
        Action::Check(check) => check.run(&session, as_json).await,
        Action::Policy { action } => policy::run(&session, action).await,
        Action::Stores { action } => stores::run(&session, action, as_json).await,
        Action::Migrate(migrate) => migrate.run(&session, as_json).await,
        Action::Collect(collect) => collect.run(&session, as_json).await,
        Action::Health(health) => health.run(&session).await,
        Action::Faults => faults::list(&session).await,
        Action::Repair(repair) => repair.run(&session, as_json).await,
        Action::AcceptLoss { digest } => faults::accept(&session, digest).await,
    };
    repository.close().await;
    let (value, text, verdict) = outcome?;
    show(as_json, &value, &text);
    Ok(verdict.into())
}
