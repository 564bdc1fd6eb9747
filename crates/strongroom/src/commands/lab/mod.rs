//! `strongroom lab`: sends the load of a plan to a document server and judges the responses. One file for each action.

mod agent;
mod compare;
mod corpus;
mod failure;
mod live;
mod paper;
mod plans;
mod run;
mod sweep;
mod target;

use std::process::ExitCode;

use clap::{Args, Subcommand};
use model::Result;

/// Arguments of `strongroom lab`.
#[derive(Args)]
pub struct Arguments {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    /// Run a plan against a server; exit status 1 if a threshold is not met or the figures are not valid
    Run(run::Run),
    /// Run a paper's workload, first with documents in the database and then with external BLOBs, and compare its
    /// figures with ours
    Paper(paper::Paper),
    /// Run a plan at rising load levels and report the server's capacity
    Sweep(sweep::Sweep),
    /// Compare two results and report the differences that are not due to chance
    Compare(compare::Compare),
    /// Write a plan's corpus to a directory, for `strongroom import`
    Corpus(corpus::Corpus),
    /// Generate load from this machine for runs controlled by another
    Agent(agent::Agent),
    /// List the built-in plans, or print one
    Plans(plans::Plans),
    /// List the operations that plans can use
    Operations(plans::Operations),
}

/// Runs `strongroom lab`.
pub async fn run(arguments: Arguments) -> Result<ExitCode> {
    match arguments.action {
        Action::Run(run) => run.run().await,
        Action::Paper(paper) => paper.run().await,
        Action::Sweep(sweep) => sweep.run().await,
        Action::Compare(compare) => compare.run(),
        Action::Corpus(corpus) => corpus.run().await,
        Action::Agent(agent) => agent.run().await,
        Action::Plans(plans) => plans.run(),
        Action::Operations(operations) => Ok(operations.run()),
    }
}
