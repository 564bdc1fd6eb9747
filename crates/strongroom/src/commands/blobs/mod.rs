//! `strongroom blobs`: where the bytes of documents are, whether all are there and undamaged, where new ones go, and moving and
//! collecting them. One file for each family of actions.

mod check;
mod collect;
mod faults;
mod health;
mod migrate;
mod policy;
mod repair;
mod status;
mod stores;
mod work;

use std::process::ExitCode;

use clap::{Args, Subcommand};
use model::{Digest, Result};

use super::output::show;
use crate::commands::farm;
use crate::configuration::Place;

pub use work::{ended_alone, job_json, watcher};

/// What to do with BLOBs.
#[derive(Args)]
pub struct Arguments {
    #[command(flatten)]
    place: Place,
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    /// Show content databases and BLOB stores, what they hold, and what waits to be deleted
    Status,
    /// Re-read every BLOB and follow every reference; exit status 1 when anything is missing or damaged and its loss is not accepted, 3
    /// when a store or content database gave no answer and nothing is known to be wrong elsewhere
    Check(check::Check),
    /// Where new BLOBs go
    Policy {
        #[command(subcommand)]
        action: policy::Action,
    },
    /// BLOB stores: adding, testing, opening up, closing, emptying and removing them
    Stores {
        #[command(subcommand)]
        action: stores::Action,
    },
    /// Move BLOBs from store to store while people work
    Migrate(migrate::Migrate),
    /// Remove BLOBs that nothing refers to any more
    Collect(collect::Collect),
    /// What an administrator should look at, and what to do; exit status 1 when there is something, 3 when there is
    /// nothing but a database was not checked to its end
    Health(health::Health),
    /// List BLOBs that a check found missing or damaged
    Faults,
    /// Bring missing or damaged BLOBs back from another store, or from a backup
    Repair(repair::Repair),
    /// Put on record that a missing or damaged BLOB is lost
    AcceptLoss {
        /// The BLOB
        digest: Digest,
    },
}

/// Runs `strongroom blobs`.
pub async fn run(arguments: Arguments) -> Result<ExitCode> {
    if let Action::Repair(repair) = &arguments.action {
        repair.check()?;
    }
    let (repository, session) = farm::open(&arguments.place).await?;
    let as_json = arguments.place.json;
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
